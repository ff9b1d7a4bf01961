//! Repairs under a real systemd, over its real bus: a unit that is reported as broken is restarted as often as its
//! limit allows, with what helps a person collected first; then it is given up until it has been well.

use std::thread;

use nodewell_tests::{
    machine::{Machine, Package, Release},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::Machine(Release::Bookworm)];
    suite.behaviour("repair_on_systemd").case_with(needs, "is_bounded_and_reported", is_bounded_and_reported);
}

const CONFIG: &str = r#"
[repair]
enabled = true
grace-after-boot = "1ms"
min-interval = "1ms"
[[repair.unit]]
unit = "runtime.service"
condition = "ContainerRuntimeUnhealthy"
sources = ["tester@tester.service"]
for = "1s"
cooldown = "2s"
max-attempts = 2
window = "1h"
"#;

const RULES: &str = r#"
[[condition]]
type = "ContainerRuntimeUnhealthy"
healthy-reason = "ContainerRuntimeIsHealthy"
healthy-message = "it answers"
"#;

const UNIT: &str = "[Service]\nExecStart=/bin/sh -c 'echo the runtime speaks; exec sleep infinity'\n";
/// A step of its own: what is decided in a look is done before the next.
const SOME_LOOKS: std::time::Duration = std::time::Duration::from_secs(12);

fn boot() -> Machine {
    let machine = Machine::boot(Release::Bookworm);
    machine.sh("mkdir -p /etc/nodewell/rules.d /etc/nodewell/nodewell.toml.d");
    machine.write("/etc/nodewell/rules.d/runtime.toml", RULES);
    machine.write("/etc/nodewell/nodewell.toml.d/test.toml", format!("rules = [\"/etc/nodewell/rules.d\"]\n{CONFIG}"));
    machine.write("/etc/systemd/system/runtime.service", UNIT);
    machine.install(Package::built());
    machine.sh("systemctl daemon-reload; systemctl start runtime.service");
    machine.wait_property("nodewell-repair.service", "ActiveState", "active");
    machine
}

/// One report of a daemon; the configuration believes `tester`.
fn report(machine: &Machine, source: &str, status: &str) {
    let report = format!(
        "nodewell report --source {source} --condition ContainerRuntimeUnhealthy={status} \
         --reason ContainerdUnhealthy --message 'no answer in 5 s'"
    );
    let outcome = machine.as_unit(&format!("{source}.service"), &[], &report);
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

fn pid(machine: &Machine) -> String {
    machine.property("runtime.service", "MainPID")
}

fn is_bounded_and_reported() {
    let machine = boot();
    let first = pid(&machine);

    report(&machine, "stranger", "true");
    thread::sleep(SOME_LOOKS);
    assert_eq!(pid(&machine), first, "a stranger's word restarts nothing");
    report(&machine, "stranger", "false");

    report(&machine, "tester", "true");
    until("it is given up", || machine.events("RepairGivenUp").pop());
    assert_eq!(machine.events("RepairStarted").len(), 2, "as often as the limit allows");
    assert_eq!(machine.events("RepairDone").len(), 2);
    let last = pid(&machine);
    assert_ne!(last, first);
    machine.wait_condition("ServiceRepairFailed", "True");
    let collected = machine.sh("cat /var/lib/nodewell-repair/collected/*-runtime.service.txt");
    for words in ["no answer in 5 s", "the runtime speaks", "tasks: number, name", "State:"] {
        assert!(collected.contains(words), "{words:?} is missing in: {collected}");
    }
    assert_eq!(machine.sh("stat -c %a /var/lib/nodewell-repair/collected"), "700");

    machine.sh("systemctl restart nodewell-repair.service");
    thread::sleep(SOME_LOOKS);
    assert_eq!(pid(&machine), last, "a helper that restarts still counts");
    machine.wait_condition("ServiceRepairFailed", "True");

    report(&machine, "tester", "false");
    machine.wait_condition("ServiceRepairFailed", "False");

    machine.sh("systemctl stop runtime.service; rm /var/lib/nodewell-repair/history.json");
    machine.sh("systemctl restart nodewell-repair.service");
    report(&machine, "tester", "true");
    let plan = until("the stop is seen", || {
        let plan = machine.sh("nodewell-checks repair --dry-run --state-dir /var/lib/nodewell-repair");
        plan.contains("stopped on purpose").then_some(plan)
    });
    assert!(plan.starts_with("runtime.service"), "{plan}");
    thread::sleep(SOME_LOOKS);
    assert_eq!(machine.property("runtime.service", "ActiveState"), "inactive");
}
