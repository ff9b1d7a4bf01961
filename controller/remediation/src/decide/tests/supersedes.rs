//! Of a dead node the policy has the say that frees its pods, and a record that leaves them there gives way to it.

use std::sync::Arc;

use super::*;
use crate::{
    api::{CORDONED_BY, REMEDIATION_TAINT, SKIP_REMEDIATION},
    facts::{Effect, LeaseView, Taint},
    message::Message,
    snapshot::EventsSeen,
};

type Change = fn(&mut Snapshot);

pub(super) fn cordons(name: &str) -> Policy {
    policy(name, vec![cordon()])
}

pub(super) fn frees(name: &str) -> Policy {
    policy(name, vec![cordon(), power_cycle()])
}

/// Frees pods, and is true by an Event alone.
fn by_events(name: &str) -> Policy {
    let when = Predicate::Cel(cel::Expression::compile("'DiskFell' in events").unwrap());
    Policy { when, ..frees(name) }
}

fn disk_fell(snapshot: &mut Snapshot) {
    let reporters = ["kubelet".to_owned()].into();
    let seen = EventsSeen { count: 3, last: at(990), age_when_seen: Duration::ZERO, reporters };
    snapshot.events.insert("n0".into(), [("DiskFell".to_owned(), seen)].into());
}

fn by_name(mut policies: Vec<Policy>) -> Vec<Policy> {
    policies.sort_by(|one, other| one.name.cmp(&other.name));
    policies
}

fn heard(snapshot: &mut Snapshot, name: &str, second: u64) {
    let lease = LeaseView {
        resource_version: String::new(),
        holder: name.into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(second),
    };
    snapshot.kubelet_leases.insert(name.into(), lease);
}

/// Ten nodes of which the first `dead` are dead, and silent since 900.
fn silent(dead: usize, policies: Vec<Policy>) -> Snapshot {
    let mut snapshot = snapshot_of(dead, by_name(policies));
    (0..dead).for_each(|number| heard(&mut snapshot, &format!("n{number}"), 900));
    snapshot
}

/// Each of the dead is cordoned by a record of this policy, which was the only one; now there are these others, too.
pub(super) fn isolated(dead: usize, own: Policy, others: Vec<Policy>) -> (Snapshot, Memory) {
    let by = own.name.clone();
    let mut snapshot = silent(dead, vec![own.clone()]);
    let first = decide(&snapshot, Memory::default(), now(1000));
    store(&mut snapshot, &first, 1000);
    for (name, fence) in &mut snapshot.fences {
        (fence.status.phase, fence.status.own_changes.cordon) = (Phase::Waiting, true);
        let node = snapshot.nodes.get_mut(name).unwrap();
        node.unschedulable = true;
        node.annotations.insert(CORDONED_BY.into(), by.clone());
    }
    snapshot.policies = by_name([vec![own], others].concat());
    (snapshot, first.memory)
}

fn record(snapshot: &mut Snapshot) -> &mut NodeFence {
    snapshot.fences.get_mut("n0").unwrap()
}

/// The last policy by name.
fn heir(snapshot: &mut Snapshot) -> &mut Policy {
    snapshot.policies.last_mut().unwrap()
}

/// What was decided, as the API server would have it.
pub(super) fn apply(snapshot: &mut Snapshot, decision: &Decision, second: u64) {
    store(snapshot, decision, i64::try_from(second).unwrap());
    for action in &decision.actions {
        match action {
            Action::Save { fence, .. } => drop(snapshot.fences.insert(action.node().to_owned(), (**fence).clone())),
            Action::Close { .. } => drop(snapshot.fences.remove(action.node())),
            Action::Open(_) | Action::Perform { .. } => {}
        }
    }
}

/// Why the record of `name` is closed.
pub(super) fn closed<'d>(decision: &'d Decision, name: &str) -> Option<&'d str> {
    decision.actions.iter().find_map(|action| match action {
        Action::Save { fence, why } if action.node() == name && fence.status.phase == Phase::Closed => {
            Some(why.message.as_str())
        }
        Action::Save { .. } | Action::Close { .. } | Action::Open(_) | Action::Perform { .. } => None,
    })
}

pub(super) fn takes_over(policy: &str) -> String {
    Message::of("FenceClosed/superseded", &[("policy", &policy)]).text
}

