//! Which nodes can be reached from here: each replica tries the nodes that look lost, and a few that do not, so that it
//! knows what its own failure to reach one is worth. Replicas report to each other through the API server.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_remediation::{
    facts::{Node, kubelet},
    snapshot::{REACH_SAMPLE, Snapshot},
    time::Moment,
};

use crate::{
    api_error::ApiError,
    cache::Cache,
    clock::Clock,
    cluster::{Hosts, ReachReport},
};

/// Between two rounds; with the sample it is a few dozen connections.
const ROUND: Duration = Duration::from_secs(2);
/// So many suspects a round, beside [`REACH_SAMPLE`] others.
const SUSPECTS: usize = 64;
/// One of so many others has to answer, or this host is the one that is cut off.
const SEEING: usize = 2;
/// Another host's report is dropped when it did not change for so long.
const BELIEVED: Duration = Duration::from_secs(10);

/// Tries whether a node answers over the network; in reality a TCP connection to its kubelet.
pub trait Prober {
    /// Ends by itself within a second or so.
    fn reaches(&self, node: &Node) -> impl Future<Output = bool>;
}

/// What this host found out, and what it heard from others.
#[derive(Debug, Default)]
struct Reach {
    /// Since when suspects cannot be reached, or that they can.
    found: BTreeMap<String, Option<Moment>>,
    /// It sees too little of what is well: what it cannot reach shows nothing of the node.
    blind: bool,
    sequence: u64,
    /// Where the sample goes on.
    after: String,
    heard: BTreeMap<String, Heard>,
    /// When others were last heard.
    listened: Option<Moment>,
    /// Nodes whose reports were shown last.
    shown: BTreeSet<String>,
    /// Our last report did not reach the others.
    unheard: bool,
}

#[derive(Debug)]
struct Heard {
    report: ReachReport,
    /// When it changed before our eyes. A report that we only found may be of a host that died long ago.
    at: Option<Moment>,
}

impl Heard {
    fn is_believed(&self, now: Moment) -> bool {
        self.at.is_some_and(|at| now.since(at) <= BELIEVED)
    }
}

/// One replica's part.
#[derive(Debug)]
pub struct Neighbours<'a, C, P> {
    pub cluster: &'a C,
    pub prober: &'a P,
    pub cache: &'a Cache,
    pub clock: Clock,
    /// This host's name among the others.
    pub host: String,
    /// Nothing is written in a dry run.
    pub dry_run: bool,
}

impl<C: Hosts, P: Prober> Neighbours<'_, C, P> {
    /// Never returns.
    pub async fn run(&self) {
        let mut reach = Reach::default();
        loop {
            self.round(&mut reach).await;
            tokio::time::sleep(ROUND).await;
        }
    }

    async fn round(&self, reach: &mut Reach) {
        let suspects = self.cache.with(|snapshot| suspects(snapshot, self.clock.moment()));
        let sample = self.cache.with(|snapshot| sample(snapshot, &suspects, &mut reach.after));
        let answers = self.try_all(&suspects).await;
        let others = self.try_all(&sample).await;
        let had_any = !reach.found.is_empty();
        reach.blind = self.is_blind(&others);
        reach.learn(answers, self.clock.moment());
        // A slow API server must not hold up the news that a node answers.
        self.show(reach, &others);
        if had_any || !reach.found.is_empty() {
            self.exchange(reach).await;
            self.show(reach, &others);
        }
    }

    /// The probes configured for this host do not answer, or too few nodes do: its own network is the first suspect.
    fn is_blind(&self, sample: &[(String, bool)]) -> bool {
        !sees(sample) || self.cache.with(|snapshot| !snapshot.host.unreachable.is_empty())
    }

    async fn try_all(&self, nodes: &[Node]) -> Vec<(String, bool)> {
        let tries: FuturesUnordered<_> =
            nodes.iter().map(|node| async { (node.name.clone(), self.prober.reaches(node).await) }).collect();
        tries.collect().await
    }

    async fn exchange(&self, reach: &mut Reach) {
        reach.sequence += 1;
        let report = reach.report(&self.host, self.clock.moment());
        if !self.dry_run {
            let answer = self.cluster.report_reach(&report).await;
            reach.note(answer.as_ref().err());
        }
        match self.cluster.reach_reports().await {
            Ok(reports) => reach.hear(reports, &self.host, self.clock.moment()),
            Err(error) => tracing::debug!(%error, "what others can reach is not known"),
        }
    }

    fn show(&self, reach: &mut Reach, sample: &[(String, bool)]) {
        let reached = sample.iter().filter(|(_, reached)| *reached).count();
        let tried = (!sample.is_empty()).then_some((reached, sample.len()));
        self.cache.set_host(|host| host.reachable_nodes = tried);
        let reports = reach.reports(&self.host, self.clock.moment());
        let before = std::mem::replace(&mut reach.shown, reports.keys().cloned().collect());
        for node in before.iter().filter(|node| !reports.contains_key(*node)) {
            self.cache.gather(node, |gathered| gathered.reach.clear());
        }
        for (node, reports) in reports {
            self.cache.gather(&node, |gathered| gathered.reach = reports);
        }
    }
}

