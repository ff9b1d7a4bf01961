//! One Lease and several who want it, on a paused clock.

mod renewals;
mod restored;
mod succession;

use std::{cell::RefCell, rc::Rc};

use jiff::Timestamp;
use nodewell_remediation::api::fence::NodeFence;

use super::*;
use crate::cache::{Limits, Source};

/// Only the Lease; everything else is not asked for by an election.
#[derive(Debug, Clone, Default)]
struct OneLease(Rc<RefCell<Stored>>);

#[derive(Debug, Default)]
struct Stored {
    lease: Option<Leadership>,
    version: u64,
    /// Answers do not arrive; what was asked is done if `true`.
    mute: Option<bool>,
    writes: u64,
    /// How long an answer takes.
    slow: Duration,
    /// The next write gets no answer; it is done if `true`.
    lost: Option<bool>,
    refuses: bool,
}

impl Election for OneLease {
    async fn leadership(&self) -> Result<Option<Leadership>, ApiError> {
        let slow = self.0.borrow().slow;
        tokio::time::sleep(slow).await;
        match self.0.borrow().mute {
            Some(_) => Err(ApiError::NoAnswer("mute".into())),
            None => Ok(self.0.borrow().lease.clone()),
        }
    }

    async fn lead(&self, lease: &Leadership) -> Result<Leadership, ApiError> {
        let slow = self.0.borrow().slow;
        tokio::time::sleep(slow).await;
        let mut stored = self.0.borrow_mut();
        let lost = stored.lost.take();
        if stored.refuses {
            return Err(ApiError::Refused { code: 403, message: "no".into() });
        }
        if stored.mute == Some(false) || lost == Some(false) {
            return Err(ApiError::NoAnswer("mute".into()));
        }
        if stored.lease.as_ref().map_or("", |lease| lease.resource_version.as_str()) != lease.resource_version {
            return Err(ApiError::Conflict("version".into()));
        }
        stored.version += 1;
        stored.writes += 1;
        let lease = Leadership { resource_version: stored.version.to_string(), ..lease.clone() };
        stored.lease = Some(lease.clone());
        if stored.mute.is_some() || lost.is_some() { Err(ApiError::NoAnswer("mute".into())) } else { Ok(lease) }
    }
}

/// A cache that has listed its records: there are none.
fn synced(clock: Clock) -> Cache {
    let cache = Cache::new(clock, Limits::default());
    cache.listed(Source::Fences, &Default::default());
    cache
}

fn candidate<'a>(cluster: &'a OneLease, name: &str, wall: i64) -> (Candidate<'a, OneLease>, Term) {
    let clock = Clock::counted(Timestamp::constant(wall, 0));
    Candidate::new(cluster, synced(clock), clock, Terms::new(name))
}

async fn run_for(candidate: &mut Candidate<'_, OneLease>, secs: u64) {
    let _ = timeout(Duration::from_secs(secs), candidate.run()).await;
}

fn leads(term: &Term) -> Option<u64> {
    term.borrow().as_ref().map(|lease_deadline| lease_deadline.epoch)
}

#[tokio::test(start_paused = true)]
async fn a_missing_lease_is_taken_only_after_it_was_missing_for_a_term() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 0);
    run_for(&mut one, 14).await;
    assert_eq!(leads(&term), None);
    run_for(&mut one, 4).await;
    assert_eq!(leads(&term), Some(1));
}

#[tokio::test(start_paused = true)]
async fn anothers_lease_runs_out_by_our_own_watch_whatever_the_clocks_say() {
    let cluster = OneLease::default();
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    // Its clock is years ahead: by that one the Lease ran out long ago.
    let (mut two, term) = candidate(&cluster, "two", 1_000_000_000);
    run_for(&mut two, 14).await;
    assert_eq!(leads(&term), None);
    run_for(&mut two, 4).await;
    assert_eq!(leads(&term), Some(2));
}

#[tokio::test(start_paused = true)]
async fn the_lease_deadline_ends_before_another_can_begin() {
    let cluster = OneLease::default();
    let (mut one, first) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let lease_deadline = first.borrow().clone().expect("it leads");
    let clock = one.clock;
    // It is stopped here and renews no more.
    let (mut two, second) = candidate(&cluster, "two", 0);
    while leads(&second).is_none() {
        run_for(&mut two, 1).await;
    }
    assert!(!lease_deadline.is_ahead(clock.moment()), "two would lead");
    run_for(&mut one, 3).await;
    assert_eq!(leads(&first), None, "it went on and noticed");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_renewal_that_arrived_ends_nothing() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    cluster.0.borrow_mut().mute = Some(true);
    run_for(&mut one, 3).await;
    cluster.0.borrow_mut().mute = None;
    run_for(&mut one, 30).await;
    assert_eq!(leads(&term), Some(1), "the version was read again");
}

