//! Looks at tasks, one after the other.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::text;
use proptest::prelude::*;

use super::*;

fn id(pid: u32) -> TaskId {
    TaskId { pid, start: 7 }
}

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

fn now() -> Now {
    Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(1000), boot_id: "a".to_owned() }
}

fn of_unit(pid: u32) -> Process {
    Process { pid, name: "java".to_owned(), owner: Some(Owner::Unit("app.service".to_owned())) }
}

fn of_pod(pid: u32) -> Process {
    Process { owner: Some(Owner::Pod(UID.to_owned())), ..of_unit(pid) }
}

fn zombies(parent: &Process, pids: std::ops::Range<u32>) -> Vec<Zombie> {
    pids.map(|pid| Zombie { id: id(pid), parent: parent.clone() }).collect()
}

fn blocked(pids: std::ops::Range<u32>, ticks: u64) -> Vec<Blocked> {
    let task =
        |pid| Blocked { id: id(pid), name: "nfs".to_owned(), ticks, wait_channel: "rpc_wait".to_owned(), pod: None };
    pids.map(task).collect()
}

/// Reason and subject of what is reported after each look.
fn replay(looks: Vec<Scan>) -> Vec<Vec<(String, String)>> {
    let mut tasks = Tasks::default();
    let settings = LimitsSettings::default();
    let problems = |scan: Scan| {
        tasks.take(&scan, &settings, &PodNames::default(), &now());
        let verdicts = tasks.verdicts(&LimitsSettings::default()).into_iter();
        let fault = |verdict: Verdict| match verdict.state {
            State::Faulty(faults) => Some((faults[0].reason.to_string(), verdict.subject)),
            _ => None,
        };
        verdicts.filter_map(fault).collect()
    };
    looks.into_iter().map(problems).collect()
}

fn with_zombies(zombies: Vec<Zombie>) -> Scan {
    Scan { zombies, ..Scan::default() }
}

fn with_blocked(blocked: Vec<Blocked>) -> Scan {
    Scan { blocked, ..Scan::default() }
}

#[test]
fn zombies_that_stay_are_their_parents_problem_until_few_are_left() {
    let of_java = |count| with_zombies(zombies(&of_unit(7), 0..count));
    let problems = replay(vec![of_java(120), of_java(120), of_java(60), of_java(49), of_java(60)]);
    let java = vec![("ZombieTasks".to_owned(), "java (pid 7) of app.service".to_owned())];
    assert_eq!(problems, [vec![], java.clone(), java, vec![], vec![]]);
}

/// As `kubectl describe node` shows it: the subject is before the message.
#[test]
fn the_message_of_the_condition_names_the_parent() {
    let long =
        Process { owner: Some(Owner::Unit("snap.microk8s.daemon-kubelite.service".to_owned())), ..of_unit(4_194_304) };
    for parent in [of_unit(4_194_304), long, Process { owner: None, ..of_unit(4_194_304) }] {
        let mut tasks = Tasks::default();
        for _ in 0..2 {
            let scan = with_zombies(zombies(&parent, 0..120));
            assert!(tasks.take(&scan, &LimitsSettings::default(), &PodNames::default(), &now()).is_empty());
        }
        let verdicts = tasks.verdicts(&LimitsSettings::default());
        let State::Faulty(faults) = &verdicts[1].state else { panic!("{verdicts:?}") };
        let message = text::about(Some(&verdicts[1].subject), &faults[0].message);
        assert!(message.starts_with("java (pid 4194304)") && message.contains("120"), "{message}");
    }
}

#[test]
fn two_parents_of_one_name_are_two() {
    let both = || with_zombies([zombies(&of_unit(7), 0..60), zombies(&of_unit(8), 60..120)].concat());
    assert!(replay(vec![both(), both()]).iter().all(Vec::is_empty));
}

#[test]
fn zombies_of_a_pod_are_an_event_and_no_problem_of_the_node() {
    let mut tasks = Tasks::default();
    let looks = [120, 120, 120].map(|count| {
        // Of a pod's processes that with the most is named.
        let scan = with_zombies([zombies(&of_pod(7), 0..20), zombies(&of_pod(8), 20..20 + count)].concat());
        let events = tasks.take(&scan, &LimitsSettings::default(), &PodNames::default(), &now());
        assert_eq!(tasks.keys().len(), 1, "the node alone");
        events
    });
    assert_eq!(looks.each_ref().map(Vec::len), [0, 1, 0]);
    let event = &looks[1][0];
    assert_eq!((event.reason.as_str(), event.subject.as_deref()), ("PodZombieTasks", Some(UID)));
    assert!(event.message.contains("java (pid 8)") && event.message.contains("120"), "{}", event.message);
}

