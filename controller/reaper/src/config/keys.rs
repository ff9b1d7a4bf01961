//! node-reaper's YAML: all of its keys with their defaults, two keys more (`compat`, `reapEvenIfDrainFailed`), and nothing
//! else.

use std::time::Duration;

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::govaluate::Expression;

use super::{Maximum, mistake::explained};

const REAP: &str = "Cordoned == false && [Labels.kubernetes.io/role] != 'master' && [Conditions.Ready] != 'True'";
const UNHEALTHY: &str = "Cordoned == true || [Conditions.OutOfDisk] != 'False' \
    || [Conditions.MemoryPressure] != 'False' || [Conditions.DiskPressure] != 'False' || [Conditions.Ready] != 'True'";
const SHORTEST_DRAIN_SECS: u64 = 30;

/// Every key, as it is written.
pub const KEYS: [&str; 13] = [
    "reapPredicate",
    "unhealthyPredicate",
    "maxNodesUnhealthy",
    "maxNodesUnhealthyInSameZone",
    "newNodeGracePeriodSeconds",
    "drainTimeoutSeconds",
    "drainForceRetryOnError",
    "podDeletionGracePeriodSeconds",
    "useEviction",
    "skipReaping",
    "dryRun",
    "compat",
    "reapEvenIfDrainFailed",
];

/// Every key with its value.
#[derive(Debug, Clone)]
pub struct ReaperConfig {
    /// Nodes that are to be reaped.
    pub reap: Predicate,
    /// Nodes that count against the two maxima.
    pub unhealthy: Predicate,
    pub max_unhealthy: Maximum,
    pub max_unhealthy_in_zone: Maximum,
    pub node_startup_grace_period: Duration,
    pub drain_timeout: Duration,
    /// A drain that failed is followed by deletions with grace 0.
    pub drain_force_retry: bool,
    pub pod_grace: Duration,
    pub use_eviction: bool,
    pub skip_reaping: bool,
    pub dry_run: bool,
    /// No key of node-reaper's.
    pub compat: Compat,
    /// No key of node-reaper's: what its README has and its code does not. Only with `compat: fixed`.
    pub reap_even_if_drain_failed: bool,
}

/// Whether node-reaper's faults are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// As its code has it.
    Strict,
    #[default]
    Fixed,
}

/// An expression as it was written. node-reaper compiles it on every evaluation, so that a bad one is an error of each
/// node and not of the start.
#[derive(Debug, Clone)]
pub struct Predicate {
    pub text: String,
    pub compiled: Result<Expression, String>,
}

impl Predicate {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: Expression::parse(text) }
    }
}

/// One error, with its line; 0 where it has none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {problem}")]
pub(crate) struct ReaperDiagnostic {
    pub(crate) line: u64,
    pub(crate) problem: String,
}

/// What was read, and what is odd about it without being wrong.
#[derive(Debug, Clone)]
pub struct Read {
    pub config: ReaperConfig,
    pub warnings: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct File {
    reap_predicate: Option<Spanned<String>>,
    unhealthy_predicate: Option<Spanned<String>>,
    max_nodes_unhealthy: Option<Spanned<String>>,
    max_nodes_unhealthy_in_same_zone: Option<Spanned<String>>,
    new_node_grace_period_seconds: Option<u32>,
    drain_timeout_seconds: Option<u32>,
    #[serde(deserialize_with = "truth")]
    drain_force_retry_on_error: Option<bool>,
    pod_deletion_grace_period_seconds: Option<u32>,
    #[serde(deserialize_with = "truth")]
    use_eviction: Option<bool>,
    #[serde(deserialize_with = "truth")]
    skip_reaping: Option<bool>,
    #[serde(deserialize_with = "truth")]
    dry_run: Option<bool>,
    compat: Option<Spanned<String>>,
    reap_even_if_drain_failed: Option<Spanned<bool>>,
}

/// Without a cast of any text: `"yes"` is no switch that node-reaper knows.
fn truth<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Option<bool>, D::Error> {
    match serde_json::Value::deserialize(from)? {
        serde_json::Value::Bool(value) => Ok(Some(value)),
        serde_json::Value::Null => Ok(None),
        other => Err(serde::de::Error::custom(format!("{other} is neither true nor false"))),
    }
}

/// Every error at once, but for YAML that cannot be read at all. An empty file is all defaults.
pub(crate) fn read(text: &str) -> Result<Read, Vec<ReaperDiagnostic>> {
    let file: Option<File> = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(0, |location| location.line());
        vec![ReaperDiagnostic { line, problem: explained(text, line, &error.without_snippet().to_string()) }]
    })?;
    let mut diagnostics = Vec::new();
    let config = config(&file.unwrap_or_default(), &mut diagnostics);
    match diagnostics.is_empty() {
        true => Ok(Read { warnings: warnings(&config), config: at_least(config) }),
        false => Err(diagnostics),
    }
}

