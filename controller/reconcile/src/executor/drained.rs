//! The drain step: the evicting loop, no faster than its policy lets pods go, counted, and stopped by any client that
//! may stop it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use nodewell_remediation::{
    action::{Done, EventDraft, Failed, Outcome},
    api::{
        SKIP_REMEDIATION,
        fence::{NodeFence, Phase},
        policy::Mode,
    },
    decide::{Handover, MovedPods},
    drain::{DrainRules, DrainState, Limits},
    policy::{Policy, Rate},
    snapshot::Snapshot,
    time::Moment,
};
use tokio::time::sleep;

use super::Executor;
use crate::{cache::Cache, cluster::Cluster, drain, power::Power};

/// Whose pods a drain moves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Drained {
    policy: String,
    node: String,
}

impl Drained {
    fn of(fence: &NodeFence) -> Self {
        Self { policy: fence.spec.policy.clone(), node: fence.spec.node_name.clone() }
    }
}

/// When drains moved pods. One that is stopped and goes on, or begins again by another record or leader, is still in
/// the window of what it moved before.
#[derive(Debug, Default)]
pub(super) struct Evictions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    ours: BTreeMap<Drained, VecDeque<Moment>>,
    /// When the leader before moved a node's pods last, and how many at most.
    inherited: BTreeMap<Drained, (Moment, usize)>,
    /// Drains in portions that were open when this term began. What the leader before moved after its last renewal it could
    /// hand over to none.
    open: BTreeMap<Drained, Moment>,
}

impl Evictions {
    /// A term begins, with these records.
    pub(super) fn inherit<'a>(&self, handover: &Handover, records: impl Iterator<Item = &'a NodeFence>, now: Moment) {
        let is_open = |fence: &&NodeFence| fence.status.phase == Phase::Draining && fence.status.drain_portions > 1;
        let open = records.filter(is_open).map(|fence| (Drained::of(fence), now)).collect();
        let one = |moved: &MovedPods| {
            let MovedPods { policy, node, age, pods } = moved.clone();
            let at = Moment(now.0.saturating_sub(Duration::from_secs(age)));
            (Drained { policy, node }, (at, pods))
        };
        let mut state = self.lock();
        state.inherited = handover.moved_pods().iter().map(one).collect();
        state.open = open;
    }

    /// How many of a node's pods the leader before took in this window is not known where they go in portions: as many
    /// as it may.
    fn begin(&self, of: Drained, fence: &NodeFence, limits: Limits, now: Moment) -> OpenDrain<'_> {
        let mut state = self.lock();
        state.ours.retain(|_, calls| calls.back().is_some_and(|last| now.since(*last) < REMEMBERED));
        let mut calls = VecDeque::new();
        if fence.status.drain_portions > 1 {
            // From now on it is among ours.
            let began = state.open.remove(&of);
            let any = Drained { node: String::new(), ..of.clone() };
            let inherited = [&any, &of].into_iter().filter_map(|of| state.inherited.get(of));
            // More than a whole window holds up nothing more; the number was read from an annotation.
            let most = limits.rate.map_or(0, |(count, _)| count);
            calls.extend(began.into_iter().flat_map(|began| std::iter::repeat_n(began, most)));
            calls.extend(inherited.flat_map(|(at, pods)| std::iter::repeat_n(*at, (*pods).min(most))));
        }
        calls.extend(state.ours.remove(&of).into_iter().flatten());
        calls.make_contiguous().sort_unstable();
        OpenDrain { evictions: self, of, state: DrainState::after(limits, calls) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it is held")
    }
}

/// A drain under way: whatever ends it, what it moved is remembered.
struct OpenDrain<'a> {
    evictions: &'a Evictions,
    of: Drained,
    state: DrainState,
}

impl Drop for OpenDrain<'_> {
    fn drop(&mut self) {
        let calls = std::mem::take(&mut self.state).into_calls();
        self.evictions.lock().ours.insert(self.of.clone(), calls);
    }
}

