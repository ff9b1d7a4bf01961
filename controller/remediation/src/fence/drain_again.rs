//! Steps that end with a drain which left pods: nothing else would help the node, so that they are begun again. Whatever
//! stood in the way may have gone by then, and a person may have seen to it.

use std::time::Duration;

use super::{begin::LAST_WAIT, steps};
use crate::{
    api::fence::{Blocker, NodeFence},
    policy::duration::show,
};

/// The pause doubles with each round up to this.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

pub(super) struct LeftPods {
    pub(super) pause: Duration,
    pub(super) blocker: Blocker,
}

/// Steps that cut the power have rounds of their own: there it is the power that did not help. A machine that was reaped is
/// another one by now, or none, and is not reaped again.
pub(super) fn left_pods(fence: &NodeFence) -> Option<LeftPods> {
    let status = &fence.status;
    let report = status.drain.as_ref().filter(|report| !report.done && !steps::are_irreversible(&fence.spec.steps))?;
    let pause = LAST_WAIT.saturating_mul(2_u32.saturating_pow(status.step_rounds)).min(LONGEST_PAUSE);
    let first = report.refused_evictions.first()?;
    let more = report.refused_evictions.len() - 1;
    let pods = if more == 0 { first.clone() } else { format!("{first}; and {more} more") };
    Some(LeftPods { pause, blocker: Blocker::of("DrainIncomplete", &[("pods", &pods), ("pause", &show(pause))]) })
}
