//! What the tests' fixture is made of.

use std::time::Duration;

use super::fixture::NODE;
use crate::{
    api::policy::{CordonStep, DrainStep, DurationString, Mode, PowerStep, ReapStep, StepSpec, TaintStep},
    facts::{Condition, ConditionStatus, LeaseView, Node, Pod, PodRef},
    policy::{Fast, Policy},
    snapshot::{FenceLevel, FencePlan, Level, PowerReading, PowerState},
    time::{Moment, Now},
};

pub(super) fn span(text: &str) -> Option<DurationString> {
    Some(DurationString(text.into()))
}

pub(super) fn step(kind: &str) -> StepSpec {
    let mut step = StepSpec::default();
    match kind {
        "taint" => step.taint = Some(TaintStep::default()),
        "cordon" => step.cordon = Some(CordonStep {}),
        "drain" => step.drain = Some(DrainStep::default()),
        "reboot" => step.reboot = Some(PowerStep::default()),
        "reap" => step.reap = Some(ReapStep::default()),
        _ => step.power_cycle = Some(PowerStep::default()),
    }
    step
}

pub(super) fn steps(kinds: &[&str]) -> Vec<StepSpec> {
    kinds.iter().map(|kind| step(kind)).collect()
}

pub(super) fn node(now: Now) -> Node {
    let ready = Condition {
        kind: "Ready".into(),
        status: ConditionStatus::True,
        change_seen_at: now.moment,
        ..Condition::default()
    };
    Node {
        name: NODE.into(),
        uid: "uid-1".into(),
        resource_version: "1".into(),
        created: now.wall,
        conditions: vec![ready],
        boot_id: "boot-1".into(),
        system_uuid: "uuid".into(),
        ..Node::default()
    }
}

pub(super) fn lease(now: Now) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: NODE.into(),
        renewed: Some(now.wall),
        duration: Duration::from_secs(40),
        change_seen_at: now.moment,
    }
}

pub(super) fn plan() -> FencePlan {
    FencePlan { levels: vec![level("ipmi")], ..FencePlan::default() }
}

/// A BMC that is this node's.
pub(super) fn level(method: &str) -> FenceLevel {
    FenceLevel {
        methods: vec![method.into()],
        longest: Duration::from_secs(20),
        identity: Some(Ok(())),
        asks_machine: true,
    }
}

pub(super) fn reading(at: Moment, state: PowerState) -> PowerReading {
    PowerReading { at, level: Level::FIRST, asks_machine: true, state }
}

pub(super) fn policy() -> Policy {
    Policy {
        name: "dead".into(),
        healthy_delay: Duration::from_secs(30),
        mode: Mode::Enforce,
        fast: Some(Fast { silent_for: Duration::from_secs(15), unreachable_from: 2 }),
        ..Policy::default()
    }
}

pub(super) fn pod(name: &str) -> Pod {
    Pod {
        at: PodRef { namespace: "default".into(), name: name.into(), uid: format!("uid-{name}") },
        node: NODE.into(),
        phase: "Running".into(),
        ready: true,
        grace: Duration::from_secs(30),
        ..Pod::default()
    }
}
