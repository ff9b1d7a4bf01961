//! Which act has a planted fault as its cause.

use nodewell_cluster::soak::{
    act::{
        Act::{self, Condition, Cordon, OutOfService, PowerOff, PowerOn, Record, Taint},
        Planted,
        Verdict::{self, Caused, False, Outer, Wrong},
        judge,
    },
    fault::Fault::{self, *},
};
use nodewell_tests::suite::Suite;

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("what_each_fault_may_cause", what_each_fault_may_cause)
        .case("nothing_has_a_cause_elsewhere_or_without_a_fault", nothing_has_a_cause_elsewhere_or_without_a_fault)
        .case(
            "a_late_condition_has_a_cause_and_a_late_act_has_none",
            a_late_condition_has_a_cause_and_a_late_act_has_none,
        );
}

/// All but conditions.
const ACTS: [fn() -> Act; 6] =
    [|| PowerOff, || PowerOn, || OutOfService, || Cordon, || Record, || Taint("nodewell.dev/remediation".to_owned())];
const CONDITIONS: [&str; 8] = [
    "KubeletUnhealthy",
    "ContainerRuntimeUnhealthy",
    "NetworkUnhealthy",
    "FenceReady",
    "ReadonlyFilesystem",
    "DiskUnhealthy",
    "KernelUnhealthy",
    "FrequentKubeletRestart",
];
const OUTER: [&str; 10] = [
    "CpuPressureHigh",
    "MemoryPressureHigh",
    "IoPressureHigh",
    "ClockUnhealthy",
    "FilesystemFull",
    "FrequentUnregisterNetDevice",
    "KernelDeadlock",
    "AgentStateUnwritable",
    "MountHung",
    "TasksUnhealthy",
];

fn planted(fault: Fault, node: Option<&str>, is_over: bool) -> Planted {
    Planted { fault, node: node.map(str::to_owned), is_over }
}

fn verdict(act: &Act, fault: Fault) -> Verdict {
    judge(act, "w1", Some(&planted(fault, Some("w1"), false)))
}

fn condition(name: &str) -> Act {
    Condition(name.to_owned())
}

/// Which of the acts, by their numbers, and which conditions.
type Causes = (&'static [usize], &'static [&'static str]);

fn what_each_fault_may_cause() {
    let boots: &'static [&str] = &CONDITIONS[..3];
    let fenced: Causes = (&[0, 1, 2, 3, 4], &CONDITIONS[..4]);
    let cordoned: &'static [usize] = &[3, 4];
    let cases: [(Fault, Causes); 10] = [
        (PlugPulled, fenced),
        (CablePulled, fenced),
        (KubeletStopped, fenced),
        (RuntimeStopped, (cordoned, boots)),
        (DiskFailed, (cordoned, &CONDITIONS[4..6])),
        (Reported, (&[], &["DiskUnhealthy"])),
        (ApiServerAway, (&[], &["DiskUnhealthy"])),
        (AgentKilled, (&[], &[])),
        (LeaderKilled, (&[], &[])),
        (OrderlyReboot, (&[], boots)),
    ];
    for (fault, (acts, conditions)) in cases {
        for (number, act) in ACTS.iter().enumerate() {
            let expected = if acts.contains(&number) { Caused } else { Wrong };
            assert_eq!(verdict(&act(), fault), expected, "{fault}: {}", act());
        }
        for name in CONDITIONS {
            let expected = if conditions.contains(&name) { Caused } else { False };
            assert_eq!(verdict(&condition(name), fault), expected, "{fault}: {name}");
        }
    }
}

fn nothing_has_a_cause_elsewhere_or_without_a_fault() {
    let elsewhere = [None, Some(planted(PlugPulled, Some("w2"), false)), Some(planted(PlugPulled, None, false))];
    for planted in &elsewhere {
        for act in ACTS {
            assert_eq!(judge(&act(), "w1", planted.as_ref()), Wrong, "{planted:?}: {}", act());
        }
        for name in CONDITIONS {
            assert_eq!(judge(&condition(name), "w1", planted.as_ref()), False, "{planted:?}: {name}");
        }
        // True of the machine that all others run on.
        for name in OUTER {
            assert_eq!(judge(&condition(name), "w1", planted.as_ref()), Outer, "{planted:?}: {name}");
        }
    }
}

fn a_late_condition_has_a_cause_and_a_late_act_has_none() {
    let over = planted(PlugPulled, Some("w1"), true);
    assert_eq!(judge(&condition("KubeletUnhealthy"), "w1", Some(&over)), Caused);
    assert_eq!(judge(&condition("KubeletUnhealthy"), "w2", Some(&over)), False);
    for act in ACTS {
        assert_eq!(judge(&act(), "w1", Some(&over)), Wrong, "{}", act());
    }
}
