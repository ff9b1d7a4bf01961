//! `RemediationPolicy`: which nodes need remediation, which one, and what must hold before it.
//!
//! This is the wire format only; [`crate::policy`] checks and compiles it. Every default is the careful one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Meta;
use crate::facts::Effect;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemediationPolicy {
    pub metadata: Meta,
    pub spec: RemediationPolicySpec,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemediationPolicySpec {
    /// Empty selects every node, but never control-plane nodes unless `controlPlane` allows them.
    #[serde(default)]
    pub selector: Selector,
    /// A CEL expression over the node (see `predicate`); true means that it needs remediation.
    pub when: String,
    /// Events may open a record although the node itself does not report that anything is wrong (false). Any client
    /// that may write Events may then cordon, drain and power-cycle any selected node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trust_events: bool,
    /// For how long it must have been true without a break (5m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<DurationString>,
    /// How long it must have been false before what was done is taken back (5m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy_delay: Option<DurationString>,
    /// Taken in order; each is given its time before the next.
    pub steps: Vec<StepSpec>,
    #[serde(default)]
    pub mode: Mode,
    #[serde(default)]
    pub control_plane: ControlPlane,
    /// Nodes younger than this are left alone (5m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_startup_grace_period: Option<DurationString>,
    /// A node that announced its shutdown is left alone for so long (10m; 0s: not at all). It counts from the first
    /// announcement of a boot, three times a day for one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot_grace_period: Option<DurationString>,
    /// For taints and cordons; the same as `budget` unless given, without its `maxConcurrent` and `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordon_budget: Option<BudgetSpec>,
    /// For drains, reboots, power cycles and reaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storm: Option<StormSpec>,
    /// Power cycles of one node in a window (2 in 24h). Past it a dead node is turned off once more, its pods are released,
    /// and it is left off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cycles: Option<PowerCyclesSpec>,
    /// Pods that may be released or evicted in a window by this policy (250 in 10m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<RateSpec>,
    /// Evidence for acting before the cluster itself would (50 s): off unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast: Option<FastSpec>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Mode {
    /// Only reports what it would do.
    #[default]
    Observe,
    Enforce,
    /// Begins nothing new; what is open is brought to its end.
    Paused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ControlPlane {
    #[default]
    Never,
    /// One at a time, and only while etcd keeps its quorum without it.
    OneAtATime,
}

/// A duration as people write it: `30s`, `5m`, `1h30m`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationString(pub String);

/// A Kubernetes label selector.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requirement {
    pub key: String,
    /// `In | NotIn | Exists | DoesNotExist`.
    pub operator: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// One step. Exactly one of the kinds is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taint: Option<TaintStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordon: Option<CordonStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainStep>,
    /// Power off and on again, of a node that was drained before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<PowerStep>,
    /// Power confirmed off, pods released, power on again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cycle: Option<PowerStep>,
    /// The provider deletes the machine (node-reaper's word).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reap: Option<ReapStep>,
    /// How long to wait for the node to be well after this step, before the next (5m after a reboot or a power cycle, 0s
    /// after others).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then_wait: Option<DurationString>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaintStep {
    /// `nodewell.dev/remediation` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// NoSchedule by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CordonStep {}

/// `kubectl drain`'s choices under its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DrainStep {
    /// The total; not one call is made after it (10m).
    pub timeout: DurationString,
    /// Overrides the pods' own grace period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u32>,
    pub ignore_daemon_sets: bool,
    pub delete_empty_dir_data: bool,
    /// Pods that nothing would make again.
    pub force: bool,
    pub disable_eviction: bool,
    /// After a drain that timed out: delete with grace 0 what would not go.
    pub force_on_timeout: bool,
    /// Pods already deleting for longer than this are not waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_wait_for_delete_timeout: Option<DurationString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<Selector>,
    /// Between two tries at a pod whose budget refuses (5s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<DurationString>,
}

impl Default for DrainStep {
    fn default() -> Self {
        Self {
            timeout: DurationString("10m".into()),
            grace_period_seconds: None,
            ignore_daemon_sets: true,
            delete_empty_dir_data: false,
            force: false,
            disable_eviction: false,
            force_on_timeout: false,
            skip_wait_for_delete_timeout: None,
            pod_selector: None,
            retry: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PowerStep {
    /// How long the node may take from power on to Ready (10m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_timeout: Option<DurationString>,
    /// Left off after the pods are released: a person looks at it.
    #[serde(default)]
    pub leave_off: bool,
    /// How long a node that reports a crash dump is left to it (0s: not at all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kdump_wait: Option<DurationString>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReapStep {
    /// Also when the drain before it failed. node-reaper's README has this, its code does not.
    #[serde(default)]
    pub even_if_drain_failed: bool,
}

/// A number of nodes, or `N%` of those in question, rounded down; a share that is not 0 is at least one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    Count(u32),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetSpec {
    /// Of the whole cluster; every node that is not well counts, ours or not (1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Amount>,
    /// Dead nodes of the whole cluster beside those: they are not Ready and their kubelet has not renewed its Lease for as
    /// long as the Lease lasts (the same as `maxUnavailable`; 0: they count with the others).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_dead: Option<Amount>,
    /// Of each zone (1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable_per_zone: Option<Amount>,
    /// Of each value of any label: racks, PDUs, switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology: Vec<TopologySpec>,
    /// How many nodes this policy may remediate at once (1 for power, no limit for cordons).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// New nodes whose remediation began in a window (10 in 1h for power, no limit for cordons).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TopologySpec {
    pub label: String,
    pub max_unavailable: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateSpec {
    pub count: u32,
    pub window: DurationString,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PowerCyclesSpec {
    pub count: u32,
    pub window: DurationString,
    /// Until when a machine that is left off at the limit stays out of service (Released).
    #[serde(default)]
    pub off_until: OffUntil,
}

/// What gives a machine back that was left off at the limit of its power cycles. Whichever it is: the controller does not turn
/// it on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OffUntil {
    /// A person does, by `nodewell-controller release`. A machine that another actor turned on (for a repair, or by its
    /// firmware after a power failure) stays out of service until then.
    #[default]
    Released,
    /// Its node is Ready with a new boot, or a person releases it.
    HealthyBoot,
}

/// Too many at once have a cause outside the nodes: nothing is begun, until it has been calm for the cooldown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StormSpec {
    /// Nodes of the cluster that are not well at once: more than this are a storm (30%; one node is never one, unless this
    /// is 0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy: Option<Amount>,
    /// So many nodes that became unhealthy in a window are a storm (5 in 1m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
    /// Calm for so long before anything is begun again (10m).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<DurationString>,
    /// Nothing is begun while less of the nodes than this can be reached from the host that judges (50%).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<Amount>,
}

/// Acting before 50 s of silence needs a second witness that shares nothing with the API server's path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FastSpec {
    /// Silence of the kubelet's Lease before a BMC's answer OFF is acted on (15s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_for: Option<DurationString>,
    /// Control-plane hosts that cannot reach the node, before it is powered off (2; fewer are never enough).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable_from: Option<u32>,
}
