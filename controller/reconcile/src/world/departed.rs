//! Power cycles in records that are gone. A person deletes a record, a restored store has forgotten it: the machine was
//! turned off all the same, and the limit on restarts counts it. Every replica remembers what its own watches showed, since
//! a record may go while no replica leads.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_remedy::api::fence::NodeFence;

use super::World;

/// Remembered of one node; limits are far below.
const CYCLES: usize = 64;

/// By node.
#[derive(Debug, Default)]
pub(super) struct Departed(BTreeMap<String, BTreeSet<Timestamp>>);

impl Departed {
    pub(super) fn remember(&mut self, fence: &NodeFence) {
        let mut cycles = fence.power_cycles().peekable();
        if cycles.peek().is_none() {
            return;
        }
        let known = self.0.entry(fence.spec.node_name.clone()).or_default();
        known.extend(cycles);
        while known.len() > CYCLES {
            known.pop_first();
        }
    }

    pub(super) fn keep_nodes(&mut self, names: &BTreeSet<String>) {
        self.0.retain(|node, _| names.contains(node));
    }
}

impl World {
    /// Power cycles of records that this replica saw go, by node.
    pub(crate) fn departed(&self) -> BTreeMap<String, BTreeSet<Timestamp>> {
        self.lock().departed.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use nodewell_remedy::api::{
        Meta,
        fence::{Intent, Irreversible, NodeFenceSpec, NodeFenceStatus},
    };

    use super::*;
    use crate::{
        clock::Clock,
        world::{Limits, Source},
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    fn world() -> World {
        World::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default())
    }

    /// A record of node "a" with a cycle of an earlier record, one of its own, and one that is meant.
    fn fence(uid: &str, version: &str) -> NodeFence {
        let metadata = Meta { name: "a".into(), uid: uid.into(), resource_version: version.into(), ..Meta::default() };
        let intent = Intent { act: Irreversible::PowerOff, epoch: 1, at: at(30), pods: 0 };
        let status = NodeFenceStatus {
            earlier_cycles: vec![at(10)],
            cycles: vec![at(20)],
            intent: Some(intent),
            ..NodeFenceStatus::default()
        };
        NodeFence { metadata, spec: NodeFenceSpec { node_name: "a".into(), ..NodeFenceSpec::default() }, status }
    }

    fn all() -> BTreeMap<String, BTreeSet<Timestamp>> {
        BTreeMap::from([("a".to_owned(), BTreeSet::from([at(10), at(20), at(30)]))])
    }

    #[test]
    fn a_record_that_is_there_has_not_departed() {
        let world = world();
        world.apply_fence(fence("u1", "5"));
        world.apply_fence(fence("u1", "6"));
        world.remove_fence("a", "another");
        assert_eq!(world.departed(), BTreeMap::new());
    }

    #[test]
    fn whichever_way_a_record_goes_its_cycles_stay_known() {
        type Goes = fn(&World);
        let ways: [(&str, Goes); 4] = [
            ("deleted", |world| world.remove_fence("a", "u1")),
            ("made again", |world| world.apply_fence(fence("u2", "6"))),
            ("in no list", |world| world.listed(Source::Fences, &BTreeSet::new())),
            ("forgotten by a restored store", |world| {
                world.ask_list(Source::Fences, "5");
                world.list_began(Source::Fences, "3");
            }),
        ];
        for (name, goes) in ways {
            let world = world();
            world.apply_fence(fence("u1", "5"));
            goes(&world);
            assert_eq!(world.departed(), all(), "{name}");
        }
    }

    #[test]
    fn a_node_that_is_gone_is_forgotten() {
        let world = world();
        world.apply_fence(fence("u1", "5"));
        world.remove_fence("a", "u1");
        world.listed(Source::Nodes, &BTreeSet::from(["b".to_owned()]));
        assert_eq!(world.departed(), BTreeMap::new());
    }
}
