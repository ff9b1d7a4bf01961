//! The attach-detach controller: volumes of pods that are gone are detached, unless their driver's attacher does
//! nothing.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    api::OUT_OF_SERVICE,
    facts::{Attachment, Pod},
    time::Moment,
};

use super::{Truth, evictions::tolerates};

/// A volume of a node that is gone is detached by force after so long.
const FORCE_DETACH: Duration = Duration::from_secs(360);

/// Volumes that are attached to a node.
#[derive(Debug, Default)]
pub struct Attached {
    /// By identity: since when no pod uses it.
    volumes: BTreeMap<String, Option<Moment>>,
    /// The state of the node's pods by which all of them are in use.
    in_use_at: Option<u64>,
}

/// The PersistentVolume of an identity.
pub(super) fn volume_of(identity: &str) -> String {
    format!("pv-{identity}")
}

impl Truth {
    pub(super) fn attach(&mut self, node: &str, identity: &str) {
        let attached = self.store.attached.entry(node.to_owned()).or_default();
        attached.volumes.insert(identity.to_owned(), None);
        attached.in_use_at = None;
    }

    /// VolumeAttachments, as the API server lists them.
    #[must_use]
    pub fn attachments(&self, node: &str) -> Vec<Attachment> {
        let attachment = |identity: &String| Attachment {
            name: format!("va-{identity}"),
            node: node.to_owned(),
            volume: volume_of(identity),
            attached: true,
        };
        self.store.attached.get(node).into_iter().flat_map(|it| it.volumes.keys()).map(attachment).collect()
    }

    /// With the out-of-service taint it does not wait for a node that cannot answer.
    pub(super) fn detach(&mut self, now: Moment) {
        let Self { store, machines, .. } = self;
        let mut counted = Vec::new();
        let mut all = std::mem::take(&mut store.attached);
        for (name, attached) in &mut all {
            let version = store.version_of_pods(name);
            let is_the_same = attached.in_use_at == Some(version);
            let is_out = store.nodes.get(name).is_none_or(|node| node.taint(OUT_OF_SERVICE).is_some());
            let answers = machines.get(name).is_some_and(|machine| machine.is_alive(now) && !machine.cut);
            let wait = if is_out || answers { Duration::from_secs(2) } else { FORCE_DETACH };
            let (pods, stays) = (&store.pods, store.undetachable.contains(name));
            let uses = |identity: &String| pods.get(identity).is_some_and(|pod| pod.node == *name);
            attached.volumes.retain(|identity, unused| {
                if is_the_same || uses(identity) {
                    *unused = None;
                    return true;
                }
                now.since(*unused.get_or_insert(now)) < wait || stays
            });
            attached.in_use_at = attached.volumes.values().all(Option::is_none).then_some(version);
            let count = attached.volumes.len();
            let shown = store.nodes.get(name).map(|node| node.volumes_attached);
            if shown.is_some_and(|shown| shown != count) {
                counted.push((name.clone(), count));
            }
        }
        store.attached = all;
        for (name, count) in counted {
            store.edit_node(&name, now, |node| node.volumes_attached = count);
        }
    }

    /// Since when volumes are attached to a node that no pod there uses; the oldest.
    #[must_use]
    pub(crate) fn unused_since(&self, node: &str) -> Option<Moment> {
        self.store.attached.get(node)?.volumes.values().flatten().min().copied()
    }

    /// Each volume that is attached to it is one of a pod that a release does not end, and there is one.
    #[must_use]
    pub(crate) fn has_volumes_that_stay_alone(&self, node: &str) -> bool {
        let taint = nodewell_remediation::fence::out_of_service();
        let stays = |pod: &Pod| pod.node == node && tolerates(pod, &taint);
        let attached = self.store.attached.get(node);
        attached.is_some_and(|attached| {
            let mut all = attached.volumes.keys();
            !attached.volumes.is_empty() && all.all(|identity| self.store.pods.get(identity).is_some_and(stays))
        })
    }
}
