//! What is shown of the cache: who leads, what is under remediation, what is blocked and why.

use std::collections::BTreeMap;

use nodewell_reconcile::cache::Counts;
use nodewell_remediation::{node_report::NodeReport, reaper, snapshot::Snapshot};

use super::{
    Shown, agents, done, fence_requests, fenceable, logins,
    page::{Kind, Page},
    stranded,
};
use crate::{audit::Counts as AuditCounts, kdump, kube::Asked};

/// Blockers that mean a storm.
const STORM: [&str; 2] = ["Storm", "StormCooldown"];

pub(super) fn text(shown: &Shown) -> String {
    let mut page = Page::of(shown.cluster.as_deref());
    shown.cache.with(|snapshot| {
        leader(&mut page, snapshot, shown.dry_run);
        fences(&mut page, snapshot);
        fenceable::show(&mut page, snapshot);
        agents::silent(&mut page, snapshot);
    });
    cache(&mut page, shown);
    let node_reports = shown.cache.node_reports();
    shown.cache.with(|snapshot| stranded::show(&mut page, snapshot, &node_reports, shown.clock.moment()));
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
        node_reaper(&mut page, shown.cache.counts(reaper::POLICY_NAME));
    }
    page.into_text()
}

fn cache(page: &mut Page, shown: &Shown) {
    const HELP: &str = "Caches thrown away because the API server's store went back, as after a restore of etcd.";
    page.metric("nodewell_controller_cache_resets_total", Kind::Counter, HELP);
    for (source, count) in shown.cache.resets() {
        page.sample(&[("source", source)], count);
    }
}

fn audit(page: &mut Page, counts: Option<&AuditCounts>) {
    const HELP: &str = "Lines of the audit by what became of them in its file; the journal has them as well.";
    page.metric("nodewell_controller_audit_lines_total", Kind::Counter, HELP);
    if let Some(counts) = counts {
        page.sample(&[("outcome", "written")], counts.written()).sample(&[("outcome", "lost")], counts.lost());
    }
}

fn crash_dumps(page: &mut Page, counts: kdump::Counts) {
    page.metric("nodewell_controller_kdump_packets_total", Kind::Counter, "Packets at the port of crash dumps.")
        .sample(&[("of", "node")], counts.of_nodes)
        .sample(&[("of", "stranger")], counts.of_strangers)
        .sample(&[("of", "malformed")], counts.malformed);
}

/// Under node-reaper's own names, so that its dashboards and alerts go on.
fn node_reaper(page: &mut Page, counts: Counts) {
    let all = [
        (reaper::DRAIN_TOTAL, "Nodes whose drain was begun.", counts.drains),
        (reaper::DRAIN_FAIL_TOTAL, "Nodes whose drain failed, the forced retry included.", counts.drains_failed),
        (reaper::REAP_TOTAL, "Nodes whose provider was asked to reap them.", counts.reaps),
        (reaper::REAP_FAIL_TOTAL, "Nodes that could not be reaped.", counts.reaps_failed),
    ];
    for (name, help, count) in all {
        page.metric(name, Kind::Counter, help).sample(&[], count);
    }
}

fn leader(page: &mut Page, snapshot: &Snapshot, dry_run: bool) {
    page.metric("nodewell_controller_build_info", Kind::Gauge, "1, with the version of this program.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let leads = u64::from(snapshot.epoch > 0 && !dry_run);
    page.metric("nodewell_controller_leader", Kind::Gauge, "1 on the host that acts.").sample(&[], leads);
    let epoch = if leads > 0 { snapshot.epoch } else { 0 };
    page.metric("nodewell_controller_epoch", Kind::Gauge, "The leader's term; 0 where another leads.")
        .sample(&[], epoch);
    page.metric("nodewell_controller_dry_run", Kind::Gauge, "1 while actions are only logged, and none is done.")
        .sample(&[], dry_run.into());
    page.metric("nodewell_controller_cache_synced", Kind::Gauge, "1 while all watches are complete and alive.")
        .sample(&[], snapshot.host.synced.into());
    page.metric("nodewell_controller_stopped", Kind::Gauge, "1 while a kill switch is set.")
        .sample(&[], snapshot.stopped.is_some().into());
    page.metric("nodewell_controller_nodes", Kind::Gauge, "Nodes seen.").sample(&[], snapshot.nodes.len() as u64);
    let (good, bad) = (snapshot.policies.len() as u64, snapshot.unreadable_policies.len() as u64);
    page.metric("nodewell_controller_policies", Kind::Gauge, "Policies, and those that cannot be read.")
        .sample(&[("readable", "true")], good)
        .sample(&[("readable", "false")], bad);
}

fn fences(page: &mut Page, snapshot: &Snapshot) {
    let mut phases: BTreeMap<String, u64> = BTreeMap::new();
    for fence in snapshot.fences.values() {
        *phases.entry(format!("{:?}", fence.status.phase)).or_default() += 1;
    }
    page.metric("nodewell_controller_fences", Kind::Gauge, "Open records by phase.");
    for (phase, count) in phases {
        page.sample(&[("phase", &phase)], count);
    }
}

fn blockers(page: &mut Page, node_reports: &[NodeReport]) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for blocker in node_reports.iter().flat_map(|node_report| &node_report.blockers) {
        *reasons.entry(&blocker.reason).or_default() += 1;
    }
    let storm = STORM.iter().any(|reason| reasons.contains_key(reason));
    page.metric("nodewell_controller_storm", Kind::Gauge, "1 while a storm, or its cooldown, lasts.")
        .sample(&[], storm.into());
    page.metric(
        "nodewell_controller_blocked_nodes",
        Kind::Gauge,
        "Blocked nodes, by reason; docs/runbook.md has each.",
    );
    for (reason, count) in reasons {
        page.sample(&[("reason", reason)], count);
    }
    let errors = node_reports.iter().filter(|node_report| !node_report.errors.is_empty()).count();
    page.metric("nodewell_controller_predicate_errors", Kind::Gauge, "Nodes of which a predicate cannot be judged.")
        .sample(&[], errors as u64);
}

fn requests(page: &mut Page, shown: &Shown) {
    const HELP: &str = "Answers of the API server, by what was asked; code 0 is none.";
    page.metric("nodewell_controller_api_requests_total", Kind::Counter, HELP);
    for (asked, count) in shown.requests.so_far() {
        let (Asked { verb, resource }, code) = asked;
        page.sample(&[("verb", verb), ("resource", resource), ("code", &code.to_string())], count);
    }
}
