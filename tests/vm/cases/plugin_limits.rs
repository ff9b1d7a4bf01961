//! Plug-ins that take all they may: processes, memory together, memory alone. Under a whole Debian's systemd, with the
//! packages' units, they end as is documented, and the agent meets no limit of theirs: a worker of its checks is
//! replaced, it reads another log, a fault of the kernel is a problem, and nothing of it is restarted.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path};

use nodewell_model::view::ConditionView;
use nodewell_tests::{
    machine::{Package, Release, Tree},
    suite::{Need, Suite},
};
use nodewell_vm::{
    GUEST,
    guest::{Guest, Plan},
    system::{System, within},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("plugin_limits").case_with(
        &[Need::LongSuite, GUEST, Need::Machine(Release::Bookworm)],
        "at_their_limits_they_starve_nothing",
        at_their_limits_they_starve_nothing,
    );
}

/// The system, and what plug-ins may have together.
const MEMORY_MIB: u32 = 1024;
const CONFIG: &str = "standalone = true
[limits]
interval = \"5s\"
for = \"1s\"
[mounts]
interval = \"5s\"
";
/// Forks until it may not any more, and again whenever it may. What is Debian's own without packages is Perl.
const FORKER: &str = r#"#!/usr/bin/perl
until (-e "/run/let-go") {
    my $child = fork;
    if (!defined $child) { open my $full, ">", "/run/full.$ARGV[0]"; select(undef, undef, undef, 0.5) }
    elsif (!$child) { sleep 3600; exit }
}
print "forked all it may\n";
exit 1;
"#;
/// Takes 200 MiB, which is within its own limit, and keeps them.
const HOLDER: &str = r#"#!/usr/bin/perl
open my $zeros, "<", "/dev/zero";
my @kept;
for (1 .. 200) { sysread $zeros, my $part, 1 << 20; push @kept, \$part }
open my $full, ">", "/run/full.$ARGV[0]";
select(undef, undef, undef, 0.5) until -e "/run/let-go";
"#;
/// Two processes, for each alone has a limit that is not its cgroup's.
const EATER: &str = r#"#!/usr/bin/perl
fork;
open my $zeros, "<", "/dev/zero";
my @kept;
while (1) { sysread $zeros, my $part, 1 << 20; push @kept, \$part }
"#;
/// What the kernel's accounts show only while a check is at work: ten tasks where there may be ten.
const PODS: [(&str, &str); 2] = [
    ("kubepods.slice", "[Slice]\nTasksMax=10\n"),
    (
        "pods.service",
        "[Service]\nSlice=kubepods.slice\n\
         ExecStart=/bin/sh -c 'for n in 1 2 3 4 5 6 7 8 9; do sleep infinity & done; wait'\n",
    ),
];
/// A log that takes a thread more.
const LATE_LOG: &str = r#"
[[source]]
name = "late-log"
paths = ["/var/log/late.log"]
timestamp = "rfc3339"

[[rule]]
reason = "LateFault"
type = "temporary"
source = "late-log"
severity = "warn"
pattern = 'late fault (?P<subject>\w+)'
matches = [{ text = "host app: late fault one", subject = "one" }]
ignores = ["host app: late default"]
"#;

/// Restarts, also those that systemd did not count.
const LIVES: &str = "systemctl show --property=Id --property=MainPID --property=NRestarts \
                     nodewell.service nodewell-check.service nodewell-disk.service";
/// A process that is gone meanwhile is none.
const WORKERS: &str = "
for pid in $(cat /sys/fs/cgroup/nodewell.slice/nodewell-check.service/check-process/cgroup.procs); do
  tr '\\0' ' ' </proc/$pid/cmdline | grep -q ' worker ' && echo $pid
