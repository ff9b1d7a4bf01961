//! I20 and the rates of a leader that is gone: what it did still counts, whatever any clock shows.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{
    decide::{Handover, Memory, decide},
    guard::{history::History, stage::DisruptionLevel, storm::StormState},
    policy::Storm,
    snapshot::HostView,
    time::{Moment, Now},
};

const HOUR: u64 = 3600;

fn rate(count: u32) -> Option<Rate> {
    Some(Rate { count, window: Duration::from_secs(HOUR) })
}

/// A policy with rates for everything.
fn policy() -> Policy {
    let mut policy = Policy { name: "p".into(), mode: Mode::Enforce, ..wide() };
    policy.budget.rate = rate(3);
    policy.cordon_budget.rate = rate(10);
    policy.pods = Rate { count: 20, window: Duration::from_secs(600) };
    policy.power_cycles = Rate { count: 2, window: Duration::from_secs(24 * HOUR) };
    policy
}

fn snapshot() -> Snapshot {
    let nodes = (0..10).map(|number| format!("n{number}")).map(|name| (name.clone(), node(&name))).collect();
    Snapshot { nodes, policies: vec![policy()], epoch: 1, ..Snapshot::default() }
}

/// A leader that took nodes, moved pods and cycled power, and whose records are all closed.
fn busy() -> History {
    let mut history = History::default();
    for number in 1..4 {
        history.charge("p", &format!("n{number}"), &format!("fence-n{number}"), DisruptionLevel::Power, at(1000));
        history.charge_pods("p", &format!("n{number}"), 5, at(1000));
    }
    let mut fences = snapshot();
    let mut record = record("n1", Phase::Recovering);
    record.status.cycles = vec![wall(500), wall(900)];
    fences.fences.insert("n1".into(), record);
    history.learn(&fences, now(1000));
    history
}

/// Passed on as text, and read by a leader whose clocks show this.
fn handed_over(history: &History, at: Now, elapsed: u64, then: Now) -> History {
    let text = serde_json::to_string(&history.handover(&snapshot(), at)).unwrap();
    let handover: Handover = serde_json::from_str(&text).unwrap();
    History::inherited(&handover.aged(Duration::from_secs(elapsed), Duration::ZERO), then)
}

/// Remediations that began disruptively, pods moved, cycles of `n1`; as guards count them for `n9`.
fn counted(history: &History, now: Now) -> (usize, usize, usize) {
    let policy = policy();
    let within = Duration::from_secs(HOUR);
    (
        history.started_within("p", DisruptionLevel::Power, "n9", within, now.moment),
        history.pods("p", policy.pods, "n9", now.moment),
        history.cycles("n1", None, policy.power_cycles.window, now),
    )
}

#[test]
fn the_next_leader_counts_what_the_one_before_did() {
    let before = busy();
    assert_eq!(counted(&before, now(1100)), (3, 15, 2));
    // Another program: its own clock began elsewhere.
    let later = Now { moment: at(500_000), wall: wall(1100) };
    let mut after = handed_over(&before, now(1100), 0, later);
    assert_eq!(counted(&after, later), (3, 15, 2));
    after.learn(&snapshot(), later);
    assert_eq!(counted(&after, later), (3, 15, 2), "and goes on counting");
    assert_eq!(after.cycles_of("n1"), [wall(500), wall(900)], "a record that it opens has them too");
}

#[test]
fn what_was_handed_over_is_forgotten_when_its_window_is_over() {
    let later = Now { moment: at(500_000), wall: wall(1100) };
    let after = handed_over(&busy(), now(1100), 0, later);
    let in_secs = |secs: u64| Now { moment: at(500_000 + secs), wall: wall(0) };
    assert_eq!(counted(&after, in_secs(499)), (3, 15, 2));
    assert_eq!(counted(&after, in_secs(500)), (3, 0, 2));
    assert_eq!(counted(&after, in_secs(HOUR)), (0, 0, 2));
    assert_eq!(counted(&after, in_secs(24 * HOUR)), (0, 0, 0));
    assert_eq!(
        counted(&handed_over(&busy(), now(1100), HOUR, later), later),
        (0, 0, 2),
        "seen to pass between leaders"
    );
}

