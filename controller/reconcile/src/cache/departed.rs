//! Power cycles in records that are gone. A person deletes a record, a restored store has forgotten it: the machine was
//! turned off all the same, and the limit on power cycles counts it. Every replica remembers what its own watches showed,
//! since a record may go while no replica leads.
//!
//! A power off that was intended when the record was seen last counts, although it may not have begun: its end is not
//! known.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_remediation::{
    api::fence::NodeFence,
    decide::{Cycles, cycle_moment},
    time::Now,
};

use super::Cache;

/// Remembered of one node; limits are far below.
const CYCLES: usize = 64;
/// Nodes of which something is remembered.
const NODES: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Departed {
    /// By the name of the node.
    known: BTreeMap<String, Machine>,
    /// Records of a cache that was thrown away: the next list shows which of them are gone.
    aside: Vec<NodeFence>,
}

#[derive(Debug, Default)]
struct Machine {
    uid: String,
    cycles: Cycles,
}

impl Departed {
    /// The record is gone.
    pub(super) fn remember(&mut self, fence: &NodeFence, now: Now) {
        let cycles: Vec<Timestamp> = fence.power_cycles().collect();
        self.add(fence, &cycles, now);
    }

    /// Until the records are listed again.
    pub(super) fn set_aside(&mut self, fences: BTreeMap<String, NodeFence>) {
        self.aside.extend(fences.into_values());
    }

    /// The records are listed again, and these are all.
    pub(super) fn listed(&mut self, fences: &BTreeMap<String, NodeFence>, now: Now) {
        for fence in std::mem::take(&mut self.aside) {
            let again = fences.get(&fence.metadata.name).filter(|again| again.metadata.uid == fence.metadata.uid);
            let forgotten: Vec<Timestamp> = match again {
                Some(again) => forgotten(&fence, again),
                None => fence.power_cycles().collect(),
            };
            self.add(&fence, &forgotten, now);
        }
    }

    /// A machine that is registered again under the name of another has its own power cycles.
    pub(super) fn see_node(&mut self, name: &str, uid: &str) {
        if self.known.get(name).is_some_and(|machine| machine.uid != uid) {
            self.known.remove(name);
        }
    }

    fn add(&mut self, fence: &NodeFence, cycles: &[Timestamp], now: Now) {
        if cycles.is_empty() {
            return;
        }
        let machine = self.known.entry(fence.spec.node_name.clone()).or_default();
        if machine.uid != fence.spec.node_uid {
            *machine = Machine { uid: fence.spec.node_uid.clone(), ..Machine::default() };
        }
        for at in cycles {
            machine.cycles.entry(*at).or_insert_with(|| cycle_moment(*at, now));
        }
        while machine.cycles.len() > CYCLES {
            let oldest = machine.cycles.iter().min_by_key(|(_, moment)| **moment).map(|(at, _)| *at);
            oldest.and_then(|at| machine.cycles.remove(&at));
        }
        if self.known.len() > NODES {
            let newest = |machine: &Machine| machine.cycles.values().max().copied();
            let oldest = self.known.iter().min_by_key(|(_, machine)| newest(machine)).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.known.remove(&name));
        }
    }
}

/// Cycles that a record had and has no more. One that was intended may have got another time when it ended.
fn forgotten(before: &NodeFence, again: &NodeFence) -> Vec<Timestamp> {
    let has_more = again.status.cycles.len() > before.status.cycles.len();
    let intended = before.status.intent.as_ref().map(|intent| intent.at);
    let known: Vec<Timestamp> = again.power_cycles().collect();
    let has_ended = |at: &Timestamp| has_more && Some(*at) == intended;
    before.power_cycles().filter(|at| !known.contains(at)).filter(|at| !has_ended(at)).collect()
}

