//! Watches: a list in pages, then changes, for ever. Each object is cut down as it comes; no whole one is kept. Our own
//! loop instead of kube's: that one swallows bookmarks, which are how a quiet watch is told from a dead one.

mod pace;
mod sinks;
mod stream;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use nodewell_reconcile::{clock::Clock, cluster::LeaseKind, failure::Failure};
use nodewell_remedy::api::{GROUP, VERSION};
use serde::de::DeserializeOwned;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    feed::{Feed, Source},
    kube::{KUBELET_LEASES, Wire},
};
use pace::{Pace, is_short};
use sinks::{Events, Fences, Leases, Nodes, Policies};
use stream::{Change, Changes};

/// A quiet watch has a bookmark about once a minute; without a word for so long it is begun again.
const SILENCE: Duration = Duration::from_secs(90);
/// Events on what is in no namespace are told in this one.
pub(crate) const NODE_EVENTS: &str = "/api/v1/namespaces/default/events";
/// After a failure, doubled each time up to the second.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What is made of the objects of one kind.
trait Sink {
    type Raw: DeserializeOwned + Clone + 'static;
    /// A list begins: what is not in it is not there.
    fn begin(&mut self) {}
    /// The list is whole.
    fn end(&mut self) {}
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
    let way = &Way { wire, silence: RefCell::default() };
    tokio::join!(
        follow(way, feed.clone(), "/api/v1/nodes".to_owned(), nodes),
        follow(way, feed.clone(), leases(KUBELET_LEASES), kubelets),
        follow(way, feed.clone(), leases(agents), of_agents),
        follow(way, feed.clone(), own("nodefences"), Fences::new(feed.clone())),
        follow(way, feed.clone(), own("remedypolicies"), policies),
        follow_events(way, feed.clone(), clock, events_wanted),
    );
}

/// Events on Nodes, while a policy asks for them.
async fn follow_events<F: Feed>(way: &Way<'_>, feed: F, clock: Clock, mut wanted: watch::Receiver<bool>) {
    loop {
        if wanted.wait_for(|wanted| *wanted).await.is_err() {
            return;
        }
        tokio::select! {
            () = follow(way, feed.clone(), NODE_EVENTS.to_owned(), Events::new(feed.clone(), clock)) => {}
            _ = wanted.wait_for(|wanted| !*wanted) => {}
        }
        // Nobody would hear of their end.
        feed.keep_events(&BTreeSet::new());
    }
}

/// Lists and watches one kind, again and again; never returns.
async fn follow<F: Feed, S: Sink>(way: &Way<'_>, feed: F, path: String, mut sink: S) {
    let (mut pause, mut told) = (RETRY.0, Told::default());
    loop {
        match round(way, &feed, &path, (&mut sink, &mut told)).await {
            Ok(()) => pause = RETRY.0,
            Err(failure) => {
                told.broken(way, &path, &failure);
                sleep(pause).await;
                pause = (pause * 2).min(RETRY.1);
            }
        }
    }
}

/// To one API server, which all watches share: its silence is told once and not by each.
struct Way<'a> {
    wire: &'a Wire,
    silence: RefCell<Option<String>>,
}

/// What was last told of a watch that is not there: once, however often it is tried.
#[derive(Debug, Default)]
struct Told(Option<String>);

impl Told {
    fn broken(&mut self, way: &Way<'_>, path: &str, failure: &Failure) {
        let why = failure.to_string();
        if let Failure::NoAnswer(said) = failure {
            // It begins with what was asked, which is another thing each time.
            let asked = said.strip_prefix("GET ").and_then(|rest| rest.split_once(": "));
            let said = asked.map_or(said.as_str(), |(_, said)| said);
            if way.silence.replace(Some(said.to_owned())).as_deref() != Some(said) {
                tracing::warn!(error = said, "the API server does not answer; it is tried until it does");
            }
            tracing::debug!(path, error = why, "this watch is not there");
        } else if self.0.as_ref() != Some(&why) {
            tracing::warn!(path, error = why, "this watch is not there; it is tried until it is");
            self.0 = Some(why);
        }
    }

    fn complete(&mut self, way: &Way<'_>, path: &str) {
        if way.silence.take().is_some() {
            tracing::info!("the API server answers again");
        }
        if self.0.take().is_some() {
            tracing::info!(path, "this watch is there again");
        }
    }
}

/// One list, and watches from there until the server forgets where we were.
async fn round<F: Feed, S: Sink>(
    way: &Way<'_>,
    feed: &F,
    path: &str,
    (sink, told): (&mut S, &mut Told),
) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    sink.begin();
    let listed = way.wire.pages(path, "", |raw: S::Raw| names.extend(sink.apply(raw, true))).await;
    let mut version = listed.inspect_err(|_| lose(feed, sink))?;
    told.complete(way, path);
    if let Some(source) = sink.source() {
        feed.listed(source, &names);
    }
    sink.end();
    check_whole(feed, sink);
    drop(names);
    let mut pace = Pace::default();
    loop {
        let opened = Instant::now();
        match changes(way.wire, feed, path, sink, &mut version).await? {
            Ended::Timely => match pace.ended(opened.elapsed()) {
                Some(pause) => sleep(pause).await,
                None => return Err(useless(feed, sink, "the watch ends at once, each time")),
            },
            Ended::Forgotten if is_short(opened.elapsed()) => {
                return Err(useless(feed, sink, "the server does not know what it listed a moment ago"));
            }
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

/// Who watches so hears nothing.
fn useless<F: Feed, S: Sink>(feed: &F, sink: &S, why: &str) -> Failure {
    lose(feed, sink);
    Failure::NoAnswer(why.to_owned())
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
