//! Units of a real systemd over its real bus, seen from inside the check process's own sandbox: one that fails, one
//! that restarts for ever, one that never comes up, one that was stopped; and a bus that restarts.

use nodewell_model::view::ProblemView;
use nodewell_tests::{
    cli::binary,
    machine::{Machine, Release},
    suite::{Need, Suite},
    wait::until_within,
};
use std::time::Duration;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("service_units")
        .case_with(&[Need::Machine(Release::Bookworm)], "systemd_252_says_how_units_are", || {
            systemd_reports_how_units_are(Release::Bookworm);
        })
        .case_with(&[Need::LongSuite, Need::Machine(Release::Trixie)], "systemd_257_says_how_units_are", || {
            systemd_reports_how_units_are(Release::Trixie);
        });
}

/// Several looks at intervals of five seconds, on a machine that is busy with other cases.
const PATIENCE: Duration = Duration::from_secs(90);

const AGENT: &str = "[Service]
Type=notify
ExecStart=/usr/bin/nodewelld --standalone --config /etc/nodewell/nodewell.toml
RuntimeDirectory=nodewell
StateDirectory=nodewell
";
const CONFIG: &str = "kmsg.path = \"/run/made-up-kmsg\"
metrics-address = \"off\"
[services]
interval = \"5s\"
[[service]]
unit = \"fails.service\"
[[service]]
unit = \"loops.service\"
[[service]]
unit = \"starts.service\"
for = \"5s\"
[[service]]
unit = \"not-installed.service\"
";
const FAILS: &str = "[Service]\nExecStart=/bin/sh -c 'test -e /run/well && exec sleep infinity'\n";
const LOOPS: &str =
    "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c 'test -e /run/well && exec sleep infinity'
Restart=always\nRestartSec=200ms\n";
const STARTS: &str = "[Service]\nType=notify\nNotifyAccess=all\nTimeoutStartSec=infinity
ExecStart=/bin/sh -c 'until test -e /run/well; do sleep 0.2; done; systemd-notify --ready; exec sleep infinity'\n";

fn boot(release: Release) -> Machine {
    let machine = Machine::boot(release);
    for program in ["nodewelld", "nodewell-checks"] {
        machine.copy(&binary(program), &format!("/usr/bin/{program}"));
    }
    machine.write("/run/made-up-kmsg", "");
    machine.write("/etc/nodewell/nodewell.toml", CONFIG);
    let units = [
        ("nodewell", AGENT),
        ("nodewell-check", include_str!("../../systemd/nodewell-check.service")),
        ("fails", FAILS),
        ("loops", LOOPS),
        ("kubelet", LOOPS),
        ("starts", STARTS),
    ];
    for (name, unit) in units {
        machine.write(&format!("/etc/systemd/system/{name}.service"), unit);
    }
    machine.sh("systemctl daemon-reload; systemctl start nodewell nodewell-check");
    machine
}

fn problem(machine: &Machine, condition: &str, subject: Option<&str>) -> Option<ProblemView> {
    machine.condition(condition)?.problems.into_iter().find(|problem| problem.subject.as_deref() == subject)
}

#[track_caller]
fn wait_reason(machine: &Machine, subject: &str, reason: Option<&str>) {
    until_within(PATIENCE, &format!("{subject}: {reason:?}"), || {
        let found = problem(machine, "ServiceUnhealthy", Some(subject));
        (found.as_ref().map(|found| found.reason.as_str()) == reason).then_some(())
    });
}

fn systemd_reports_how_units_are(release: Release) {
    let machine = boot(release);
    machine.wait_condition("ServiceUnhealthy", "False");
    machine.sh("systemctl start --no-block fails loops starts kubelet");
    wait_reason(&machine, "fails.service", Some("ServiceFailed"));
    wait_reason(&machine, "loops.service", Some("ServiceRestarting"));
    wait_reason(&machine, "starts.service", Some("ServiceActivatingTooLong"));
    let restarts = until_within(PATIENCE, "restarts of the kubelet are counted", || {
        problem(&machine, "FrequentKubeletRestart", None).filter(|problem| problem.source.contains("services"))
    });
    assert_eq!(restarts.reason.as_str(), "FrequentKubeletRestart");
    assert!(problem(&machine, "ServiceUnhealthy", Some("not-installed.service")).is_none());
    // The bus restarts, and with it every connection to it.
    machine.sh("systemctl restart dbus.service; touch /run/well; systemctl reset-failed fails; systemctl start fails");
    wait_reason(&machine, "fails.service", None);
    wait_reason(&machine, "starts.service", None);
    // One that a person stops is no fault.
    machine.sh("systemctl stop fails");
    machine.wait_property("fails.service", "ActiveState", "inactive");
    assert!(problem(&machine, "ServiceUnhealthy", Some("fails.service")).is_none());
    assert_eq!(machine.property("nodewell-check.service", "NRestarts"), "0");
}
