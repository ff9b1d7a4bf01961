//! Watches: a list in pages, then changes, for ever. Each object is cut down as it comes; no whole one is kept. Our own
//! loop instead of kube's: that one swallows bookmarks, which are how a quiet watch is told from a dead one.

mod sinks;
mod stream;

use std::{collections::BTreeSet, time::Duration};

use nodewell_reconcile::{clock::Clock, cluster::LeaseKind, failure::Failure};
use nodewell_remedy::api::{GROUP, VERSION};
use serde::de::DeserializeOwned;
use tokio::{sync::watch, time::sleep};

use crate::{
    feed::{Feed, Source},
    kube::{KUBELET_LEASES, Wire},
};
use sinks::{Events, Fences, Leases, Nodes, Policies};
use stream::{Change, Changes};

/// A quiet watch has a bookmark about once a minute; without a word for so long it is begun again.
const SILENCE: Duration = Duration::from_secs(90);
/// After a failure, doubled each time up to the second.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What is made of the objects of one kind.
trait Sink {
    type Raw: DeserializeOwned + Clone + 'static;
    /// A list begins: what is not in it is not there.
    fn begin(&mut self) {}
    /// Nothing where no completeness is kept.
    fn source(&self) -> Option<Source>;
    /// It is there, or has changed; its name.
    fn apply(&mut self, raw: Self::Raw, listed: bool) -> Option<String>;
    fn remove(&mut self, raw: Self::Raw);
    /// Everything that came could be read.
    fn is_whole(&self) -> bool {
        true
    }
}

/// Watches everything that decisions need; never returns. `agents` is the namespace of the agents' Leases.
pub async fn run<F: Feed>(wire: &Wire, feed: F, clock: Clock, agents: &str) {
    let (wants_events, events_wanted) = watch::channel(false);
    let (nodes, policies) = (Nodes::new(feed.clone(), clock), Policies::new(feed.clone(), wants_events));
    let kubelets = Leases::new(feed.clone(), clock, LeaseKind::Kubelet);
    let of_agents = Leases::new(feed.clone(), clock, LeaseKind::Agent);
    let leases = |namespace: &str| format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let own = |plural: &str| format!("/apis/{GROUP}/{VERSION}/{plural}");
    tokio::join!(
        follow(wire, feed.clone(), "/api/v1/nodes".to_owned(), nodes),
        follow(wire, feed.clone(), leases(KUBELET_LEASES), kubelets),
        follow(wire, feed.clone(), leases(agents), of_agents),
        follow(wire, feed.clone(), own("nodefences"), Fences::new(feed.clone())),
        follow(wire, feed.clone(), own("remedypolicies"), policies),
        follow_events(wire, feed.clone(), events_wanted),
    );
}

/// Events on Nodes, while a policy asks for them.
async fn follow_events<F: Feed>(wire: &Wire, feed: F, mut wanted: watch::Receiver<bool>) {
    loop {
        if wanted.wait_for(|wanted| *wanted).await.is_err() {
            return;
        }
        tokio::select! {
            () = follow(wire, feed.clone(), "/api/v1/namespaces/default/events".to_owned(), Events::new(feed.clone())) => {}
            _ = wanted.wait_for(|wanted| !*wanted) => {}
        }
    }
}

/// Lists and watches one kind, again and again; never returns.
async fn follow<F: Feed, S: Sink>(wire: &Wire, feed: F, path: String, mut sink: S) {
    let mut pause = RETRY.0;
    loop {
        match round(wire, &feed, &path, &mut sink).await {
            Ok(()) => pause = RETRY.0,
            Err(failure) => {
                tracing::warn!(path, error = %failure, retry = ?pause, "the watch broke off");
                sleep(pause).await;
                pause = (pause * 2).min(RETRY.1);
            }
        }
    }
}

/// One list, and watches from there until the server forgets where we were.
async fn round<F: Feed, S: Sink>(wire: &Wire, feed: &F, path: &str, sink: &mut S) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    sink.begin();
    let listed = wire.pages(path, "", |raw: S::Raw| names.extend(sink.apply(raw, true))).await;
    let mut version = listed.inspect_err(|_| lose(feed, sink))?;
    if let Some(source) = sink.source() {
        feed.listed(source, &names);
    }
    check_whole(feed, sink);
    drop(names);
    loop {
        match changes(wire, feed, path, sink, &mut version).await? {
            Ended::Timely => {}
            Ended::Forgotten => return Ok(()),
        }
    }
}

/// How a watch ended.
enum Ended {
    /// By its own time, or without a word for long: go on from the last version.
    Timely,
    /// The server does not know that version any more: list again.
    Forgotten,
}

async fn changes<F: Feed, S: Sink>(
    wire: &Wire,
    feed: &F,
    path: &str,
    sink: &mut S,
    version: &mut String,
) -> Result<Ended, Failure> {
    let mut changes: Changes<S::Raw> = Changes::open(wire, path, version).await?;
    while let Ok(Some(change)) = tokio::time::timeout(SILENCE, changes.next()).await {
        match change {
            Change::Applied(raw, at) => {
                sink.apply(raw, false);
                version.clone_from(&at);
            }
            Change::Deleted(raw, at) => {
                sink.remove(raw);
                version.clone_from(&at);
            }
            Change::Bookmark(at) => version.clone_from(&at),
            Change::Forgotten => return Ok(Ended::Forgotten),
            Change::Broken(why) => {
                lose(feed, sink);
                return Err(Failure::NoAnswer(why));
            }
        }
        if let Some(source) = sink.source() {
            feed.heard(source);
        }
        check_whole(feed, sink);
    }
    Ok(Ended::Timely)
}

/// Something is there that cannot be read: then it is not known what is there.
fn check_whole<F: Feed, S: Sink>(feed: &F, sink: &S) {
    if !sink.is_whole() {
        lose(feed, sink);
    }
}

fn lose<F: Feed, S: Sink>(feed: &F, sink: &S) {
    if let Some(source) = sink.source() {
        feed.lost(source);
    }
}