/// No window is longer than it has to be remembered.
const REMEMBERED: Duration = Duration::from_hours(24);
/// Two renewals; a policy that is gone is handed over by none.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(5);
/// How often a drain looks at what may stop it.
const LOOK: Duration = Duration::from_millis(500);

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    pub(super) async fn drain(&self, fence: &NodeFence, rules: &DrainRules, epoch: u64) -> Outcome {
        let (node, by) = (self.node(fence).await?, &fence.spec.policy);
        self.cache.count(by, |counts| counts.drains += 1);
        let clock = || self.clock.now();
        let emit = async |event: EventDraft| {
            super::log(&node.name, &event, epoch);
            self.emit(&node.name, &node.uid, &event).await;
        };
        let moved_elsewhere = || self.cache.moved_elsewhere(by, &node.name);
        // Of one in portions the record shows it.
        let given_out = self.clock.moment();
        if fence.status.drain_portions <= 1 {
            self.handed_over(by, &node.name).await;
        }
        let timeout = rules.timeout.saturating_sub(self.clock.moment().since(given_out));
        let rules = &DrainRules { timeout, ..rules.clone() };
        let mut open = self.evictions.begin(Drained::of(fence), fence, limits(self.cache, by), self.clock.moment());
        let outcome = tokio::select! {
            biased;
            why = self.forbidden(fence) => Err(Failed::NotBegun(why)),
            outcome = drain::drain(self.cluster, &node, rules, &mut open.state, clock, moved_elsewhere, emit) => outcome,
        };
        let left = match &outcome {
            Ok(Done::Drain(report)) => !report.done,
            Err(Failed::Gone(_) | Failed::NotBegun(_)) => false,
            Err(Failed::Refused(_) | Failed::InDoubt(_) | Failed::Timeout(_)) => true,
            Ok(Done::Yes | Done::NotOurs | Done::Off(_) | Done::Booted | Done::Power(_) | Done::Released(_)) => true,
        };
        self.cache.count(by, |counts| counts.drains_failed += u64::from(left));
        outcome
    }

    /// Waits until the next leader would know of this drain, for a renewal of the Lease at most: what is evicted before that it would
    /// not count.
    async fn handed_over(&self, policy: &str, node: &str) {
        let began = self.clock.moment();
        while !self.cache.is_handed_over(policy, node) && self.clock.moment().since(began) < HANDED_OVER_WITHIN {
            sleep(LOOK).await;
        }
    }

    /// Waits until nothing more may be evicted, and returns why. A drain may last for minutes: it does not end what a
    /// person has stopped meanwhile. It is taken up again, for what is left of its time, when that is over.
    async fn forbidden(&self, fence: &NodeFence) -> String {
        loop {
            if let Some(why) = self.cache.with(|snapshot| forbids(snapshot, fence)) {
                return why;
            }
            sleep(LOOK).await;
        }
    }
}

fn forbids(snapshot: &Snapshot, fence: &NodeFence) -> Option<String> {
    let name = &fence.spec.node_name;
    if let Some(who) = &snapshot.stopped {
        return Some(format!("stopped by {who}"));
    }
    let Some(record) = snapshot.fences.get(name).filter(|record| record.metadata.uid == fence.metadata.uid) else {
        return Some("the record was deleted".into());
    };
    if record.spec.abort {
        return Some("a person aborted it".into());
    }
    let of_node = snapshot.nodes.get(name).and_then(|node| node.annotations.get(SKIP_REMEDIATION));
    if let Some(why) = of_node.or_else(|| record.metadata.annotations.get(SKIP_REMEDIATION)) {
        return Some(format!("skipped by the annotation {SKIP_REMEDIATION}={why}"));
    }
    let policy = snapshot.policies.iter().find(|policy| policy.name == fence.spec.policy);
    match policy.map(|policy| policy.mode) {
        Some(Mode::Observe) => Some("its policy only observes".into()),
        Some(Mode::Enforce | Mode::Paused) => None,
        None if fence.spec.policy.is_empty() => None,
        None => Some("its policy is gone or cannot be read".into()),
    }
}

