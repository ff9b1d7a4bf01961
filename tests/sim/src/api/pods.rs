//! Lists of pods and of volumes, as the API server answers them; or as a controller takes them that has no eyes for
//! something.

use nodewell_remediation::facts::{Attachment, Owner, Pod};

use crate::{
    scenario::Mutation,
    truth::{Truth, without_claims},
};

impl Truth {
    pub(super) fn list_pods(&self, node: &str) -> Vec<Pod> {
        self.store.pods_on(node).map(without_claims).map(|pod| self.mistaken(pod)).collect()
    }

    /// With what their claims are.
    pub(super) fn list_pods_and_claims(&self, node: &str) -> Vec<Pod> {
        if self.scenario.mutation == Mutation::WaitsForEveryVolume {
            return self.list_pods(node);
        }
        self.store.pods_on(node).map(|pod| self.mistaken(pod.clone())).collect()
    }

    pub(super) fn list_attachments(&self, node: &str) -> Vec<Attachment> {
        if self.scenario.mutation == Mutation::IgnoresAttachments { Vec::new() } else { self.attachments(node) }
    }

    fn mistaken(&self, pod: Pod) -> Pod {
        let owner = || Some(Owner { kind: "StatefulSet".into(), name: "web".into(), uid: "web".into(), gone: false });
        match self.scenario.mutation {
            Mutation::TakesStaticPods if pod.mirror => Pod { mirror: false, owner: owner(), ..pod },
            Mutation::TakesDaemonSets if !pod.mirror => Pod { owner: owner(), ..pod },
            Mutation::ForgetsFinalizers => Pod { finalizers: false, ..pod },
            _ => pod,
        }
    }
}
