//! Stores what this controller decides ([`crate::report`]), while it is the one that decides.

use std::{convert::Infallible, time::Duration};

use jiff::Timestamp;
use nodewell_reaper::Reaper;
use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_remediation::{guard::budgets::usage, snapshot::Snapshot, time::Now};
use tokio::time::sleep;

use super::own_objects::Writer;
use crate::{
    config::Config,
    kube::KubeCluster,
    report::{self, Budget, Configuration, Report},
};

/// A change is shown so soon.
const APART: Duration = Duration::from_secs(5);
/// Without a change it is written again so often: it shows that the controller still runs.
const BEAT: Duration = Duration::from_secs(60);

/// What the report is made from.
pub(super) struct Source<'a> {
    pub(super) config: &'a Config,
    pub(super) host: String,
    pub(super) cache: &'a Cache,
    pub(super) clock: Clock,
    pub(super) reaper: Option<&'a Reaper>,
}

/// Never returns.
pub(super) async fn look_after(cluster: &KubeCluster, source: &Source<'_>, mut writer: Writer<'_>) -> Infallible {
    let mut written: Option<(Report, nodewell_remediation::time::Moment)> = None;
    let mut reported = String::new();
    loop {
        sleep(APART).await;
        let now = source.clock.now();
        if !writer.is_us(now.moment).await {
            written = None;
            continue;
        }
        let Some(report) = source.report(now) else { continue };
        let is_known = |(before, at): &(Report, _)| !report.is_news(before) && now.moment.since(*at) < BEAT;
        if written.as_ref().is_some_and(is_known) {
            continue;
        }
        match report::store(cluster.wire(), &source.config.leader.namespace, &report).await {
            Ok(()) => {
                reported.clear();
                written = Some((report, now.moment));
            }
            Err(error) => {
                let news = error.to_string();
                if news != reported {
                    tracing::warn!(%error, "the ConfigMap {} cannot be written; `plan` does not show this", report::NAME);
                }
                reported = news;
            }
        }
    }
}

impl Source<'_> {
    /// Nothing while the cluster is not seen whole: then nothing is decided either.
    fn report(&self, now: Now) -> Option<Report> {
        let refusals = |snapshot: &Snapshot| self.reaper.map(|reaper| reaper.look(snapshot, now)).unwrap_or_default();
        let head = self.cache.with(|snapshot| {
            snapshot.host.synced.then(|| Report {
                term: if self.config.dry_run { 0 } else { snapshot.epoch },
                budgets: usage(snapshot, now.moment).iter().map(Budget::from).collect(),
                node_reaper_refused: refusals(snapshot),
                ..Report::default()
            })
        })?;
        let report = Report {
            host: self.host.clone(),
            cluster: self.config.cluster.clone(),
            written: Timestamp::from_second(now.wall.as_second()).unwrap_or(now.wall),
            dry_run: self.config.dry_run,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            configuration: configuration(self.config),
            ..head
        };
        Some(report.with_nodes(&self.cache.node_reports()))
    }
}

fn configuration(config: &Config) -> Configuration {
    Configuration {
        node: config.node_name.clone(),
        etcd: config.etcd.is_some(),
        probes: config.probes.clone(),
        claims: config.claims_namespace.clone(),
        node_reaper: config.node_reaper_config.as_ref().map(|file| file.display().to_string()),
        kdump: config.kdump_listen.is_some(),
    }
}
