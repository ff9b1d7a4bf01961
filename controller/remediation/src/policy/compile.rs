//! From the `RemediationPolicy` of the API to a [`Policy`]. A value that cannot be read is an error, never a default.

use std::time::Duration;

use super::{Budget, CountOrPercent, Fast, Policy, PolicyDiagnostic, Rate, Storm, selector, steps};
use crate::{
    api::policy::{
        Amount, BudgetSpec, ControlPlane, DurationString, FastSpec, Mode, OffUntil, PowerCyclesSpec, RateSpec,
        RemediationPolicy, Selector, StormSpec,
    },
    predicate::{Predicate, cel},
};

const MINUTE: Duration = Duration::from_secs(60);
/// The kubelet renews its Lease every 10 s; a shorter silence proves nothing.
const SHORTEST_SILENCE: Duration = Duration::from_secs(10);

/// Everything that is wrong, in the order of the fields.
#[derive(Default)]
pub(super) struct PolicyDiagnostics(Vec<PolicyDiagnostic>);

impl PolicyDiagnostics {
    pub(super) fn add(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        self.0.push(PolicyDiagnostic { field: field.into(), problem: problem.into() });
    }

    pub(super) fn extend(&mut self, field: &str, below: Vec<(String, String)>) {
        below.into_iter().for_each(|(name, problem)| self.add(format!("{field}.{name}"), problem));
    }

    /// What was read. Where that failed, the default, so that reading goes on to the next error.
    fn or<T>(&mut self, field: &str, read: Option<Result<T, String>>, default: T) -> T {
        match read {
            Some(Ok(value)) => value,
            Some(Err(problem)) => {
                self.add(field, problem);
                default
            }
            None => default,
        }
    }

    fn span(&mut self, field: &str, span: Option<&DurationString>, default: Duration) -> Duration {
        self.or(field, span.map(DurationString::duration), default)
    }

    fn count_or_percent(&mut self, field: &str, amount: Option<&Amount>, default: CountOrPercent) -> CountOrPercent {
        self.or(field, amount.map(CountOrPercent::read), default)
    }

    fn power_cycles(&mut self, field: &str, limit: Option<&PowerCyclesSpec>, default: Rate) -> Rate {
        let rate = limit.map(|limit| RateSpec { count: limit.count, window: limit.window.clone() });
        self.rate(field, rate.as_ref(), default)
    }

    fn rate(&mut self, field: &str, rate: Option<&RateSpec>, default: Rate) -> Rate {
        let Some(rate) = rate else { return default };
        let window = self.span(&format!("{field}.window"), Some(&rate.window), default.window);
        if window.is_zero() {
            self.add(format!("{field}.window"), "0 is no window");
        }
        Rate { count: rate.count, window }
    }
}

/// Every limit at its default; it matches nothing.
pub(super) fn defaults() -> Policy {
    Policy {
        name: String::new(),
        selector: Selector::default(),
        when: Predicate::Never,
        trust_events: false,
        held_for: 5 * MINUTE,
        healthy_delay: 5 * MINUTE,
        steps: Vec::new(),
        mode: Mode::Observe,
        control_plane: ControlPlane::Never,
        node_startup_grace_period: 5 * MINUTE,
        reboot_grace_period: 10 * MINUTE,
        cordon_budget: no_more_than_one(None, None),
        budget: no_more_than_one(Some(1), Some(Rate { count: 10, window: 60 * MINUTE })),
        storm: Storm {
            unhealthy: CountOrPercent::Percent(30),
            rate: Rate { count: 5, window: MINUTE },
            cooldown: 10 * MINUTE,
            reachable: CountOrPercent::Percent(50),
        },
        power_cycles: Rate { count: 2, window: 24 * 60 * MINUTE },
        off_until: OffUntil::Released,
        pods: Rate { count: 250, window: 10 * MINUTE },
        fast: None,
    }
}

fn no_more_than_one(max_concurrent: Option<u32>, rate: Option<Rate>) -> Budget {
    Budget {
        cluster: CountOrPercent::Count(1),
        dead: CountOrPercent::Count(1),
        zone: CountOrPercent::Count(1),
        topology: Vec::new(),
        max_concurrent,
        rate,
    }
}

