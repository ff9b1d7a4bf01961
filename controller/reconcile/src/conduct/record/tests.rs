//! Writing what came of a step where the API server does not answer at first.

use std::{cell::RefCell, collections::BTreeMap};

use jiff::Timestamp;
use nodewell_remedy::{
    action::{Done, Failed},
    api::{
        Meta,
        fence::{Confirmation, Hold, NodeFenceSpec, NodeFenceStatus, Phase},
    },
    facts::{Attachment, Budget, LeaseView, Node, Pod, PodRef, Taint},
    snapshot::{FencePlan, PowerState},
    time::Moment,
};
use tokio::sync::watch;

use super::*;
use crate::{
    clock::Clock,
    cluster::{Leadership, LeaseKind},
    conduct::Settings,
    world::{Limits, World},
};

/// One record; so many writes of it get no answer. Nothing else is asked for.
struct OneRecord(RefCell<(NodeFence, u32)>);

struct NoPower;

fn none<T>() -> Result<T, Failure> {
    Err(Failure::NotFound)
}

impl Cluster for OneRecord {
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, Failure> {
        Ok(Some(self.0.borrow().0.clone()))
    }
    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, Failure> {
        let mute = self.0.borrow().1.checked_sub(1);
        if let Some(left) = mute {
            sleep(Duration::from_secs(2)).await;
            self.0.borrow_mut().1 = left;
            return Err(Failure::NoAnswer("mute".into()));
        }
        self.0.borrow_mut().0 = fence.clone();
        Ok(fence.clone())
    }
    async fn node(&self, _: &str) -> Result<Option<Node>, Failure> {
        none()
    }
    async fn lease(&self, _: LeaseKind, _: &str) -> Result<Option<LeaseView>, Failure> {
        none()
    }
    async fn pods_on(&self, _: &str) -> Result<Vec<Pod>, Failure> {
        none()
    }
    async fn pod(&self, _: &PodRef) -> Result<Option<Pod>, Failure> {
        none()
    }
    async fn attachments_on(&self, _: &str) -> Result<Vec<Attachment>, Failure> {
        none()
    }
    async fn budgets_of(&self, _: &Pod) -> Result<Vec<Budget>, Failure> {
        none()
    }
    async fn config_map(&self, _: &str) -> Result<Option<BTreeMap<String, String>>, Failure> {
        none()
    }
    async fn secret(&self, _: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Failure> {
        none()
    }
    async fn stopped(&self) -> Result<Option<String>, Failure> {
        none()
    }
    async fn open(&self, _: &NodeFence) -> Result<NodeFence, Failure> {
        none()
    }
    async fn close(&self, _: &NodeFence) -> Result<(), Failure> {
        none()
    }
    async fn taint(&self, _: &str, _: &str, _: &Taint) -> Result<bool, Failure> {
        none()
    }
    async fn untaint(&self, _: &str, _: &str, _: &Taint) -> Result<bool, Failure> {
        none()
    }
    async fn cordon(&self, _: &str, _: &str, _: &str) -> Result<bool, Failure> {
        none()
    }
    async fn uncordon(&self, _: &str, _: &str, _: &str) -> Result<bool, Failure> {
        none()
    }
    async fn evict(&self, _: &PodRef, _: Option<Duration>) -> Result<(), Failure> {
        none()
    }
    async fn delete_pod(&self, _: &PodRef, _: Option<Duration>) -> Result<(), Failure> {
        none()
    }
    async fn tell(&self, _: &str, _: &str, _: &Telling) {}
    async fn leadership(&self) -> Result<Option<Leadership>, Failure> {
        none()
    }
    async fn lead(&self, _: &Leadership) -> Result<Leadership, Failure> {
        none()
    }
}

impl Power for NoPower {
    async fn plan(&self, _: &Node) -> Result<FencePlan, Hold> {
        Ok(FencePlan::default())
    }
    async fn read(&self, _: &Node) -> PowerState {
        PowerState::Unknown
    }
    async fn off(&self, _: &Node, _: &Lifeline) -> Result<Vec<String>, Failed> {
        Ok(Vec::new())
    }
    async fn on(&self, _: &Node, _: &Lifeline) -> Result<Vec<String>, Failed> {
        Ok(Vec::new())
    }
    async fn methods(&self, _: &Node, _: &[String], _: &Lifeline) -> Result<(), Failed> {
        Ok(())
    }
    async fn reap(&self, _: &Node, _: &Lifeline) -> Result<(), Failed> {
        Ok(())
    }
}

fn off_confirmed() -> NodeFence {
    let at = Timestamp::UNIX_EPOCH;
    let off = Confirmation { at, reads: 2, by: Vec::new(), boot_id: "old".into(), passive: false, epoch: 1 };
    NodeFence {
        metadata: Meta { name: "n".into(), uid: "u".into(), resource_version: "1".into(), ..Meta::default() },
        spec: NodeFenceSpec { node_name: "n".into(), node_uid: "n".into(), ..NodeFenceSpec::default() },
        status: NodeFenceStatus { phase: Phase::OffConfirmed, off: Some(off), ..NodeFenceStatus::default() },
    }
}

/// Or a machine that was turned on meanwhile would be tainted by a word that only looks young.
#[tokio::test(start_paused = true)]
async fn a_reading_that_was_written_late_is_as_old_as_it_is() {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let (world, power) = (World::new(clock, Limits::default()), NoPower);
    let cluster = OneRecord(RefCell::new((off_confirmed(), 3)));
    let conductor = Conductor::new(&cluster, &power, &world, clock, Settings::default());
    let (_open, until) = watch::channel(Moment(Duration::from_secs(60)));
    let outcome = Ok(Done::Power(vec![PowerState::Off; 2]));
    let step = Step::ReadPower { times: 2 };
    conductor.keep(&off_confirmed(), &step, &outcome, &Lifeline::new(1, until)).await;
    assert!(clock.moment() >= Moment(Duration::from_secs(6)), "it was written late");
    let off = cluster.0.borrow().0.status.off.clone().unwrap();
    assert_eq!((off.at, off.reads), (Timestamp::constant(1000, 0), 4));
}