#[test]
fn an_open_record_is_counted_once() {
    let mut open = snapshot();
    let mut fence = record("n1", Phase::PoweringOff);
    fence.status.cycles = vec![wall(950)];
    open.fences.insert("n1".into(), fence);
    let mut before = History::default();
    before.learn(&open, now(1000));
    // Its clock is two minutes behind.
    let later = Now { moment: at(500_000), wall: wall(880) };
    let mut after = handed_over(&before, now(1000), 0, later);
    after.learn(&open, later);
    assert_eq!(counted(&after, later), (1, 0, 1));
}

#[test]
fn more_than_fits_is_still_counted() {
    let mut before = History::default();
    for number in 0..3000_u64 {
        before.charge("p", &format!("n{number}"), "r", DisruptionLevel::Power, at(number / 10));
        before.charge_pods("p", &format!("n{number}"), 2, at(number / 10));
    }
    let then = now(300);
    let text = serde_json::to_string(&before.handover(&snapshot(), then)).unwrap();
    assert!(text.len() < 150_000, "{} bytes", text.len());
    let after = handed_over(&before, then, 0, then);
    assert_eq!(counted(&after, then), (3000, 6000, 0));
}

#[test]
fn a_handover_that_cannot_be_read_used_everything_up_for_its_windows() {
    let mut fixture = Fixture::new();
    fixture.policy = policy();
    assert_eq!(fixture.all_blockers().power, []);
    fixture.history = History::inherited(&Handover::lost(), now(1000));
    assert_eq!(reasons(&fixture.all_blockers().power), ["Rate", "PodRate"]);
    fixture.history = History::inherited(&Handover::lost(), Now { moment: Moment::default(), wall: wall(0) });
    assert_eq!(reasons(&fixture.all_blockers().power), ["Rate"], "1000 s are more than the window of pods");
}

/// The leader that found it may be gone in a moment, and the next one knows no more than it.
#[test]
fn what_one_leader_could_not_read_the_one_after_it_does_not_know_either() {
    let history = History::inherited(&Handover::lost(), now(1000));
    let later = Now { moment: at(500_000), wall: wall(1000) };
    const USED_UP: usize = usize::MAX;
    for (age, started, pods) in [(0, USED_UP, USED_UP), (589, USED_UP, USED_UP), (590, USED_UP, 0), (3590, 0, 0)] {
        let next = handed_over(&history, now(1000 + age), 10, later);
        assert_eq!(counted(&next, later), (started, pods, 0), "{age}");
    }
}

/// Each leader merges what is too much, and the next one merges that again.
#[test]
fn what_was_merged_is_counted_after_every_change_of_the_leader() {
    let mut history = History::default();
    for number in 0..1200_u64 {
        history.charge("p", &format!("n{number}"), "r", DisruptionLevel::Power, at(100));
        history.charge_pods("p", &format!("n{number}"), 2, at(100));
    }
    for _ in 0..3 {
        history = handed_over(&history, now(300), 0, now(300));
        assert_eq!(counted(&history, now(300)), (1200, 2400, 0));
        history.charge("p", "n9", "r", DisruptionLevel::Power, at(300));
    }
}

/// An annotation is whatever its writer makes it.
#[test]
fn numbers_that_are_none_use_everything_up() {
    let most = format!("{}", usize::MAX);
    let text = format!(
        r#"{{ "pods": [{{ "policy": "p", "node": "a", "age": 0, "pods": {most} }}, {{ "policy": "p", "age": 0, "pods": {most} }},
            {{ "policy": "p", "node": "b", "age": 0, "pods": {most}, "isOpen": true }}],
            "started": [{{ "policy": "p", "disruptive": true, "age": 0, "count": {most} }}] }}"#
    );
    let mut history = History::inherited(&serde_json::from_str(&text).unwrap(), now(1000));
    for _ in 0..2 {
        let (started, pods, _) = counted(&history, now(1000));
        assert!(started > 10_000 && pods == usize::MAX, "{started} {pods}");
        history = handed_over(&history, now(1000), 0, now(1000));
    }
}

#[test]
fn a_rate_without_a_limit_is_not_handed_over() {
    let mut free = snapshot();
    free.policies[0].budget.rate = None;
    free.policies[0].cordon_budget.rate = None;
    let text = serde_json::to_string(&busy().handover(&free, now(1100))).unwrap();
    assert!(!text.contains("started") && text.contains("pods"), "{text}");
    free.policies.clear();
    let text = serde_json::to_string(&busy().handover(&free, now(1100))).unwrap();
    assert!(text.contains("started"), "its policy may come back: {text}");
}

