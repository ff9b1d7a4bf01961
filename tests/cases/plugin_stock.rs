//! Plug-ins that people have: Node Problem Detector's stock files, and Nagios plug-ins as Debian packages them.

use std::{fs, path::Path};

use nodewell_tests::{
    agent::Plan,
    check_process::CheckProcess,
    cli::nodewell,
    plugins::set_mode,
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("plugin_stock")
        .case("npds_stock_files_load_and_run_unchanged", npds_stock_files_load_and_run_unchanged)
        .case_with(&[Need::Other(no_nagios)], "nagios_plugins_run_as_they_are", nagios_plugins_run_as_they_are)
        .case_with(&[Need::Root], "check_reports_what_would_not_be_run", check_reports_what_would_not_be_run)
        .case("one_is_tried_by_hand", one_is_tried_by_hand)
        .case("a_reason_of_a_plugin_is_explained", a_reason_of_a_plugin_is_explained);
}

const NAGIOS: &str = "/usr/lib/nagios/plugins";

fn no_nagios() -> Option<String> {
    let is_there = Path::new(NAGIOS).join("check_dummy").exists();
    (!is_there).then(|| format!("no {NAGIOS}/check_dummy: apt-get install monitoring-plugins-basic"))
}

/// A stock file with its paths below `bin/` of the plan, where scripts that behave as its own do lie.
fn stock(plan: &Plan, name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/rules/tests/npd");
    let text = fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    let bin = plan.folder().join("bin").display().to_string();
    let text = text.replace("./config/plugin", &bin).replace("30s", "1s").replace("86400s", "1s");
    plan.file(&format!("monitors.d/{name}.json"), &text);
}

fn npds_stock_files_load_and_run_unchanged() {
    let plan = Plan::default();
    for name in ["custom-plugin-monitor", "network-problem-monitor", "iptables-mode-monitor"] {
        stock(&plan, name);
    }
    let counters = ["docker-monitor-counter", "kernel-monitor-counter", "systemd-monitor-counter"];
    let health = ["health-checker-kubelet", "health-checker-docker", "health-checker-containerd"];
    counters.iter().chain(&health).for_each(|name| stock(&plan, name));
    plan.program("check_ntp.sh", "#!/bin/bash\nif command -v no-such-systemctl >/dev/null; then exit 0; fi\necho 'ntp.service is not running'\nexit 1\n");
    plan.program("network_problem.sh", "#!/bin/bash\nreadonly count=95 max=100\nif (( count > max * 9 / 10 )); then\n  echo \"Conntrack table usage over 90%: ${count} out of ${max}\"\n  exit 1\nfi\n");
    plan.program("dns_problem.sh", "#!/bin/bash\nif getent hosts localhost >/dev/null; then echo OK; exit 0; fi\necho 'DNS cannot be reached'; exit 1\n");
    plan.program("iptables_mode.sh", "#!/bin/bash\nset -o pipefail\nlines=$(printf -- '-A\\n-A\\n' | grep -c '^-')\necho \"Using iptables-nft: ${lines} rules\"\necho 0\n");
    let agent = plan.start();
    let _check_process = CheckProcess::check_of(agent.plan());
    let ntp = agent.wait_condition("NTPProblem", "True");
    assert_eq!(ntp.problems[0].message, "ntp.service is not running");
    assert_eq!(agent.wait_event("ConntrackFull").message, "Conntrack table usage over 90%: 95 out of 100");
    assert_eq!(agent.wait_event("NTPIsDown").message, "ntp.service is not running");
    let names = ["ntp-custom-plugin-monitor", "network-custom-plugin-monitor", "iptables-mode-monitor"];
    for name in names {
        until(name, || agent.daemon(&format!("{name}@root")));
    }
    assert!(agent.events("DNSUnreachable").is_empty() && agent.events("IPTablesVersionsMismatch").is_empty());
    // Its log-counters are rules, its health-checkers checks: no such program is missed.
    assert!(agent.condition("FrequentUnregisterNetDevice").is_some());
    assert!(agent.events("PluginRefused").is_empty());
}

