//! Events on Nodes: each object once, by its UID. What is shown is their sum by reason, for the Node that they are about.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_remediation::{
    facts::Node,
    snapshot::{EventsSeen, Snapshot},
    time::{Moment, Now},
};

use super::Cache;

/// One Event object that is about a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    pub uid: String,
    pub node: String,
    /// `involvedObject.uid`; kubelets write the Node's name there, and some reporters nothing.
    pub node_uid: String,
    pub reason: String,
    /// Who wrote it, by its own claim.
    pub reporter: String,
    /// How often it was seen so far.
    pub count: u64,
    /// When it was seen last, by its reporter's clock; not before the API server made the object.
    pub last: Timestamp,
}

impl NodeEvent {
    /// Another Node may have had the name when the Event was emitted. Without a UID the time shows it.
    fn is_of(&self, node: &Node) -> bool {
        let names_uid = !self.node_uid.is_empty() && self.node_uid != node.name;
        if names_uid { self.node_uid == node.uid } else { self.last >= node.created }
    }
}

/// Any client that may write Events may write any number of them: of each Node the last few are stored.
const OF_A_NODE: usize = 256;
/// And of all Nodes, whether there are such or not.
const OF_ALL: usize = 100_000;
/// The API server's own limit for reasons and reporters of the newer kind of Events.
const NAME_BYTES: usize = 128;

/// When we saw one, and how old it was then.
#[derive(Debug, Clone, Copy)]
struct Seen {
    last: Moment,
    age_when_seen: Duration,
}

impl Seen {
    fn shown(self, event: &NodeEvent) -> EventsSeen {
        let reporters = [event.reporter.clone()].into_iter().filter(|name| !name.is_empty()).collect();
        EventsSeen { count: event.count, last: self.last, age_when_seen: self.age_when_seen, reporters }
    }
}

/// All Events that are there.
#[derive(Debug, Clone, Default)]
pub struct NodeEvents {
    known: BTreeMap<String, (NodeEvent, Seen)>,
    by_node: BTreeMap<String, BTreeSet<String>>,
}

impl NodeEvents {
    /// One that changes before our eyes is seen now. One that was there before is as old as its own time: a time in the
    /// future is now, and the same one listed again is no younger.
    pub fn apply(&mut self, event: NodeEvent, listed: bool, now: Now) {
        let is_new = !self.known.contains_key(&event.uid);
        let is_long = event.reason.len() > NAME_BYTES || event.reporter.len() > NAME_BYTES;
        if is_long || is_new && self.known.len() >= OF_ALL {
            return;
        }
        if is_new {
            self.make_room(&event.node);
        }
        let ago = Duration::try_from(now.wall.duration_since(event.last)).unwrap_or_default();
        let fresh = Seen { last: now.moment, age_when_seen: if listed { ago } else { Duration::ZERO } };
        let seen = self.known.get(&event.uid).filter(|(known, _)| *known == event).map_or(fresh, |(_, seen)| *seen);
        self.by_node.entry(event.node.clone()).or_default().insert(event.uid.clone());
        self.known.insert(event.uid.clone(), (event, seen));
    }

    /// The one of this Node that was seen longest ago goes.
    fn make_room(&mut self, node: &str) {
        let Some(uids) = self.by_node.get(node).filter(|uids| uids.len() >= OF_A_NODE) else { return };
        let seen = |uid: &&String| self.known.get(*uid).map(|(_, seen)| seen.last.0.saturating_sub(seen.age_when_seen));
        if let Some(oldest) = uids.iter().min_by_key(seen).cloned() {
            self.remove(&oldest);
        }
    }

    /// The name of the Node it was about.
    fn remove(&mut self, uid: &str) -> Option<String> {
        let (event, _) = self.known.remove(uid)?;
        let uids = self.by_node.get_mut(&event.node)?;
        uids.remove(uid);
        if uids.is_empty() {
            self.by_node.remove(&event.node);
        }
        Some(event.node)
    }

