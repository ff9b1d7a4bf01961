//! Methods that records denied which are gone: the next record of the node is of the same BMC. Nor do the records of a backup
//! know what was found out since, when the API server's store goes back.

use std::collections::BTreeMap;

use nodewell_remediation::{
    api::fence::{NodeFence, Phase},
    fence::off_run::is_given_up,
    guard::reason::ABORTED,
    snapshot::{DeniedMethods, Snapshot},
};

/// What one node's record knew.
pub(super) fn remember(denied: &mut BTreeMap<String, DeniedMethods>, before: &NodeFence) {
    if before.status.denied_methods.is_empty() {
        return;
    }
    let of_node = denied.entry(before.spec.node_name.clone()).or_default();
    of_node.add(&before.spec.node_uid, before.status.denied_methods.iter().cloned());
}

/// The watch showed that the record was deleted. One that has come to its end takes nothing back; one that a person has deleted
/// does, for that is how a BMC that was corrected is believed again although its machine is off.
pub(super) fn departs(denied: &mut BTreeMap<String, DeniedMethods>, record: &NodeFence) {
    if has_ended(record) {
        remember(denied, record);
    } else {
        denied.remove(&record.spec.node_name);
    }
}

/// An aborted one that waits for its node is deleted by a person alone: the leader ends that wait in the record first.
fn has_ended(record: &NodeFence) -> bool {
    record.status.phase == Phase::Closed && !record.status.is_blocked_by(ABORTED)
}

/// The record is another version of the one before. A method that it had and has no more was taken back, by whichever leader; of
/// one that it has only now, and of all while it is given up, no On of before counts.
pub(super) fn changes(snapshot: &mut Snapshot, before: &NodeFence, record: &NodeFence) {
    let (name, uid) = (&record.spec.node_name, &record.spec.node_uid);
    let (had, has) = (&before.status.denied_methods, &record.status.denied_methods);
    snapshot.denied.get_mut(name).into_iter().for_each(|of_node| of_node.remove(uid, had.difference(has)));
    let Some(gathered) = snapshot.gathered.get_mut(name) else { return };
    gathered.reported_on.retain(|method| had.contains(method) == has.contains(method));
    if is_given_up(&record.status) {
        gathered.reported_on.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;
    use nodewell_remediation::api::{
        Meta,
        fence::{Blocker, NodeFenceSpec, NodeFenceStatus},
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

    fn fresh() -> Cache {
        Cache::new(Clock::counted(Timestamp::constant(1000, 0)), Limits::default())
    }

    /// Another replica's leader read On: those that only watch know it by the record.
    #[test]
    fn what_the_next_record_takes_back_is_believed_by_every_replica() {
        let cache = fresh();
        cache.with(|snapshot| {
            snapshot.denied.entry("a".into()).or_default().add("machine", ["bmc".into(), "pdu".into()])
        });
        cache.apply_fence(record("1", &[]));
        cache.apply_fence(record("2", &["bmc", "pdu"]));
        assert_eq!(denied(&cache), ["bmc", "pdu"]);
        cache.apply_fence(record("3", &["pdu"]));
        assert_eq!(denied(&cache), ["pdu"]);
        let mut other = record("4", &[]);
        other.spec.node_uid = "other".into();
        cache.apply_fence(other);
        assert_eq!(denied(&cache), ["pdu"], "of another machine");
    }

    /// What this leader heard is in the record by then, or older than what is.
    #[test]
    fn on_counts_until_the_record_shows_it_or_denies_it_again_or_is_given_up() {
        let mut given_up = record("2", &["bmc"]);
        given_up.status.phase = Phase::Quarantined;
        for (before, after, counts) in [
            (record("1", &["bmc"]), record("2", &["bmc"]), true),
            (record("1", &["bmc"]), record("2", &[]), false),
            (record("1", &[]), record("2", &["bmc"]), false),
            (record("1", &["bmc"]), given_up, false),
        ] {
            let cache = fresh();
            cache.apply_fence(before.clone());
            cache.gather("a", |gathered| gathered.reported_on = BTreeSet::from(["bmc".to_owned()]));
            cache.apply_fence(after.clone());
            let reported_on = cache.with(|snapshot| snapshot.gathered["a"].reported_on.clone());
            assert_eq!(!reported_on.is_empty(), counts, "{before:?} {after:?}");
        }
    }

    /// After a restore a read finds no record, right before everything is listed again; or a watch was away.
    #[test]
    fn only_the_watch_shows_that_a_person_has_deleted_a_record() {
        let cache = fresh();
        cache.apply_fence(record("1", &["bmc"]));
        cache.miss_fence("a", "u");
        assert_eq!(denied(&cache), ["bmc"]);
        cache.remove_fence("a", "u");
        assert!(denied(&cache).is_empty());
        let gaps: [fn(&Cache); 3] = [
            |cache| cache.listed(Source::Fences, &BTreeSet::new()),
            |cache| {
                cache.miss_fence("a", "u");
                cache.listed(Source::Fences, &BTreeSet::new());
                cache.remove_fence("a", "u");
            },
            |cache| {
                let mut next = record("2", &[]);
                next.metadata.uid = "v".into();
                cache.apply_fence(next);
            },
        ];
        for gap in gaps {
            let cache = fresh();
            cache.apply_fence(record("1", &["bmc"]));
            gap(&cache);
            assert_eq!(denied(&cache), ["bmc"]);
        }
    }

    /// It rests until its node is well, and a person has corrected the BMC by then.
    #[test]
    fn a_person_who_deletes_an_aborted_record_that_waits_takes_its_denial_back() {
        for (blocked_by, is_left) in [(vec![Blocker::plain("Aborted")], false), (vec![], true)] {
            let cache = fresh();
            let mut aborted = record("1", &["bmc"]);
            aborted.spec.abort = true;
            (aborted.status.phase, aborted.status.blocked_by) = (Phase::Closed, blocked_by);
            cache.apply_fence(aborted);
            cache.remove_fence("a", "u");
            assert_eq!(!denied(&cache).is_empty(), is_left);
        }
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
