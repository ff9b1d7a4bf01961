//! What a person still has to confirm of a node's machine, for `nodewell-controller check --node`.

use std::time::Duration;

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{
    facts::Node,
    method::{AgentAction, IdentityMethod, Unpinned},
};

use super::{NativePower, secret};
use crate::identity;

impl<C: Configuration> NativePower<C> {
    /// The first pin that is not written yet; nothing if all are. Asks a BMC for its identity, and for nothing else.
    ///
    /// # Errors
    /// What has to be mended before the check can run.
    pub async fn unpinned(&self, node: &Node) -> Result<Option<Unpinned>, String> {
        let validated = self.validated(node, Duration::ZERO).await.map_err(|blocker| blocker.message)?;
        if let Err(unpinned) = validated.check_outlet_pins() {
            return Ok(Some(unpinned));
        }
        if validated.pins.system_uuid.is_some() {
            return Ok(None);
        }
        for call in
            validated.power_of_all(AgentAction::Off).filter(|call| call.identity_method == IdentityMethod::Asked)
        {
            let options = secret::options(&*self.cluster, &validated.node, call).await?;
            if let Some(reported) = identity::asked(call, &options, &self.runner).await {
                return Ok(Some(validated.pins.unpinned(node, &reported.map_err(|error| error.to_string())?)));
            }
        }
        Ok(None)
    }
}
