//! The end of a pod's object: at once, or when the owner of its finalizers has done its part.

use std::time::Duration;

use nodewell_remediation::{
    facts::{Deletion, Pod},
    time::Moment,
};

use super::Truth;

/// Some pods have finalizers, where a story has any.
const ONE_OF: u64 = 5;

impl Truth {
    #[must_use]
    pub(super) fn has_finalizers(&self, number: u64) -> bool {
        self.scenario.has_daemons && number % ONE_OF == ONE_OF - 1
    }

    /// It is deleted with grace 0, or its kubelet has ended it: the object goes, unless it has finalizers.
    pub(crate) fn delete_at_once(&mut self, name: &str) {
        let (now, at) = (self.now(), self.clock.wall());
        let Some(pod) = self.store.pods.get(name) else { return };
        if !pod.finalizers {
            self.store.remove_pod(name);
            return;
        }
        if is_finishing(pod) {
            return;
        }
        self.store.edit_pod(name, |pod| pod.deleting = Some(Deletion { at, grace: Duration::ZERO }));
        let until = now.plus(self.random.secs(3, 45));
        self.store.finishing.insert(name.to_owned(), until);
        self.count("cluster finalizers waited for");
    }

    pub(super) fn finish_pods(&mut self, now: Moment) {
        let due: Vec<String> = self.store.finishing.extract_if(.., |_, at| *at <= now).map(|(name, _)| name).collect();
        for name in due {
            self.store.remove_pod(&name);
        }
    }
}

/// Nothing of it may run any more.
pub(super) fn is_finishing(pod: &Pod) -> bool {
    pod.deleting.as_ref().is_some_and(|deletion| deletion.grace.is_zero())
}
