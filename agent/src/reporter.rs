//! Which peer reported an event: each user or unit that has no more than a grant has a share of its own.

use nodewell_model::EventRecord;

/// The user or unit behind `event`, if the ledger took it from a peer. The gate has judged that, by the sender's rights: its
/// name alone shows neither a unit of root's nor the agent's own user.
pub(crate) fn peer(event: &EventRecord) -> Option<&str> {
    let principal = || event.source.split_once('@').map_or("", |(_, principal)| principal);
    event.from_peer.then(principal)
}
