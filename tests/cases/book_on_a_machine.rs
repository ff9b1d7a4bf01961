//! What the book has an administrator type on a node, on a booted machine with the package: the blocks of the pages,
//! each as a service of root's.

use nodewell_tests::{
    ansible,
    book::{block, blocks, commands, missing},
    cli::Outcome,
    kmsg::RealKmsg,
    machine::{self, Hardware, Machine, Package, Release},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("book_on_a_machine")
        .case_with(&[Need::KernelLog, Need::Machine(Release::Bookworm)], "an_administrators_commands", as_administrator)
        .case_with(&[Need::LongSuite, Need::Other(no_python)], "a_daemon_in_python_is_a_service", a_daemon_in_python);
}

/// A tree with Python, which the machines of Ansible have.
fn no_python() -> Option<String> {
    machine::unmet(ansible::TREE)
}

/// A page, and what it has an administrator do.
type Step = (&'static str, fn(&Machine));

fn as_administrator() {
    let machine = Machine::boot(Release::Bookworm);
    machine.install(Package::built());
    until("the agent has looked", || machine.has_looked().then_some(()));
    let steps: [Step; 8] = [
        ("start.md", start),
        ("connect.md", a_grant),
        ("rules.md", a_rule),
        ("plugins.md", a_plugin),
        ("mutes.md", mutes),
        ("repairs.md", repairs),
        ("from-npd.md", from_npd),
        ("install.md", back),
    ];
    for (page, step) in steps {
        eprintln!("docs/{page}");
        step(&machine);
    }
}

/// As root, known to the agent by a unit of its own.
#[track_caller]
fn run(machine: &Machine, script: &str) -> String {
    let outcome = machine.as_unit("book.service", &[], script);
    assert_eq!(outcome.code, 0, "{script}\n{}{}", outcome.stdout, outcome.stderr);
    outcome.stdout + &outcome.stderr
}

/// Writes the file that a block of `page` is, to the place that its first line names.
#[track_caller]
fn file(machine: &Machine, page: &str, language: &str, path: &str) {
    machine.write(path, block(page, language, &format!("# {path}\n")));
}

fn start(machine: &Machine) {
    // In a container a check may fail: it ends with 1 then.
    let doctor = machine.as_unit("book.service", &[], &commands("start.md", "nodewell doctor"));
    assert!(matches!(doctor.code, 0 | 1), "{doctor:?}");
    let shown = block("start.md", "text", "ok    kernel log");
    let (first, _) = shown.split_once('\n').unwrap();
    assert_eq!(missing(first, &doctor.stdout), None, "{doctor:?}");
    let summary = doctor.stdout.lines().last().unwrap_or_default();
    assert!(summary.contains(" ok, ") && summary.contains(" failure"), "{doctor:?}");
}

const NO_PERMISSION: i32 = 77;
const GRANTED: &str = "raid-monitor.service";
/// A user who has no right but by a grant.
const REPORT: &str = "nodewell report --source raid --condition RaidProblem=true --reason RaidDegraded --subject md0";

fn report(machine: &Machine) -> Outcome {
    machine.as_unit(GRANTED, &["User=nobody"], REPORT)
}

fn a_grant(machine: &Machine) {
    file(machine, "connect.md", "toml", "/etc/nodewell/rules.d/raid-monitor.toml");
    run(machine, "systemctl reload nodewell");
    let refused = until("the type is known", || Some(report(machine)).filter(|outcome| outcome.code == NO_PERMISSION));
    let shown = block("connect.md", "text", "nodewell: raid-monitor.service");
    assert_eq!(missing(&shown, &refused.stderr), None, "{refused:?}");
    file(machine, "connect.md", "toml", "/etc/nodewell/nodewell.toml.d/raid-monitor.toml");
    run(machine, &commands("connect.md", "nodewell check"));
    until("the grant is in force", || (report(machine).code == 0).then_some(()));
    machine.wait_condition("RaidProblem", "True");
    run(machine, "nodewell clear RaidProblem");
}

const JOURNALCTL: &str = "/usr/local/bin/journalctl";
/// There is no kernel log in a container's journal.
const KERNEL_LOG: &str = "#!/bin/sh
echo '2026-11-21T02:00:00+0000 node kernel: md/raid1:md1: Disk failure on sda1, disabling device.'
echo '2026-11-21T02:00:01+0000 node kernel: md/raid1:md1: Operation continuing on 1 devices.'
";

fn a_rule(machine: &Machine) {
    let rule = block("rules.md", "toml", "[[condition]]\ntype = \"RaidUnhealthy\"");
    machine.write("/etc/nodewell/rules.d/my-raid.toml", rule);
    machine.program(JOURNALCTL, KERNEL_LOG);
    let printed = run(machine, &commands("rules.md", "nodewell check"));
    machine.sh(&format!("rm {JOURNALCTL}"));
    let shown = blocks("rules.md").into_iter().find(|block| block.text.contains(" examples: no error\n")).unwrap();
    assert_eq!(missing(&shown.text, &printed), None, "{printed}");
    machine.wait_condition("RaidUnhealthy", "False");
    let _turn = RealKmsg::take();
    let printed = run(machine, &commands("rules.md", "nodewell inject"));
    assert!(printed.contains("3 condition RaidUnhealthy is True\n"), "{printed}");
    assert!(printed.contains("5 the test ends by itself 60 s after it began\n"), "{printed}");
}

fn a_plugin(machine: &Machine) {
    let program = "#!/bin/sh\necho 'OK: md0 is whole'\n";
    machine.program("/usr/lib/nagios/plugins/check_raid", program);
    file(machine, "plugins.md", "toml", "/etc/nodewell/rules.d/raid-plugin.toml");
    let printed = run(machine, &commands("plugins.md", "nodewell check"));
    let shown = block("plugins.md", "text", "raid-md0");
    assert_eq!(missing(&shown, &printed), None, "{printed}");
}

fn mutes(machine: &Machine) {
    let begin = "nodewell report --condition DiskUnhealthy=true --reason IOError --subject sdc --message 'I/O error'";
    run(machine, begin);
    machine.wait_condition("DiskUnhealthy", "True");
    let printed = run(machine, &commands("mutes.md", "nodewell status"));
    for part in ["muted IOError on sdc until ", ": 1 problem\n", ": sdc is on order, RMA 4711\n", "counts again\n"] {
        assert!(printed.contains(part), "no {part:?} in {printed}");
    }
    let printed = run(machine, &commands("mutes.md", "nodewell ack"));
    for part in
        ["IOError on sdc is a false positive: 1 problem ", "IOError on sdc of DiskUnhealthy  at ", "counts again\n"]
    {
        assert!(printed.contains(part), "no {part:?} in {printed}");
    }
    run(machine, "nodewell clear DiskUnhealthy");
}

fn repairs(machine: &Machine) {
    file(machine, "repairs.md", "toml", "/etc/nodewell/nodewell.toml.d/repair.toml");
    let printed = run(machine, &commands("repairs.md", "systemctl restart nodewell-repair"));
    for unit in ["containerd.service", "kubelet.service"] {
        assert!(printed.contains(unit), "no line of {unit} in {printed}");
    }
}

/// Of one's own, in a ConfigMap.
const MONITOR: &str = r#"{"plugin": "kmsg", "source": "mine-monitor", "lookback": "5m",
    "conditions": [{"type": "MyDriverBroken", "reason": "MyDriverWorks", "message": "the driver works"}],
    "rules": [
        {"type": "permanent", "condition": "MyDriverBroken", "reason": "MyDriverGaveUp", "pattern": "mydrv: gave up"}
    ]}"#;

