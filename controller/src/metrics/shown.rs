//! What is shown of the cache: who leads, what is under remediation, what is blocked and why.

use std::collections::BTreeMap;

use nodewell_metrics::Exposition;
use nodewell_reaper::POLICY_NAME;
use nodewell_reconcile::cache::Counts;
use nodewell_remediation::{node_report::NodeReport, snapshot::Snapshot};

use super::{Shown, agents, done, fence_requests, fenceable, logins, stranded, table};
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
    page.metric(&table::CACHE_RESETS);
    for (source, count) in shown.cache.resets() {
        page.sample(&[("source", source)], count);
    }
}

fn audit(page: &mut Exposition, counts: Option<&AuditCounts>) {
    page.metric(&table::AUDIT_LINES);
    if let Some(counts) = counts {
        page.sample(&[("outcome", "written")], counts.written()).sample(&[("outcome", "lost")], counts.lost());
    }
}

fn crash_dumps(page: &mut Exposition, counts: kdump::Counts) {
    page.metric(&table::KDUMP_PACKETS)
        .sample(&[("of", "node")], counts.of_nodes)
        .sample(&[("of", "stranger")], counts.of_strangers)
        .sample(&[("of", "malformed")], counts.malformed);
}

/// Under node-reaper's own names, so that its dashboards and alerts go on.
fn node_reaper(page: &mut Exposition, counts: Counts) {
    page.metric(&table::DRAINS).sample(&[], counts.drains);
    page.metric(&table::DRAINS_FAILED).sample(&[], counts.drains_failed);
    page.metric(&table::REAPS).sample(&[], counts.reaps);
    page.metric(&table::REAPS_FAILED).sample(&[], counts.reaps_failed);
}

fn leader(page: &mut Exposition, snapshot: &Snapshot, dry_run: bool) {
    page.metric(&table::BUILD_INFO).sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let leads = u64::from(snapshot.epoch > 0 && !dry_run);
    page.metric(&table::LEADER).sample(&[], leads);
    let epoch = if leads > 0 { snapshot.epoch } else { 0 };
    page.metric(&table::EPOCH).sample(&[], epoch);
    page.metric(&table::DRY_RUN).sample(&[], u8::from(dry_run));
    page.metric(&table::CACHE_SYNCED).sample(&[], u8::from(snapshot.host.synced));
    page.metric(&table::STOPPED).sample(&[], u8::from(snapshot.stopped.is_some()));
    page.metric(&table::NODES).sample(&[], snapshot.nodes.len());
    let (good, bad) = (snapshot.policies.len(), snapshot.unreadable_policies.len());
    page.metric(&table::POLICIES).sample(&[("readable", "true")], good).sample(&[("readable", "false")], bad);
}

fn fences(page: &mut Exposition, snapshot: &Snapshot) {
    let mut phases: BTreeMap<String, u64> = BTreeMap::new();
    for fence in snapshot.fences.values() {
        *phases.entry(format!("{:?}", fence.status.phase)).or_default() += 1;
    }
    page.metric(&table::FENCES);
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
    page.metric(&table::STORM).sample(&[], u8::from(storm));
    page.metric(&table::BLOCKED_NODES);
    for (reason, count) in reasons {
        page.sample(&[("reason", reason)], count);
    }
    let errors = node_reports.iter().filter(|node_report| !node_report.errors.is_empty()).count();
    page.metric(&table::PREDICATE_ERRORS).sample(&[], errors);
}

fn requests(page: &mut Exposition, shown: &Shown) {
    page.metric(&table::API_REQUESTS);
    for (asked, count) in shown.requests.so_far() {
        let (Asked { verb, resource }, code) = asked;
        page.sample(&[("verb", verb), ("resource", resource), ("code", &code.to_string())], count);
    }
}
