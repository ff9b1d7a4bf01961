//! Looks at tasks, one after the other.

use proptest::prelude::*;

use super::*;

fn id(pid: u32) -> TaskId {
    TaskId { pid, start: 7 }
}

fn zombies(parent: &str, pids: std::ops::Range<u32>) -> Vec<Zombie> {
    pids.map(|pid| Zombie { id: id(pid), parent: parent.to_owned() }).collect()
}

fn blocked(pids: std::ops::Range<u32>, ticks: u64) -> Vec<Blocked> {
    let task = |pid| Blocked { id: id(pid), name: "nfs".to_owned(), ticks, wait_channel: "rpc_wait".to_owned() };
    pids.map(task).collect()
}

/// Reason and subject of what is reported after each look.
fn replay(looks: Vec<Scan>) -> Vec<Vec<(String, String)>> {
    let mut tasks = Tasks::default();
    let settings = LimitsSettings::default();
    let problems = |scan: Scan| {
        tasks.take(&scan, &settings);
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
    let of_java = |count| with_zombies(zombies("java", 0..count));
    let problems = replay(vec![of_java(120), of_java(120), of_java(60), of_java(49), of_java(60)]);
    let java = vec![("ZombieTasks".to_owned(), "java".to_owned())];
    assert_eq!(problems, [vec![], java.clone(), java, vec![], vec![]]);
}

#[test]
fn zombies_that_come_and_go_are_normal() {
    let looks = (0..5).map(|n| with_zombies(zombies("make", n * 1000..n * 1000 + 900))).collect();
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
        tasks.take(&with_blocked(blocked(0..20, 3)), &settings);
    }
    let mut tasks = Tasks::load(serde_json::from_value(serde_json::to_value(tasks.saved()).unwrap()).unwrap());
    assert_eq!(tasks.keys().len(), 2);
    tasks.take(&Scan::default(), &settings);
    assert_eq!(tasks.verdicts(&LimitsSettings::default()).len(), 2);
    tasks.take(&Scan::default(), &settings);
    assert_eq!(tasks.verdicts(&LimitsSettings::default()).len(), 1);
}

proptest! {
    #[test]
    fn keys_and_verdicts_are_of_the_same(counts in prop::collection::vec((0_u32..200, 0_u32..30), 1..10)) {
        let mut tasks = Tasks::default();
        for (dead, waiting) in counts {
            let scan = Scan { zombies: zombies("p", 0..dead), blocked: blocked(0..waiting, 0), daemons: Vec::new() };
            tasks.take(&scan, &LimitsSettings::default());
            let subjects: Vec<String> = tasks.verdicts(&LimitsSettings::default()).into_iter().map(|verdict| verdict.subject).collect();
            prop_assert_eq!(tasks.keys().into_iter().map(|key| key.subject.unwrap_or_default()).collect::<Vec<_>>(), subjects);
        }
    }
}