/// The shell of a service is in the root folder.
fn from_npd(machine: &Machine) {
    let map = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "npd"}, "data": {"mine.json": MONITOR}}]});
    machine.write("/npd.yaml", map.to_string());
    machine.write("/etc/node-problem-detector/mine.json", MONITOR);
    let said = run(machine, &commands("from-npd.md", "nodewell import-npd npd.yaml >"));
    assert!(said.contains("npd.yaml#npd/mine.json:4: same: MyDriverGaveUp: a rule of monitors.d/mine.toml"), "{said}");
    let said = run(machine, &commands("from-npd.md", "nodewell import-npd npd.yaml --out"));
    let shown = block("from-npd.md", "text", "written: ");
    assert_eq!(missing(&shown, &said), None, "{said}");
    machine.program(JOURNALCTL, KERNEL_LOG);
    run(machine, &commands("from-npd.md", "nodewell check"));
    machine.sh(&format!("rm {JOURNALCTL}"));
    run(machine, &commands("from-npd.md", "systemctl reload"));
    machine.wait_condition("MyDriverBroken", "False");
}

/// The repository is an apt that has the package and says so; what apt does with one is the case `release_apt`'s.
fn back(machine: &Machine) {
    let version = env!("CARGO_PKG_VERSION");
    machine.install(Package::newer());
    until("the newer version answers", || machine.ask("/v1/version").filter(|answer| answer.status.is_success()));
    machine.copy(Package::built().path(), "/root/older.deb");
    let block = commands("install.md", "apt-get install --allow-downgrades");
    let older = block.replace("nodewell=0.1.0-1", "--quiet /root/older.deb");
    assert_ne!(older, block);
    let printed = run(machine, &older);
    assert!(printed.contains(&format!("nodewell  {version}\n")), "{printed}");
    let installed = machine.sh("dpkg-query --show --showformat '${Version}' nodewell");
    assert!(installed.starts_with(version), "{installed}");
}