pub(super) fn compile(policy: &RemediationPolicy) -> Result<Policy, Vec<PolicyDiagnostic>> {
    let (spec, default) = (&policy.spec, defaults());
    let mut diagnostics = PolicyDiagnostics::default();
    if policy.metadata.name.is_empty() {
        diagnostics.add("metadata.name", "is empty");
    }
    diagnostics.extend("spec.selector", selector::check(&spec.selector));
    let when = cel::Expression::compile(&spec.when).map(Predicate::Cel);
    let compiled = Policy {
        name: policy.metadata.name.clone(),
        selector: spec.selector.clone(),
        when: diagnostics.or("spec.when", Some(when), Predicate::Never),
        trust_events: spec.trust_events,
        held_for: diagnostics.span("spec.for", spec.r#for.as_ref(), default.held_for),
        healthy_delay: diagnostics.span("spec.healthyDelay", spec.healthy_delay.as_ref(), default.healthy_delay),
        steps: steps::read(&spec.steps, &mut diagnostics),
        mode: spec.mode,
        control_plane: spec.control_plane,
        node_startup_grace_period: diagnostics.span(
            "spec.nodeStartupGracePeriod",
            spec.node_startup_grace_period.as_ref(),
            default.node_startup_grace_period,
        ),
        reboot_grace_period: diagnostics.span(
            "spec.rebootGracePeriod",
            spec.reboot_grace_period.as_ref(),
            default.reboot_grace_period,
        ),
        cordon_budget: budget(
            "spec.cordonBudget",
            spec.cordon_budget.as_ref(),
            default.cordon_budget,
            &mut diagnostics,
        ),
        budget: budget("spec.budget", spec.budget.as_ref(), default.budget, &mut diagnostics),
        storm: storm(spec.storm.as_ref(), default.storm, &mut diagnostics),
        power_cycles: diagnostics.power_cycles("spec.powerCycles", spec.power_cycles.as_ref(), default.power_cycles),
        off_until: spec.power_cycles.as_ref().map_or(default.off_until, |limit| limit.off_until),
        pods: diagnostics.rate("spec.pods", spec.pods.as_ref(), default.pods),
        fast: spec.fast.as_ref().map(|fast| read_fast(fast, &mut diagnostics)),
    };
    if diagnostics.0.is_empty() { Ok(compiled) } else { Err(diagnostics.0) }
}

fn budget(field: &str, spec: Option<&BudgetSpec>, default: Budget, diagnostics: &mut PolicyDiagnostics) -> Budget {
    let Some(spec) = spec else { return default };
    let below = |name: &str| format!("{field}.{name}");
    // Nothing runs by it: with an error the policy is refused, once all errors are found.
    let placeholder = Rate { count: 0, window: MINUTE };
    let cluster =
        diagnostics.count_or_percent(&below("maxUnavailable"), spec.max_unavailable.as_ref(), default.cluster);
    Budget {
        cluster,
        dead: diagnostics.count_or_percent(&below("maxDead"), spec.max_dead.as_ref(), cluster),
        zone: diagnostics.count_or_percent(
            &below("maxUnavailablePerZone"),
            spec.max_unavailable_per_zone.as_ref(),
            default.zone,
        ),
        topology: topology(field, spec, diagnostics),
        max_concurrent: spec.max_concurrent.or(default.max_concurrent),
        rate: match &spec.rate {
            Some(rate) => Some(diagnostics.rate(&below("rate"), Some(rate), placeholder)),
            None => default.rate,
        },
    }
}

fn topology(field: &str, spec: &BudgetSpec, diagnostics: &mut PolicyDiagnostics) -> Vec<(String, CountOrPercent)> {
    let mut known: Vec<(String, CountOrPercent)> = Vec::new();
    for (at, domain) in spec.topology.iter().enumerate() {
        let field = format!("{field}.topology[{at}]");
        if domain.label.is_empty() {
            diagnostics.add(format!("{field}.label"), "is empty");
        }
        if known.iter().any(|(label, _)| *label == domain.label) {
            diagnostics.add(format!("{field}.label"), format!("`{}` is there already", domain.label));
        }
        let most = diagnostics.count_or_percent(
            &format!("{field}.maxUnavailable"),
            Some(&domain.max_unavailable),
            CountOrPercent::Count(0),
        );
        known.push((domain.label.clone(), most));
    }
    known
}

fn storm(spec: Option<&StormSpec>, default: Storm, diagnostics: &mut PolicyDiagnostics) -> Storm {
    let Some(spec) = spec else { return default };
    let reachable = diagnostics.count_or_percent("spec.storm.reachable", spec.reachable.as_ref(), default.reachable);
    Storm {
        unhealthy: diagnostics.count_or_percent("spec.storm.unhealthy", spec.unhealthy.as_ref(), default.unhealthy),
        rate: diagnostics.rate("spec.storm.rate", spec.rate.as_ref(), default.rate),
        cooldown: diagnostics.span("spec.storm.cooldown", spec.cooldown.as_ref(), default.cooldown),
        reachable,
    }
}

fn read_fast(spec: &FastSpec, diagnostics: &mut PolicyDiagnostics) -> Fast {
    let silent_for = diagnostics.span("spec.fast.silentFor", spec.silent_for.as_ref(), Duration::from_secs(15));
    if silent_for < SHORTEST_SILENCE {
        diagnostics.add("spec.fast.silentFor", "is shorter than 10s, the kubelet's own beat");
    }
    let unreachable_from = spec.unreachable_from.unwrap_or(2);
    if unreachable_from < 2 {
        diagnostics.add("spec.fast.unreachableFrom", "fewer than 2 hosts are no second witness");
    }
    Fast { silent_for, unreachable_from }
}
