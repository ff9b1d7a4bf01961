//! A node's facts as CEL values. Texts are borrowed; nothing is built that the expression does not name.

use std::{collections::HashMap, time::Duration};

use cel::common::{
    types::{CelBool, CelInt, CelList, CelMap, CelMapKey, CelString},
    value::Val,
};

use super::{check::Keys, declared::NODE};
use crate::{
    facts::{Condition, ConditionStatus, LeaseView, Node, Taint},
    snapshot::{EventsSeen, Snapshot},
    time::Now,
};

pub(super) struct View<'v> {
    pub(super) node: &'v Node,
    pub(super) snapshot: &'v Snapshot,
    pub(super) now: Now,
}

type Entry<'v> = (CelMapKey<'v>, Box<dyn Val + 'v>);

/// The value of one of the variables.
pub(super) fn value<'v>(variable: &str, keys: &Keys, view: &View<'v>) -> Box<dyn Val + 'v> {
    let name = &view.node.name;
    match variable {
        "node" => node(keys, view),
        "conditions" => map(view
            .node
            .conditions
            .iter()
            .filter(|condition| keys.includes(&condition.kind))
            .map(|found| -> Entry<'v> { (CelMapKey::from(found.kind.as_str()), condition(found, view.now)) })),
        "lease" => lease(view.snapshot.kubelet_leases.get(name), view.now),
        "agentLease" => lease(view.snapshot.agent_leases.get(name), view.now),
        _ => map(view
            .snapshot
            .events
            .get(name)
            .into_iter()
            .flatten()
            .filter(|(reason, _)| keys.includes(reason))
            .map(|(reason, seen)| -> Entry<'v> { (CelMapKey::from(reason.as_str()), events(seen, view.now)) })),
    }
}

fn node<'v>(keys: &Keys, view: &View<'v>) -> Box<dyn Val + 'v> {
    map(NODE.into_iter().filter(|name| keys.includes(name)).map(|name| (CelMapKey::from(name), field(name, view))))
}

fn field<'v>(name: &str, view: &View<'v>) -> Box<dyn Val + 'v> {
    let found = view.node;
    match name {
        "name" => text(&found.name),
        "labels" => texts(&found.labels),
        "annotations" => texts(&found.annotations),
        "taints" => Box::new(CelList::from(found.taints.iter().map(taint).collect::<Vec<_>>())),
        "unschedulable" => truth(found.unschedulable),
        "zone" => text(found.zone().unwrap_or_default()),
        "controlPlane" => truth(found.is_control_plane()),
        "age" => seconds(age(view)),
        _ => truth(found.is_ready()),
    }
}

/// By the wall clock: `creationTimestamp` is all that the API has. A Node from the future is new.
fn age(view: &View<'_>) -> Duration {
    Duration::try_from(view.now.wall.duration_since(view.node.created)).unwrap_or_default()
}

fn condition<'v>(found: &'v Condition, now: Now) -> Box<dyn Val + 'v> {
    let status = match found.status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    };
    map([
        ("status".into(), text(status)),
        ("reason".into(), text(&found.reason)),
        ("message".into(), text(&found.message)),
        ("age".into(), seconds(now.moment.since(found.change_seen_at))),
    ])
}

/// Without a Lease there is no age: to ask for it is an error.
fn lease<'v>(found: Option<&'v LeaseView>, now: Now) -> Box<dyn Val + 'v> {
    let present: Entry<'v> = ("present".into(), truth(found.is_some()));
    let age = found.map(|lease| -> Entry<'v> { ("age".into(), seconds(lease.stale_for(now.moment))) });
    map(std::iter::once(present).chain(age))
}

fn events<'v>(seen: &'v EventsSeen, now: Now) -> Box<dyn Val + 'v> {
    let count = i64::try_from(seen.count).unwrap_or(i64::MAX);
    let reporters = CelList::from(seen.reporters.iter().map(|name| text(name)).collect::<Vec<_>>());
    map([
        ("count".into(), Box::new(CelInt::from(count)) as _),
        ("age".into(), seconds(seen.age(now.moment))),
        ("reporters".into(), Box::new(reporters)),
    ])
}

fn taint<'v>(found: &'v Taint) -> Box<dyn Val + 'v> {
    let effect = CelString::from(found.effect.to_string());
    map([("key".into(), text(&found.key)), ("value".into(), text(&found.value)), ("effect".into(), Box::new(effect))])
}

fn texts<'v>(all: &'v std::collections::BTreeMap<String, String>) -> Box<dyn Val + 'v> {
    map(all.iter().map(|(key, value)| (CelMapKey::from(key.as_str()), text(value))))
}

fn map<'v>(entries: impl IntoIterator<Item = Entry<'v>>) -> Box<dyn Val + 'v> {
    Box::new(CelMap::from(entries.into_iter().collect::<HashMap<_, _>>()))
}

fn text<'v>(text: &'v str) -> Box<dyn Val + 'v> {
    Box::new(CelString::from(text))
}

fn truth<'v>(truth: bool) -> Box<dyn Val + 'v> {
    Box::new(CelBool::from(truth))
}

fn seconds<'v>(span: Duration) -> Box<dyn Val + 'v> {
    Box::new(CelInt::from(i64::try_from(span.as_secs()).unwrap_or(i64::MAX)))
}
