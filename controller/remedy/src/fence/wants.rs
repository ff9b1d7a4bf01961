//! What has to be read about a node before its record can go on.

use std::time::Duration;

use super::{Case, interrupt::own_node, ladder};
use crate::{api::fence::Phase, decide::Wants};

/// The BMC of a silent node is asked this often: two readings make a word.
const SILENT: Duration = Duration::from_secs(1);
/// While its power is off it has to stay so.
const OFF: Duration = Duration::from_secs(2);
/// From this silence on it is asked at all; a kubelet renews every 10 s.
const SUSPECT: Duration = Duration::from_secs(11);

/// What to read for this record now.
#[must_use]
pub fn wants(case: &Case<'_>) -> Wants {
    let phase = case.fence.status.phase;
    let suspect = case.kubelet_lease.is_some_and(|lease| lease.stale_for(case.now.moment) >= SUSPECT);
    let not_ready = own_node(case).is_some_and(|node| !node.is_ready());
    let early = phase <= Phase::KdumpWait && ladder::cuts_power(case.fence) && (suspect || not_ready);
    let off = matches!(phase, Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn);
    Wants {
        pods: matches!(phase, Phase::OffConfirmed | Phase::PodsReleased),
        attachments: matches!(phase, Phase::AwaitReady | Phase::Recovering),
        methods: !matches!(phase, Phase::Closed | Phase::Quarantined),
        power: if off { Some(OFF) } else { early.then_some(SILENT) },
        reach: early && case.policy.is_some_and(|policy| policy.fast.is_some()),
    }
}