#[test]
fn blocked_tasks_of_pods_are_the_nodes_problem_and_name_the_pods() {
    let names = PodNames::default();
    names.replace([(UID.to_owned(), "default/web-0".to_owned())].into());
    let mut stuck = blocked(0..20, 3);
    stuck[..15].iter_mut().for_each(|task| task.pod = Some(UID.to_owned()));
    stuck[15..19].iter_mut().for_each(|task| task.pod = Some(format!("u{}", task.id.pid)));
    let mut tasks = Tasks::default();
    for _ in 0..2 {
        assert!(tasks.take(&with_blocked(stuck.clone()), &LimitsSettings::default(), &names, &now()).is_empty());
    }
    let verdicts = tasks.verdicts(&LimitsSettings::default());
    let State::Faulty(faults) = &verdicts[1].state else { panic!("{verdicts:?}") };
    assert!(faults[0].message.contains("of pods default/web-0, u15, u16 and 2 more"), "{}", faults[0].message);
    assert_eq!(faults[0].reason.as_str(), "BlockedTasks");
}

#[test]
fn zombies_that_come_and_go_are_normal() {
    let looks = (0..5).map(|n| with_zombies(zombies(&of_unit(7), n * 1000..n * 1000 + 900))).collect();
    assert!(replay(looks).iter().all(Vec::is_empty));
}

#[test]
fn tasks_that_use_a_cpu_now_and_then_are_not_stuck() {
    let looks = (0..5).map(|n| with_blocked(blocked(0..50, n))).collect();
    assert!(replay(looks).iter().all(Vec::is_empty));
}

#[test]
fn tasks_that_never_move_are_stuck_until_few_are_left() {
    let looks = [20, 20, 9, 5, 4].map(|count| with_blocked(blocked(0..count, 3))).to_vec();
    let problems: Vec<bool> = replay(looks).iter().map(|problems| !problems.is_empty()).collect();
    assert_eq!(problems, [false, true, true, true, false]);
}

#[test]
fn what_waits_is_named() {
    let tasks: Vec<Blocked> =
        blocked(0..3, 0).into_iter().chain([Blocked { name: "x".to_owned(), ..Blocked::default() }]).collect();
    assert_eq!(kinds(&tasks.iter().collect::<Vec<_>>()), "3 × nfs (rpc_wait), 1 × x");
}

#[test]
fn what_was_reported_holds_until_two_further_looks() {
    let mut tasks = Tasks::default();
    let settings = LimitsSettings::default();
    for _ in 0..2 {
        tasks.take(&with_blocked(blocked(0..20, 3)), &settings, &PodNames::default(), &now());
    }
    let mut tasks = Tasks::load(serde_json::from_value(serde_json::to_value(tasks.saved()).unwrap()).unwrap());
    assert_eq!(tasks.keys().len(), 2);
    tasks.take(&Scan::default(), &settings, &PodNames::default(), &now());
    assert_eq!(tasks.verdicts(&LimitsSettings::default()).len(), 2);
    tasks.take(&Scan::default(), &settings, &PodNames::default(), &now());
    assert_eq!(tasks.verdicts(&LimitsSettings::default()).len(), 1);
}

proptest! {
    #[test]
    fn keys_and_verdicts_are_of_the_same(counts in prop::collection::vec((0_u32..200, 0_u32..30), 1..10)) {
        let mut tasks = Tasks::default();
        for (dead, waiting) in counts {
            let scan = Scan { zombies: zombies(&of_unit(7), 0..dead), blocked: blocked(0..waiting, 0), daemons: Vec::new() };
            tasks.take(&scan, &LimitsSettings::default(), &PodNames::default(), &now());
            let subjects: Vec<String> = tasks.verdicts(&LimitsSettings::default()).into_iter().map(|verdict| verdict.subject).collect();
            prop_assert_eq!(tasks.keys().into_iter().map(|key| key.subject.unwrap_or_default()).collect::<Vec<_>>(), subjects);
        }
    }
}
