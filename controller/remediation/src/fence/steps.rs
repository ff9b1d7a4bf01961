//! The record's own steps: which one is being taken, and what its fields mean.

use std::time::Duration;

use crate::{
    api::{
        OUT_OF_SERVICE, REMEDIATION_TAINT,
        fence::{Blocker, NodeFence, Phase},
        policy::{DrainStep, DurationString, PowerStep, StepSpec, TaintStep},
    },
    drain::DrainRules,
    facts::{Effect, Taint},
    guard::stage::{DisruptionLevel, disruption_level},
};

/// What a node may take from power on to Ready, if the step does not set it.
const READY_TIMEOUT: Duration = Duration::from_secs(600);

/// What a step asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PolicyStep<'a> {
    Taint(&'a TaintStep),
    Cordon,
    Drain(&'a DrainStep),
    Power { step: &'a PowerStep, releases: bool },
    Reap { even_if_drain_failed: bool },
}

impl PolicyStep<'_> {
    /// Where such a step begins.
    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::Taint(_) | Self::Cordon => Phase::Isolating,
            Self::Drain(_) => Phase::Draining,
            Self::Power { .. } | Self::Reap { .. } => Phase::AwaitGuards,
        }
    }
}

/// The step at hand; nothing past the last one.
pub(super) fn current(fence: &NodeFence) -> Option<Result<PolicyStep<'_>, Blocker>> {
    at(fence, fence.status.policy_step)
}

pub(super) fn at(fence: &NodeFence, index: usize) -> Option<Result<PolicyStep<'_>, Blocker>> {
    fence.spec.steps.get(index).map(|step| read(step, index))
}

pub(super) fn cuts_power(fence: &NodeFence) -> bool {
    fence.spec.steps.iter().any(|step| step.reboot.is_some() || step.power_cycle.is_some())
}

/// One of these cuts the power, or has the provider replace the machine.
pub(super) fn are_irreversible(steps: &[StepSpec]) -> bool {
    steps.iter().any(|step| disruption_level(step) == DisruptionLevel::Power)
}

fn read(step: &StepSpec, index: usize) -> Result<PolicyStep<'_>, Blocker> {
    let reap = step.reap.as_ref();
    let kinds = [
        step.taint.as_ref().map(PolicyStep::Taint),
        step.cordon.as_ref().map(|_| PolicyStep::Cordon),
        step.drain.as_ref().map(PolicyStep::Drain),
        step.reboot.as_ref().map(|step| PolicyStep::Power { step, releases: false }),
        step.power_cycle.as_ref().map(|step| PolicyStep::Power { step, releases: true }),
        reap.map(|reap| PolicyStep::Reap { even_if_drain_failed: reap.even_if_drain_failed }),
    ];
    let mut given = kinds.into_iter().flatten();
    match (given.next(), given.next()) {
        // Whichever client wrote the record: that taint is a release, and no step of isolation.
        (Some(PolicyStep::Taint(step)), None) if taint(step).key == OUT_OF_SERVICE => {
            Err(Blocker::of("BadStep/outOfService", &[("index", &index), ("taint", &OUT_OF_SERVICE)]))
        }
        (Some(step), None) => Ok(step),
        _ => Err(Blocker::of("BadStep/kinds", &[("index", &index)])),
    }
}

fn unreadable(error: String) -> Blocker {
    Blocker::of("BadStep/value", &[("error", &error)])
}

/// `30s`, `5m`, `1h30m`.
pub(super) fn span(span: &DurationString) -> Result<Duration, Blocker> {
    span.duration().map_err(unreadable)
}

fn span_or(given: Option<&DurationString>, default: Duration) -> Result<Duration, Blocker> {
    given.map_or(Ok(default), span)
}

/// How long to wait after the step at hand.
pub(super) fn then_wait(fence: &NodeFence) -> Result<Duration, Blocker> {
    let given = fence.spec.steps.get(fence.status.policy_step).and_then(|step| step.then_wait.as_ref());
    span_or(given, Duration::ZERO)
}

pub(super) fn ready_timeout(step: &PowerStep) -> Result<Duration, Blocker> {
    span_or(step.ready_timeout.as_ref(), READY_TIMEOUT)
}

pub(super) fn kdump_wait(step: &PowerStep) -> Result<Duration, Blocker> {
    span_or(step.kdump_wait.as_ref(), Duration::ZERO)
}

pub(super) fn taint(step: &TaintStep) -> Taint {
    Taint {
        key: step.key.clone().unwrap_or_else(|| REMEDIATION_TAINT.into()),
        value: step.value.clone().unwrap_or_default(),
        effect: step.effect.unwrap_or(Effect::NoSchedule),
    }
}

/// The step's choices, with its whole time.
pub(super) fn drain_rules(step: &DrainStep) -> Result<DrainRules, Blocker> {
    DrainRules::of(step).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        unreadable(format!("the drain: {}", errors.join("; ")))
    })
}
