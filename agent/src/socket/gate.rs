//! Who may report what: root and the agent's own user.

use std::sync::Arc;

use hyper::StatusCode;
use nodewell_ledger::OnStale;
use nodewell_model::Status;

use super::{answer::Refusal, peer::Peer};

/// Decides on peers by the kernel's word.
pub(super) struct Gate {
    owner: u32,
}

/// What a peer's reports count as.
pub(super) struct Granted {
    /// Whose daemons they are of.
    pub(super) principal: Arc<str>,
    pub(super) on_stale: OnStale,
}

impl Gate {
    pub(super) fn new(owner: u32) -> Self {
        Self { owner }
    }

    /// Whether `peer` may report now; asked before its body is read.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "no rate is bounded yet")]
    pub(super) fn rate(&self, _peer: &Peer) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether `peer` may say all that is in `reports`.
    pub(super) fn admit(&self, peer: &Peer, _reports: &[Status]) -> Result<Granted, Refusal> {
        if !peer.may_act(self.owner) {
            let error = format!("reporting is for root; you are uid {}: try sudo", peer.uid);
            return Err(Refusal::new(StatusCode::FORBIDDEN, error));
        }
        let principal = if peer.uid == 0 { Arc::from("root") } else { Arc::from(format!("uid:{}", peer.uid)) };
        Ok(Granted { principal, on_stale: OnStale::Keep })
    }
}
