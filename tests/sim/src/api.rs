//! The API server as one replica sees it: late, sometimes refusing, sometimes doing without saying so.

mod pods;
mod writes;

use std::{collections::BTreeMap, time::Duration};

use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{
        Configuration, Election, Hosts, Leadership, LeaseKind, Marks, Nodes, Pods, ReachReport, Records, ReleaseMark,
        Secret,
    },
};
use nodewell_remediation::{
    action::EventDraft,
    api::{SKIP_REMEDIATION, fence::NodeFence},
    facts::{Attachment, DisruptionBudget, LeaseView, Node, Pod, PodRef, Taint},
    time::Moment,
};
use tokio::time::sleep;

use crate::{
    scenario::{Kind, Mutation},
    truth::{NodeRef, Shared, Truth},
};

/// No client waits longer for an answer.
const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct SimCluster {
    pub truth: Shared,
    pub replica: usize,
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Refused,
    /// It does not arrive.
    Lost,
    /// It arrives, the answer does not.
    Unheard,
    /// The caller dies before it arrives, or before the answer does.
    Dies,
    DiesAfter,
}

impl Fate {
    fn name(self) -> &'static str {
        match self {
            Self::Answered => "answer given",
            Self::Refused => "answer refused",
            Self::Lost => "answer lost-call",
            Self::Unheard => "answer lost-answer",
            Self::Dies => "answer died-before",
            Self::DiesAfter => "answer died-after",
        }
    }
}

impl SimCluster {
    /// A call of the leader's that changes something: no other replica may make one.
    async fn write<T>(&self, effect: impl FnOnce(&mut Truth) -> Result<T, ApiError>) -> Result<T, ApiError> {
        self.truth.borrow_mut().check_leads(self.replica);
        self.call(effect).await
    }

    /// One call: `effect` is what the API server does, at one instant.
    async fn call<T>(&self, effect: impl FnOnce(&mut Truth) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let (fate, there, back) = self.fate();
        sleep(there).await;
        match fate {
            Fate::Refused => return Err(ApiError::Refused { code: 500, message: "made up".into() }),
            Fate::Lost => return self.silence().await,
            Fate::Dies => return self.die().await,
            Fate::Answered | Fate::Unheard | Fate::DiesAfter => {}
        }
        if self.must_stay_cut_off() {
            return self.silence().await;
        }
        let answer = effect(&mut self.truth.borrow_mut());
        sleep(back).await;
        match fate {
            Fate::Unheard => self.silence().await,
            Fate::DiesAfter => self.die().await,
            _ if self.must_stay_cut_off() => self.silence().await,
            _ => answer,
        }
    }

    fn fate(&self) -> (Fate, Duration, Duration) {
        let mut truth = self.truth.borrow_mut();
        truth.steps += 1;
        let doomed = std::mem::take(&mut truth.replicas[self.replica].doomed);
        let rate = match truth.scenario.kind {
            _ if truth.now() > Moment(truth.scenario.trouble) => 0,
            Kind::Plain | Kind::Large => 0,
            Kind::Mixed => 4,
            Kind::Wild => 20,
        };
        let fate = match truth.random.below(1000) {
            n if doomed && n % 2 == 0 => Fate::Dies,
            _ if doomed => Fate::DiesAfter,
            n if n < rate => Fate::Refused,
            n if n < 2 * rate => Fate::Lost,
            n if n < 3 * rate => Fate::Unheard,
            _ => Fate::Answered,
        };
        truth.count(fate.name());
        (fate, truth.random.millis(1, 15), truth.random.millis(1, 15))
    }

    fn must_stay_cut_off(&self) -> bool {
        let truth = self.truth.borrow();
        truth.must_stay_cut_off(self.replica)
    }

    async fn silence<T>(&self) -> Result<T, ApiError> {
        sleep(TIMEOUT).await;
        Err(ApiError::NoAnswer("made up".into()))
    }

    /// The runner drops us before this returns.
    async fn die<T>(&self) -> T {
        self.truth.borrow().replicas[self.replica].dead.notify_one();
        std::future::pending().await
    }
}

impl Nodes for SimCluster {
    async fn node(&self, name: &str) -> Result<Option<Node>, ApiError> {
        self.call(|truth| {
            let mut node = truth.store.nodes.get(name).map(|node| (**node).clone());
            if truth.scenario.mutation == Mutation::DeafToSkip {
                node.iter_mut().for_each(|node| drop(node.annotations.remove(SKIP_REMEDIATION)));
            }
            Ok(node)
        })
        .await
    }

    async fn lease(&self, kind: LeaseKind, node: &str) -> Result<Option<LeaseView>, ApiError> {
        self.call(|truth| {
            if truth.scenario.mutation == Mutation::SeesDead && node == crate::replica::UNSEEN {
                return Ok(truth.store.first_leases.get(node).cloned());
            }
            let now = truth.now();
            truth.oracle.looked.insert(node.to_owned(), now);
            Ok(truth.store.leases.get(node).filter(|_| kind == LeaseKind::Kubelet).cloned())
        })
        .await
    }
}

impl Marks for SimCluster {
    async fn taint(&self, node: &str, uid: &str, taint: &Taint) -> Result<bool, ApiError> {
        self.truth.borrow_mut().taint_begins(self.replica, NodeRef { name: node, uid }, taint);
        self.write(|truth| truth.taint(self.replica, NodeRef { name: node, uid }, taint)).await
    }