done
true
";
/// No limit above the agent was met, and none of its own. `memory.events.local` counts for the cgroup that has the
/// limit; `max` of `pids.events` for the one whose process could not fork, in newer kernels for that with the limit.
const UNMET: [(&str, &[&str]); 5] = [
    ("memory.events.local", &["high 0", "max 0", "oom_kill 0"]),
    ("nodewell.service/memory.events", &["high 0", "max 0", "oom_kill 0"]),
    ("nodewell.service/pids.events", &["max 0"]),
    ("nodewell-check.service/memory.events.local", &["high 0", "max 0", "oom_kill 0"]),
    ("nodewell-check.service/check-process/pids.events", &["max 0"]),
];

fn at_their_limits_they_starve_nothing() {
    let system = System::of(Tree::of(Release::Bookworm), fill);
    let plan = Plan::default().processors(2).memory_mib(MEMORY_MIB).kernel("systemd.getty_auto=no").system(&system);
    let guest = plan.boot();
    guest.until("the agent answers", || guest.status());
    guest.until("checks have their workers", || (workers(&guest).len() == 2).then_some(()));
    let before = guest.sh(LIVES);
    assert_eq!(before.matches("NRestarts=0").count(), 3, "{before}");
    processes(&guest);
    memory_together(&guest);
    memory_alone(&guest);
    assert_eq!(guest.sh(LIVES), before);
    // As docs/plugin-limits.md has it.
    assert_eq!(of_plug_ins(&guest, "pids.max"), 384);
    assert_eq!(of_plug_ins(&guest, "memory.max"), 432 << 20);
}

