//! The API server as one replica sees it: late, sometimes refusing, sometimes doing without saying so.

mod writes;

use std::{collections::BTreeMap, time::Duration};

use nodewell_reconcile::{
    cluster::{Cluster, Leadership, LeaseKind, ReachReport},
    failure::Failure,
};
use nodewell_remedy::{
    action::Telling,
    api::fence::NodeFence,
    facts::{Attachment, Budget, LeaseView, Node, Pod, PodRef, Taint},
};
use tokio::time::sleep;

use crate::{
    scene::{Kind, Mutation},
    truth::{Shared, Truth},
};

/// Nobody waits longer for an answer.
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

impl SimCluster {
    /// One call: `effect` is what the API server does, at one instant.
    async fn call<T>(&self, effect: impl FnOnce(&mut Truth) -> Result<T, Failure>) -> Result<T, Failure> {
        let (fate, there, back) = self.fate();
        sleep(there).await;
        match fate {
            Fate::Refused => return Err(Failure::Refused { code: 500, message: "made up".into() }),
            Fate::Lost => return self.silence().await,
            Fate::Dies => return self.die().await,
            Fate::Answered | Fate::Unheard | Fate::DiesAfter => {}
        }
        if self.is_cut() {
            return self.silence().await;
        }
        let answer = effect(&mut self.truth.borrow_mut());
        sleep(back).await;
        match fate {
            Fate::Unheard => self.silence().await,
            Fate::DiesAfter => self.die().await,
            _ if self.is_cut() => self.silence().await,
            _ => answer,
        }
    }

    fn fate(&self) -> (Fate, Duration, Duration) {
        let mut truth = self.truth.borrow_mut();
        truth.steps += 1;
        let doomed = std::mem::take(&mut truth.replicas[self.replica].doomed);
        let rate = match truth.scene.kind {
            _ if truth.now() > nodewell_remedy::time::Moment(truth.scene.trouble) => 0,
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
        (fate, truth.random.millis(1, 15), truth.random.millis(1, 15))
    }

    fn is_cut(&self) -> bool {
        let truth = self.truth.borrow();
        truth.replicas[self.replica].cut > truth.now() || truth.store.down > truth.now()
    }

    async fn silence<T>(&self) -> Result<T, Failure> {
        sleep(TIMEOUT).await;
        Err(Failure::NoAnswer("made up".into()))
    }

    /// The runner drops us before this returns.
    async fn die<T>(&self) -> T {
        self.truth.borrow().replicas[self.replica].dead.notify_one();
        std::future::pending().await
    }
}

impl Cluster for SimCluster {
    async fn node(&self, name: &str) -> Result<Option<Node>, Failure> {
        self.call(|truth| Ok(truth.store.nodes.get(name).map(|node| (**node).clone()))).await
    }

    async fn lease(&self, kind: LeaseKind, node: &str) -> Result<Option<LeaseView>, Failure> {
        self.call(|truth| {
            if truth.scene.mutation == Mutation::SeesDead && node == crate::replica::UNSEEN {
                return Ok(truth.store.first_leases.get(node).cloned());
            }
            Ok(truth.store.leases.get(node).filter(|_| kind == LeaseKind::Kubelet).cloned())
        })
        .await
    }

    async fn fence(&self, name: &str) -> Result<Option<NodeFence>, Failure> {
        self.call(|truth| Ok(truth.store.fences.get(name).cloned())).await
    }

    async fn pods_on(&self, node: &str) -> Result<Vec<Pod>, Failure> {
        self.call(|truth| Ok(truth.store.pods.values().filter(|pod| pod.node == node).cloned().collect())).await
    }

    async fn pod(&self, at: &PodRef) -> Result<Option<Pod>, Failure> {
        self.call(|truth| Ok(truth.store.pods.get(&at.name).filter(|pod| pod.at == *at).cloned())).await
    }

    async fn attachments_on(&self, node: &str) -> Result<Vec<Attachment>, Failure> {
        self.call(|truth| {
            let attached = truth.store.attached.get(node).into_iter().flat_map(BTreeMap::keys);
            let attachment = |identity: &String| Attachment {
                name: format!("va-{identity}"),
                node: node.to_owned(),
                volume: format!("data-{identity}"),
                attached: true,
            };
            Ok(attached.map(attachment).collect())
        })
        .await
    }

    async fn budgets_of(&self, _pod: &Pod) -> Result<Vec<Budget>, Failure> {
        self.call(|_| Ok(Vec::new())).await
    }

    async fn config_map(&self, _name: &str) -> Result<Option<BTreeMap<String, String>>, Failure> {
        self.call(|_| Ok(None)).await
    }

    async fn secret(&self, _name: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Failure> {
        self.call(|_| Ok(None)).await
    }

    async fn stopped(&self) -> Result<Option<String>, Failure> {
        self.call(|truth| {
            let deaf = truth.scene.mutation == Mutation::DeafToStop;
            Ok(truth.store.stopped.filter(|_| !deaf).map(|_| "a person said so".to_owned()))
        })
        .await
    }

    async fn open(&self, fence: &NodeFence) -> Result<NodeFence, Failure> {
        self.call(|truth| truth.open(self.replica, fence)).await
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, Failure> {
        self.call(|truth| truth.save(self.replica, fence)).await
    }

    async fn close(&self, fence: &NodeFence) -> Result<(), Failure> {
        self.call(|truth| truth.close(self.replica, fence)).await
    }

    async fn taint(&self, node: &str, uid: &str, taint: &Taint) -> Result<(), Failure> {
        self.call(|truth| truth.taint(self.replica, (node, uid), taint)).await
    }

    async fn untaint(&self, node: &str, uid: &str, taint: &Taint) -> Result<(), Failure> {
        self.call(|truth| truth.untaint(self.replica, (node, uid), taint)).await
    }

    async fn cordon(&self, node: &str, uid: &str, by: &str) -> Result<bool, Failure> {
        self.call(|truth| truth.cordon(self.replica, (node, uid), by)).await
    }

    async fn uncordon(&self, node: &str, uid: &str, by: &str) -> Result<bool, Failure> {
        self.call(|truth| truth.uncordon(self.replica, (node, uid), by)).await
    }

    async fn evict(&self, pod: &PodRef, _grace: Option<Duration>) -> Result<(), Failure> {
        self.call(|truth| truth.delete_pod(self.replica, pod, false)).await
    }

    async fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), Failure> {
        self.call(|truth| truth.delete_pod(self.replica, pod, grace == Some(Duration::ZERO))).await
    }

    async fn tell(&self, node: &str, _uid: &str, telling: &Telling) {
        let told = self.call(|truth| {
            truth.audit(self.replica, &format!("Event on {node}: {} {}", telling.reason, telling.message));
            Ok(())
        });
        // An Event that is lost is lost.
        let _ = told.await;
    }

    async fn reach_reports(&self) -> Result<Vec<ReachReport>, Failure> {
        self.call(|truth| Ok(truth.store.reach.values().cloned().collect())).await
    }

    async fn report_reach(&self, report: &ReachReport) -> Result<(), Failure> {
        self.call(|truth| truth.report_reach(report)).await
    }

    async fn leadership(&self) -> Result<Option<Leadership>, Failure> {
        self.call(|truth| Ok(truth.leadership_as_seen())).await
    }

    async fn lead(&self, lease: &Leadership) -> Result<Leadership, Failure> {
        self.call(|truth| truth.lead(self.replica, lease)).await
    }
}