#[tokio::test(start_paused = true)]
async fn who_cannot_renew_gives_up_in_time() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    cluster.0.borrow_mut().mute = Some(false);
    run_for(&mut one, 13).await;
    assert_eq!(leads(&term), None);
    cluster.0.borrow_mut().mute = None;
    run_for(&mut one, 20).await;
    assert_eq!(leads(&term), Some(2), "its next term has another number");
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    let cluster = OneLease::default();
    let (mut one, first) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    one.resign().await;
    assert_eq!(leads(&first), None);
    let (mut two, second) = candidate(&cluster, "two", 0);
    run_for(&mut two, 1).await;
    assert_eq!(leads(&second), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_lease_made_again_does_not_count_from_the_start() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 0);
    let mut fence = NodeFence { metadata: Default::default(), spec: Default::default(), status: Default::default() };
    fence.metadata.name = "a".into();
    fence.status.epoch = 7;
    one.cache.apply_fence(fence);
    run_for(&mut one, 18).await;
    assert_eq!(leads(&term), Some(8));
}

fn decided(second: u64, handover: nodewell_remediation::decide::Handover) -> crate::cache::Decided {
    crate::cache::Decided { at: Moment(Duration::from_secs(second)), handover, pods: Default::default() }
}

fn a_handover(age: u64) -> nodewell_remediation::decide::Handover {
    let handover = serde_json::json!({
        "pods": [{ "policy": "p", "node": "n1", "age": age, "pods": 7 }],
        "cycles": [{ "node": "n1", "at": "2026-01-01T00:00:00Z", "age": age }],
    });
    serde_json::from_value(handover).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_next_leader_finds_what_the_one_before_left_and_counts_only_time_that_it_saw() {
    let cluster = OneLease::default();
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    one.cache.leave(decided(7, a_handover(30)));
    run_for(&mut one, 3).await;
    // It ends without a message. The next one's clock is years ahead, and it waits for its own 15 s.
    let (mut two, term) = candidate(&cluster, "two", 1_000_000_000);
    run_for(&mut two, 18).await;
    assert_eq!(leads(&term), Some(2));
    let found = serde_json::to_value(two.cache.inherited()).unwrap();
    let age = found["pods"][0]["age"].as_u64().unwrap();
    assert!((30..=33).contains(&age), "for its 15 s it may have gone on moving pods: {found}");
    let age = found["cycles"][0]["age"].as_u64().unwrap();
    assert!((45..=48).contains(&age), "{found}");
    // Until it has decided something itself, it hands on what it found.
    two.resign().await;
    let (mut three, term) = candidate(&cluster, "three", 0);
    run_for(&mut three, 1).await;
    assert_eq!(leads(&term), Some(3));
    let json = |handover| serde_json::to_value(handover).unwrap();
    assert_eq!(json(three.cache.inherited()), json(a_handover(30)));
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_is_known_to_the_next_leader_once_it_is_written() {
    let cluster = OneLease::default();
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    one.cache.leave(decided(7, a_handover(30)));
    assert!(!one.cache.is_in_lease(one.cache.decided_at()), "it is not written yet");
    cluster.0.borrow_mut().refuses = true;
    run_for(&mut one, 3).await;
    assert!(!one.cache.is_in_lease(one.cache.decided_at()), "it could not be written");
    cluster.0.borrow_mut().refuses = false;
    run_for(&mut one, 3).await;
    assert!(one.cache.is_in_lease(one.cache.decided_at()));
    one.cache.leave(decided(8, a_handover(30)));
    assert!(!one.cache.is_in_lease(one.cache.decided_at()), "another decision");
}

#[tokio::test(start_paused = true)]
async fn a_handover_that_cannot_be_read_is_not_an_empty_one() {
    let cluster = OneLease::default();
    let annotations = [("nodewell.dev/rates".to_owned(), "too long".to_owned())].into();
    cluster.0.borrow_mut().lease =
        Some(Leadership { resource_version: "1".into(), annotations, ..Leadership::default() });
    cluster.0.borrow_mut().version = 1;
    let (mut one, term) = candidate(&cluster, "one", 0);
    run_for(&mut one, 1).await;
    assert_eq!(leads(&term), Some(1));
    let json = |handover| serde_json::to_value(handover).unwrap();
    assert_eq!(json(one.cache.inherited()), json(nodewell_remediation::decide::Handover::lost()));
}
