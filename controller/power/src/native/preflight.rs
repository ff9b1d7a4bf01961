//! The condition `FenceReady`: whether a node could be fenced if it had to be, found out while it need not.

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{
    facts::{ConditionStatus, Node},
    guard::reason,
    method::ValidatedMethods,
    snapshot::PowerState,
};

use super::{NativePower, NotProven};

/// What the condition reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// False if something has to be mended; Unknown if nothing is configured or was read yet, which is no error.
    pub status: ConditionStatus,
    /// `FenceReady`, `NoMethods`, `FenceNotReady`, `IdentityUnproven`, `NoAnswer` or `ReadsOff`.
    pub reason: &'static str,
    pub message: String,
}

impl<C: Configuration> NativePower<C> {
    /// Reads the configuration, proves the BMC's identity and asks it for the power's state. Changes nothing.
    pub async fn preflight(&self, node: &Node) -> Preflight {
        let validated = match self.proven(node, self.settings.refresh).await {
            Ok(validated) => validated,
            Err(error) => return refused(error),
        };
        let preflight = |status, reason, message: String| Preflight { status, reason, message };
        let states = self.states(&validated).await;
        let off = states.each.iter().find(|(_, state)| *state == PowerState::Off);
        match (states.all, off) {
            // The node runs on one supply, but without the other's answer it could not be turned off.
            (state, _) if state == PowerState::Unknown || states.complaint.is_some() => {
                let why = states.complaint;
                preflight(
                    ConditionStatus::False,
                    "NoAnswer",
                    why.unwrap_or_else(|| "its methods do not agree".to_owned()),
                )
            }
            (PowerState::Off, _) if node.is_ready() => preflight(
                ConditionStatus::False,
                "ReadsOff",
                "the node is Ready, but its methods report that it is off".to_owned(),
            ),
            (PowerState::On, Some((name, _))) if node.is_ready() => {
                let text =
                    format!("the node is Ready, but {name} reports Off and another method On; turn that supply on");
                preflight(ConditionStatus::False, "ReadsOff", text)
            }
            _ => preflight(ConditionStatus::True, "FenceReady", by(&validated)),
        }
    }
}

/// With what had better be written otherwise.
fn by(validated: &ValidatedMethods) -> String {
    let by = format!("by {}", validated.power_management.join(", "));
    std::iter::once(by).chain(validated.notes.iter().cloned()).collect::<Vec<_>>().join("; ")
}

fn refused(NotProven { blocker, is_early }: NotProven) -> Preflight {
    let known = [reason::NO_METHODS, reason::IDENTITY_UNPROVEN].into_iter().find(|known| *known == blocker.reason);
    let status =
        if known == Some(reason::NO_METHODS) || is_early { ConditionStatus::Unknown } else { ConditionStatus::False };
    Preflight { status, reason: known.unwrap_or(reason::FENCE_NOT_READY), message: blocker.message }
}