const DAEMON: &str = "/usr/local/lib/raid-monitor.py";
/// In place of /sys/block: the machine's arrays are the host's.
const ARRAYS: &str = "/run/arrays";

fn a_daemon_in_python() {
    let tree = ansible::TREE.path().unwrap_or_else(|reason| panic!("{reason}"));
    let machine = Machine::boot_as(&Hardware { is_volatile: true, ..Hardware::of(tree) });
    machine.install(Package::built());
    for (language, path) in [
        ("toml", "/etc/nodewell/rules.d/raid-monitor.toml"),
        ("toml", "/etc/nodewell/nodewell.toml.d/raid-monitor.toml"),
        ("ini", "/etc/systemd/system/raid-monitor.service"),
    ] {
        file(&machine, "connect.md", language, path);
    }
    let script = block("connect.md", "python", &format!("# {DAEMON}\n"));
    machine.write(DAEMON, script.replace("/sys/block", ARRAYS));
    machine.write(&format!("{ARRAYS}/md1/md/degraded"), "1\n");
    run(&machine, &commands("connect.md", "nodewell check"));
    run(&machine, &commands("connect.md", "systemctl daemon-reload"));
    let status = || run(&machine, "nodewell status --all");
    let shown = block("connect.md", "text", "Daemons that report");
    until("the daemon is shown", || missing(&shown, &status()).is_none().then_some(()));
    machine.wait_condition("RaidProblem", "True");
    run(&machine, &format!("systemctl kill --signal=KILL {GRANTED}"));
    machine.wait_property(GRANTED, "SubState", "auto-restart");
    assert!(status().contains("RaidProblem"), "one that failed comes back");
    run(&machine, &format!("systemctl restart {GRANTED}"));
    machine.wait_condition("RaidProblem", "True");
    run(&machine, &format!("systemctl stop {GRANTED}"));
    until("nothing is left of it", || machine.condition("RaidProblem").is_none().then_some(()));
    assert!(!status().contains("python-raid@"), "{}", status());
}
