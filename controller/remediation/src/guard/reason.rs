//! The reasons of blockers: one word each, for machines, and what a person can do about it.

/// Another replica leads. Nothing to do.
pub const NOT_LEADING: &str = "NotLeading";
/// Started with `--dry-run`. Switch it off to act.
pub const DRY_RUN: &str = "DryRun";
/// The policy's `spec.mode` is Observe. Set Enforce when its verdicts are right.
pub const OBSERVE: &str = "Observe";
/// The policy's `spec.mode` is Paused.
pub const PAUSED: &str = "Paused";
/// A kill switch is set: a file on the host or the ConfigMap. Take it away.
pub const KILL_SWITCH: &str = "KillSwitch";
/// The Node or its record carries `nodewell.dev/skip-remediation`. Remove the annotation.
pub const REMEDIATION_SKIPPED: &str = "RemediationSkipped";
/// A person aborted the record (`spec.abort`). Delete the record to begin again.
pub const ABORTED: &str = "Aborted";
/// The Node is younger than `spec.nodeStartupGracePeriod`. Wait.
pub const NEW_NODE: &str = "NewNode";
/// The Node is gone, or another one has its name. The record is closed.
pub const NODE_GONE: &str = "NodeGone";
/// More of the cluster would be out than the budget allows. Bring nodes back, or allow more.
pub const BUDGET_CLUSTER: &str = "BudgetCluster";
/// The same of the node's zone.
pub const BUDGET_ZONE: &str = "BudgetZone";
/// The same of a domain of `topology`.
pub const BUDGET_TOPOLOGY: &str = "BudgetTopology";
/// The policy has as many nodes under remediation as `maxConcurrent` allows. Wait for them.
pub const MAX_CONCURRENT: &str = "MaxConcurrent";
/// As many nodes as `rate` allows began to be remediated. Wait.
pub const RATE: &str = "Rate";
/// Too many nodes are not well at once. Look for the common cause: network, power, API server.
pub const STORM: &str = "Storm";
/// There was a storm a short while ago. Wait.
pub const STORM_COOLDOWN: &str = "StormCooldown";
/// The judging host does not see its own network. Mend that host, or let another lead.
pub const CONTROLLER_ISOLATED: &str = "ControllerIsolated";
/// The watches are not complete, or are begun again since the store went back. Look at the API server.
pub const CACHE_NOT_SYNCED: &str = "CacheNotSynced";
/// A control-plane node: the policy does not allow it, or another one is out.
pub const CONTROL_PLANE: &str = "ControlPlane";
/// etcd would lose its quorum without this node. Bring its other members back.
pub const ETCD_QUORUM: &str = "EtcdQuorum";
/// The state of etcd could not be read. Let the controller reach etcd's health endpoints.
pub const ETCD_UNKNOWN: &str = "EtcdUnknown";
/// The host this controller runs on. Another replica may act on it.
pub const OWN_HOST: &str = "OwnHost";
/// An autoscaler is taking the node away.
pub const AUTOSCALER: &str = "Autoscaler";
/// Another remediator has the node, or remediators are excluded from it. Its label, annotation or Lease is named.
pub const CLAIMED_BY_PEER: &str = "ClaimedByPeer";
/// The record's policy cannot be read, or is gone. Mend it.
pub const POLICY_UNREADABLE: &str = "PolicyUnreadable";
/// A predicate fails for this node. Its error is named; mend the expression.
pub const PREDICATE_ERROR: &str = "PredicateError";
/// A predicate is true by Events alone, and any client may have written those. Ask for a condition, or set
/// `trustEvents`.
pub const EVENTS_NOT_TRUSTED: &str = "EventsNotTrusted";
/// The record's predicate is true of the node no more: nothing more disruptive is begun, and soon what was done is
/// taken back.
pub const PREDICATE_FALSE: &str = "PredicateFalse";
/// The node was power-cycled as often as `powerCycles` allows. A person has to look at it.
pub const POWER_CYCLE_LIMIT: &str = "PowerCycleLimit";
/// All steps were taken as often as a record may. A person has to look at the machine.
pub const STEP_ROUND_LIMIT: &str = "StepRoundLimit";
/// As many pods as `pods` allows were evicted or released. Wait.
pub const POD_RATE: &str = "PodRate";
/// The predicate has not been true for as long as `spec.for` asks. Wait.
pub const WITHIN_GRACE_PERIOD: &str = "WithinGracePeriod";
/// The node is Ready and was not drained: power would end what runs on it.
pub const NODE_READY: &str = "NodeReady";
/// Something is being done for this node. Wait for its end.
pub const BUSY: &str = "Busy";
/// No fence method is configured for the node. Write its `fence-config-…` ConfigMap.
pub const NO_METHODS: &str = "NoMethods";
/// The node's fence methods cannot be used now; the condition FenceReady reports why.
pub const FENCE_NOT_READY: &str = "FenceNotReady";
/// The node's fence methods cut something else by now than the record has begun to. Bring them back as they were.
pub const METHODS_CHANGED: &str = "MethodsChanged";
/// Nothing has shown that the BMC is this node's. Let it report its UUID, or pin it.
pub const IDENTITY_UNPROVEN: &str = "IdentityUnproven";
/// Its pods could not be listed. They are listed again.
pub const PODS_UNKNOWN: &str = "PodsUnknown";
/// It is not Ready with a new boot yet. Look at its console.
pub const AWAITING_READY: &str = "AwaitingReady";
/// Its VolumeAttachments could not be listed. They are listed again.
pub const ATTACHMENTS_UNKNOWN: &str = "AttachmentsUnknown";
/// Its volumes are not detached yet. Look at the attach-detach controller.
pub const ATTACHMENTS_LEFT: &str = "AttachmentsLeft";
/// The node writes a crash dump. Wait.
pub const DUMPING: &str = "Dumping";