    async fn untaint(&self, node: &str, uid: &str, taint: &Taint) -> Result<bool, ApiError> {
        self.write(|truth| truth.untaint(self.replica, NodeRef { name: node, uid }, taint)).await
    }

    async fn cordon(&self, node: &str, uid: &str, by: &str) -> Result<bool, ApiError> {
        self.write(|truth| truth.cordon(self.replica, NodeRef { name: node, uid }, by)).await
    }

    async fn uncordon(&self, node: &str, uid: &str, by: &str) -> Result<bool, ApiError> {
        self.write(|truth| truth.uncordon(self.replica, NodeRef { name: node, uid }, by)).await
    }

    async fn mark_release(&self, seen: &Node, mark: &ReleaseMark) -> Result<(), ApiError> {
        if let ReleaseMark::OutOfService(taint) = mark {
            self.truth.borrow_mut().taint_begins(self.replica, NodeRef { name: &seen.name, uid: &seen.uid }, taint);
        }
        self.write(|truth| truth.mark_release(self.replica, seen, mark)).await
    }

    async fn unmark_release(&self, node: &str, uid: &str) -> Result<(), ApiError> {
        self.write(|truth| truth.unmark_release(self.replica, NodeRef { name: node, uid })).await
    }

    async fn emit(&self, node: &str, _uid: &str, event: &EventDraft) {
        let emitted = self.call(|truth| {
            truth.count("act event");
            truth.audit(self.replica, &format!("Event on {node}: {} {}", event.reason, event.message));
            Ok(())
        });
        // An Event that is lost is lost.
        let _ = emitted.await;
    }
}

impl Pods for SimCluster {
    async fn pods_on(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        self.call(|truth| Ok(truth.list_pods(node))).await
    }

    async fn pods_and_claims_on(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        self.call(|truth| Ok(truth.list_pods_and_claims(node))).await
    }

    async fn pod(&self, at: &PodRef) -> Result<Option<Pod>, ApiError> {
        self.call(|truth| Ok(truth.store.pods.get(&at.name).filter(|pod| pod.at == *at).cloned())).await
    }

    async fn attachments_on(&self, node: &str) -> Result<Vec<Attachment>, ApiError> {
        self.call(|truth| Ok(truth.list_attachments(node))).await
    }

    async fn budgets_of(&self, pod: &Pod) -> Result<Vec<DisruptionBudget>, ApiError> {
        self.call(|truth| Ok(truth.budget_of(&pod.at.name).into_iter().collect())).await
    }

    async fn evict(&self, pod: &PodRef, _grace: Option<Duration>) -> Result<(), ApiError> {
        self.truth.borrow_mut().drain_calls(self.replica, pod, true);
        self.write(|truth| truth.evict(self.replica, pod)).await
    }

    async fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        let releases = grace == Some(Duration::ZERO);
        if releases {
            self.truth.borrow_mut().release_begins(self.replica, pod);
        } else {
            self.truth.borrow_mut().drain_calls(self.replica, pod, false);
        }
        self.write(|truth| truth.delete_pod(self.replica, pod, releases)).await
    }
}

impl Records for SimCluster {
    async fn fence(&self, name: &str) -> Result<Option<NodeFence>, ApiError> {
        self.call(|truth| {
            if truth.scenario.mutation == Mutation::ClingsToCopies && truth.store.set_back > 0 {
                return Err(ApiError::Refused { code: 500, message: "a copy is known".into() });
            }
            Ok(truth.store.fences.get(name).cloned())
        })
        .await
    }

    async fn open(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.write(|truth| truth.open(self.replica, fence)).await
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.write(|truth| truth.save(self.replica, fence)).await
    }

    async fn close(&self, fence: &NodeFence) -> Result<(), ApiError> {
        self.write(|truth| truth.close(self.replica, fence)).await
    }
}

impl Configuration for SimCluster {
    async fn config_map(&self, _name: &str) -> Result<Option<BTreeMap<String, String>>, ApiError> {
        self.call(|_| Ok(None)).await
    }

    async fn secret(&self, _name: &str) -> Result<Option<Secret>, ApiError> {
        self.call(|_| Ok(None)).await
    }

    async fn stopped(&self) -> Result<Option<String>, ApiError> {
        self.call(|truth| {
            let deaf = truth.scenario.mutation == Mutation::DeafToStop;
            Ok(truth.store.stopped.filter(|_| !deaf).map(|_| "a person said so".to_owned()))
        })
        .await
    }
}

impl Hosts for SimCluster {
    async fn reach_reports(&self) -> Result<Vec<ReachReport>, ApiError> {
        self.call(|truth| Ok(truth.store.reach.values().cloned().collect())).await
    }

    async fn report_reach(&self, report: &ReachReport) -> Result<(), ApiError> {
        self.call(|truth| truth.report_reach(report)).await
    }
}

impl Election for SimCluster {
    async fn leadership(&self) -> Result<Option<Leadership>, ApiError> {
        self.call(|truth| Ok(truth.leadership_as_seen())).await
    }

    async fn lead(&self, lease: &Leadership) -> Result<Leadership, ApiError> {
        self.call(|truth| truth.lead(self.replica, lease)).await
    }
}