#[test]
fn a_storm_outlives_its_leader_and_old_faults_are_none() {
    let storm = Storm { cooldown: Duration::from_secs(600), ..Policy::default().storm };
    let all: Vec<String> = (0..8).map(|number| format!("n{number}")).collect();
    let set = |count: usize| all[..count].iter().map(String::as_str).collect::<BTreeSet<&str>>();
    let observe = |state: &mut StormState, count: usize, at: Moment| {
        let blockers = state.observe(&storm, set(count), 100, &HostView::default(), at);
        reasons(&blockers).join(" ")
    };
    let over = |state: &StormState, from: Moment, to: Moment| {
        let text = serde_json::to_string(&state.handover(from)).unwrap();
        StormState::inherited(&serde_json::from_str(&text).unwrap(), to)
    };
    // Six nodes, one an hour: no storm, and none for the next leader.
    let mut calm = StormState::default();
    for count in 1..=6 {
        assert_eq!(observe(&mut calm, count, at(count as u64 * HOUR)), "");
    }
    let mut next = over(&calm, at(7 * HOUR), at(90 * HOUR));
    assert_eq!(observe(&mut next, 6, at(90 * HOUR)), "", "they were unhealthy before");
    assert_eq!(observe(&mut next, 8, at(90 * HOUR)), "");
    assert_eq!(observe(&mut StormState::default(), 6, at(90 * HOUR)), "Storm", "without a handover that is not known");
    // Four just before the change and one after it are five within the minute.
    let mut wild = StormState::default();
    assert_eq!(observe(&mut wild, 4, at(HOUR)), "");
    let mut next = over(&wild, at(HOUR + 20), at(90 * HOUR));
    assert_eq!(observe(&mut next, 5, at(90 * HOUR + 30)), "Storm");
    // Its cooldown goes on where it was.
    let mut next = over(&next, at(90 * HOUR + 130), at(300 * HOUR));
    assert_eq!(observe(&mut next, 1, at(300 * HOUR)), "StormCooldown");
    assert_eq!(observe(&mut next, 1, at(300 * HOUR + 499)), "StormCooldown");
    assert_eq!(observe(&mut next, 1, at(300 * HOUR + 500)), "");
}

#[test]
fn a_decision_goes_on_where_the_last_leader_stopped() {
    let mut fixture = snapshot();
    fixture.host.synced = true;
    let given = |memory: Memory, at: Now| decide(&fixture, memory, at);
    let first = given(Memory::default(), now(1000)).memory;
    let handover = first.handover(&fixture, now(1000));
    let again = Memory::inherited(&handover, now(1000)).handover(&fixture, now(1000));
    assert_eq!(again, handover);
}

/// Cycles of records that are closed or gone, as the next leader writes them down at the end of its first decision.
fn cycles_after_one_decision(fixture: &Snapshot, memory: Memory) -> usize {
    let memory = decide(fixture, memory, now(1000)).memory;
    let handover = serde_json::to_value(memory.handover(&snapshot(), now(1000))).unwrap();
    handover["cycles"].as_array().map_or(0, Vec::len)
}

/// A person deletes a record while no replica leads; the next leader has seen it go.
#[test]
fn the_next_leader_counts_cycles_that_it_saw_go_itself() {
    let mut fixture = snapshot();
    fixture.host.synced = true;
    let departed = BTreeMap::from([("n1".to_owned(), BTreeMap::from([(wall(900), at(900)), (wall(950), at(950))]))]);
    assert_eq!(cycles_after_one_decision(&fixture, Memory::default()), 0);
    assert_eq!(cycles_after_one_decision(&fixture, Memory::default().with_cycles(&departed)), 2);
}

/// A term begins when the records are listed; the nodes may still be on their way.
#[test]
fn nodes_that_are_not_listed_yet_keep_their_cycles() {
    let handover = busy().handover(&snapshot(), now(1000));
    let mut fixture = Snapshot { nodes: BTreeMap::new(), ..snapshot() };
    assert_eq!(cycles_after_one_decision(&fixture, Memory::inherited(&handover, now(1000))), 2);
    fixture.host.synced = true;
    assert_eq!(cycles_after_one_decision(&fixture, Memory::inherited(&handover, now(1000))), 0, "they are gone");
}

