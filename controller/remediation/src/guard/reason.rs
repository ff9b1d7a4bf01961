//! The reasons of blockers, for machines; each says what it means and what a person can do about it.

/// Another replica leads. Nothing to do.
pub const NOT_LEADING: &str = "NotLeading";
/// Started with `--dry-run`. Switch it off to act.
pub const DRY_RUN: &str = "DryRun";
/// The policy's `spec.mode` is Observe. Set Enforce when what `nodewell-controller plan` shows is right.
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
/// The node announced a shutdown, and `spec.rebootGracePeriod` is not over. Wait.
pub const SHUTDOWN_ANNOUNCED: &str = "ShutdownAnnounced";
/// The Node is gone, or another one has its name. The record is closed.
pub const NODE_GONE: &str = "NodeGone";
/// More nodes of the cluster would be unavailable than the budget allows. Bring nodes back, or allow more.
pub const BUDGET_CLUSTER: &str = "BudgetCluster";
/// The same of the node's zone.
pub const BUDGET_ZONE: &str = "BudgetZone";
/// The same of a domain of `topology`.
pub const BUDGET_TOPOLOGY: &str = "BudgetTopology";
/// The policy has as many nodes under remediation as `maxConcurrent` allows. Wait for them.
pub const MAX_CONCURRENT: &str = "MaxConcurrent";
/// As many nodes as `rate` allows began to be remediated. Wait.
pub const RATE: &str = "Rate";
/// Too many nodes are unhealthy at once. Look for the common cause: network, power, API server.
pub const STORM: &str = "Storm";
/// There was a storm a short while ago. Wait.
pub const STORM_COOLDOWN: &str = "StormCooldown";
/// The controller's host cannot reach its own network. Mend that host, or let another lead.
pub const CONTROLLER_ISOLATED: &str = "ControllerIsolated";
/// The watches are not complete, or start again because etcd was restored from a backup. Look at the API server.
pub const CACHE_NOT_SYNCED: &str = "CacheNotSynced";
/// Kubelets were out of hearing a moment ago, and this one may only be late. Wait.
pub const KUBELET_LATE: &str = "KubeletLate";
/// The node is dead, and no enforced policy that frees its pods has the say about it. Write one, with `powerCycle` or `reap`.
pub const ONLY_ISOLATES: &str = "OnlyIsolates";
/// A control-plane node: the policy does not allow it, or another one is unavailable.
pub const CONTROL_PLANE: &str = "ControlPlane";
/// etcd would lose its quorum without this node. Bring its other members back.
pub const ETCD_QUORUM: &str = "EtcdQuorum";
/// The state of etcd could not be read. Let the controller reach etcd's health endpoints.
pub const ETCD_UNKNOWN: &str = "EtcdUnknown";
/// The host this controller runs on. Another replica takes the lead within seconds and acts on it.
pub const OWN_HOST: &str = "OwnHost";
/// The same, and no other replica could lead. Start one on another host, or mend the host by hand.
pub const ONLY_REPLICA: &str = "OnlyReplica";
/// An autoscaler is taking the node away.
pub const AUTOSCALER: &str = "Autoscaler";
/// Another remediator has the node, or remediators are excluded from it. Its label, annotation or Lease is named.
pub const CLAIMED_BY_PEER: &str = "ClaimedByPeer";
/// The node's operating system is updated, and reboots by itself. Wait for the end of the update.
pub const NODE_UPDATING: &str = "NodeUpdating";
/// The record's policy cannot be read, or is gone. Mend it.
pub const POLICY_UNREADABLE: &str = "PolicyUnreadable";
/// A predicate fails for this node. Its error is named; mend the expression.
pub const PREDICATE_ERROR: &str = "PredicateError";
/// A predicate is true by Events alone, and any client may have written those. Ask for a condition, or set
/// `trustEvents`.
pub const EVENTS_NOT_TRUSTED: &str = "EventsNotTrusted";
/// The policy's predicate is no longer true of the node: nothing more disruptive is begun, and after `spec.healthyDelay`
/// the node is given back.
pub const PREDICATE_FALSE: &str = "PredicateFalse";
/// The node was power-cycled as often as `powerCycles` allows. It is left off, or quarantined: a person has to look at it.
pub const POWER_CYCLE_LIMIT: &str = "PowerCycleLimit";
/// All steps were gone through as often as one record may. A person has to look at the machine.
pub const STEP_ROUND_LIMIT: &str = "StepRoundLimit";
/// Off is confirmed, and the Lease whose silence was the evidence is gone. A person has to act.
pub const LEASE_MISSING: &str = "LeaseMissing";
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
/// The record has begun to cut the node off by fence methods that were changed since. Configure them as they were.
pub const METHODS_CHANGED: &str = "MethodsChanged";
/// Nothing proves that the BMC is this node's. Let it report its UUID, or write `system_uuid` into the node's ConfigMap.
pub const IDENTITY_UNPROVEN: &str = "IdentityUnproven";
/// Its pods could not be listed. They are listed again.
pub const PODS_UNKNOWN: &str = "PodsUnknown";
/// The node is not Ready with a new boot ID yet. Look at its console.
pub const AWAITING_READY: &str = "AwaitingReady";
/// Its VolumeAttachments could not be listed. They are listed again.
pub const ATTACHMENTS_UNKNOWN: &str = "AttachmentsUnknown";
/// Its volumes are not detached yet. Look at the attach-detach controller.
pub const ATTACHMENTS_LEFT: &str = "AttachmentsLeft";
/// The same, for minutes. The message names the VolumeAttachments, and pods that were not released and keep their volumes.
pub const ATTACHMENTS_STUCK: &str = "AttachmentsStuck";
/// The node writes a crash dump. Wait.
pub const DUMPING: &str = "Dumping";