/// Of a policy that is gone the default is used, which is the careful one.
fn limits(cache: &Cache, policy: &str) -> Limits {
    let known = |pods: &[Policy]| pods.iter().find(|known| known.name == policy).map(|known| known.pods);
    let Rate { count, window } =
        cache.with(|snapshot| known(&snapshot.policies)).unwrap_or_else(|| Policy::default().pods);
    Limits { rate: Some((count as usize, window)), ..Limits::default() }
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::{
        api::fence::{NodeFenceSpec, NodeFenceStatus},
        facts::PodRef,
    };

    use super::*;
    use crate::{cache, clock::Clock};

    fn draining() -> (Snapshot, NodeFence) {
        let spec = NodeFenceSpec { node_name: "n".into(), policy: "p".into(), ..NodeFenceSpec::default() };
        let fence = NodeFence { metadata: Default::default(), spec, status: NodeFenceStatus::default() };
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() };
        let fences = [("n".to_owned(), fence.clone())].into();
        (Snapshot { fences, policies: vec![policy], ..Snapshot::default() }, fence)
    }

    fn begin<'a>(evictions: &'a Evictions, fence: &NodeFence) -> OpenDrain<'a> {
        let of = Drained { policy: "p".into(), node: "n".into() };
        let limits = Limits { rate: Some((5, Duration::from_secs(60))), ..Limits::default() };
        evictions.begin(of, fence, limits, Moment(Duration::from_secs(100)))
    }

    fn calls(mut open: OpenDrain<'_>) -> VecDeque<Moment> {
        std::mem::take(&mut open.state).into_calls()
    }

    #[test]
    fn what_a_drain_moved_is_remembered_whatever_ends_it() {
        let (evictions, fence) = (Evictions::default(), draining().1);
        let at = Moment(Duration::from_secs(90));
        begin(&evictions, &fence).state.called(&PodRef::default(), false, at);
        assert_eq!(calls(begin(&evictions, &fence)), [at]);
    }

    /// No window is longer.
    #[test]
    fn what_a_drain_moved_is_remembered_for_a_day() {
        for (seconds, expected) in [(86_399, 1), (86_400, 0)] {
            let (evictions, fence) = (Evictions::default(), draining().1);
            let moved = Moment(Duration::from_secs(90));
            begin(&evictions, &fence).state.called(&PodRef::default(), false, moved);
            let of = Drained { policy: "p".into(), node: "n".into() };
            let now = moved.plus(Duration::from_secs(seconds));
            assert_eq!(calls(evictions.begin(of, &fence, Limits::default(), now)).len(), expected, "{seconds}");
        }
    }

    #[test]
    fn a_number_that_is_no_number_of_pods_counts_as_a_whole_window() {
        let moved = r#"{ "pods": [{ "policy": "p", "node": "n", "age": 10, "pods": 18446744073709551615 }] }"#;
        let (evictions, mut fence) = (Evictions::default(), draining().1);
        evictions.inherit(&serde_json::from_str(moved).unwrap(), std::iter::empty(), Moment(Duration::from_secs(100)));
        fence.status.drain_portions = 2;
        assert_eq!(calls(begin(&evictions, &fence)).len(), 5);
    }

    #[test]
    fn a_drain_in_portions_counts_what_the_leader_before_may_have_moved_in_the_window() {
        let moved = r#"{ "pods": [{ "policy": "p", "node": "n", "age": 10, "pods": 3 },
            { "policy": "p", "age": 20, "pods": 1 }, { "policy": "p", "node": "m", "age": 1, "pods": 9 }] }"#;
        let (evictions, mut fence) = (Evictions::default(), draining().1);
        evictions.inherit(&serde_json::from_str(moved).unwrap(), std::iter::empty(), Moment(Duration::from_secs(100)));
        for portions in [0, 1] {
            fence.status.drain_portions = portions;
            assert!(calls(begin(&evictions, &fence)).is_empty(), "it has no more pods than the rate");
        }
        fence.status.drain_portions = 2;
        let at = |secs| Moment(Duration::from_secs(secs));
        assert_eq!(calls(begin(&evictions, &fence)), [at(80), at(90), at(90), at(90)]);
    }

    /// The leader before died right after it had begun: its handover shows nothing of it.
    #[test]
    fn a_drain_in_portions_that_was_open_when_the_term_began_waits_for_a_window() {
        let began = Moment(Duration::from_secs(95));
        for (phase, portions, waits) in
            [(Phase::Draining, 2, true), (Phase::Draining, 1, false), (Phase::Pending, 2, false)]
        {
            let (evictions, mut fence) = (Evictions::default(), draining().1);
            (fence.status.phase, fence.status.drain_portions) = (phase, portions);
            let other =
                NodeFence { spec: NodeFenceSpec { node_name: "m".into(), ..fence.spec.clone() }, ..fence.clone() };
            evictions.inherit(&Handover::default(), [&fence, &other].into_iter(), began);
            fence.status.drain_portions = 2;
            let expected = if waits { vec![began; 5] } else { Vec::new() };
            assert_eq!(calls(begin(&evictions, &fence)), expected, "{phase:?} {portions}");
            // One that is stopped and goes on waits no longer.
            drop(begin(&evictions, &fence));
            assert!(calls(begin(&evictions, &fence)).is_empty(), "calls were taken");
        }
    }

    #[test]
    fn a_drain_goes_on_until_it_is_stopped() {
        let (snapshot, fence) = draining();
        assert_eq!(forbids(&snapshot, &fence), None);
    }

    #[test]
    fn a_drain_ends_when_a_person_stops_skips_aborts_or_deletes() {
        let stops: [fn(&mut Snapshot); 4] = [
            |snapshot| snapshot.stopped = Some("a file".into()),
            |snapshot| snapshot.fences.clear(),
            |snapshot| snapshot.fences.values_mut().for_each(|fence| fence.spec.abort = true),
            |snapshot| {
                let fences = snapshot.fences.values_mut();
                fences.for_each(|fence| drop(fence.metadata.annotations.insert(SKIP_REMEDIATION.into(), "me".into())));
            },
        ];
        for stop in stops {
            let (mut snapshot, fence) = draining();
            stop(&mut snapshot);
            assert!(forbids(&snapshot, &fence).is_some());
        }
    }

    #[test]
    fn a_drain_ends_when_its_policy_is_gone_or_only_observes() {
        let (mut snapshot, fence) = draining();
        snapshot.policies[0].mode = Mode::Observe;
        assert!(forbids(&snapshot, &fence).is_some());
        snapshot.policies.clear();
        assert!(forbids(&snapshot, &fence).is_some());
    }

    #[test]
    fn pods_go_no_faster_than_the_policy_says() {
        let cache = Cache::new(Clock::counted(jiff::Timestamp::UNIX_EPOCH), cache::Limits::default());
        assert_eq!(limits(&cache, "p").rate, Some((250, Duration::from_secs(600))));
        let pods = Rate { count: 3, window: Duration::from_secs(60) };
        cache.with(|snapshot| snapshot.policies.push(Policy { name: "p".into(), pods, ..Policy::default() }));
        assert_eq!(limits(&cache, "p").rate, Some((3, Duration::from_secs(60))));
    }
}
