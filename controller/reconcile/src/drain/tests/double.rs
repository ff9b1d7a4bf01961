//! A small cluster that answers each call as the test asks.

use std::{cell::RefCell, collections::BTreeMap, future::pending, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    action::EventDraft,
    facts::{Attachment, Deletion, DisruptionBudget, LeaseView, Node, Owner, Pod, PodRef},
    time::{Moment, Now},
};
use tokio::time::{Instant, sleep};

use crate::{
    api_error::ApiError,
    cluster::{LeaseKind, Nodes, Pods},
};

/// What becomes of a call, and of its pod.
#[derive(Debug, Clone)]
pub(super) enum Does {
    /// Accepts; nothing else happens.
    Accept,
    /// Accepts; the pod is gone after this.
    End(Duration),
    /// Accepts; the pod is being deleted for ever.
    Linger,
    /// Answers after this long that the pod is gone at once.
    Slow(Duration),
    /// 404, and the pod is gone.
    Vanish,
    Answer(ApiError),
    Hang,
}

type Acts = Box<dyn Fn(&str, usize) -> Does>;

pub(super) struct Double {
    begun: Instant,
    evict: Acts,
    delete: Acts,
    list: Box<dyn Fn(usize) -> Does>,
    budgets: Vec<DisruptionBudget>,
    /// The receiver of a message never returns.
    deaf: bool,
    node_becomes: Option<(Duration, Option<&'static str>)>,
    cache: RefCell<Cache>,
}

#[derive(Default)]
struct Cache {
    /// With the time at which each comes.
    pods: Vec<(Duration, Pod)>,
    gone_at: BTreeMap<String, Duration>,
    calls: Vec<(Duration, String)>,
    uids: Vec<(String, String)>,
    in_flight: usize,
    most_in_flight: usize,
    lists: usize,
}

pub(super) fn node() -> Node {
    Node {
        name: "n1".into(),
        uid: "node-1".into(),
        resource_version: "1".into(),
        unschedulable: true,
        ..Node::default()
    }
}

pub(super) fn at(name: &str) -> PodRef {
    PodRef { namespace: "shop".into(), name: name.into(), uid: format!("uid-{name}") }
}

pub(super) fn pod(name: &str) -> Pod {
    Pod {
        at: at(name),
        node: "n1".into(),
        phase: "Running".into(),
        ready: true,
        owner: Some(Owner { kind: "ReplicaSet".into(), name: "web".into(), uid: "r".into(), gone: false }),
        grace: Duration::from_secs(30),
        ..Pod::default()
    }
}

impl Double {
    pub(super) fn new(pods: Vec<Pod>) -> Self {
        let pods = pods.into_iter().map(|pod| (Duration::ZERO, pod)).collect();
        Self {
            begun: Instant::now(),
            evict: Box::new(|_, _| Does::End(Duration::ZERO)),
            delete: Box::new(|_, _| Does::End(Duration::ZERO)),
            list: Box::new(|_| Does::Accept),
            budgets: Vec::new(),
            node_becomes: None,
            deaf: false,
            cache: RefCell::new(Cache { pods, ..Cache::default() }),
        }
    }

    /// By the pod's name and how often it was called for before.
    pub(super) fn evict(self, acts: impl Fn(&str, usize) -> Does + 'static) -> Self {
        Self { evict: Box::new(acts), ..self }
    }

    pub(super) fn delete(self, acts: impl Fn(&str, usize) -> Does + 'static) -> Self {
        Self { delete: Box::new(acts), ..self }
    }

    pub(super) fn list(self, acts: impl Fn(usize) -> Does + 'static) -> Self {
        Self { list: Box::new(acts), ..self }
    }

    pub(super) fn budget(mut self, budget: DisruptionBudget) -> Self {
        self.budgets.push(budget);
        self
    }

    pub(super) fn arrives(self, after: Duration, pod: Pod) -> Self {
        self.cache.borrow_mut().pods.push((after, pod));
        self
    }

    /// From then on the Node has this UID, or is not there.
    pub(super) fn node_becomes(self, after: Duration, uid: Option<&'static str>) -> Self {
        Self { node_becomes: Some((after, uid)), ..self }
    }

