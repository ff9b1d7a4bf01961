//! Every edge of the state machine: what is not here does not happen. `docs/remediation-states.md` says when each is taken.

use crate::api::fence::Phase::{self, *};

/// From, and where to; in the order of the documentation.
#[rustfmt::skip]
pub const EDGES: &[(Phase, &[Phase])] = &[
    (Pending, &[Isolating, Draining, AwaitGuards, Waiting, Recovering, Closed]),
    (Isolating, &[Draining, Waiting, AwaitGuards, Recovering, Closed]),
    (Draining, &[Isolating, Waiting, AwaitGuards, Recovering, Closed]),
    (Waiting, &[Pending, Isolating, Draining, AwaitGuards, Recovering, Closed, Quarantined]),
    (AwaitGuards, &[
        Pending, KdumpWait, PoweringOff, OffConfirmed, PoweringOn, Reaping, Failed, Recovering, Closed, Quarantined,
    ]),
    (KdumpWait, &[AwaitGuards, Recovering, Closed]),
    (PoweringOff, &[OffConfirmed, AwaitReady, AwaitGuards, Recovering, InDoubt, Quarantined]),
    (OffConfirmed, &[PodsReleased, PoweringOn, AwaitGuards, Recovering, InDoubt, Quarantined]),
    (PodsReleased, &[PoweringOn, OffConfirmed, AwaitReady, AwaitGuards, Recovering, InDoubt, Quarantined]),
    (PoweringOn, &[AwaitReady, InDoubt, Recovering, Quarantined]),
    (AwaitReady, &[Recovering, PoweringOn, Failed, Isolating, Draining, AwaitGuards, Closed, Quarantined]),
    (Reaping, &[Waiting, AwaitGuards, Recovering, InDoubt, Closed]),
    (Recovering, &[Pending, PoweringOn, Waiting, Closed, Quarantined]),
    (InDoubt, &[AwaitGuards, OffConfirmed, PoweringOn, AwaitReady, Failed, Recovering, Closed, Quarantined]),
    (Failed, &[AwaitGuards, Isolating, Draining, Recovering, Closed, Quarantined]),
    (Quarantined, &[InDoubt, Recovering, Closed]),
    (Closed, &[]),
];

/// Whether a record may go from one phase to another. Staying is always allowed.
#[must_use]
pub fn is_edge(from: Phase, to: Phase) -> bool {
    from == to || EDGES.iter().any(|(phase, next)| *phase == from && next.contains(&to))
}