/// Goes on until the record has closed and is gone, and the next one is open.
fn taken_over(snapshot: &mut Snapshot, mut memory: Memory) -> Memory {
    let mut actions = Vec::new();
    for second in 1001..1004 {
        let decision = decide(snapshot, memory, now(second));
        apply(snapshot, &decision, second);
        actions.extend(decision.actions);
        memory = decision.memory;
    }
    assert!(matches!(&actions[..], [Action::Save { .. }, Action::Close { .. }, Action::Open(_)]), "{actions:?}");
    memory
}

/// The policy whose record is opened for `n0`, and the others that its report names.
fn opens(snapshot: &Snapshot) -> (String, Vec<String>) {
    let decision = decide(snapshot, Memory::default(), now(1000));
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    (fence.spec.policy.clone(), decision.node_reports[0].also.clone())
}

#[test]
fn a_dead_node_gets_a_record_of_the_policy_that_frees_its_pods_whatever_its_name() {
    for (own, heir) in [("a", "z"), ("z", "a")] {
        let mut snapshot = silent(1, vec![cordons(own), frees(heir)]);
        let expected = (heir.to_owned(), vec![own.to_owned()]);
        assert_eq!(opens(&snapshot), expected);
        let first = ("a".to_owned(), vec!["z".to_owned()]);
        heard(&mut snapshot, "n0", 995);
        assert_eq!(opens(&snapshot), first, "it lives");
        snapshot.kubelet_leases.clear();
        assert_eq!(opens(&snapshot), first, "it is not known whether it lives");
    }
}

#[test]
fn a_policy_that_only_observes_or_is_paused_shields_a_dead_node_from_those_after_it() {
    for mode in [Mode::Observe, Mode::Paused] {
        let shield = Policy { mode, ..frees("m") };
        assert_eq!(opens(&silent(1, vec![cordons("a"), shield.clone(), frees("z")])).0, "a");
        let (snapshot, memory) = isolated(1, cordons("a"), vec![shield, frees("z")]);
        let decision = decide(&snapshot, memory, now(1001));
        assert_eq!((closed(&decision, "n0"), reasons(&decision, "n0")), (None, vec!["OnlyIsolates"]));
    }
}

#[test]
fn a_policy_that_is_true_by_events_alone_takes_no_dead_node_over() {
    for (own, other) in [("a", "z"), ("z", "a")] {
        let mut snapshot = silent(1, vec![cordons(own), by_events(other)]);
        disk_fell(&mut snapshot);
        assert_eq!(opens(&snapshot).0, own);
        let (mut snapshot, memory) = isolated(1, cordons(own), vec![by_events(other)]);
        disk_fell(&mut snapshot);
        let decision = decide(&snapshot, memory.clone(), now(1001));
        assert_eq!((closed(&decision, "n0"), reasons(&decision, "n0")), (None, vec!["OnlyIsolates"]));
        snapshot.policies.iter_mut().for_each(|policy| policy.trust_events = true);
        let decision = decide(&snapshot, memory, now(1001));
        assert_eq!(closed(&decision, "n0"), Some(takes_over(other).as_str()));
    }
}

#[test]
fn the_record_of_a_node_that_died_closes_and_the_next_one_has_the_steps_that_free_its_pods() {
    for (own, heir) in [("a", "z"), ("z", "a")] {
        let (mut snapshot, memory) = isolated(1, cordons(own), vec![frees(heir)]);
        let decision = decide(&snapshot, memory.clone(), now(1001));
        assert_eq!(closed(&decision, "n0"), Some(takes_over(heir).as_str()));
        let node_report = &decision.node_reports[0];
        assert_eq!((node_report.policy.as_deref(), &node_report.also[..]), (Some(own), &[heir.to_owned()][..]));
        assert_eq!(reasons(&decision, "n0"), [""; 0]);
        let memory = taken_over(&mut snapshot, memory);
        let fence = &snapshot.fences["n0"];
        assert_eq!((fence.spec.policy.as_str(), fence.spec.steps.len()), (heir, 2));
        let decision = decide(&snapshot, memory, now(1004));
        assert_eq!(closed(&decision, "n0"), None, "it is the last one");
    }
}

/// That was deleted; one that cannot be read may be a shield by now.
#[test]
fn a_record_whose_policy_is_gone_gives_way_and_one_whose_policy_cannot_be_read_stays() {
    let (mut snapshot, memory) = isolated(1, cordons("a"), vec![frees("z")]);
    snapshot.policies.remove(0);
    let decision = decide(&snapshot, memory.clone(), now(1001));
    assert_eq!(closed(&decision, "n0"), Some(takes_over("z").as_str()));
    snapshot.unreadable_policies.insert("a".into(), "spec.when: a typo".into());
    let decision = decide(&snapshot, memory, now(1001));
    assert_eq!((closed(&decision, "n0"), reasons(&decision, "n0").contains(&"OnlyIsolates")), (None, false));
}