    /// What the drain reports; its receiver may hang.
    pub(super) async fn emit(&self, event: EventDraft) {
        self.record(format!("emit {}: {}", event.reason, event.message));
        if self.deaf {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn deaf(self) -> Self {
        Self { deaf: true, ..self }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn now(&self) -> Now {
        let elapsed = self.elapsed();
        Now { moment: Moment(elapsed), wall: Timestamp::UNIX_EPOCH + elapsed }
    }

    /// When each call was begun, and what it was.
    pub(super) fn calls(&self) -> Vec<(Duration, String)> {
        self.cache.borrow().calls.clone()
    }

    pub(super) fn named(&self, verb: &str) -> Vec<String> {
        self.calls().into_iter().map(|(_, call)| call).filter(|call| call.starts_with(verb)).collect()
    }

    /// In seconds.
    pub(super) fn times(&self, verb: &str) -> Vec<u64> {
        self.calls().iter().filter(|(_, call)| call.starts_with(verb)).map(|(when, _)| when.as_secs()).collect()
    }

    pub(super) fn uids(&self, verb: &str) -> Vec<String> {
        self.cache.borrow().uids.iter().filter(|(of, _)| of == verb).map(|(_, uid)| uid.clone()).collect()
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.cache.borrow().most_in_flight
    }

    pub(super) fn left(&self) -> Vec<String> {
        self.there().into_iter().map(|pod| pod.at.name).collect()
    }

    fn there(&self) -> Vec<Pod> {
        let (now, cache) = (self.elapsed(), self.cache.borrow());
        let is_there = |(comes, pod): &&(Duration, Pod)| {
            *comes <= now && cache.gone_at.get(&pod.at.uid).is_none_or(|gone| *gone > now)
        };
        cache.pods.iter().filter(is_there).map(|(_, pod)| pod.clone()).collect()
    }

    fn record(&self, call: String) {
        self.cache.borrow_mut().calls.push((self.elapsed(), call));
    }

    async fn act(&self, verb: &str, acts: &Acts, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        let before = self.named(&format!("{verb} {}", pod.name)).len();
        let grace = grace.map(|grace| format!(" grace {}", grace.as_secs())).unwrap_or_default();
        self.record(format!("{verb} {}{grace}", pod.name));
        self.cache.borrow_mut().uids.push((verb.to_owned(), pod.uid.clone()));
        let _flight = Flight::begin(&self.cache);
        match acts(&pod.name, before) {
            Does::Accept => Ok(()),
            Does::End(after) => self.end(pod, after),
            Does::Linger => self.end(pod, Duration::MAX),
            Does::Slow(after) => {
                sleep(after).await;
                self.end(pod, Duration::ZERO)
            }
            Does::Vanish => self.end(pod, Duration::ZERO).and(Err(ApiError::NotFound)),
            Does::Answer(error) => Err(error),
            Does::Hang => pending().await,
        }
    }

    fn end(&self, pod: &PodRef, after: Duration) -> Result<(), ApiError> {
        let now = self.now();
        let mut cache = self.cache.borrow_mut();
        cache.gone_at.insert(pod.uid.clone(), now.moment.0.saturating_add(after));
        let deletion = Deletion { at: now.wall + Duration::from_secs(30), grace: Duration::from_secs(30) };
        cache.pods.iter_mut().filter(|(_, one)| one.at == *pod).for_each(|(_, one)| one.deleting = Some(deletion));
        Ok(())
    }
}

/// A call under way, also when it is dropped.
struct Flight<'a>(&'a RefCell<Cache>);

impl<'a> Flight<'a> {
    fn begin(cache: &'a RefCell<Cache>) -> Self {
        let mut inner = cache.borrow_mut();
        inner.in_flight += 1;
        inner.most_in_flight = inner.most_in_flight.max(inner.in_flight);
        Self(cache)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().in_flight -= 1;
    }
}

fn unused<T>() -> Result<T, ApiError> {
    Err(ApiError::Refused { code: 405, message: "a drain has no use for this".into() })
}

impl Nodes for Double {
    async fn node(&self, _name: &str) -> Result<Option<Node>, ApiError> {
        self.record("node".into());
        Ok(match self.node_becomes {
            Some((after, uid)) if self.elapsed() >= after => uid.map(|uid| Node { uid: uid.into(), ..node() }),
            _ => Some(node()),
        })
    }

    async fn lease(&self, _kind: LeaseKind, _node: &str) -> Result<Option<LeaseView>, ApiError> {
        unused()
    }
}

impl Pods for Double {
    async fn pods_on(&self, _node: &str) -> Result<Vec<Pod>, ApiError> {
        self.record("list".into());
        let nth = self.cache.borrow().lists;
        self.cache.borrow_mut().lists += 1;
        match (self.list)(nth) {
            Does::Answer(error) => Err(error),
            Does::Hang => pending().await,
            _ => Ok(self.there()),
        }
    }

    async fn pod(&self, _at: &PodRef) -> Result<Option<Pod>, ApiError> {
        unused()
    }

    async fn attachments_on(&self, _node: &str) -> Result<Vec<Attachment>, ApiError> {
        unused()
    }

    async fn budgets_of(&self, pod: &Pod) -> Result<Vec<DisruptionBudget>, ApiError> {
        self.record(format!("budgets {}", pod.at.name));
        Ok(self.budgets.clone())
    }

    async fn evict(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        self.act("evict", &self.evict, pod, grace).await
    }

    async fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        self.act("delete", &self.delete, pod, grace).await
    }
}
