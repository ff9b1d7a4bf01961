//! One look at the requests of one source: each is read with its node's record, and what is decided for it is done.

use std::collections::BTreeMap;

use nodewell_reconcile::{api_error::ApiError, audit::Audit, cache::Cache, cluster::Records, leader::Term};
use nodewell_remediation::{
    action::EventDraft,
    api::{
        fence::NodeFence,
        request::{NodeFenceRemediationStatus, REQUESTED_BY},
    },
    external::{
        general_blockers,
        next::{Act, Next, Target, View, heir, next, orphaned},
        progress::SUCCEEDED,
        request::{Request, Source},
        request_uid,
    },
    message::Message,
    snapshot::Customer,
};

use super::{
    customers,
    served::{AllServed, Served},
    sources::Sources,
    store,
    target::{self, Found},
};
use crate::{
    kube::{KubeCluster, ended},
    tally::FenceRequests,
};

/// What a leader does about the requests of a source, round after round.
pub(super) struct Rounds<'a> {
    cluster: &'a KubeCluster,
    sources: &'a Sources,
    source: Source,
    served: &'a AllServed,
    cache: &'a Cache,
    term: Term,
    audit: Audit,
    /// What was logged last, by what it is about: each message once.
    reported: BTreeMap<String, String>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(
        cluster: &'a KubeCluster,
        sources: &'a Sources,
        source: Source,
        served: &'a AllServed,
        cache: &'a Cache,
        term: Term,
        audit: Audit,
    ) -> Self {
        Self { cluster, sources, source, served, cache, term, audit, reported: BTreeMap::new() }
    }

    pub(super) fn leads(&self) -> bool {
        let now = self.cluster.clock().moment();
        self.term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(now))
    }

    /// Whether the source could be read. What cannot be read has nothing done about it.
    pub(super) async fn serve(&mut self) -> bool {
        // Before the requests: a record that is older than their list and names none of them has lost its own.
        let records = self.cache.with(|snapshot| snapshot.host.synced.then(|| requested(&snapshot.fences)));
        let Some(records) = records.filter(|_| self.leads()) else {
            self.served.set(self.source, Served::default());
            return true;
        };
        let Some((requests, unread)) = self.list().await else {
            self.served.set(self.source, Served::default());
            return false;
        };
        self.served.list(self.source, requests.clone());
        let mut served = Served { requests, ..Served::default() };
        for request in &served.requests {
            let status = match self.serve_one(request, &mut served.customers).await {
                Ok(status) => status,
                Err(error) => {
                    self.report(&request.id(), format!("{}: {error}; tried again", request.shown()));
                    request.status.clone()
                }
            };
            count(&mut served.counts, &status);
        }
        // A request that another version wrote is still there, and its record has not lost it.
        if unread == 0 {
            let source = self.source;
            for record in records.iter().filter(|record| is_orphan(record, source, &served.requests)) {
                self.take_up_orphan(record, &served.requests).await;
            }
        }
        self.served.set(self.source, if self.leads() { served } else { Served::default() });
        true
    }

    /// Those that can be read, and how many cannot.
    async fn list(&mut self) -> Option<(Vec<Request>, usize)> {
        let source = self.source;
        let about = format!("the list of {source}");
        match self.sources.list(self.cluster.wire(), source).await {
            Ok((requests, unread)) => {
                let what = |unread: &[String]| format!("requests that cannot be read: {}", unread.join("; "));
                self.report(&about, if unread.is_empty() { String::new() } else { what(&unread) });
                Some((requests, unread.len()))
            }
            Err(error) => {
                self.report(&about, format!("requests of other remediators ({source}) are not served: {error}"));
                None
            }
        }
    }

    async fn serve_one(
        &mut self,
        request: &Request,
        customers: &mut BTreeMap<String, Customer>,
    ) -> Result<NodeFenceRemediationStatus, ApiError> {
        if !request.deleting && request.status.node_fence.as_ref().is_some_and(|record| record.ended) {
            return Ok(request.status.clone());
        }
        let found = target::find(self.cluster, self.sources, request).await?;
        let node = self.node_of(request, &found).await?;
        let (record, ended) = self.records(request, node.as_deref()).await?;
        if let Some(node) = &node {
            self.add_customer(request, node, customers).await;
        }
        let all = self.served.requests();
        let heir = heir(&all, request).map(Request::id);
        let general = self.cache.with(|snapshot| general_blockers(snapshot));
        let view = View {
            request,
            target: match &found {
                Found::Node(node) => Target::Node(node),
                Found::Unknown(blocker) => Target::Unknown(blocker.clone()),
                Found::Missing(name) => Target::missing(name),
            },
            record: record.as_ref(),
            ended: ended.as_ref(),
            heir: heir.as_deref(),
            general: &general,
        };
        let decided = next(&view, self.cluster.clock().wall());
        self.carry_out(request, &decided).await?;
        Ok(decided.status)
    }

    /// The node whose record is looked for: the one that the request's own record is of, else the one that it is of now.
    async fn node_of(&self, request: &Request, found: &Found) -> Result<Option<String>, ApiError> {
        let stored = Some(&request.status.node_name).filter(|name| !name.is_empty());
        let found = match found {
            Found::Node(node) => Some(&node.name),
            Found::Missing(name) => Some(name),
            Found::Unknown(_) => None,
        };
        let Some(stored) = stored else { return Ok(found.cloned()) };
        let is_known = request.status.node_fence.is_some() || found.is_none_or(|found| found == stored);
        if is_known {
            return Ok(Some(stored.clone()));
        }
        // Another leader may have opened one under the name that was stored.
        let record = self.cluster.fence(stored).await?;
        let is_own = record.is_some_and(|record| request_uid(&record) == Some(&request.uid));
        Ok(if is_own { Some(stored.clone()) } else { found.cloned() })
    }

    /// The open record of the node, and the copy of the one that served the request, where that has ended.
    async fn records(
        &self,
        request: &Request,
        node: Option<&str>,
    ) -> Result<(Option<NodeFence>, Option<NodeFence>), ApiError> {
        let record = match node {
            Some(node) => self.cluster.fence(node).await?,
            None => None,
        };
        let known = request.status.node_fence.as_ref().filter(|known| !known.ended && !known.uid.is_empty());
        let gone = known.filter(|known| record.as_ref().is_none_or(|record| record.metadata.uid != known.uid));
        let ended = match gone {
            Some(known) => ended::copy_of(self.cluster.wire(), &request.status.node_name, &known.uid).await?,
            None => None,
        };
        Ok((record, ended))
    }

    async fn add_customer(&mut self, request: &Request, node: &str, customers: &mut BTreeMap<String, Customer>) {
        let about = format!("the customer of {node}");
        match customers::of(self.cluster.wire(), request, node).await {
            Some(Ok(customer)) => {
                self.report(&about, String::new());
                customers.insert(node.to_owned(), customer);
            }
            Some(Err(why)) => self.report(&about, format!("its Lease of {node} blocks {}: {why}", request.shown())),
            None => {}
        }
    }

    /// The status first: what names the node is stored before its record is opened.
    async fn carry_out(&mut self, request: &Request, decided: &Next) -> Result<(), ApiError> {
        let Next { act, status } = decided;
        if !self.leads() {
            return Ok(());
        }
        let wire = self.sources.wire(self.cluster.wire(), request);
        let version = match store::write_status(wire, request, status).await {
            // Its client changed it, or it is gone: it is read again.
            Err(ApiError::Conflict(_) | ApiError::NotFound) => return Ok(()),
            version => version?,
        };
        let Some(act) = act.as_ref().filter(|_| self.leads()) else { return Ok(()) };
        match store::perform(self.cluster, wire, request, &version, act).await {
            Ok(()) => self.done(&request.id(), act),
            Err(ApiError::Conflict(_) | ApiError::NotFound) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.report(&request.id(), String::new());
        Ok(())
    }

    /// Its request is gone without its finalizer, which only a client can have taken away.
    async fn take_up_orphan(&mut self, record: &NodeFence, requests: &[Request]) {
        // The stored one: what the cache has may be an old copy.
        let stored = match self.cluster.fence(&record.metadata.name).await {
            // It may have been handed over since.
            Ok(stored) => stored.filter(|stored| {
                stored.metadata.uid == record.metadata.uid && is_orphan(stored, self.source, requests)
            }),
            Err(_) => None,
        };
        let Some(act) = stored.as_ref().and_then(orphaned).filter(|_| self.leads()) else { return };
        let node = &record.spec.node_name;
        match store::on_record(self.cluster, &act, "its request is gone").await {
            Ok(()) => self.done(&format!("the request of {node}, which is gone"), &act),
            Err(error) => {
                self.report(node, format!("the record of {node}, whose request is gone: {error}; tried again"))
            }
        }
    }

    /// In the journal; the end of a record also in the audit, as every end.
    fn done(&self, request: &str, act: &Act) {
        tracing::info!(request, act = name(act), "served");
        if let Act::Close(record) = act {
            let why = EventDraft::normal(Message::plain("FenceClosed/requestOver"));
            let term = self.cache.with(|snapshot| snapshot.epoch);
            self.audit.record_ended(self.cluster.clock().wall(), term, record, &why);
        }
    }

    /// Each message once; an empty one is a reason to report the next.
    fn report(&mut self, about: &str, news: String) {
        if self.reported.get(about) == Some(&news) {
            return;
        }
        if !news.is_empty() {
            tracing::warn!("{news}");
        }
        self.reported.insert(about.to_owned(), news);
    }
}

/// Records that were opened for requests.
fn requested(fences: &BTreeMap<String, NodeFence>) -> Vec<NodeFence> {
    fences.values().filter(|record| request_uid(record).is_some()).cloned().collect()
}

/// Whether its request was one of this source, which was read and has it no more.
fn is_orphan(record: &NodeFence, read: Source, requests: &[Request]) -> bool {
    let source = record.metadata.annotations.get(REQUESTED_BY).and_then(|id| id.split('/').next());
    let uid = request_uid(record);
    source == Some(read.to_string().as_str()) && !requests.iter().any(|request| Some(request.uid.as_str()) == uid)
}

fn count(counts: &mut FenceRequests, status: &NodeFenceRemediationStatus) {
    for succeeded in status.conditions.iter().filter(|one| one.kind == SUCCEEDED) {
        *counts.entry((format!("{:?}", succeeded.status), succeeded.reason.clone())).or_default() += 1;
    }
}

fn name(act: &Act) -> &'static str {
    match act {
        Act::AddFinalizer => "accepted",
        Act::RemoveFinalizer => "ended",
        Act::Open(_) => "opened",
        Act::Abort(_) => "aborted",
        Act::Close(_) => "closed",
        Act::HandOver(..) => "handed over",
    }
}
