//! Whether a node is well, in the exit code of `nodewell status --exit-code` and `nodewell scan`; and an account
//! without what is well.

use std::process::ExitCode;

use nodewell_model::{
    ConditionStatus,
    view::{ConditionView, DaemonState, HardwareView, NodeView},
};
use serde::Serialize;

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

/// An account of a node as it is shown: all of it, or what is not well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Account {
    #[serde(flatten)]
    pub(super) view: NodeView,
    /// Only where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    healthy: Option<LeftOut>,
}

/// How much is left out because it is well. An agent that has not looked yet has no condition here either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct LeftOut {
    conditions: usize,
    /// Classes of devices, and facts about the host.
    hardware: usize,
    daemons: usize,
}

impl Account {
    pub(super) fn whole(view: NodeView) -> Self {
        Self { view, healthy: None }
    }

    /// Without all that is well, in the same shape. Refused peers are no health.
    pub(super) fn without_healthy(mut view: NodeView) -> Self {
        let is_unwell = |class: &HardwareView| !class.states.is_empty() || class.unconfirmed_since.is_some();
        let healthy = LeftOut {
            conditions: retained(&mut view.conditions, |condition: &_| !is_well(condition)),
            hardware: retained(&mut view.hardware, |class| !class.informational && is_unwell(class)),
            daemons: retained(&mut view.daemons, |daemon| daemon.state != DaemonState::Running),
        };
        Self { view, healthy: Some(healthy) }
    }

    /// Whether a monitor has looked and all have: before that nothing is known to be well.
    pub(super) fn has_looked(&self) -> bool {
        let has_healthy = self.healthy.is_some_and(|healthy| healthy.conditions > 0);
        let is_starting = self.view.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting);
        (has_healthy || !self.view.conditions.is_empty()) && !is_starting
    }
}

/// What is muted or a false positive is no health.
pub(super) fn is_well(condition: &ConditionView) -> bool {
    condition.status == ConditionStatus::False && condition.problems.is_empty()
}

/// Returns how many are gone.
fn retained<T>(all: &mut Vec<T>, stays: impl FnMut(&T) -> bool) -> usize {
    let before = all.len();
    all.retain(stays);
    before - all.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use nodewell_model::{
        Name,
        view::{ApiserverState, ApiserverView, DaemonView, HardwareView, RefusedView},
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
            mutes: Vec::new(),
            configuration: None,
        }
    }

    fn daemon() -> DaemonView {
        DaemonView {
            name: "disk".to_owned(),
            state: DaemonState::Running,
            reason: String::new(),
            message: String::new(),
            records: 0,
            lost: 0,
            ttl_secs: None,
            silent_since: None,
            full: false,
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
            devices: Vec::new(),
        };
        node.hardware = vec![class(&[], false), class(&[("lost", 1)], false), class(&[("due", 1)], true)];
        let daemon = |state| DaemonView { state, ..daemon() };
        node.daemons = vec![daemon(DaemonState::Running), daemon(DaemonState::Blind)];
        let why = String::new();
        let refused =
            RefusedView { peer: "uid 7".to_owned(), source: why.clone(), count: 1, last: Timestamp::UNIX_EPOCH, why };
        node.refused = vec![refused];
        let account = Account::without_healthy(node);
        let json = serde_json::to_value(&account).unwrap();
        assert_eq!(json["healthy"], serde_json::json!({"conditions": 1, "hardware": 2, "daemons": 1}));
        let left = account.view;
        let statuses: Vec<ConditionStatus> = left.conditions.iter().map(|condition| condition.status).collect();
        assert_eq!(statuses, [True, Unknown]);
        assert_eq!((left.hardware.len(), left.daemons.len()), (1, 1));
        assert_eq!(left.hardware[0].states["lost"], 1);
        assert_eq!(left.refused.len(), 1, "a peer that is refused is something that is wrong");
    }

    #[test]
    fn without_what_is_well_a_healthy_node_is_not_one_of_which_nothing_is_known() {
        let of = |statuses: &[ConditionStatus]| Account::without_healthy(view(statuses));
        let (healthy, unlooked) = (of(&[ConditionStatus::False]), of(&[]));
        assert!(healthy.has_looked() && !unlooked.has_looked());
        assert_ne!(serde_json::to_value(&healthy).unwrap(), serde_json::to_value(&unlooked).unwrap());
        let whole = serde_json::to_value(Account::whole(view(&[ConditionStatus::False]))).unwrap();
        assert_eq!(whole, serde_json::to_value(view(&[ConditionStatus::False])).unwrap(), "as the socket has it");
    }

    #[test]
    fn while_a_monitor_starts_not_all_have_looked() {
        let mut node = view(&[ConditionStatus::False]);
        node.daemons = vec![DaemonView { state: DaemonState::Starting, ..daemon() }];
        assert!(!Account::whole(node.clone()).has_looked());
        node.daemons[0].state = DaemonState::Blind;
        assert!(Account::whole(node).has_looked());
    }
}