    /// Those about this very Node: their counts together, and the youngest's age.
    #[must_use]
    pub fn of(&self, node: &Node) -> BTreeMap<String, EventsSeen> {
        let mut all: BTreeMap<String, EventsSeen> = BTreeMap::new();
        let known = self.by_node.get(&node.name).into_iter().flatten().filter_map(|uid| self.known.get(uid));
        for (event, seen) in known.filter(|(event, _)| event.is_of(node)) {
            let shown = seen.shown(event);
            all.entry(event.reason.clone()).and_modify(|sum| sum.add(&shown)).or_insert(shown);
        }
        all
    }

    fn show(&self, snapshot: &mut Snapshot, name: &str) {
        let found = snapshot.nodes.get(name).map(|node| self.of(node)).unwrap_or_default();
        if found.is_empty() {
            snapshot.events.remove(name);
        } else {
            snapshot.events.insert(name.to_owned(), found);
        }
    }
}

impl Cache {
    /// It is there, or has changed; `listed` if it was there before we looked.
    pub fn apply_event(&self, event: NodeEvent, listed: bool) {
        let (now, name) = (self.clock.now(), event.node.clone());
        let mut state = self.lock();
        state.events.apply(event, listed, now);
        let super::State { events, snapshot, .. } = &mut *state;
        events.show(snapshot, &name);
        drop(state);
        self.notify_if(true);
    }

    /// The API server has it no more.
    pub fn remove_event(&self, uid: &str) {
        let mut state = self.lock();
        let super::State { events, snapshot, .. } = &mut *state;
        let gone = events.remove(uid);
        gone.iter().for_each(|name| events.show(snapshot, name));
        drop(state);
        self.notify_if(gone.is_some());
    }

    /// A whole list was read: what is not in `uids` is gone.
    pub fn keep_events(&self, uids: &BTreeSet<String>) {
        let mut state = self.lock();
        let super::State { events, snapshot, .. } = &mut *state;
        let gone: Vec<String> = events.known.keys().filter(|uid| !uids.contains(*uid)).cloned().collect();
        let names: BTreeSet<String> = gone.iter().filter_map(|uid| events.remove(uid)).collect();
        names.iter().for_each(|name| events.show(snapshot, name));
        drop(state);
        self.notify_if(!names.is_empty());
    }
}

impl super::State {
    /// Another Node of the name has other Events.
    pub(super) fn show_events(&mut self, name: &str) {
        self.events.show(&mut self.snapshot, name);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};
    use crate::{cache::Limits, clock::Clock};

    fn event(uid: &str, count: u64, last: i64) -> NodeEvent {
        NodeEvent {
            uid: uid.into(),
            node: "a".into(),
            node_uid: "1".into(),
            reason: "DiskFell".into(),
            reporter: format!("reporter-of-{uid}"),
            count,
            last: Timestamp::constant(last, 0),
        }
    }

    /// The wall clock shows 10,000 s now.
    fn cache() -> Cache {
        let cache = Cache::new(Clock::counted(Timestamp::constant(10_000, 0)), Limits::default());
        cache.apply_node(tests::node(nodewell_remediation::facts::ConditionStatus::True));
        cache
    }

