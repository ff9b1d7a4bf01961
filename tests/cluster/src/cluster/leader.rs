//! Which controller leads.

use serde_json::Value;

use super::Cluster;
use crate::controller_host::ControllerHost;

/// Beside it in that namespace are the Leases by which each controller reports what it reaches.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases/nodewell-controller";

impl Cluster {
    /// The Lease by which one controller leads.
    #[must_use]
    pub fn lead(&self) -> Option<Value> {
        self.api.get(LEASE)
    }

    /// The host whose controller has it.
    #[must_use]
    pub fn leader(&self) -> Option<&ControllerHost> {
        let lead = self.lead()?;
        let holder = lead["spec"]["holderIdentity"].as_str()?;
        self.controllers.iter().find(|host| holder.starts_with(host.name()))
    }
}
