//! The drain step: the evicting loop, no faster than its policy lets pods go, counted, and stopped by any client that
//! may stop it.

use std::{convert::Infallible, time::Duration};

use nodewell_remediation::{
    action::{Done, EventDraft, Failed, Outcome},
    api::{SKIP_REMEDIATION, fence::NodeFence, policy::Mode},
    drain::{DrainRules, DrainState, Limits},
    policy::{Policy, Rate},
    snapshot::{PodSource, Snapshot},
    time::Moment,
};
use tokio::time::sleep;

use super::Executor;
use crate::{api_error::ApiError, cache::Cache, cluster::Cluster, drain, power::Power};

/// How often a drain looks at what may stop it, or let it begin.
const LOOK: Duration = Duration::from_millis(500);
/// How often its record is read, past the cache: a watch may hang for a minute before it is given up.
const READ: Duration = Duration::from_secs(2);

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    pub(super) async fn drain(&self, fence: &NodeFence, rules: &DrainRules, epoch: u64) -> Outcome {
        let (given_out, decided) = (self.clock.moment(), self.cache.decided_at());
        let left = || rules.timeout.saturating_sub(self.clock.moment().since(given_out));
        let (node, by) = (self.node(fence).await?, &fence.spec.policy);
        self.cache.count(by, |counts| counts.drains += 1);
        self.next_leader_knows(fence, decided, left).await?;
        self.read_record(fence).await.map_err(|error| {
            Failed::NotBegun(format!("NodeFence {} could not be read: {error}", fence.metadata.name))
        })?;
        let clock = || self.clock.now();
        let emit = async |event: EventDraft| {
            super::log(&node.name, &event, epoch);
            self.emit(&node.name, &node.uid, &event).await;
        };
        let of = PodSource::of(fence);
        let account = |state: &mut DrainState| account(self.cache, &of, state);
        let rules = &DrainRules { timeout: left(), ..rules.clone() };
        let mut state = begin(self.cache, &of);
        let outcome = tokio::select! {
            biased;
            why = self.forbidden(fence) => Err(Failed::NotBegun(why)),
            outcome = drain::drain(self.cluster, &node, rules, &mut state, clock, account, emit) => outcome,
        };
        let is_left = match &outcome {
            Ok(Done::Drain(report)) => !report.done,
            Err(Failed::Gone(_) | Failed::NotBegun(_)) => false,
            Err(Failed::Refused(_) | Failed::InDoubt(_) | Failed::Timeout(_)) => true,
            Ok(Done::Yes | Done::NotOurs | Done::Off(_) | Done::Booted | Done::Power(_) | Done::Released(_)) => true,
        };
        self.cache.count(by, |counts| counts.drains_failed += u64::from(is_left));
        outcome
    }

    /// Waits until the Lease has the pods of this drain: what is evicted before that, the next leader would not count.
    async fn next_leader_knows(
        &self,
        fence: &NodeFence,
        decided: Option<Moment>,
        left: impl Fn() -> Duration,
    ) -> Result<(), Failed> {
        while !self.cache.is_in_lease(decided) {
            if let Some(why) = self.cache.with(|snapshot| forbids(snapshot, fence)) {
                return Err(Failed::NotBegun(why));
            }
            if left().is_zero() {
                return Err(Failed::NotBegun("the leader's Lease could not be renewed with its pods".into()));
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Waits until nothing more may be evicted, and returns why. A drain may last for minutes: it does not end what a
    /// person has stopped meanwhile. It is taken up again, for what is left of its time, when that is over. A read that hangs
    /// delays no stop.
    async fn forbidden(&self, fence: &NodeFence) -> String {
        tokio::select! {
            biased;
            why = self.look_for_stops(fence) => why,
            never = self.follow_record(fence) => match never {},
        }
    }

    async fn look_for_stops(&self, fence: &NodeFence) -> String {
        loop {
            if let Some(why) = self.cache.with(|snapshot| forbids(snapshot, fence)) {
                return why;
            }
            sleep(LOOK).await;
        }
    }

    async fn follow_record(&self, fence: &NodeFence) -> Infallible {
        loop {
            sleep(READ).await;
            // One that cannot be read now is read again; nor can pods be evicted then.
            let _ = self.read_record(fence).await;
        }
    }

    /// What a person has done to the record is known to the cache from now on.
    async fn read_record(&self, fence: &NodeFence) -> Result<(), ApiError> {
        let name = &fence.metadata.name;
        match self.read_fence(name).await? {
            Some(record) => self.cache.apply_fence(record),
            None => self.cache.miss_fence(name, &fence.metadata.uid),
        }
        Ok(())
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

/// One that was stopped and goes on, or begins again by another record, is still in the window of what it evicted before.
fn begin(cache: &Cache, of: &PodSource) -> DrainState {
    let evicted = cache.with(|snapshot| snapshot.evicted.get(of).cloned().unwrap_or_default());
    DrainState::after(Limits::default(), evicted)
}

/// What was evicted counts from now on, whatever ends the drain; how many more may go is as the policy and the other
/// nodes are now. What a policy that is gone or cannot be read would let go is not known: nothing, until it is back.
fn account(cache: &Cache, of: &PodSource, state: &mut DrainState) {
    let rate = cache.with(|snapshot| {
        let known = snapshot.evicted.get(of);
        if known.map_or(!state.evicted().is_empty(), |known| known != state.evicted()) {
            snapshot.evicted.insert(of.clone(), state.evicted().clone());
        }
        rate(snapshot, &of.policy)
    });
    let limit = rate.map_or((0, Duration::MAX), |rate| (rate.count as usize, rate.window));
    state.limit(Some(limit), cache.pods_beside(of));
}

/// What a person asked for has no policy, and goes by the default.
fn rate(snapshot: &Snapshot, policy: &str) -> Option<Rate> {
    let known = snapshot.policies.iter().find(|known| known.name == policy).map(|known| known.pods);
    known.or_else(|| policy.is_empty().then(|| Policy::default().pods))
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::{
        api::fence::{NodeFenceSpec, NodeFenceStatus},
        decide::{CountedPods, Handover},
        drain::next,
        facts::{Owner, Pod, PodRef},
        time::Now,
    };

    use super::*;
    use crate::{
        cache::{self, Decided},
        clock::Clock,
    };

    fn draining() -> (Snapshot, NodeFence) {
        let spec = NodeFenceSpec { node_name: "n".into(), policy: "p".into(), ..NodeFenceSpec::default() };
        let fence = NodeFence { metadata: Default::default(), spec, status: NodeFenceStatus::default() };
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() };
        let fences = [("n".to_owned(), fence.clone())].into();
        (Snapshot { fences, policies: vec![policy], ..Snapshot::default() }, fence)
    }

    fn of(node: &str) -> PodSource {
        PodSource { policy: "p".into(), node: node.into() }
    }

    fn pod(name: &str) -> Pod {
        let owner = Some(Owner { kind: "ReplicaSet".into(), name: "r".into(), uid: "r-uid".into(), gone: false });
        Pod { at: PodRef { name: name.into(), ..PodRef::default() }, owner, ..Pod::default() }
    }

    /// Two pods of `n` may go beside one that was released.
    fn limited() -> Cache {
        let cache = Cache::new(Clock::counted(jiff::Timestamp::UNIX_EPOCH), cache::Limits::default());
        let pods = Rate { count: 3, window: Duration::from_secs(60) };
        cache.with(|snapshot| snapshot.policies = vec![Policy { name: "p".into(), pods, ..Policy::default() }]);
        let counted = CountedPods { released: 1, evicted: 9, awaited: 9, draining_since: None };
        let (handover, pods) = (Handover::default(), [(of("n"), counted)].into());
        cache.leave(Decided { at: Moment::default(), handover, pods });
        cache
    }

    /// It would hold up no other node, and go too fast when it goes on.
    #[test]
    fn what_a_drain_evicted_is_known_whatever_ends_it() {
        let (cache, at) = (limited(), Moment(Duration::from_secs(90)));
        let mut state = begin(&cache, &of("n"));
        account(&cache, &of("n"), &mut state);
        let pod = pod("a").at;
        state.called(&pod, false, at);
        account(&cache, &of("n"), &mut state);
        drop(state);
        let evicted = [(pod, at)].into();
        assert_eq!(cache.with(|snapshot| snapshot.evicted.clone()), [(of("n"), evicted)].into());
        assert_eq!(begin(&cache, &of("n")).evicted().len(), 1);
        assert!(begin(&cache, &of("m")).evicted().is_empty());
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

    /// A drain asks it before each round: a rate that a person lowers holds it up at once.
    #[test]
    fn pods_go_no_faster_than_the_policy_says_now() {
        let (cache, pods) = (limited(), ["a", "b", "c", "d"].map(pod));
        let left = |policies: Vec<Policy>| {
            cache.with(|snapshot| snapshot.policies = policies);
            let mut state = begin(&cache, &of("n"));
            account(&cache, &of("n"), &mut state);
            let rules = DrainRules::of(&Default::default()).expect("the defaults are right");
            let now = Now { moment: Moment::default(), wall: jiff::Timestamp::UNIX_EPOCH };
            next(&rules, &pods, &mut state, now.moment, now).calls.len()
        };
        let policy = |count| {
            let pods = Rate { count, window: Duration::from_secs(60) };
            vec![Policy { name: "p".into(), pods, ..Policy::default() }]
        };
        assert_eq!((left(policy(3)), left(policy(2)), left(policy(1))), (2, 1, 0), "one was released");
        assert_eq!(left(Vec::new()), 0, "it is gone");
    }
}
