//! The condition `FenceReady`: whether a node could be fenced if it had to be, found out while it need not.

use nodewell_reconcile::cluster::Cluster;
use nodewell_remedy::{
    facts::{Node, Truth},
    snapshot::PowerState,
};

use super::NativePower;

/// What the condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// False if something has to be mended; Unknown if nothing is configured, which is nobody's fault.
    pub status: Truth,
    /// `FenceReady`, `NoMethods`, `FenceNotReady`, `IdentityUnproven`, `NoAnswer` or `ReadsOff`.
    pub reason: &'static str,
    pub message: String,
}

impl<C: Cluster> NativePower<C> {
    /// Reads the configuration, proves the BMC's identity and asks it for the power's state. Changes nothing.
    pub async fn preflight(&self, node: &Node) -> Preflight {
        let ready = match self.proven(node, self.settings.refresh).await {
            Ok(ready) => ready,
            Err(why) => return refused(why),
        };
        let say = |status, reason, message: String| Preflight { status, reason, message };
        match self.states(&ready).await {
            (PowerState::Unknown, why) => {
                say(Truth::False, "NoAnswer", why.unwrap_or_else(|| "its methods do not agree".to_owned()))
            }
            (PowerState::Off, _) if node.is_ready() => {
                say(Truth::False, "ReadsOff", "the node is Ready, but its methods say that it is off".to_owned())
            }
            _ => say(Truth::True, "FenceReady", format!("by {}", ready.power_management.join(", "))),
        }
    }
}

fn refused(why: String) -> Preflight {
    let reason = ["NoMethods", "IdentityUnproven"].into_iter().find(|reason| why.contains(reason));
    let status = if reason == Some("NoMethods") { Truth::Unknown } else { Truth::False };
    Preflight { status, reason: reason.unwrap_or("FenceNotReady"), message: why }
}
