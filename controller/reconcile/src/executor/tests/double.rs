//! One node, its record and its BMC, behind the traits of the API server and of power. Each call is noted, and a test may
//! change anything at any call.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use nodewell_remediation::{
    action::{EventDraft, Failed},
    api::fence::{Blocker, NodeFence, NodeFenceStatus},
    facts::{Attachment, DisruptionBudget, LeaseView, Node, Pod, PodRef, Taint},
    snapshot::{FencePlan, FenceScope, Level, PowerState},
};
use tokio::time::{Instant, sleep};

use super::stage::stored;
use crate::{
    api_error::ApiError,
    cluster::{
        Configuration, Election, Hosts, Leadership, LeaseKind, Marks, Nodes, Pods, ReachReport, Records, ReleaseMark,
        Secret,
    },
    lease_deadline::LeaseDeadline,
    power::Power,
};

/// By a call's name, and how often it was made before: what happens right before its answer.
type Happens = Box<dyn Fn(&str, usize, &mut Truth)>;

/// What is so.
#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) node: Option<Node>,
    pub(super) fence: Option<NodeFence>,
    pub(super) lease: Option<LeaseView>,
    pub(super) stopped: Option<String>,
    pub(super) pods: Vec<Pod>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) plan: Option<FencePlan>,
    /// What its BMC reports, one after the other; the last one for ever.
    pub(super) power: VecDeque<PowerState>,
    /// What these levels report, and after how long, beside the queue of all others.
    pub(super) levels: BTreeMap<Level, (PowerState, Duration)>,
    /// Calls that get no answer.
    pub(super) silent: BTreeSet<&'static str>,
    /// How long each call of that name takes.
    pub(super) slow: BTreeMap<&'static str, Duration>,
    /// What deletions are answered, one after the other, before they succeed.
    pub(super) refusals: VecDeque<ApiError>,
    pub(super) order: Option<Failed>,
}

pub(super) struct Double {
    begun: Instant,
    pub(super) truth: RefCell<Truth>,
    happens: Happens,
    calls: RefCell<Vec<(Duration, String)>>,
    /// How many of each name.
    made: RefCell<BTreeMap<&'static str, usize>>,
}

fn unused<T>() -> Result<T, ApiError> {
    Err(ApiError::Refused { code: 405, message: "no act has a use for this".into() })
}

/// What an order is of.
fn cut_by(scope: &FenceScope) -> String {
    scope.storage.clone().unwrap_or_else(|| format!("level {}", scope.level))
}

impl Double {
    pub(super) fn new(truth: Truth, happens: Happens) -> Self {
        let (calls, made) = (RefCell::default(), RefCell::default());
        Self { begun: Instant::now(), truth: RefCell::new(truth), happens, calls, made }
    }

    /// When each call was made, and what it was.
    pub(super) fn calls(&self) -> Vec<(Duration, String)> {
        self.calls.borrow().clone()
    }

    async fn call(&self, name: &'static str, of: &str) -> Result<(), ApiError> {
        let call = if of.is_empty() { name.to_owned() } else { format!("{name} {of}") };
        let before = *self.made.borrow().get(name).unwrap_or(&0);
        self.made.borrow_mut().insert(name, before + 1);
        self.calls.borrow_mut().push((self.begun.elapsed(), call));
        let slow = self.truth.borrow().slow.get(name).copied();
        if let Some(slow) = slow {
            sleep(slow).await;
        }
        (self.happens)(name, before, &mut self.truth.borrow_mut());
        let silent = self.truth.borrow().silent.contains(name);
        if silent { Err(ApiError::NoAnswer(format!("{name} is silent"))) } else { Ok(()) }
    }

    async fn order(&self, name: &'static str, of: &str) -> Result<Vec<String>, Failed> {
        let _ = self.call(name, of).await;
        self.truth.borrow_mut().order.take().map_or_else(|| Ok(vec!["ipmi".into()]), Err)
    }
}

impl Nodes for Double {
    async fn node(&self, _: &str) -> Result<Option<Node>, ApiError> {
        self.call("node", "").await?;
        Ok(self.truth.borrow().node.clone())
    }

    async fn lease(&self, kind: LeaseKind, _: &str) -> Result<Option<LeaseView>, ApiError> {
        assert_eq!(kind, LeaseKind::Kubelet);
        self.call("lease", "").await?;
        Ok(self.truth.borrow().lease.clone())
    }
}

impl Marks for Double {
    async fn taint(&self, _: &str, _: &str, _: &Taint) -> Result<bool, ApiError> {
        unused()
    }

    async fn untaint(&self, _: &str, _: &str, _: &Taint) -> Result<bool, ApiError> {
        unused()
    }

    async fn cordon(&self, _: &str, _: &str, by: &str) -> Result<bool, ApiError> {
        self.call("cordon", by).await?;
        Ok(self.truth.borrow_mut().node.as_mut().is_some_and(|node| !std::mem::replace(&mut node.unschedulable, true)))
    }

    async fn cordon_seen(&self, seen: &Node, by: &str) -> Result<(bool, Option<Node>), ApiError> {
        let ours = self.cordon(&seen.name, &seen.uid, &format!("{by} as seen")).await?;
        Ok((ours, self.truth.borrow().node.clone()))
    }

    async fn uncordon(&self, _: &str, _: &str, _: &str) -> Result<bool, ApiError> {
        unused()
    }

