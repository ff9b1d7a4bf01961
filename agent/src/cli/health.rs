//! Whether a node is well, in the exit code of `nodewell status --exit-code` and `nodewell scan`.

use std::process::ExitCode;

use nodewell_model::{
    ConditionStatus,
    view::{ConditionView, DaemonState, NodeView},
};

/// The worst that is known of a node. Not to know is no health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeHealth {
    Healthy,
    Problem,
    Unknown,
}

impl NodeHealth {
    /// An account without a condition is that of an agent that has not looked yet.
    pub(super) fn of(view: &NodeView) -> Self {
        let has = |status| view.conditions.iter().any(|condition| condition.status == status);
        if has(ConditionStatus::True) {
            return Self::Problem;
        }
        let is_unknown = view.conditions.is_empty() || has(ConditionStatus::Unknown);
        if is_unknown { Self::Unknown } else { Self::Healthy }
    }

    pub(super) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Healthy => 0,
            Self::Problem => 1,
            Self::Unknown => 2,
        })
    }
}

/// What is left of `view` without all that is well, in the same shape.
pub(super) fn without_healthy(mut view: NodeView) -> NodeView {
    let is_well = |condition: &ConditionView| condition.status == ConditionStatus::False;
    view.conditions.retain(|condition| !is_well(condition));
    view.hardware
        .retain(|class| !class.informational && (!class.states.is_empty() || class.unconfirmed_since.is_some()));
    view.daemons.retain(|daemon| daemon.state != DaemonState::Running);
    view.refused.clear();
    view
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use nodewell_model::{
        Name,
        view::{ApiserverState, ApiserverView, DaemonView, HardwareView},
    };

    use super::*;

    fn view(statuses: &[ConditionStatus]) -> NodeView {
        let condition = |status: &ConditionStatus| ConditionView {
            condition: Name::fixed("DiskUnhealthy"),
            status: *status,
            reason: Name::fixed("IOError"),
            message: String::new(),
            transition: Timestamp::UNIX_EPOCH,
            problems: Vec::new(),
        };
        let message = String::new();
        NodeView {
            node: "node-1".to_owned(),
            conditions: statuses.iter().map(|status| condition(status).into()).collect(),
            daemons: Vec::new(),
            apiserver: ApiserverView { state: ApiserverState::Disabled, last_success: None, message, undelivered: 0 },
            hardware: Vec::new(),
            refused: Vec::new(),
        }
    }

    #[test]
    fn the_worst_decides_and_not_to_know_is_not_health() {
        use ConditionStatus::{False, True, Unknown};
        for (statuses, health, code) in [
            (&[False, False][..], NodeHealth::Healthy, 0),
            (&[False, Unknown, True], NodeHealth::Problem, 1),
            (&[False, Unknown], NodeHealth::Unknown, 2),
            (&[], NodeHealth::Unknown, 2),
        ] {
            assert_eq!(NodeHealth::of(&view(statuses)), health, "{statuses:?}");
            assert_eq!(format!("{:?}", health.exit_code()), format!("{:?}", ExitCode::from(code)));
        }
    }

    #[test]
    fn without_what_is_well_the_rest_has_its_shape() {
        use ConditionStatus::{False, True, Unknown};
        let mut node = view(&[True, False, Unknown]);
        let class = |states: &[(&str, u32)], informational| HardwareView {
            class: "disks".to_owned(),
            total: 4,
            healthy: 4,
            states: states.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect::<BTreeMap<_, _>>(),
            unconfirmed_since: None,
            informational,
        };
        node.hardware = vec![class(&[], false), class(&[("lost", 1)], false), class(&[("due", 1)], true)];
        let daemon = |state| DaemonView {
            name: "disk".to_owned(),
            state,
            reason: String::new(),
            message: String::new(),
            records: 0,
            lost: 0,
            ttl_secs: None,
            silent_since: None,
        };
        node.daemons = vec![daemon(DaemonState::Running), daemon(DaemonState::Blind)];
        let left = without_healthy(node);
        let statuses: Vec<ConditionStatus> = left.conditions.iter().map(|condition| condition.status).collect();
        assert_eq!(statuses, [True, Unknown]);
        assert_eq!((left.hardware.len(), left.daemons.len()), (1, 1));
        assert_eq!(left.hardware[0].states["lost"], 1);
    }
}
