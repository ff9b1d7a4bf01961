//! Watches: a list in pages, then changes, for ever. Each object is cut down as it comes; no whole one is stored. Our
//! own loop instead of kube's: that one swallows bookmarks, which distinguish a quiet watch from a dead one.
//!
//! A watch goes on from its last version only after its own time was over. If it ends otherwise, is silent or stumbles,
//! everything is listed: an administrator who restores etcd restarts its API servers, and a watch from a version that
//! the restored store has not reached hangs in silence, or misses what is written until then.

mod sinks;
mod stream;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use nodewell_reconcile::{api_error::ApiError, cache::Source, clock::Clock, cluster::LeaseKind, feed::Feed};
use nodewell_remediation::api::{GROUP, VERSION};
use nodewell_time::Backoff;
use serde::de::DeserializeOwned;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::kube::{KUBELET_LEASES, Wire};
use sinks::{Events, Fences, Leases, Nodes, Policies};
use stream::{Change, Changes, forgot, is_before};

/// A quiet watch has a bookmark about once a minute; after so long without one everything is listed.
const SILENCE: Duration = Duration::from_secs(90);
/// API servers end a watch when its time is over (`stream::LIFE_SECS`), which by our watch may be a little earlier.
const TIMELY: Duration = Duration::from_secs(stream::LIFE_SECS - 10);
/// A watch that ends sooner is none, and one that ends sooner than that, again and again, is begun more and more slowly.
const SHORT: Duration = Duration::from_secs(1);
const LASTING: Duration = Duration::from_secs(60);
/// Events on what is in no namespace are emitted in this one.
pub(crate) const NODE_EVENTS: &str = "/api/v1/namespaces/default/events";
/// After a failure.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));

/// What is made of the objects of one kind.
trait Sink {
    type Raw: DeserializeOwned + Clone + 'static;
    /// A list begins: what is not in it is not there.
    fn begin(&mut self) {}
    /// The list is whole.
    fn end(&mut self) {}
    /// Nothing where no completeness is tracked.
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
        follow(way, feed.clone(), own("remediationpolicies"), policies),
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
        // Their end would not be seen.
        feed.keep_events(&BTreeSet::new());
    }
}

/// Lists and watches one kind, again and again; never returns.
async fn follow<F: Feed, S: Sink>(way: &Way<'_>, feed: F, path: String, sink: S) {
    let mut pauses = PAUSES;
    let mut watch = Watch { sink, log: WatchLog::default(), at: String::new() };
    loop {
        let began = Instant::now();
        let ended = round(way, &feed, &path, &mut watch).await;
        // Not only by its last watch: others may have lived for weeks before.
        if began.elapsed() >= LASTING {
            pauses.reset();
        }
        match ended {
            Ok(lived) if lived >= LASTING => continue,
            Ok(_) => {}
            Err(error) => watch.log.broken(way, &path, &error),
        }
        // Deaf until the next list: what changes meanwhile must not pass for silence.
        lose(&feed, &watch.sink);
        sleep(pauses.pause()).await;
    }
}

/// To one API server, which all watches share: its silence is logged once and not by each.
struct Way<'a> {
    wire: &'a Wire,
    silence: RefCell<Option<String>>,
}

/// The watch of one kind.
struct Watch<S> {
    sink: S,
    log: WatchLog,
    /// The version to which it has come.
    at: String,
}

/// What was last logged of a watch that is not there: once, however often it is tried.
#[derive(Debug, Default)]
struct WatchLog(Option<String>);