#[test]
fn a_policy_that_has_got_a_power_cycle_is_the_heir_of_its_own_record() {
    let (mut snapshot, memory) = isolated(1, cordons("a"), Vec::new());
    snapshot.policies[0].steps.push(power_cycle());
    let decision = decide(&snapshot, memory.clone(), now(1001));
    assert_eq!(closed(&decision, "n0"), Some(takes_over("a").as_str()));
    assert_eq!(decision.node_reports[0].also, [""; 0]);
    taken_over(&mut snapshot, memory);
    let NodeFence { spec, status, .. } = &snapshot.fences["n0"];
    assert_eq!((spec.policy.as_str(), spec.steps.len(), status.own_changes.cordon), ("a", 2, true));
}

/// The Node's annotation names the policy that cordoned it.
#[test]
fn the_next_record_takes_over_our_taint_and_no_other_policys_cordon() {
    let (mut snapshot, memory) = isolated(1, cordons("a"), vec![frees("z")]);
    let ours = Taint { key: REMEDIATION_TAINT.into(), value: String::new(), effect: Effect::NoSchedule };
    snapshot.nodes.get_mut("n0").unwrap().taints = vec![ours.clone()];
    record(&mut snapshot).status.own_changes.taints = vec![ours.clone()];
    taken_over(&mut snapshot, memory);
    let own_changes = &snapshot.fences["n0"].status.own_changes;
    assert_eq!((own_changes.cordon, &own_changes.taints[..]), (false, &[ours][..]));
}

/// Its record has nothing left to do, and says so.
pub(super) fn exhausted(snapshot: &mut Snapshot, mut memory: Memory) -> Decision {
    for second in [1001, 1400] {
        let decision = decide(snapshot, memory, now(second));
        apply(snapshot, &decision, second);
        memory = decision.memory;
    }
    decide(snapshot, memory, now(1401))
}

#[test]
fn what_blocks_the_heir_keeps_the_record_open_and_is_reported_in_place_of_what_blocks_the_record() {
    let cases: [(&[&str], Change); 12] = [
        (&["BudgetCluster"], |snapshot| {
            let budget = &mut heir(snapshot).cordon_budget;
            (budget.cluster, budget.dead) = (CountOrPercent::Count(0), CountOrPercent::Count(0));
        }),
        (&["MaxConcurrent"], |snapshot| heir(snapshot).cordon_budget.max_concurrent = Some(0)),
        (&["Rate"], |snapshot| {
            heir(snapshot).cordon_budget.rate = Some(Rate { count: 0, window: Duration::from_secs(60) });
        }),
        (&["Storm"], |snapshot| heir(snapshot).storm.unhealthy = CountOrPercent::Count(0)),
        (&["WithinGracePeriod"], |snapshot| heir(snapshot).held_for = Duration::from_secs(3600)),
        (&["PredicateError"], |snapshot| {
            let when = Predicate::Other(Arc::new(Fails));
            snapshot.policies.insert(1, Policy { when, ..cordons("m") });
        }),
        (&["RemediationSkipped"], |snapshot| {
            snapshot.nodes.get_mut("n0").unwrap().annotations.insert(SKIP_REMEDIATION.into(), "mine".into());
        }),
        (&["RemediationSkipped"], |snapshot| {
            record(snapshot).metadata.annotations.insert(SKIP_REMEDIATION.into(), "mine".into());
        }),
        (&["DryRun"], |snapshot| snapshot.dry_run = true),
        (&["KillSwitch"], |snapshot| snapshot.stopped = Some("a person".into())),
        (&["NotLeading"], |snapshot| snapshot.epoch = 0),
        (&["Busy"], |snapshot| {
            snapshot.busy.insert("n0".into());
        }),
    ];
    for (expected, change) in cases {
        let (mut snapshot, memory) = isolated(1, cordons("a"), vec![frees("z")]);
        change(&mut snapshot);
        let decision = exhausted(&mut snapshot, memory);
        assert_eq!(reasons(&decision, "n0"), expected);
        assert_eq!((closed(&decision, "n0"), snapshot.fences["n0"].status.phase), (None, Phase::Waiting));
    }
}