    /// Count and age of what is shown.
    fn shown(cache: &Cache) -> Option<(u64, u64)> {
        let now = cache.clock.moment();
        cache.with(|snapshot| {
            let seen = snapshot.events.get("a")?.get("DiskFell")?;
            Some((seen.count, seen.age(now).as_secs()))
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_listed_event_is_as_old_as_it_says_and_no_younger_when_listed_again() {
        let cache = cache();
        cache.apply_event(event("e", 1, 9_400), true);
        assert_eq!(shown(&cache), Some((1, 600)));
        tests::pass(30).await;
        cache.apply_event(event("e", 1, 9_400), true);
        assert_eq!(shown(&cache), Some((1, 630)));
        cache.apply_event(event("f", 1, 20_000), true);
        assert_eq!(shown(&cache), Some((2, 0)), "a time in the future is now");
        tests::pass(30).await;
        cache.apply_event(event("f", 1, 20_000), true);
        assert_eq!(shown(&cache), Some((2, 30)), "and only once");
        cache.apply_event(event("e", 2, 9_400), false);
        assert_eq!(shown(&cache), Some((3, 0)), "what changes before our eyes is seen now");
    }

    #[tokio::test(start_paused = true)]
    async fn counts_of_all_objects_add_up_and_go_with_them() {
        let cache = cache();
        cache.apply_event(event("e", 3, 9_000), true);
        cache.apply_event(event("f", 4, 9_990), true);
        assert_eq!(shown(&cache), Some((7, 10)));
        let reporters = || cache.with(|snapshot| snapshot.events["a"]["DiskFell"].reporters.clone());
        assert_eq!(reporters(), ["reporter-of-e", "reporter-of-f"].map(str::to_owned).into());
        cache.remove_event("f");
        assert_eq!(shown(&cache), Some((3, 1000)));
        cache.keep_events(&BTreeSet::new());
        assert_eq!(shown(&cache), None);
    }

    #[tokio::test(start_paused = true)]
    async fn forged_events_take_no_room() {
        let cache = cache();
        cache.apply_event(NodeEvent { reason: "x".repeat(1 << 20), ..event("long", 1, 9_000) }, false);
        cache.apply_event(NodeEvent { reporter: "x".repeat(1 << 20), ..event("long", 1, 9_000) }, false);
        assert!(cache.with(|snapshot| snapshot.events.is_empty()));
        let longest = NodeEvent { reporter: "x".repeat(NAME_BYTES), ..event("longest", 1, 9_000) };
        cache.apply_event(NodeEvent { reason: "x".repeat(NAME_BYTES), ..longest }, false);
        assert_eq!(cache.with(|snapshot| snapshot.events["a"].len()), 1);
        for at in 0..10_000 {
            tests::pass(1).await;
            cache.apply_event(NodeEvent { reason: format!("Forged{at}"), ..event(&format!("f{at}"), 1, 9_000) }, false);
            cache.apply_event(event("real", at, 9_000), false);
        }
        let stored = cache.with(|snapshot| snapshot.events["a"].len());
        assert_eq!(stored, OF_A_NODE);
        assert_eq!(shown(&cache), Some((9_999, 0)), "the one seen last stays");
    }

    /// Of nodes that there are not, too.
    #[test]
    fn of_all_nodes_so_many_are_stored_and_those_still_change() {
        let mut events = NodeEvents::default();
        let now = Now { moment: Moment::default(), wall: Timestamp::constant(10_000, 0) };
        for number in 0..=OF_ALL {
            let node = format!("n{number}");
            events.apply(NodeEvent { node, ..event(&number.to_string(), 1, 9_000) }, true, now);
        }
        let of = |events: &NodeEvents, name: &str| {
            let node = Node { name: name.into(), uid: "1".into(), ..Node::default() };
            events.of(&node).get("DiskFell").map(|seen| seen.count)
        };
        let (last, next) = (format!("n{}", OF_ALL - 1), format!("n{OF_ALL}"));
        assert_eq!((of(&events, &last), of(&events, &next)), (Some(1), None));
        let node = last.clone();
        events.apply(NodeEvent { node, ..event(&(OF_ALL - 1).to_string(), 7, 9_000) }, false, now);
        assert_eq!(of(&events, &last), Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn another_node_of_the_name_inherits_no_events() {
        let again = || Node { uid: "2".into(), ..tests::node(nodewell_remediation::facts::ConditionStatus::True) };
        let cache = cache();
        cache.apply_event(event("e", 1, 9_000), true);
        cache.apply_node(Node { resource_version: "5".into(), ..again() });
        assert_eq!(shown(&cache), None);
        // A kubelet writes its Node's name: then the time decides.
        let by_kubelet = |last| NodeEvent { node_uid: "a".into(), ..event("k", 1, last) };
        cache.remove_node("a");
        cache.apply_node(Node { created: Timestamp::constant(9_500, 0), ..again() });
        cache.apply_event(by_kubelet(9_400), true);
        assert_eq!(shown(&cache), None);
        cache.apply_event(by_kubelet(9_600), true);
        assert_eq!(shown(&cache), Some((1, 400)));
        cache.remove_node("a");
        assert_eq!(shown(&cache), None);
    }
}