    /// On condition that the Node is the version that was seen, as the API server does it.
    async fn mark_release(&self, seen: &Node, mark: &ReleaseMark) -> Result<(), ApiError> {
        let of = match mark {
            ReleaseMark::OutOfService(taint) => format!("{}={}", taint.key, taint.value),
            ReleaseMark::StorageOf(boot) => format!("storage of {boot}"),
        };
        self.call("mark", &of).await?;
        let mut truth = self.truth.borrow_mut();
        let node = truth.node.as_mut().filter(|node| node.uid == seen.uid).ok_or(ApiError::NotFound)?;
        if node.resource_version != seen.resource_version {
            return Err(ApiError::Conflict("another version".into()));
        }
        if let ReleaseMark::OutOfService(taint) = mark {
            node.taints.push(taint.clone());
        }
        Ok(())
    }

    async fn unmark_release(&self, _: &str, _: &str) -> Result<(), ApiError> {
        unused()
    }

    async fn emit(&self, _: &str, _: &str, event: &EventDraft) {
        let _ = self.call("emit", &event.reason).await;
    }
}

impl Pods for Double {
    async fn pods_on(&self, _: &str) -> Result<Vec<Pod>, ApiError> {
        self.call("pods", "").await?;
        Ok(self.truth.borrow().pods.clone())
    }

    async fn pod(&self, _: &PodRef) -> Result<Option<Pod>, ApiError> {
        unused()
    }

    async fn attachments_on(&self, _: &str) -> Result<Vec<Attachment>, ApiError> {
        self.call("attachments", "").await?;
        Ok(self.truth.borrow().attachments.clone())
    }

    async fn budgets_of(&self, _: &Pod) -> Result<Vec<DisruptionBudget>, ApiError> {
        unused()
    }

    async fn evict(&self, _: &PodRef, _: Option<Duration>) -> Result<(), ApiError> {
        unused()
    }

    async fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        self.call("delete", &format!("{} grace {:?}", pod.uid, grace.map(|grace| grace.as_secs()))).await?;
        let refusal = self.truth.borrow_mut().refusals.pop_front();
        self.truth.borrow_mut().pods.retain(|other| other.at != *pod);
        refusal.map_or(Ok(()), Err)
    }
}

impl Records for Double {
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, ApiError> {
        self.call("fence", "").await?;
        Ok(self.truth.borrow().fence.clone())
    }

    async fn claim(&self, _: &str, _: &str) -> Result<(), ApiError> {
        self.call("claim", "").await
    }

    /// The status of what is created is dropped, and its UID is the API server's.
    async fn open(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        assert_eq!((fence.metadata.uid.as_str(), fence.metadata.resource_version.as_str()), ("", ""));
        self.call("open", "").await?;
        let created = NodeFence { metadata: stored(), status: NodeFenceStatus::default(), ..fence.clone() };
        self.truth.borrow_mut().fence = Some(created.clone());
        Ok(created)
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.call("save", "").await?;
        self.truth.borrow_mut().fence = Some(fence.clone());
        Ok(fence.clone())
    }

    async fn close(&self, _: &NodeFence) -> Result<(), ApiError> {
        self.call("close", "").await?;
        self.truth.borrow_mut().fence.take().map(drop).ok_or(ApiError::NotFound)
    }
}

impl Configuration for Double {
    async fn config_map(&self, _: &str) -> Result<Option<BTreeMap<String, String>>, ApiError> {
        unused()
    }

    async fn secret(&self, _: &str) -> Result<Option<Secret>, ApiError> {
        unused()
    }

    async fn stopped(&self) -> Result<Option<String>, ApiError> {
        self.call("stopped", "").await?;
        Ok(self.truth.borrow().stopped.clone())
    }
}

impl Hosts for Double {
    async fn reach_reports(&self) -> Result<Vec<ReachReport>, ApiError> {
        unused()
    }

    async fn report_reach(&self, _: &ReachReport) -> Result<(), ApiError> {
        unused()
    }
}

impl Election for Double {
    async fn leadership(&self) -> Result<Option<Leadership>, ApiError> {
        unused()
    }

    async fn lead(&self, _: &Leadership) -> Result<Leadership, ApiError> {
        unused()
    }
}

impl Power for Double {
    async fn plan(&self, _: &Node) -> Result<FencePlan, Blocker> {
        let _ = self.call("plan", "").await;
        self.truth.borrow().plan.clone().ok_or_else(|| Blocker::new("FenceNotReady", "nothing is configured"))
    }

    async fn read(&self, _: &Node, scope: &FenceScope) -> PowerState {
        let of_level = self.truth.borrow().levels.get(&scope.level).copied();
        if let Some((state, after)) = of_level {
            sleep(after).await;
            return state;
        }
        if self.call("read", scope.storage.as_deref().unwrap_or_default()).await.is_err() {
            return PowerState::Unknown;
        }
        let mut truth = self.truth.borrow_mut();
        let state = truth.power.front().copied().unwrap_or(PowerState::Unknown);
        if truth.power.len() > 1 {
            truth.power.pop_front();
        }
        state
    }

    async fn off(&self, _: &Node, scope: &FenceScope, _: &LeaseDeadline) -> Result<Vec<String>, Failed> {
        self.order("off", &cut_by(scope)).await
    }

    async fn on(&self, _: &Node, scope: &FenceScope, _: &LeaseDeadline) -> Result<Vec<String>, Failed> {
        self.order("on", &cut_by(scope)).await
    }

    async fn methods(&self, _: &Node, _: &[String], _: &LeaseDeadline) -> Result<(), Failed> {
        Err(Failed::Refused("no act has a use for this".into()))
    }

    async fn reap(&self, _: &Node, _: &LeaseDeadline) -> Result<(), Failed> {
        self.order("reap", "").await.map(drop)
    }
}