proptest! {
    /// I20: neither leader's wall clock makes a difference.
    #[test]
    fn no_clock_widens_what_is_permitted(
        started in proptest::collection::vec(0_u64..5000, 0..8), skew in -100_000_i64..100_000, elapsed in 0_u64..5000,
    ) {
        let mut before = History::default();
        for (number, second) in started.iter().enumerate() {
            before.charge("p", &format!("n{number}"), "r", DisruptionLevel::Power, at(*second));
        }
        let end = now(5000);
        let then = Now { moment: at(1_000_000), wall: wall(5000 + skew) };
        let after = handed_over(&before, end, elapsed, then);
        let truly = started.iter().filter(|second| 5000 - **second + elapsed < HOUR).count();
        prop_assert_eq!(counted(&after, then).0, truly);
    }
}

/// What it says of `powerCycles` when it is mended is not known: it may reach far back.
#[test]
fn power_cycles_are_handed_over_while_a_policy_cannot_be_read() {
    let mut unread = snapshot();
    unread.unreadable_policies.insert("q".into(), "spec.powerCycles: a typo".into());
    let later = now(1000 + 7 * 24 * HOUR);
    let handed = |snapshot: &Snapshot| History::inherited(&busy().handover(snapshot, later), later).cycles_of("n1");
    assert!(handed(&snapshot()).is_empty(), "no window reaches so far back");
    assert_eq!(handed(&unread), [wall(500), wall(900)]);
}

fn as_json(history: &History, snapshot: &Snapshot, at: Now) -> serde_json::Value {
    serde_json::to_value(history.handover(snapshot, at)).unwrap()
}

fn count(json: &serde_json::Value, kind: &str) -> usize {
    json[kind].as_array().map_or(0, Vec::len)
}

/// To the second, as the guards count.
#[test]
fn what_no_guard_counts_any_more_is_not_handed_over() {
    let mut history = History::default();
    history.charge("p", "n1", "f", DisruptionLevel::Isolate, at(1000));
    history.charge_pods("p", "n1", 5, at(1000));
    history.charge_pods("p", "n2", 0, at(1000));
    history.remember_departed(&[("n1".to_owned(), [(wall(1000), at(1000))].into())].into());
    for (kind, window) in [("started", HOUR), ("pods", 600), ("cycles", 24 * HOUR)] {
        for (age, expected) in [(window - 1, 1), (window, 0)] {
            assert_eq!(count(&as_json(&history, &snapshot(), now(1000 + age)), kind), expected, "{kind} {age}");
        }
    }
    assert!(!as_json(&history, &snapshot(), now(1000)).to_string().contains("count"), "one is the default");
}

/// Those beyond the newest 500 are one entry of their policy, with their sum.
#[test]
fn five_hundred_entries_are_handed_over_one_by_one() {
    for (nodes, entries, merged) in [(500, 500, None), (501, 501, Some(5)), (510, 501, Some(50))] {
        let mut history = History::default();
        for number in 0..nodes {
            history.charge_pods("p", &format!("n{number}"), 5, at(1000));
        }
        let json = as_json(&history, &snapshot(), now(1000));
        assert_eq!(count(&json, "pods"), entries, "{nodes}");
        let rest = json["pods"].as_array().unwrap().iter().find(|entry| entry.get("node").is_none());
        assert_eq!(rest.and_then(|entry| entry["pods"].as_u64()), merged, "{nodes}");
    }
}

#[test]
fn storms_are_handed_over_with_the_rest() {
    let mut state = StormState::default();
    let all: Vec<String> = (0..9).map(|number| format!("n{number}")).collect();
    let unhealthy: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    state.observe(&policy().storm, unhealthy, 10, &HostView::default(), at(1000));
    let storms = BTreeMap::from([("p".to_owned(), state.handover(at(1010)))]);
    let handover = Handover::default().with_storms(storms.clone());
    assert_eq!(handover.storms, storms);
    assert_ne!(serde_json::to_value(&handover).unwrap(), serde_json::to_value(Handover::default()).unwrap());
}