/// The packages, programs to run, and units for a check to find.
fn fill(root: &Path) {
    let write = |inside: &str, text: &str| {
        let path = root.join(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    fs::copy(Package::built().path(), root.join("root/package.deb")).unwrap();
    within(root, &["dpkg", "--install", "/root/package.deb"]);
    write("etc/nodewell/nodewell.toml.d/guest.toml", CONFIG);
    PODS.iter().for_each(|(name, unit)| write(&format!("etc/systemd/system/{name}"), unit));
    for (name, program) in [("forker", FORKER), ("holder", HOLDER), ("eater", EATER)] {
        let path = format!("usr/libexec/{name}");
        write(&path, program);
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Four could have 512 together. Whatever ends is forked again at once.
fn processes(guest: &Guest) {
    let forkers = ["ForkerA", "ForkerB", "ForkerC", "ForkerD"];
    run(guest, "forker", &forkers);
    guest.until("each was refused a process", || (full(guest).len() == forkers.len()).then_some(()));
    workers_are_replaced(guest);
    guest.sh("systemctl start pods.service");
    guest.wait_problem("ResourceExhausted", "CgroupPidsExhausted");
    guest.sh("systemctl stop pods.service");
    another_log_is_read(guest);
    guest.sh("nodewell inject KernelOops --no-wait");
    guest.wait_problem("KernelUnhealthy", "KernelOops");
    let (most, now) = (of_plug_ins(guest, "pids.max"), of_plug_ins(guest, "pids.current"));
    assert!(now >= most, "{now} processes of {most}: that was too easy");
    no_limit_was_met(guest);
    guest.sh("touch /run/let-go");
    for name in forkers {
        let problem = guest.wait_problem(&condition(name), &format!("{name}TookAll"));
        assert_eq!(problem.message, "forked all it may");
    }
    guest.until("nothing of them is left", || (of_plug_ins(guest, "pids.current") == 0).then_some(()));
}

/// Three want 600 MiB. The kernel ends the largest, whole, even if that has all of its own by then; the others go on.
fn memory_together(guest: &Guest) {
    let (holders, readers) = (["HolderA", "HolderB", "HolderC"], workers(guest));
    run(guest, "holder", &holders);
    let ended = guest.until("one was ended for its memory, two have all of theirs", || {
        let ended = killed(guest, &holders).pop()?;
        let have_theirs = full(guest).iter().filter(|name| condition(name) != ended.condition.as_str()).count();
        (have_theirs == 2).then_some(ended)
    });
    assert_eq!(ended.status.as_str(), "Unknown", "{ended:?}");
    assert!(ended.message.contains("all plug-ins together"), "{ended:?}");
    guest.sh("nodewell inject RCUStall --no-wait");
    guest.wait_event("RCUStall", |event| event.test);
    assert_eq!(workers(guest), readers);
    no_limit_was_met(guest);
    assert_eq!(killed(guest, &holders).len(), 1);
    guest.sh("touch /run/let-go");
    let others = holders.into_iter().filter(|name| condition(name) != ended.condition.as_str());
    others.for_each(|name| drop(guest.wait_condition(&condition(name), "False")));
}

/// One wants more than a run may have.
fn memory_alone(guest: &Guest) {
    let readers = workers(guest);
    run(guest, "eater", &["Eater"]);
    let ended = guest.until("it was ended for its memory", || killed(guest, &["Eater"]).pop());
    assert_eq!(ended.status.as_str(), "Unknown", "{ended:?}");
    assert!(ended.message.contains("exceeded its memory limit and was killed"), "{ended:?}");
    assert_eq!(workers(guest), readers);
    no_limit_was_met(guest);
}

/// In place of those before, whose conditions go with them. Each runs once: the next time is in an hour.
fn run(guest: &Guest, program: &str, names: &[&str]) {
    let plugin = |name: &&str| {
        format!(
            r#"
[[condition]]
type = "{name}Unhealthy"
healthy-reason = "{name}IsHealthy"
healthy-message = "{name} had what it wanted"

[[plugin]]
name = "{lower}"
command = ["/usr/libexec/{program}", "{name}"]
interval = "1h"
timeout = "30m"
condition = "{name}Unhealthy"
reason = "{name}TookAll"
"#,
            lower = name.to_lowercase()
        )
    };
    guest.sh("rm -f /run/let-go /run/full.*");
    guest.write("/etc/nodewell/rules.d/plugins.toml", &names.iter().map(plugin).collect::<String>());
    guest.sh("systemctl reload nodewell.service");
}

fn condition(name: &str) -> String {
    format!("{name}Unhealthy")
}

/// Of those that run as these names: what is known of the ones that the kernel ended.
fn killed(guest: &Guest, names: &[&str]) -> Vec<ConditionView> {
    let all = names.iter().filter_map(|name| guest.condition(&condition(name)));
    all.filter(|condition| condition.reason.as_str() == "PluginKilled").collect()
}

/// Which have come to where they wait.
fn full(guest: &Guest) -> Vec<String> {
    guest.sh("ls /run").lines().filter_map(|file| file.strip_prefix("full.")).map(str::to_owned).collect()
}

fn workers_are_replaced(guest: &Guest) {
    let before = workers(guest);
    assert_eq!(before.len(), 2, "{before:?}");
    guest.sh(&format!("kill -9 {}", before.iter().cloned().collect::<Vec<_>>().join(" ")));
    guest.until("other workers are at work", || {
        let now = workers(guest);
        (now.len() == before.len() && now.is_disjoint(&before)).then_some(())
    });
}

fn workers(guest: &Guest) -> BTreeSet<String> {
    guest.sh(WORKERS).lines().map(str::to_owned).collect()
}

fn another_log_is_read(guest: &Guest) {
    guest.write("/etc/nodewell/rules.d/late.toml", LATE_LOG);
    guest.sh("systemctl reload nodewell.service");
    guest.sh("echo \"$(date -u +%FT%TZ) host app: late fault one\" >>/var/log/late.log");
    guest.wait_event("LateFault", |event| event.subject.as_deref() == Some("one"));
}

/// What all plug-ins together have or may have.
fn of_plug_ins(guest: &Guest, file: &str) -> u64 {
    let number = guest.sh(&format!("cat /sys/fs/cgroup/nodewell.slice/nodewell-check.service/plugins/{file}"));
    number.parse().unwrap_or_else(|error| panic!("{file}: {error} in {number:?}"))
}

fn no_limit_was_met(guest: &Guest) {
    for (file, counts) in UNMET {
        let shown = guest.sh(&format!("cat /sys/fs/cgroup/nodewell.slice/{file}"));
        for count in counts {
            assert!(shown.lines().any(|line| line == *count), "{file}, of which {count} was expected: {shown}");
        }
    }
}
