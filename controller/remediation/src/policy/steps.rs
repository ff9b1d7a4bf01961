//! The steps: each of one kind, in an order in which each is at least as disruptive as the one before, and with every
//! default written out, so that a record (`NodeFence`) has all that it needs.

use super::{compile::PolicyDiagnostics, selector};
use crate::{
    api::{
        OUT_OF_SERVICE, REMEDIATION_TAINT,
        policy::{DrainStep, DurationString, PowerStep, StepSpec, TaintStep},
    },
    facts::Effect,
};

/// What a step does, the least disruptive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StepKind {
    Taint,
    Cordon,
    Drain,
    Reboot,
    PowerCycle,
    /// The provider deletes the machine.
    Reap,
}

impl StepKind {
    fn name(self) -> &'static str {
        match self {
            Self::Taint => "taint",
            Self::Cordon => "cordon",
            Self::Drain => "drain",
            Self::Reboot => "reboot",
            Self::PowerCycle => "powerCycle",
            Self::Reap => "reap",
        }
    }

    /// Taint and cordon may come in either order.
    fn rank(self) -> u8 {
        match self {
            Self::Taint | Self::Cordon => 0,
            other => other as u8,
        }
    }
}

fn kinds(step: &StepSpec) -> Vec<StepKind> {
    [
        (step.taint.is_some(), StepKind::Taint),
        (step.cordon.is_some(), StepKind::Cordon),
        (step.drain.is_some(), StepKind::Drain),
        (step.reboot.is_some(), StepKind::Reboot),
        (step.power_cycle.is_some(), StepKind::PowerCycle),
        (step.reap.is_some(), StepKind::Reap),
    ]
    .into_iter()
    .filter_map(|(given, kind)| given.then_some(kind))
    .collect()
}

/// The name of a step, for people.
#[must_use]
pub(crate) fn name(step: &StepSpec) -> &'static str {
    kinds(step).first().map_or("nothing", |kind| kind.name())
}

/// Checks the steps and fills them in.
pub(super) fn read(steps: &[StepSpec], diagnostics: &mut PolicyDiagnostics) -> Vec<StepSpec> {
    if steps.is_empty() {
        diagnostics.add("spec.steps", "is empty; name at least one step, such as `- cordon: {}`");
    }
    let mut before = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let field = format!("spec.steps[{at}]");
        match kinds(step)[..] {
            [] => diagnostics.add(&field, "names no step: taint, cordon, drain, reboot, powerCycle or reap"),
            [kind] => {
                order(kind, &before, &field, diagnostics);
                before.push(kind);
            }
            ref several => {
                let several: Vec<_> = several.iter().map(|kind| kind.name()).collect();
                diagnostics.add(&field, format!("names {}; write one step each", several.join(" and ")));
            }
        }
    }
    steps.iter().enumerate().map(|(at, step)| fill(step, &format!("spec.steps[{at}]"), diagnostics)).collect()
}

fn order(kind: StepKind, before: &[StepKind], field: &str, diagnostics: &mut PolicyDiagnostics) {
    let name = kind.name();
    if before.contains(&kind) {
        diagnostics.add(field, format!("{name} is there already"));
    }
    if let Some(more_disruptive) = before.iter().find(|earlier| earlier.rank() > kind.rank()) {
        diagnostics.add(field, format!("{name} comes before {}, not after", more_disruptive.name()));
    }
    let needs: &[StepKind] = match kind {
        StepKind::Drain => &[StepKind::Cordon, StepKind::Taint],
        StepKind::Reboot => &[StepKind::Drain],
        StepKind::Reap => &[StepKind::Drain, StepKind::PowerCycle],
        _ => return,
    };
    if !needs.iter().any(|need| before.contains(need)) {
        let needs: Vec<_> = needs.iter().map(|need| need.name()).collect();
        diagnostics.add(field, format!("{name} needs {} before it", needs.join(" or ")));
    }
}

fn fill(step: &StepSpec, field: &str, diagnostics: &mut PolicyDiagnostics) -> StepSpec {
    // A machine that was just turned on needs a while before it can be called unhealthy.
    let wait = if step.reboot.is_some() || step.power_cycle.is_some() { "5m" } else { "0s" };
    StepSpec {
        taint: step.taint.as_ref().map(|taint| fill_taint(taint, field, diagnostics)),
        cordon: step.cordon.clone(),
        drain: step.drain.as_ref().map(|drain| fill_drain(drain, field, diagnostics)),
        reboot: step.reboot.as_ref().map(|power| fill_power(power, &format!("{field}.reboot"), diagnostics)),
        power_cycle: step
            .power_cycle
            .as_ref()
            .map(|power| fill_power(power, &format!("{field}.powerCycle"), diagnostics)),
        reap: step.reap.clone(),
        then_wait: span(step.then_wait.as_ref(), wait, &format!("{field}.thenWait"), diagnostics),
    }
}

fn fill_taint(taint: &TaintStep, field: &str, diagnostics: &mut PolicyDiagnostics) -> TaintStep {
    let key = taint.key.clone().unwrap_or_else(|| REMEDIATION_TAINT.into());
    if key.is_empty() || key.contains(char::is_whitespace) {
        diagnostics.add(format!("{field}.taint.key"), format!("`{key}` is no taint's key"));
    }
    if key == OUT_OF_SERVICE {
        let text =
            format!("`{key}` releases the node's pods; use the step powerCycle, which proves first that it is off");
        diagnostics.add(format!("{field}.taint.key"), text);
    }
    let effect = taint.effect.unwrap_or(Effect::NoSchedule);
    TaintStep { key: Some(key), value: Some(taint.value.clone().unwrap_or_default()), effect: Some(effect) }
}

fn fill_drain(drain: &DrainStep, field: &str, diagnostics: &mut PolicyDiagnostics) -> DrainStep {
    let field = format!("{field}.drain");
    match drain.timeout.duration() {
        Ok(timeout) if timeout.is_zero() => diagnostics.add(format!("{field}.timeout"), "0 would never drain anything"),
        Ok(_) => {}
        Err(problem) => diagnostics.add(format!("{field}.timeout"), problem),
    }
    if let Some(pods) = &drain.pod_selector {
        diagnostics.extend(&format!("{field}.podSelector"), selector::check(pods));
    }
    let skip = drain.skip_wait_for_delete_timeout.as_ref();
    if let Some(Err(problem)) = skip.map(DurationString::duration) {
        diagnostics.add(format!("{field}.skipWaitForDeleteTimeout"), problem);
    }
    DrainStep { retry: span(drain.retry.as_ref(), "5s", &format!("{field}.retry"), diagnostics), ..drain.clone() }
}

fn fill_power(power: &PowerStep, field: &str, diagnostics: &mut PolicyDiagnostics) -> PowerStep {
    PowerStep {
        ready_timeout: span(power.ready_timeout.as_ref(), "10m", &format!("{field}.readyTimeout"), diagnostics),
        leave_off: power.leave_off,
        kdump_wait: span(power.kdump_wait.as_ref(), "0s", &format!("{field}.kdumpWait"), diagnostics),
    }
}

fn span(
    given: Option<&DurationString>,
    default: &str,
    field: &str,
    diagnostics: &mut PolicyDiagnostics,
) -> Option<DurationString> {
    let span = given.cloned().unwrap_or_else(|| DurationString(default.into()));
    if let Err(problem) = span.duration() {
        diagnostics.add(field, problem);
    }
    Some(span)
}