impl WatchLog {
    fn broken(&mut self, way: &Way<'_>, path: &str, error: &ApiError) {
        let why = error.to_string();
        if let ApiError::NoAnswer(message) = error {
            // It begins with what was asked, which is another thing each time.
            let rest = message.strip_prefix("GET ").and_then(|rest| rest.split_once(": "));
            let message = rest.map_or(message.as_str(), |(_, rest)| rest);
            if way.silence.replace(Some(message.to_owned())).as_deref() != Some(message) {
                tracing::warn!(error = message, "the API server does not answer; it is tried until it does");
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

/// One list, and watches from there until one ends before its time; how long that one lived. Watches move `at` on.
async fn round<F: Feed, S: Sink>(
    way: &Way<'_>,
    feed: &F,
    path: &str,
    Watch { sink, log, at }: &mut Watch<S>,
) -> Result<Duration, ApiError> {
    *at = list(way, feed, path, sink, at).await?;
    log.complete(way, path);
    let mut is_first = true;
    loop {
        let opened = Instant::now();
        let ended = changes(way.wire, feed, path, sink, at).await?;
        let lived = opened.elapsed();
        match ended {
            Ended::Closed if lived >= TIMELY => is_first = false,
            Ended::Closed if lived < SHORT => return Err(useless(feed, sink, "the watch ends at once, each time")),
            Ended::Forgotten if lived < SHORT && is_first => {
                return Err(useless(feed, sink, "the server does not know what it listed a moment ago"));
            }
            Ended::Closed | Ended::Silent | Ended::Forgotten => return Ok(lived),
        }
    }
}

/// Everything that is there; the version of the list, which comes before its first object.
async fn list<F: Feed, S: Sink>(
    way: &Way<'_>,
    feed: &F,
    path: &str,
    sink: &mut S,
    at: &str,
) -> Result<String, ApiError> {
    let (mut names, mut began) = (BTreeSet::new(), false);
    let source = sink.source();
    source.into_iter().for_each(|source| feed.ask_list(source, at));
    let begin = |began: &mut bool, version: &str| {
        let is_first = !std::mem::replace(began, true);
        source.filter(|_| is_first).into_iter().for_each(|source| feed.list_began(source, version));
    };
    sink.begin();
    let each = |version: &str, raw: S::Raw| {
        begin(&mut began, version);
        names.extend(sink.apply(raw, true));
    };
    let listed = way.wire.pages(path, "", each).await;
    let version = listed.inspect_err(|_| lose(feed, sink))?;
    begin(&mut began, &version);
    source.into_iter().for_each(|source| feed.listed(source, &names));
    sink.end();
    check_whole(feed, sink);
    Ok(version)
}

/// How a watch ended.
enum Ended {
    /// The server closed it, or the connection broke.
    Closed,
    /// It sent nothing for long.
    Silent,
    /// The server does not know that version, or not any more, or the store went back: list.
    Forgotten,
}

async fn changes<F: Feed, S: Sink>(
    wire: &Wire,
    feed: &F,
    path: &str,
    sink: &mut S,
    version: &mut String,
) -> Result<Ended, ApiError> {
    let mut changes: Changes<S::Raw> = match Changes::open(wire, path, version).await {
        Err(error) if forgot(&error) => return Ok(Ended::Forgotten),
        opened => opened?,
    };
    let source = sink.source();
    let relist = async {
        match source {
            Some(source) => feed.relist_wanted(source).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(relist);
    loop {
        let change = tokio::select! {
            biased;
            () = &mut relist => return Ok(Ended::Forgotten),
            change = timeout(SILENCE, changes.next()) => change,
        };
        let Ok(change) = change else { return Ok(Ended::Silent) };
        let Some(change) = change else { return Ok(Ended::Closed) };
        // Within one watch versions grow.
        if change.version().is_some_and(|at| is_before(at, version)) {
            return Ok(Ended::Forgotten);
        }
        match change {
            Change::Applied(raw, at) => {
                sink.apply(raw, false);
                *version = at;
            }
            Change::Deleted(raw, at) => {
                sink.remove(raw);
                *version = at;
            }
            Change::Bookmark(at) => *version = at,
            Change::Forgotten => return Ok(Ended::Forgotten),
            Change::Broken(why) => {
                lose(feed, sink);
                return Err(ApiError::NoAnswer(why));
            }
        }
        source.into_iter().for_each(|source| feed.heard(source));
        check_whole(feed, sink);
    }
}

/// A watch that hears nothing.
fn useless<F: Feed, S: Sink>(feed: &F, sink: &S, why: &str) -> ApiError {
    lose(feed, sink);
    ApiError::NoAnswer(why.to_owned())
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
