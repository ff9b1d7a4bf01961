//! node-reaper's configuration as a policy: its steps are cordon, drain, reap; its predicates judge in place of CEL.

use std::{sync::Arc, time::Duration};

use nodewell_remediation::{
    api::policy::{
        Amount, BudgetSpec, ControlPlane, CordonStep, DrainStep, DurationString, Mode, ReapStep, RemediationPolicySpec,
        Selector, StepSpec,
    },
    facts::Node,
    predicate::Judge,
    snapshot::Snapshot,
    time::Now,
};

use super::{
    Maximum,
    decision::{ReapDecision, Reason, decide_one},
    keys::{Compat, ReaperConfig},
};

/// What the policy is called in records, Events and metrics.
pub const POLICY_NAME: &str = "node-reaper";

/// How long forced deletions may take after the drain's own timeout.
const FORCED_DELETIONS: Duration = Duration::from_secs(30);

/// The policy's spec, and what judges in place of `when` (which only shows the predicate to people: it is not CEL).
#[must_use]
pub(crate) fn to_policy(config: &ReaperConfig) -> (RemediationPolicySpec, Arc<dyn Judge>) {
    let spec = RemediationPolicySpec {
        selector: Selector::default(),
        when: config.reap.text.clone(),
        trust_events: false,
        r#for: Some(secs(Duration::ZERO)),
        healthy_delay: None,
        steps: steps(config),
        mode: if config.dry_run { Mode::Observe } else { Mode::Enforce },
        control_plane: ControlPlane::Never,
        reboot_grace_period: None,
        node_startup_grace_period: Some(secs(config.node_startup_grace_period)),
        cordon_budget: Some(budget(config)),
        budget: Some(budget(config)),
        storm: None,
        power_cycles: None,
        pods: None,
        fast: None,
    };
    (spec, Arc::new(ReaperJudge { config: config.clone() }))
}

/// True of a node that node-reaper would reap. A limit that is reached is an error and not false: false would give the node
/// back, an error blocks what is under way.
#[derive(Debug)]
struct ReaperJudge {
    config: ReaperConfig,
}

impl Judge for ReaperJudge {
    fn judge(&self, node: &Node, snapshot: &Snapshot, now: Now) -> Result<bool, String> {
        match decide_one(&self.config, node, snapshot, now)? {
            ReapDecision::Reap => Ok(true),
            ReapDecision::Not(Reason::PredicateFalse | Reason::TooNew { .. }) => Ok(false),
            ReapDecision::Not(reason) => Err(reason.to_string()),
        }
    }

    fn source(&self) -> &str {
        &self.config.reap.text
    }
}

fn steps(config: &ReaperConfig) -> Vec<StepSpec> {
    let cordon = StepSpec { cordon: Some(CordonStep {}), then_wait: Some(secs(Duration::ZERO)), ..StepSpec::default() };
    let drain = StepSpec { drain: Some(drain(config)), then_wait: Some(secs(Duration::ZERO)), ..StepSpec::default() };
    let reap = ReapStep { even_if_drain_failed: config.reap_even_if_drain_failed };
    let reap = StepSpec { reap: Some(reap), ..StepSpec::default() };
    let mut steps = vec![cordon, drain];
    steps.extend((!config.skip_reaping).then_some(reap));
    steps
}

/// node-reaper asks about no emptyDir volume, and lets pods without an owner die with the machine.
fn drain(config: &ReaperConfig) -> DrainStep {
    DrainStep {
        timeout: secs(drain_timeout(config)),
        grace_period_seconds: u32::try_from(config.pod_grace.as_secs()).ok(),
        ignore_daemon_sets: true,
        delete_empty_dir_data: true,
        force: true,
        disable_eviction: !config.use_eviction,
        force_on_timeout: config.drain_force_retry,
        ..DrainStep::default()
    }
}

/// The drain's timeout. Its last fifth, 30 s at most, is for forced deletions (`force_on_timeout`): it is added to
/// node-reaper's own timeout.
fn drain_timeout(config: &ReaperConfig) -> Duration {
    match config.drain_force_retry {
        true => config.drain_timeout + (config.drain_timeout / 4).min(FORCED_DELETIONS),
        false => config.drain_timeout,
    }
}

/// The judge counts with `unhealthyPredicate`; the guards count what is not in service. The stricter of the two holds.
fn budget(config: &ReaperConfig) -> BudgetSpec {
    let zone = match (config.compat, config.max_unhealthy_in_zone) {
        // A share of the cluster, which only the judge knows.
        (Compat::Strict, Maximum::Percent(_)) => Maximum::Percent(100),
        (_, most) => most,
    };
    BudgetSpec {
        max_unavailable: Some(amount(config.max_unhealthy)),
        max_unavailable_per_zone: Some(amount(zone)),
        max_concurrent: Some(1),
        ..BudgetSpec::default()
    }
}

fn amount(most: Maximum) -> Amount {
    match most {
        Maximum::Nodes(nodes) => Amount::Count(u32::try_from(nodes).unwrap_or(u32::MAX)),
        Maximum::Percent(percent) => Amount::Text(format!("{percent}%")),
    }
}

fn secs(span: Duration) -> DurationString {
    DurationString(format!("{}s", span.as_secs()))
}