impl Reach {
    fn learn(&mut self, answers: Vec<(String, bool)>, now: Moment) {
        let before = std::mem::take(&mut self.found);
        for (node, reached) in answers {
            let since = before.get(&node).copied().flatten().unwrap_or(now);
            self.found.insert(node, (!reached).then_some(since));
        }
    }

    /// Without our report the others have one witness less: logged once.
    fn note(&mut self, error: Option<&ApiError>) {
        match error {
            Some(error) if !self.unheard => {
                tracing::warn!(%error, "what is reached from here is not reported to the others");
            }
            None if self.unheard => tracing::info!("what is reached from here is reported to the others again"),
            _ => {}
        }
        self.unheard = error.is_some();
    }

    /// That a node answers is true whichever host sees it; that it does not, only if others do.
    fn own(&self) -> impl Iterator<Item = (&String, Option<Moment>)> {
        let counts = |since: &Option<Moment>| since.is_none() || !self.blind;
        self.found.iter().map(|(node, since)| (node, *since)).filter(move |(_, since)| counts(since))
    }

    fn report(&self, host: &str, now: Moment) -> ReachReport {
        let nodes = self.own().map(|(node, since)| (node.clone(), since.map(|since| now.since(since).as_secs())));
        ReachReport { host: host.to_owned(), sequence: self.sequence, nodes: nodes.collect() }
    }

    /// A host's report counts from when we saw it change; the same report again is no younger, and the first that we
    /// see of a host may be as old as its Lease.
    fn hear(&mut self, reports: Vec<ReachReport>, myself: &str, now: Moment) {
        let others: BTreeMap<String, ReachReport> = reports
            .into_iter()
            .filter(|report| report.host != myself)
            .map(|report| (report.host.clone(), report))
            .collect();
        // Not before our eyes: no host is asked while no node is suspected.
        if self.listened.replace(now).is_none_or(|at| now.since(at) > BELIEVED) {
            self.heard.clear();
        }
        self.heard.retain(|host, _| others.contains_key(host));
        for (host, report) in others {
            let at = match self.heard.get(&host) {
                Some(heard) if heard.report.sequence == report.sequence => continue,
                Some(_) => Some(now),
                None => None,
            };
            self.heard.insert(host, Heard { report, at });
        }
    }

    /// By node: what each host reports of it, ours among them.
    fn reports(&self, myself: &str, now: Moment) -> BTreeMap<String, BTreeMap<String, Option<Moment>>> {
        let mut reports: BTreeMap<String, BTreeMap<String, Option<Moment>>> = BTreeMap::new();
        for (node, since) in self.own() {
            reports.entry(node.clone()).or_default().insert(myself.to_owned(), since);
        }
        for (host, heard) in self.heard.iter().filter(|(_, heard)| heard.is_believed(now)) {
            let Some(at) = heard.at else { continue };
            for (node, secs) in &heard.report.nodes {
                let since = secs.map(|secs| Moment(at.0.saturating_sub(Duration::from_secs(secs))));
                reports.entry(node.clone()).or_default().insert(host.clone(), since);
            }
        }
        reports
    }
}

/// Where nothing else can be tried, the worth of a failure is unknown.
fn sees(sample: &[(String, bool)]) -> bool {
    let reached = sample.iter().filter(|(_, reached)| *reached).count();
    reached > 0 && reached * SEEING >= sample.len()
}

fn suspects(snapshot: &Snapshot, now: Moment) -> Vec<Node> {
    let is_suspect = |node: &&Node| {
        let silent =
            snapshot.kubelet_leases.get(&node.name).is_none_or(|lease| lease.stale_for(now) >= kubelet::SUSPECT_AFTER);
        silent || snapshot.fences.contains_key(&node.name)
    };
    snapshot.nodes.values().filter(is_suspect).take(SUSPECTS).cloned().collect()
}

/// The next few nodes in the order of their names that are no suspects.
fn sample(snapshot: &Snapshot, suspects: &[Node], after: &mut String) -> Vec<Node> {
    let later = snapshot.nodes.range::<str, _>((std::ops::Bound::Excluded(after.as_str()), std::ops::Bound::Unbounded));
    let around = later.chain(snapshot.nodes.iter()).take(snapshot.nodes.len());
    let is_well = |node: &&Node| !suspects.iter().any(|suspect| suspect.name == node.name);
    let nodes: Vec<Node> = around.map(|(_, node)| node).filter(is_well).take(REACH_SAMPLE).cloned().collect();
    after.clear();
    after.push_str(nodes.last().map_or("", |node| &node.name));
    nodes
}