impl Cache {
    /// Power cycles of records that this replica saw go, by node.
    pub(crate) fn departed(&self) -> BTreeMap<String, Cycles> {
        let state = self.lock();
        state.departed.known.iter().map(|(name, machine)| (name.clone(), machine.cycles.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use nodewell_remediation::{
        api::{
            Meta,
            fence::{IntendedOp, Intent, NodeFenceSpec, NodeFenceStatus},
        },
        facts::Node,
        time::Moment,
    };

    use super::*;
    use crate::{
        cache::{Limits, Source},
        clock::Clock,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    fn cache() -> Cache {
        Cache::new(Clock::counted(at(1000)), Limits::default())
    }

    /// A record of node "a" with a cycle of an earlier record, one of its own, and one that is intended.
    fn fence(uid: &str, version: &str) -> NodeFence {
        let metadata = Meta { name: "a".into(), uid: uid.into(), resource_version: version.into(), ..Meta::default() };
        let intent = Intent { op: IntendedOp::PowerOff, epoch: 1, at: at(30), pods: 0 };
        let status = NodeFenceStatus {
            earlier_cycles: vec![at(10)],
            cycles: vec![at(20)],
            intent: Some(intent),
            ..NodeFenceStatus::default()
        };
        let spec = NodeFenceSpec { node_name: "a".into(), node_uid: "machine".into(), ..NodeFenceSpec::default() };
        NodeFence { metadata, spec, status }
    }

    fn known(cache: &Cache) -> Vec<i64> {
        cache.departed().values().flat_map(|cycles| cycles.keys().map(|at| at.as_second())).collect()
    }

    /// The store went back, and its list has this record, if any.
    fn restored(cache: &Cache, record: Option<NodeFence>) {
        cache.ask_list(Source::Fences, "5");
        cache.list_began(Source::Fences, "3");
        cache.ask_list(Source::Fences, "");
        cache.list_began(Source::Fences, "3");
        let names = record.iter().map(|fence| fence.metadata.name.clone()).collect();
        record.into_iter().for_each(|fence| cache.list_fence(fence));
        cache.listed(Source::Fences, &names);
    }

    #[test]
    fn a_record_that_is_there_has_not_departed() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        cache.apply_fence(fence("u1", "6"));
        cache.remove_fence("a", "another");
        assert!(known(&cache).is_empty(), "{:?}", known(&cache));
    }

    #[test]
    fn whichever_way_a_record_goes_its_cycles_stay_known() {
        type Goes = fn(&Cache);
        let ways: [(&str, Goes); 4] = [
            ("deleted", |cache| cache.remove_fence("a", "u1")),
            ("made again", |cache| cache.apply_fence(fence("u2", "6"))),
            ("in no list", |cache| cache.listed(Source::Fences, &BTreeSet::new())),
            ("forgotten by a restored store", |cache| restored(cache, None)),
        ];
        for (name, goes) in ways {
            let cache = cache();
            cache.apply_fence(fence("u1", "5"));
            goes(&cache);
            assert_eq!(known(&cache), [10, 20, 30], "{name}");
        }
    }

    #[test]
    fn a_record_that_a_restored_store_has_as_well_counts_once() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        restored(&cache, Some(fence("u1", "2")));
        assert!(known(&cache).is_empty(), "{:?}", known(&cache));
    }

    #[test]
    fn a_power_off_that_ended_under_another_time_counts_once() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        let mut ended = fence("u1", "2");
        ended.status.intent = None;
        ended.status.cycles.push(at(33));
        restored(&cache, Some(ended));
        assert!(known(&cache).is_empty(), "{:?}", known(&cache));
    }

    #[test]
    fn what_the_restored_record_has_not_yet_done_was_done() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        let mut before = fence("u1", "2");
        before.status.intent = None;
        before.status.cycles.clear();
        restored(&cache, Some(before));
        assert_eq!(known(&cache), [20, 30]);
    }

    #[test]
    fn what_the_restored_record_has_not_yet_done_was_done_although_it_was_changed_since() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        let mut before = fence("u1", "9");
        before.status.intent = None;
        before.status.cycles.clear();
        cache.ask_list(Source::Nodes, "7");
        cache.list_began(Source::Nodes, "3");
        cache.ask_list(Source::Fences, "");
        cache.list_began(Source::Fences, "9");
        cache.list_fence(before);
        cache.listed(Source::Fences, &BTreeSet::from(["a".to_owned()]));
        assert_eq!(known(&cache), [20, 30]);
    }

    #[test]
    fn another_machine_of_that_name_begins_without_power_cycles() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        cache.remove_fence("a", "u1");
        let node = |uid: &str| Node { name: "a".into(), uid: uid.into(), ..Node::default() };
        cache.apply_node(node("machine"));
        cache.remove_node("a");
        assert_eq!(known(&cache), [10, 20, 30], "it may be registered again");
        cache.apply_node(node("another"));
        assert!(known(&cache).is_empty(), "{:?}", known(&cache));
    }

    /// The clock of the leader that wrote it was ahead: the cycle grows old from when it was seen.
    #[test]
    fn a_cycle_from_the_future_is_of_now() {
        let mut departed = Departed::default();
        let mut future = fence("u1", "5");
        future.status.cycles = vec![at(9_000_000)];
        let now = |secs: u64| Now { moment: Moment(Duration::from_secs(secs)), wall: at(1000) };
        departed.remember(&future, now(5000));
        departed.remember(&future, now(6000));
        let moment = departed.known["a"].cycles[&at(9_000_000)];
        assert_eq!(moment, Moment(Duration::from_secs(5000)));
    }

    #[test]
    fn too_many_cycles_push_the_oldest_out() {
        let mut departed = Departed::default();
        let now = Now { moment: Moment(Duration::from_secs(5000)), wall: at(1000) };
        let mut many = fence("u1", "5");
        many.status.cycles = (0..200).map(|number| at(100 + number)).collect();
        departed.remember(&many, now);
        let cycles = &departed.known["a"].cycles;
        assert_eq!((cycles.len(), cycles.contains_key(&at(299)), cycles.contains_key(&at(10))), (CYCLES, true, false));
    }

    #[test]
    fn what_was_intended_and_is_in_no_record_of_the_store_counts() {
        let cache = cache();
        cache.apply_fence(fence("u1", "5"));
        let mut before = fence("u1", "2");
        before.status.intent = None;
        restored(&cache, Some(before));
        assert_eq!(known(&cache), [30], "no other cycle stands for it");
    }

    #[test]
    fn too_many_machines_push_out_the_one_whose_last_cycle_is_the_oldest() {
        let mut departed = Departed::default();
        for number in 0..=NODES {
            let now = Now { moment: Moment(Duration::from_secs(5000)), wall: at(100_000_000) };
            let mut one = fence("u1", "5");
            one.spec.node_name = format!("n{number}");
            one.status =
                NodeFenceStatus { cycles: vec![at(100 + i64::try_from(number).unwrap())], ..Default::default() };
            departed.remember(&one, now);
            assert_eq!(departed.known.len(), (number + 1).min(NODES));
        }
    }
}
