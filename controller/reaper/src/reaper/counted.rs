//! Power as it is, but for reaps: those go to the plug-in of the node's type, and are counted.

use nodewell_power::runner::Runner;
use nodewell_reconcile::{cache::Cache, lease_deadline::LeaseDeadline, power::Power};
use nodewell_remediation::{
    action::Failed,
    api::fence::Blocker,
    facts::Node,
    snapshot::{FencePlan, FenceScope, PowerState},
};

use super::Plugins;

/// Everything but reaps is `P`'s.
#[derive(Debug)]
pub struct Reaping<P> {
    power: P,
    plugins: Plugins,
    runner: Runner,
    cache: Cache,
}

impl<P> Reaping<P> {
    #[must_use]
    pub fn new(power: P, plugins: Plugins, runner: Runner, cache: Cache) -> Self {
        Self { power, plugins, runner, cache }
    }

    /// What does everything but reaps.
    #[must_use]
    pub fn inner(&self) -> &P {
        &self.power
    }

    async fn reap_machine(&self, node: &Node, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        // Refused, not NotBegun: that would be tried every second for ever, and only a person can mend it.
        let provider = self.plugins.of(node).map_err(Failed::Refused)?;
        provider.reap(node, &self.runner, lease_deadline).await
    }

    /// The policy of the node's record.
    fn count(&self, node: &Node, outcome: &Result<(), Failed>) {
        let by = self.cache.with(|snapshot| snapshot.fences.get(&node.name).map(|fence| fence.spec.policy.clone()));
        self.cache.count(&by.unwrap_or_default(), |counts| {
            counts.reaps += 1;
            counts.reaps_failed += u64::from(outcome.is_err());
        });
    }
}

impl<P: Power> Power for Reaping<P> {
    async fn plan(&self, node: &Node) -> Result<FencePlan, Blocker> {
        self.power.plan(node).await
    }

    async fn read(&self, node: &Node, scope: &FenceScope) -> PowerState {
        self.power.read(node, scope).await
    }

    async fn off(
        &self,
        node: &Node,
        scope: &FenceScope,
        lease_deadline: &LeaseDeadline,
    ) -> Result<Vec<String>, Failed> {
        self.power.off(node, scope, lease_deadline).await
    }

    async fn on(&self, node: &Node, scope: &FenceScope, lease_deadline: &LeaseDeadline) -> Result<Vec<String>, Failed> {
        self.power.on(node, scope, lease_deadline).await
    }

    async fn methods(&self, node: &Node, names: &[String], lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        self.power.methods(node, names, lease_deadline).await
    }

    async fn reap(&self, node: &Node, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        let outcome = self.reap_machine(node, lease_deadline).await;
        self.count(node, &outcome);
        outcome
    }
}
