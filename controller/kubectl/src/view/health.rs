//! What a condition's status means, and what a node's conditions come to.

use nodewell_remediation::{
    facts::{ConditionStatus, FENCE_READY},
    guard::reason::NO_METHODS,
};
use serde::Serialize;

/// The worst that is known. Not to know is no health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Health {
    Problem,
    Unknown,
    Healthy,
}

impl Health {
    /// Of one condition of nodewell's. All but one are named for the problem.
    pub(crate) fn of_condition(kind: &str, status: ConditionStatus, reason: &str) -> Self {
        match (kind == FENCE_READY, status) {
            // A cluster without fencing has no methods, and means that.
            (true, ConditionStatus::Unknown) if reason == NO_METHODS => Self::Healthy,
            (false, ConditionStatus::True) | (true, ConditionStatus::False) => Self::Problem,
            (false, ConditionStatus::False) | (true, ConditionStatus::True) => Self::Healthy,
            (_, ConditionStatus::Unknown) => Self::Unknown,
        }
    }

    /// Of all of these; of none nothing is known.
    pub(crate) fn worst(all: impl Iterator<Item = Self>) -> Self {
        all.min().unwrap_or(Self::Unknown)
    }

    /// What `--exit-code` ends with, as `nodewell status` does.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Healthy => 0,
            Self::Problem => 1,
            Self::Unknown => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_named_for_its_problem_but_for_one() {
        use ConditionStatus::{False, True, Unknown};
        for (kind, status, reason, health) in [
            ("DiskUnhealthy", True, "MediumError", Health::Problem),
            ("DiskUnhealthy", False, "DisksAreHealthy", Health::Healthy),
            ("DiskUnhealthy", Unknown, "MonitorStale", Health::Unknown),
            (FENCE_READY, True, "FenceReady", Health::Healthy),
            (FENCE_READY, False, "NoAnswer", Health::Problem),
            (FENCE_READY, Unknown, NO_METHODS, Health::Healthy),
            (FENCE_READY, Unknown, "NoAnswer", Health::Unknown),
        ] {
            assert_eq!(Health::of_condition(kind, status, reason), health, "{kind} {status} {reason}");
        }
    }

    #[test]
    fn a_problem_outweighs_what_is_unknown_and_nothing_is_no_health() {
        let worst = |all: &[Health]| Health::worst(all.iter().copied()).exit_code();
        assert_eq!(worst(&[Health::Healthy, Health::Unknown, Health::Problem]), 1);
        assert_eq!(worst(&[Health::Healthy, Health::Unknown]), 2);
        assert_eq!((worst(&[Health::Healthy]), worst(&[])), (0, 2));
    }
}