#[test]
fn a_record_gives_way_once_the_grace_period_of_its_heir_is_over() {
    let heir = Policy { held_for: Duration::from_secs(60), ..frees("z") };
    let (snapshot, mut memory) = isolated(1, cordons("a"), vec![heir]);
    for (second, is_closed) in [(1001, false), (1060, false), (1061, true)] {
        let decision = decide(&snapshot, memory, now(second));
        assert_eq!(closed(&decision, "n0").is_some(), is_closed, "{second}");
        let node_report = &decision.node_reports[0];
        assert_eq!((node_report.policy.as_deref(), &node_report.also[..]), (Some("a"), &["z".to_owned()][..]));
        memory = decision.memory;
    }
}

/// Whichever of its budgets is asked: that of its first step.
#[test]
fn of_dead_nodes_as_many_give_way_in_a_pass_as_their_heir_may_take() {
    for steps in [vec![cordon(), power_cycle()], vec![power_cycle()]] {
        let mut heir = policy("z", steps);
        (heir.cordon_budget.max_concurrent, heir.budget.max_concurrent) = (Some(1), Some(1));
        let (mut snapshot, memory) = isolated(2, cordons("a"), vec![heir]);
        // One without a record.
        kill(snapshot.nodes.get_mut("n2").unwrap());
        heard(&mut snapshot, "n2", 900);
        let decision = decide(&snapshot, memory, now(1001));
        assert_eq!(closed(&decision, "n0"), Some(takes_over("z").as_str()));
        assert_eq!((closed(&decision, "n1"), reasons(&decision, "n1")), (None, vec!["MaxConcurrent"]));
        assert_eq!((opened(&decision), reasons(&decision, "n2")), (vec![], vec!["MaxConcurrent"]));
    }
}

#[test]
fn where_no_policy_frees_the_pods_of_a_dead_node_its_record_says_so() {
    let reboot = StepSpec { reboot: Some(PowerStep::default()), ..StepSpec::default() };
    for others in [
        Vec::new(),
        vec![cordons("b")],
        vec![policy("b", vec![cordon(), reboot])],
        vec![Policy { mode: Mode::Observe, ..frees("z") }],
        vec![Policy { mode: Mode::Paused, ..frees("z") }],
        vec![Policy { when: Predicate::Never, ..frees("z") }],
    ] {
        let (snapshot, memory) = isolated(1, cordons("a"), others);
        let decision = decide(&snapshot, memory, now(1001));
        assert_eq!((closed(&decision, "n0"), reasons(&decision, "n0")), (None, vec!["OnlyIsolates"]));
        let message = &decision.node_reports[0].blockers[0].message;
        assert!(message.contains("no step of its record, of policy a, frees its pods"), "{message}");
    }
}

#[test]
fn the_record_of_a_node_that_may_live_or_of_a_person_stays_and_nothing_is_said_of_its_pods() {
    let cases: [(&str, Change); 5] = [
        ("its kubelet renews its Lease", |snapshot| heard(snapshot, "n0", 995)),
        ("nothing proves that it is dead", |snapshot| snapshot.kubelet_leases.clear()),
        ("a person aborted it", |snapshot| record(snapshot).spec.abort = true),
        ("a person opened it", |snapshot| record(snapshot).spec.policy.clear()),
        ("its own steps cut the power", |snapshot| record(snapshot).spec.steps.push(power_cycle())),
    ];
    for (what, change) in cases {
        for others in [Vec::new(), vec![frees("z")]] {
            let (mut snapshot, memory) = isolated(1, cordons("a"), others);
            change(&mut snapshot);
            let decision = decide(&snapshot, memory, now(1001));
            let blockers = reasons(&decision, "n0");
            assert!(closed(&decision, "n0").is_none() && !blockers.contains(&"OnlyIsolates"), "{what}: {blockers:?}");
        }
    }
}

#[test]
fn a_record_whose_own_policy_is_true_no_more_gives_way_to_none_by_events_alone() {
    let (mut snapshot, memory) = isolated(1, cordons("a"), vec![by_events("z")]);
    snapshot.policies[0].when = Predicate::Never;
    disk_fell(&mut snapshot);
    let decision = decide(&snapshot, memory, now(1001));
    assert_eq!((closed(&decision, "n0"), reasons(&decision, "n0")), (None, vec!["OnlyIsolates"]));
}
