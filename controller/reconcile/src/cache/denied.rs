//! Methods that records denied which are gone: the next record of the node is of the same BMC. Nor do the records of a backup
//! know what was found out since, when the API server's store goes back.

use std::collections::BTreeMap;

use nodewell_remediation::{
    api::fence::{NodeFence, Phase},
    snapshot::DeniedMethods,
};

/// What one node's record knew.
pub(super) fn remember(denied: &mut BTreeMap<String, DeniedMethods>, before: &NodeFence) {
    if before.status.denied_methods.is_empty() {
        return;
    }
    let of_node = denied.entry(before.spec.node_name.clone()).or_default();
    of_node.add(&before.spec.node_uid, before.status.denied_methods.iter().cloned());
}

/// The record is gone. One that has come to its end takes nothing back; one that a person has deleted does, for that is how
/// a BMC that was corrected is believed again although its machine is off.
pub(super) fn departs(denied: &mut BTreeMap<String, DeniedMethods>, record: &NodeFence) {
    if record.status.phase == Phase::Closed {
        remember(denied, record);
    } else {
        denied.remove(&record.spec.node_name);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;
    use nodewell_remediation::api::{
        Meta,
        fence::{NodeFenceSpec, NodeFenceStatus},
    };

    use super::*;
    use crate::{
        cache::{Cache, Limits, Source},
        clock::Clock,
    };

    fn record(version: &str, denied: &[&str]) -> NodeFence {
        let metadata = Meta { name: "a".into(), uid: "u".into(), resource_version: version.into(), ..Meta::default() };
        let spec = NodeFenceSpec { node_name: "a".into(), node_uid: "machine".into(), ..NodeFenceSpec::default() };
        let denied_methods = denied.iter().map(|method| (*method).to_owned()).collect();
        NodeFence { metadata, spec, status: NodeFenceStatus { denied_methods, ..NodeFenceStatus::default() } }
    }

    /// The store went back, and its list has these records.
    fn restored(cache: &Cache, records: &[NodeFence]) {
        cache.ask_list(Source::Fences, "");
        cache.list_began(Source::Fences, "3");
        records.iter().for_each(|record| cache.list_fence(record.clone()));
        cache.listed(Source::Fences, &records.iter().map(|record| record.metadata.name.clone()).collect());
    }

    fn denied(cache: &Cache) -> Vec<String> {
        let of_node = cache.with(|snapshot| snapshot.denied.get("a").cloned()).unwrap_or_default();
        of_node.methods.into_iter().collect()
    }

    /// The record of the backup is of before the lie, or there is none.
    #[test]
    fn a_restored_store_takes_no_denial_back() {
        for backup in [vec![record("2", &[])], vec![]] {
            let cache = Cache::new(Clock::counted(Timestamp::constant(1000, 0)), Limits::default());
            cache.apply_fence(record("9", &["pdu"]));
            assert!(denied(&cache).is_empty(), "the record knows it");
            restored(&cache, &backup);
            assert_eq!(denied(&cache), ["pdu"], "{backup:?}");
            cache.apply_fence(record("6", &["bmc"]));
            restored(&cache, &backup);
            assert_eq!(denied(&cache), ["bmc", "pdu"], "{backup:?}");
        }
    }

    #[test]
    fn a_record_that_ends_leaves_its_denial_and_one_that_a_person_deletes_takes_it_along() {
        let cache = Cache::new(Clock::counted(Timestamp::constant(1000, 0)), Limits::default());
        let closed = |version: &str, denied: &[&str]| {
            let mut record = record(version, denied);
            record.status.phase = Phase::Closed;
            record
        };
        cache.apply_fence(closed("1", &["bmc"]));
        cache.remove_fence("a", "u");
        assert_eq!(denied(&cache), ["bmc"]);
        let mut next = record("3", &[]);
        next.metadata.uid = "v".into();
        cache.apply_fence(next);
        assert_eq!(denied(&cache), ["bmc"], "the next record is of the same BMC");
        cache.remove_fence("a", "v");
        assert!(denied(&cache).is_empty());
    }

    #[test]
    fn another_machine_of_the_same_name_has_its_own() {
        let mut known = BTreeMap::new();
        remember(&mut known, &record("1", &["bmc"]));
        let mut other = record("2", &["pdu"]);
        other.spec.node_uid = "other".into();
        remember(&mut known, &other);
        let of_other = DeniedMethods { node_uid: "other".into(), methods: BTreeSet::from(["pdu".to_owned()]) };
        assert_eq!(known["a"], of_other);
        other.status.denied_methods.clear();
        remember(&mut known, &other);
        assert_eq!(known["a"], of_other);
    }
}
