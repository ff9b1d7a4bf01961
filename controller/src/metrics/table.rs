//! Every metric of the controller: what the pages write is declared here, and docs/reference/metrics.md has it.

use nodewell_reaper::{DRAIN_FAIL_TOTAL, DRAIN_TOTAL, REAP_FAIL_TOTAL, REAP_TOTAL};

nodewell_metrics::metrics! {
    pub const ALL;
    BUILD_INFO: Gauge "nodewell_controller_build_info" ["version"]
        "1, with the version of this program.";
    LEADER: Gauge "nodewell_controller_leader" []
        "1 on the host that acts; on no host in a dry run.";
    EPOCH: Gauge "nodewell_controller_epoch" []
        "The leader's term, which each of its acts carries; 0 where another leads.";
    DRY_RUN: Gauge "nodewell_controller_dry_run" []
        "1 while actions are only logged, and none is done.";
    CACHE_SYNCED: Gauge "nodewell_controller_cache_synced" []
        "1 while all watches are complete and alive; without that nothing is decided.";
    CACHE_RESETS: Counter "nodewell_controller_cache_resets_total" ["source"]
        "Caches thrown away because the API server's store went back, as after a restore of etcd.";
    STOPPED: Gauge "nodewell_controller_stopped" []
        "1 while a kill switch is set.";
    NODES: Gauge "nodewell_controller_nodes" []
        "Nodes seen.";
    POLICIES: Gauge "nodewell_controller_policies" ["readable"]
        "Policies, and with `false` those that have errors and do nothing.";
    FENCES: Gauge "nodewell_controller_fences" ["phase"]
        "Open records by phase; no series where there is none.";
    FENCE_REQUESTS: Gauge "nodewell_controller_fence_requests" ["succeeded", "reason"]
        "Requests of other remediators (NodeFenceRemediation) that this leader serves, by their condition Succeeded.";
    FENCE_READY_NODES: Gauge "nodewell_controller_fence_ready_nodes" ["status", "reason"]
        "Nodes by their condition FenceReady, which the leader writes.";
    UNFENCEABLE: Gauge "nodewell_controller_unfenceable" ["node", "reason"]
        "1 for each node whose FenceReady is False, a hundred of them at most.";
    AUDIT_LINES: Counter "nodewell_controller_audit_lines_total" ["outcome"]
        "Lines of the audit that its file got (`written`) or not (`lost`); the journal has them as well.";
    STRANDED_NODES: Gauge "nodewell_controller_stranded_nodes" ["reason"]
        "Nodes that are dead and whose pods were not released, by what blocks that first (`NoPolicy`, `UnderWay`); \
         without those that still have time. The leader alone counts.";
    BLOCKED_NODES: Gauge "nodewell_controller_blocked_nodes" ["reason"]
        "Blocked nodes, by reason; one node may count under several.";
    STORM: Gauge "nodewell_controller_storm" []
        "1 while a storm, or its cooldown, lasts.";
    PREDICATE_ERRORS: Gauge "nodewell_controller_predicate_errors" []
        "Nodes of which a policy's expression cannot be judged.";
    KDUMP_PACKETS: Counter "nodewell_controller_kdump_packets_total" ["of"]
        "Packets at the port of crash dumps: of a `node`, of a `stranger` (no Node has the address), `malformed`.";
    DECISION_DURATION: Histogram "nodewell_controller_decision_duration_seconds" []
        "Decisions of the whole cluster; `_count` is how many there were.";
    ACTIONS: Counter "nodewell_controller_actions_total" ["action", "outcome"]
        "What this program did as a leader, by kind and outcome.";
    ACTION_DURATION: Histogram "nodewell_controller_action_duration_seconds" ["action"]
        "Actions of this program by kind, until their end was known, whatever it was.";
    POWER_READS: Counter "nodewell_controller_power_reads_total" ["state"]
        "Answers to whether a machine is `on` or `off`; `unknown` is none, or neither.";
    BMC_LOGINS: Counter "nodewell_controller_bmc_logins_total" ["by", "protocol", "outcome"]
        "Logins of this program to BMCs and other devices, by itself (`native`) or by an `agent`, a run of which counts \
         as one.";
    BMC_LOGINS_LAST_HOUR: Gauge "nodewell_controller_bmc_logins_last_hour" ["percentile"]
        "Logins per BMC within the last hour (60 to 70 minutes), by percentile over the BMCs; `100` is the one with \
         most.";
    BMCS_ASKED_LAST_HOUR: Gauge "nodewell_controller_bmcs_asked_last_hour" []
        "BMCs and other devices that this program logged in to within the last hour.";
    CAUSE_TO_CORDONED: Histogram "nodewell_controller_cause_to_cordoned_seconds" []
        "From a policy being true of a node to our cordon.";
    CAUSE_TO_OFF: Histogram "nodewell_controller_cause_to_off_seconds" []
        "From a policy being true of a node to its power being confirmed off, by us or found so.";
    CAUSE_TO_RELEASED: Histogram "nodewell_controller_cause_to_released_seconds" []
        "From a policy being true of a node to its pods being released.";
    API_REQUESTS: Counter "nodewell_controller_api_requests_total" ["verb", "resource", "code"]
        "Answers of the API server, as roles name what was asked; code 0 is none.";
    AGENTS_SILENT: Gauge "nodewell_controller_agents_silent" []
        "Nodes whose conditions have the reason AgentSilent.";
    AGENT_NODES: Counter "nodewell_controller_agent_nodes_total" ["outcome"]
        "Nodes whose agent is silent: conditions set to Unknown (`marked_unknown`) or removed (`collected`), left to \
         another client that wrote meanwhile (`conflict`), or not to be changed (`failed`).";
    AGENTS_BLOCKED: Gauge "nodewell_controller_agents_blocked" []
        "1 while silent agents are left alone: too many at once, or a kill switch; the reason is in the journal.";
    SIGNING_REQUESTS: Counter "nodewell_controller_signing_requests_total" ["outcome"]
        "Decisions on agents' certificates: `approved`, `denied`, `failed`.";
    SIGNING_REQUESTS_REFUSED: Counter "nodewell_controller_signing_requests_refused_total" ["reason"]
        "Requests that were not approved, each once, by reason.";
    SIGNING_REQUESTS_WAITING: Gauge "nodewell_controller_signing_requests_waiting" ["reason"]
        "Of these, those that wait for a person now.";
    DRAINS: Counter DRAIN_TOTAL []
        "Nodes whose drain was begun; these four only with `--node-reaper-config`, under node-reaper's names.";
    DRAINS_FAILED: Counter DRAIN_FAIL_TOTAL []
        "Nodes whose drain failed, the forced retry included.";
    REAPS: Counter REAP_TOTAL []
        "Nodes whose provider was asked to reap them.";
    REAPS_FAILED: Counter REAP_FAIL_TOTAL []
        "Nodes that could not be reaped.";
}
