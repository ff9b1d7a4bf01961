//! Writing what came of a step where the API server does not answer at first.

use std::cell::RefCell;

use jiff::Timestamp;
use nodewell_remediation::{
    action::Done,
    api::{
        Meta,
        fence::{Confirmation, NodeFenceSpec, NodeFenceStatus, Phase},
    },
    snapshot::PowerState,
    time::Moment,
};
use tokio::sync::watch;

use super::*;
use crate::{
    cache::{Cache, Limits},
    clock::Clock,
    executor::Settings,
};

/// One record; so many writes of it get no answer. Nothing else is asked for.
struct OneRecord(RefCell<(NodeFence, u32)>);

fn none<T>() -> Result<T, ApiError> {
    Err(ApiError::NotFound)
}

impl Records for OneRecord {
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, ApiError> {
        Ok(Some(self.0.borrow().0.clone()))
    }

    async fn open(&self, _: &NodeFence) -> Result<NodeFence, ApiError> {
        none()
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        let mute = self.0.borrow().1.checked_sub(1);
        if let Some(left) = mute {
            sleep(Duration::from_secs(2)).await;
            self.0.borrow_mut().1 = left;
            return Err(ApiError::NoAnswer("mute".into()));
        }
        self.0.borrow_mut().0 = fence.clone();
        Ok(fence.clone())
    }

    async fn close(&self, _: &NodeFence) -> Result<(), ApiError> {
        none()
    }
}

fn off_confirmed() -> NodeFence {
    let at = Timestamp::UNIX_EPOCH;
    let off = Confirmation { at, reads: 2, by: Vec::new(), boot_id: "old".into(), already_off: false, epoch: 1 };
    NodeFence {
        metadata: Meta { name: "n".into(), uid: "u".into(), resource_version: "1".into(), ..Meta::default() },
        spec: NodeFenceSpec { node_name: "n".into(), node_uid: "n".into(), ..NodeFenceSpec::default() },
        status: NodeFenceStatus { phase: Phase::OffConfirmed, off: Some(off), ..NodeFenceStatus::default() },
    }
}

/// Or a machine that was turned on meanwhile would be tainted by a reading that only looks young.
#[tokio::test(start_paused = true)]
async fn a_reading_that_was_written_late_is_as_old_as_it_is() {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cache = Cache::new(clock, Limits::default());
    let cluster = OneRecord(RefCell::new((off_confirmed(), 3)));
    let executor = Executor::new(&cluster, &(), &cache, clock, Settings::default());
    let (_open, until) = watch::channel(Moment(Duration::from_secs(60)));
    let outcome = Ok(Done::Power(vec![PowerState::Off; 2]));
    let step = ReversibleOp::ReadPower { times: 2 }.into();
    executor.save_outcome(&off_confirmed(), &step, &outcome, &LeaseDeadline::new(1, until)).await;
    assert!(clock.moment() >= Moment(Duration::from_secs(6)), "it was written late");
    let off = cluster.0.borrow().0.status.off.clone().unwrap();
    assert_eq!((off.at, off.reads), (Timestamp::constant(1000, 0), 4));
}
