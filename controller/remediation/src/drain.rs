//! Draining a node as `kubectl drain` does it: which pods go, in which order, what stands in the way. The loop that evicts
//! is in `nodewell-reconcile`; every question it has is answered here.

mod filter;
mod plan;
mod state;

use std::time::Duration;

use crate::{
    api::policy::{DrainStep, DurationString, Selector},
    policy::PolicyDiagnostic,
};

pub(crate) use filter::BY_OPTION;
pub use filter::{PodDeleteStatus, classify};
pub use plan::{Awaited, DrainNext, PodRemoval, PodWait, RemovalKind, awaited, ends_with_power, next};
pub use state::{DrainState, EvictionResult, Limits};

/// A drain step with every default filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainRules {
    /// The total; not one call is made after it.
    pub timeout: Duration,
    pub grace: Option<Duration>,
    pub ignore_daemon_sets: bool,
    pub delete_empty_dir_data: bool,
    pub force: bool,
    pub disable_eviction: bool,
    pub force_on_timeout: bool,
    pub skip_deleting_for: Option<Duration>,
    pub pod_selector: Option<Selector>,
    pub retry: Duration,
}

/// kubectl's own delay after a refused eviction.
const RETRY: Duration = Duration::from_secs(5);

impl DrainRules {
    /// Every error at once, each with its field as it is in the step.
    pub fn of(step: &DrainStep) -> Result<Self, Vec<PolicyDiagnostic>> {
        let mut errors = Vec::new();
        let mut span =
            |field: &str, span: &DurationString| read_span(field, span).map_err(|error| errors.push(error)).ok();
        let timeout = span("timeout", &step.timeout).filter(|timeout| !timeout.is_zero());
        let skip = step.skip_wait_for_delete_timeout.as_ref().map(|text| span("skipWaitForDeleteTimeout", text));
        let retry = step.retry.as_ref().map_or(Some(RETRY), |text| span("retry", text));
        let wrong_operators = step.pod_selector.as_ref().map(check_selector).unwrap_or_default();
        errors.extend(wrong_operators);
        if step.grace_period_seconds == Some(0) {
            let problem = "0 would take pods out of the API that still run, and their successors would start beside \
                           them; 1 is the least";
            errors.push(PolicyDiagnostic { field: "gracePeriodSeconds".into(), problem: problem.into() });
        }
        if errors.is_empty() && timeout.is_none() {
            errors.push(PolicyDiagnostic { field: "timeout".into(), problem: "0 would leave no time at all".into() });
        }
        match (timeout, retry) {
            (Some(timeout), Some(retry)) if errors.is_empty() => Ok(Self {
                timeout,
                grace: step.grace_period_seconds.map(|seconds| Duration::from_secs(seconds.into())),
                ignore_daemon_sets: step.ignore_daemon_sets,
                delete_empty_dir_data: step.delete_empty_dir_data,
                force: step.force,
                disable_eviction: step.disable_eviction,
                force_on_timeout: step.force_on_timeout,
                skip_deleting_for: skip.flatten(),
                pod_selector: step.pod_selector.clone(),
                retry,
            }),
            _ => Err(errors),
        }
    }

    /// The end of the total that is left to force: its last fifth, but no more than 30 s; nothing if nothing is forced.
    #[must_use]
    pub fn forced_for(&self) -> Duration {
        match self.force_on_timeout {
            true => (self.timeout / 5).min(Duration::from_secs(30)),
            false => Duration::ZERO,
        }
    }
}

fn read_span(field: &str, span: &DurationString) -> Result<Duration, PolicyDiagnostic> {
    span.duration().map_err(|problem| PolicyDiagnostic { field: field.to_owned(), problem })
}

fn check_selector(selector: &Selector) -> Vec<PolicyDiagnostic> {
    let known = |operator: &str| matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist");
    let wrong = selector.match_expressions.iter().enumerate().filter(|(_, one)| !known(&one.operator));
    wrong
        .map(|(at, one)| PolicyDiagnostic {
            field: format!("podSelector.matchExpressions[{at}].operator"),
            problem: format!("{:?} is none of In, NotIn, Exists, DoesNotExist", one.operator),
        })
        .collect()
}

#[cfg(test)]
mod tests;