fn nagios_plugins_run_as_they_are() {
    let plan = Plan::default();
    let plugin = |name: &str, command: &str| {
        format!(
            "[[plugin]]\nname = '{name}'\ncommand = [{command}]\nprotocol = 'nagios'\ninterval = '1s'\n\
             condition = 'Sick'\nreason = 'Nagios'\nsubject = '{name}'\n"
        )
    };
    let rules = [
        "[[condition]]\ntype = 'Sick'\nhealthy-reason = 'Well'\nhealthy-message = 'fine'\n".to_owned(),
        plugin("ok", &format!("'{NAGIOS}/check_dummy', '0', 'all right'")),
        plugin("warning", &format!("'{NAGIOS}/check_dummy', '1', 'take care'")),
        plugin("critical", &format!("'{NAGIOS}/check_dummy', '2', 'on fire'")),
        plugin("unknown", &format!("'{NAGIOS}/check_dummy', '3', 'who knows'")),
        plugin("disk", &format!("'{NAGIOS}/check_disk', '-w', '100%', '-c', '0%', '-p', '/'")),
        plugin("load", &format!("'{NAGIOS}/check_load', '-w', '1000,1000,1000', '-c', '2000,2000,2000'")),
        plugin("procs", &format!("'{NAGIOS}/check_procs', '-w', '1:100000'")),
    ];
    plan.file("rules.d/nagios.toml", &rules.concat());
    let agent = plan.start();
    let _check_process = CheckProcess::check_of(agent.plan());
    let three = || {
        let condition = agent.condition("Sick")?;
        (condition.problems.len() == 3).then(|| condition.problems.clone())
    };
    let problems = until("three are ill", three);
    let of = |subject: &str| problems.iter().find(|problem| problem.subject.as_deref() == Some(subject)).unwrap();
    assert_eq!((of("warning").message.as_str(), of("warning").severity.as_str()), ("WARNING: take care", "warn"));
    assert_eq!((of("critical").message.as_str(), of("critical").severity.as_str()), ("CRITICAL: on fire", "error"));
    let disk = &of("disk").message;
    assert!(disk.starts_with("DISK WARNING - free space: / ") && !disk.contains('|'), "{disk}");
}

fn check_reports_what_would_not_be_run() {
    let plan = Plan::default();
    let good = plan.program("good.sh", "#!/bin/sh\n");
    let bad = plan.program("bad.sh", "#!/bin/sh\n");
    set_mode(&bad, 0o777);
    let rule =
        |name: &str, path: &Path| format!("[[plugin]]\nname = '{name}'\ncommand = {path:?}\nreason = 'Broken'\n");
    let rules = rule("good", &good) + &rule("bad", &bad) + &rule("gone", &plan.folder().join("gone"));
    let file = plan.file("rules.d/mine.toml", &rules);
    let config = plan.folder().join("nodewell.toml");
    let outcome = nodewell(["check".as_ref(), config.as_os_str()]);
    assert_eq!(outcome.code, 0, "nodewelld starts with it: {outcome:?}");
    let line = |number: usize| format!("{}:{number}: note: ", file.display());
    assert!(outcome.stdout.contains(&format!("{}bad would not be run: ", line(5))), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("can be written by others (mode 0777); chmod go-w it"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(&format!("{}gone would not be run: ", line(9))), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(", 3 plug-ins: no error"), "{}", outcome.stdout);
    let outcome = nodewell(["check".as_ref(), file.as_os_str()]);
    assert_eq!(outcome.code, 0, "a file may be for another machine: {outcome:?}");
    assert!(outcome.stdout.contains("note: bad would not be run"), "{}", outcome.stdout);
}

fn one_is_tried_by_hand() {
    let plan = Plan::default();
    let program = plan.program("check.sh", "#!/bin/sh\necho \"$1 fell down\"\nexit 1\n");
    let rules = format!("[[plugin]]\nname = 'moon'\ncommand = [{program:?}, 'it']\nreason = 'MoonFellDown'\n");
    let file = plan.file("rules/mine.toml", &rules);
    let outcome = nodewell(["plugin".as_ref(), "run".as_ref(), file.as_os_str()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for line in ["result   a problem", "message  it fell down", "reports  an Event, reason MoonFellDown"] {
        assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    }
    let rules = file.parent().unwrap().as_os_str();
    let outcome = nodewell(["plugin".as_ref(), "run".as_ref(), "sun".as_ref(), "--rules".as_ref(), rules]);
    assert!(outcome.code == 64 && outcome.stderr.contains("there are: moon"), "{outcome:?}");
}

fn a_reason_of_a_plugin_is_explained() {
    let plan = Plan::default();
    let rules = "[[plugin]]\nname = 'p'\ncommand = ['/opt/check', '-x']\nreason = 'MoonFellDown'\ninterval = '5m'\n";
    let file = plan.file("rules/mine.toml", rules);
    let outcome =
        nodewell(["explain".as_ref(), "moonfelldown".as_ref(), "--rules".as_ref(), file.parent().unwrap().as_os_str()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("every 5m the program /opt/check -x (npd)"), "{}", outcome.stdout);
    let outcome = nodewell(["explain", "PluginTimedOut"]);
    assert!(outcome.stdout.contains("did not answer in time"), "{}", outcome.stdout);
}