fn config(file: &File, diagnostics: &mut Vec<ReaperDiagnostic>) -> ReaperConfig {
    let compat = compat(file.compat.as_ref(), diagnostics);
    let seconds = |given: Option<u32>, default| Duration::from_secs(given.unwrap_or(default).into());
    let config = ReaperConfig {
        reap: Predicate::new(given(file.reap_predicate.as_ref()).filter(|text| !text.is_empty()).unwrap_or(REAP)),
        unhealthy: Predicate::new(given(file.unhealthy_predicate.as_ref()).unwrap_or(UNHEALTHY)),
        max_unhealthy: maximum("maxNodesUnhealthy", file.max_nodes_unhealthy.as_ref(), diagnostics),
        max_unhealthy_in_zone: maximum(
            "maxNodesUnhealthyInSameZone",
            file.max_nodes_unhealthy_in_same_zone.as_ref(),
            diagnostics,
        ),
        node_startup_grace_period: seconds(file.new_node_grace_period_seconds, 300),
        drain_timeout: seconds(file.drain_timeout_seconds, 310),
        drain_force_retry: file.drain_force_retry_on_error.unwrap_or(true),
        pod_grace: seconds(file.pod_deletion_grace_period_seconds, 300),
        use_eviction: file.use_eviction.unwrap_or(true),
        skip_reaping: file.skip_reaping.unwrap_or(false),
        dry_run: file.dry_run.unwrap_or(true),
        compat,
        reap_even_if_drain_failed: file.reap_even_if_drain_failed.as_ref().is_some_and(|given| given.value),
    };
    check_predicates(file, &config, diagnostics);
    check_reaping(file, &config, diagnostics);
    config
}

fn given(key: Option<&Spanned<String>>) -> Option<&str> {
    key.map(|key| key.value.as_str())
}

fn diagnostic<T>(key: Option<&Spanned<T>>, problem: String) -> ReaperDiagnostic {
    ReaperDiagnostic { line: key.map_or(0, |key| key.referenced.line()), problem }
}

fn maximum(name: &str, key: Option<&Spanned<String>>, diagnostics: &mut Vec<ReaperDiagnostic>) -> Maximum {
    Maximum::parse(given(key).unwrap_or("1")).unwrap_or_else(|problem| {
        diagnostics.push(diagnostic(key, format!("{name}: {problem}")));
        Maximum::Nodes(0)
    })
}

fn compat(key: Option<&Spanned<String>>, diagnostics: &mut Vec<ReaperDiagnostic>) -> Compat {
    match given(key) {
        None | Some("fixed") => Compat::Fixed,
        Some("strict") => Compat::Strict,
        Some(other) => {
            diagnostics.push(diagnostic(key, format!("compat: {other:?} is neither strict nor fixed")));
            Compat::Fixed
        }
    }
}

/// In `strict` they are errors of each node, as node-reaper has it.
fn check_predicates(file: &File, config: &ReaperConfig, diagnostics: &mut Vec<ReaperDiagnostic>) {
    if config.compat == Compat::Strict {
        return;
    }
    let keys = [
        ("reapPredicate", file.reap_predicate.as_ref(), &config.reap),
        ("unhealthyPredicate", file.unhealthy_predicate.as_ref(), &config.unhealthy),
    ];
    for (name, key, predicate) in keys {
        if let Err(problem) = &predicate.compiled {
            diagnostics.push(diagnostic(key, format!("{name}: {problem}")));
        }
    }
}

fn check_reaping(file: &File, config: &ReaperConfig, diagnostics: &mut Vec<ReaperDiagnostic>) {
    let key = file.reap_even_if_drain_failed.as_ref();
    if config.reap_even_if_drain_failed && config.compat == Compat::Strict {
        let problem = "reapEvenIfDrainFailed needs compat: fixed; node-reaper's code never does that";
        diagnostics.push(diagnostic(key, problem.to_owned()));
    }
    if config.reap_even_if_drain_failed && config.skip_reaping {
        diagnostics.push(diagnostic(key, "reapEvenIfDrainFailed and skipReaping say the opposite".to_owned()));
    }
}

fn warnings(config: &ReaperConfig) -> Vec<String> {
    let odd = [
        (
            config.node_startup_grace_period.is_zero(),
            "newNodeGracePeriodSeconds is 0: new nodes may have no time to start",
        ),
        (
            config.drain_timeout.as_secs() < SHORTEST_DRAIN_SECS,
            "drainTimeoutSeconds is less than 30, which is what is used",
        ),
        (
            config.pod_grace.is_zero(),
            "podDeletionGracePeriodSeconds is 0, which would delete pods that still run: 1 is what is used",
        ),
        (
            config.max_unhealthy.is_no_limit() || config.max_unhealthy_in_zone.is_no_limit(),
            "a maximum of 100% is no protection: the whole cluster may be reaped, one node after the other",
        ),
    ];
    let mut warnings: Vec<_> =
        odd.iter().filter(|(is_so, _)| *is_so).map(|(_, warnings)| (*warnings).to_owned()).collect();
    for (name, predicate) in [("reapPredicate", &config.reap), ("unhealthyPredicate", &config.unhealthy)] {
        warnings.extend(predicate.compiled.as_ref().err().map(|error| format!("{name} fails for every node: {error}")));
    }
    warnings
}

fn at_least(config: ReaperConfig) -> ReaperConfig {
    let drain_timeout = config.drain_timeout.max(Duration::from_secs(SHORTEST_DRAIN_SECS));
    ReaperConfig { drain_timeout, pod_grace: config.pod_grace.max(Duration::from_secs(1)), ..config }
}
