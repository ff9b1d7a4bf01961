//! What is shown of the cache: who leads, what is under remediation, what is blocked and why.

use std::collections::BTreeMap;

use nodewell_metrics::{
    Exposition,
    MetricType::{Counter, Gauge},
};
use nodewell_reaper::{DRAIN_FAIL_TOTAL, DRAIN_TOTAL, POLICY_NAME, REAP_FAIL_TOTAL, REAP_TOTAL};
use nodewell_reconcile::cache::Counts;
use nodewell_remediation::{node_report::NodeReport, snapshot::Snapshot};

use super::{Shown, agents, done, fence_requests, fenceable, logins, stranded};
use crate::{audit::Counts as AuditCounts, kdump, kube::Asked};

/// Blockers that mean a storm.
const STORM: [&str; 2] = ["Storm", "StormCooldown"];

pub(super) fn text(shown: &Shown) -> String {
    let mut page = Exposition::of(shown.cluster.as_deref());
    shown.cache.with(|snapshot| {
        leader(&mut page, snapshot, shown.dry_run);
        fences(&mut page, snapshot);
        fenceable::show(&mut page, snapshot);
        agents::silent(&mut page, snapshot);
    });
    cache(&mut page, shown);
    let node_reports = shown.cache.node_reports();
    shown.cache.with(|snapshot| stranded::show(&mut page, snapshot, &node_reports, shown.clock.now()));
    blockers(&mut page, &node_reports);
    let leads = shown.cache.with(|snapshot| snapshot.epoch > 0) && !shown.dry_run;
    let tally = shown.tally.snapshot();
    agents::done(&mut page, &tally, leads);
    crash_dumps(&mut page, tally.dumps);
    audit(&mut page, tally.audit.as_deref());
    if let Some(counts) = &tally.logins {
        logins::show(&mut page, &counts.figures(shown.clock.moment()));
    }
    fence_requests::show(&mut page, &tally.fence_requests);
    done::show(&mut page, &shown.cache);
    requests(&mut page, shown);
    if shown.node_reaper {
        node_reaper(&mut page, shown.cache.counts(POLICY_NAME));
    }
    page.into_text()
}

fn cache(page: &mut Exposition, shown: &Shown) {
    const HELP: &str = "Caches thrown away because the API server's store went back, as after a restore of etcd.";
    page.metric("nodewell_controller_cache_resets_total", Counter, HELP);
    for (source, count) in shown.cache.resets() {
        page.sample(&[("source", source)], count);
    }
}

fn audit(page: &mut Exposition, counts: Option<&AuditCounts>) {
    const HELP: &str = "Lines of the audit by what became of them in its file; the journal has them as well.";
    page.metric("nodewell_controller_audit_lines_total", Counter, HELP);
    if let Some(counts) = counts {
        page.sample(&[("outcome", "written")], counts.written()).sample(&[("outcome", "lost")], counts.lost());
    }
}

fn crash_dumps(page: &mut Exposition, counts: kdump::Counts) {
    page.metric("nodewell_controller_kdump_packets_total", Counter, "Packets at the port of crash dumps.")
        .sample(&[("of", "node")], counts.of_nodes)
        .sample(&[("of", "stranger")], counts.of_strangers)
        .sample(&[("of", "malformed")], counts.malformed);
}

/// Under node-reaper's own names, so that its dashboards and alerts go on.
fn node_reaper(page: &mut Exposition, counts: Counts) {
    let all = [
        (DRAIN_TOTAL, "Nodes whose drain was begun.", counts.drains),
        (DRAIN_FAIL_TOTAL, "Nodes whose drain failed, the forced retry included.", counts.drains_failed),
        (REAP_TOTAL, "Nodes whose provider was asked to reap them.", counts.reaps),
        (REAP_FAIL_TOTAL, "Nodes that could not be reaped.", counts.reaps_failed),
    ];
    for (name, help, count) in all {
        page.metric(name, Counter, help).sample(&[], count);
    }
}

fn leader(page: &mut Exposition, snapshot: &Snapshot, dry_run: bool) {
    page.metric("nodewell_controller_build_info", Gauge, "1, with the version of this program.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let leads = u64::from(snapshot.epoch > 0 && !dry_run);
    page.metric("nodewell_controller_leader", Gauge, "1 on the host that acts.").sample(&[], leads);
    let epoch = if leads > 0 { snapshot.epoch } else { 0 };
    page.metric("nodewell_controller_epoch", Gauge, "The leader's term; 0 where another leads.").sample(&[], epoch);
    page.metric("nodewell_controller_dry_run", Gauge, "1 while actions are only logged, and none is done.")
        .sample(&[], u8::from(dry_run));
    page.metric("nodewell_controller_cache_synced", Gauge, "1 while all watches are complete and alive.")
        .sample(&[], u8::from(snapshot.host.synced));
    page.metric("nodewell_controller_stopped", Gauge, "1 while a kill switch is set.")
        .sample(&[], u8::from(snapshot.stopped.is_some()));
    page.metric("nodewell_controller_nodes", Gauge, "Nodes seen.").sample(&[], snapshot.nodes.len());
    let (good, bad) = (snapshot.policies.len(), snapshot.unreadable_policies.len());
    page.metric("nodewell_controller_policies", Gauge, "Policies, and those that cannot be read.")
        .sample(&[("readable", "true")], good)
        .sample(&[("readable", "false")], bad);
}

fn fences(page: &mut Exposition, snapshot: &Snapshot) {
    let mut phases: BTreeMap<String, u64> = BTreeMap::new();
    for fence in snapshot.fences.values() {
        *phases.entry(format!("{:?}", fence.status.phase)).or_default() += 1;
    }
    page.metric("nodewell_controller_fences", Gauge, "Open records by phase.");
    for (phase, count) in phases {
        page.sample(&[("phase", &phase)], count);
    }
}

fn blockers(page: &mut Exposition, node_reports: &[NodeReport]) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for blocker in node_reports.iter().flat_map(|node_report| &node_report.blockers) {
        *reasons.entry(&blocker.reason).or_default() += 1;
    }
    let storm = STORM.iter().any(|reason| reasons.contains_key(reason));
    page.metric("nodewell_controller_storm", Gauge, "1 while a storm, or its cooldown, lasts.")
        .sample(&[], u8::from(storm));
    page.metric("nodewell_controller_blocked_nodes", Gauge, "Blocked nodes, by reason; docs/runbook.md has each.");
    for (reason, count) in reasons {
        page.sample(&[("reason", reason)], count);
    }
    let errors = node_reports.iter().filter(|node_report| !node_report.errors.is_empty()).count();
    page.metric("nodewell_controller_predicate_errors", Gauge, "Nodes of which a predicate cannot be judged.")
        .sample(&[], errors);
}

fn requests(page: &mut Exposition, shown: &Shown) {
    const HELP: &str = "Answers of the API server, by what was asked; code 0 is none.";
    page.metric("nodewell_controller_api_requests_total", Counter, HELP);
    for (asked, count) in shown.requests.so_far() {
        let (Asked { verb, resource }, code) = asked;
        page.sample(&[("verb", verb), ("resource", resource), ("code", &code.to_string())], count);
    }
}
