//! Which readings are remembered, and where claims of pods matter.

use nodewell_remediation::{
    api::fence::NodeFence,
    facts::{Attachment, LeaseView},
    fence::off_run,
    snapshot::{DeniedMethods, FenceLevel, Gathered, OffRun},
};

use super::*;

#[test]
fn claims_matter_where_the_node_is_cut_off_one_storage_and_nowhere_else() {
    let mut snapshot = Snapshot::default();
    let plan = |storage: Option<&str>| FencePlan { storage_only: storage.map(str::to_owned), ..FencePlan::default() };
    let gathered = |storage| Gathered { methods: Some(Ok(plan(storage))), ..Gathered::default() };
    assert!(!claims_matter(&snapshot, "n"));
    snapshot.gathered.insert("n".into(), gathered(None));
    assert!(!claims_matter(&snapshot, "n"));
    snapshot.gathered.insert("n".into(), gathered(Some("ceph")));
    assert!(claims_matter(&snapshot, "n"));
    // A new leader knows it by the record, before the methods are read.
    snapshot.gathered.clear();
    let mut fence = NodeFence { metadata: Default::default(), spec: Default::default(), status: Default::default() };
    fence.status.storage_only = Some("ceph".into());
    snapshot.fences.insert("n".into(), fence.clone());
    assert!(claims_matter(&snapshot, "n"));
    // And where volumes are left after a release, to know whose they are.
    (fence.status.storage_only, fence.status.out_of_service) = (None, true);
    snapshot.fences.insert("n".into(), fence);
    let left = Attachment { name: "a".into(), node: "n".into(), volume: "pv".into(), attached: true };
    let attachments = |all| Gathered { attachments: Some((Moment::default(), all)), ..Gathered::default() };
    snapshot.gathered.insert("n".into(), attachments(Vec::new()));
    assert!(!claims_matter(&snapshot, "n"));
    snapshot.gathered.insert("n".into(), attachments(vec![left]));
    assert!(claims_matter(&snapshot, "n"));
    // The record that released them was deleted, and this one takes back what it left.
    snapshot.fences.values_mut().for_each(|fence| fence.status.out_of_service = false);
    assert!(!claims_matter(&snapshot, "n"));
    let taint = nodewell_remediation::fence::out_of_service();
    // Its outcome is not known, or it was not begun.
    snapshot.fences.values_mut().for_each(|fence| fence.status.own_changes.taints = vec![taint.clone()]);
    assert!(claims_matter(&snapshot, "n"));
    snapshot.fences.values_mut().for_each(|fence| fence.status.own_changes.taints.clear());
    assert!(!claims_matter(&snapshot, "n"));
    snapshot.nodes.insert("n".into(), Node { taints: vec![taint], ..Node::default() });
    assert!(claims_matter(&snapshot, "n"));
}

/// Those of one level push out no others: what another level reported may be what matters.
#[test]
fn the_last_eight_readings_of_each_level_are_remembered() {
    let mut gathered = Gathered::default();
    let reading = |second, level| PowerReading {
        at: Moment(Duration::from_secs(second)),
        level: Level(level),
        asks_machine: true,
        state: PowerState::Off,
    };
    add(&mut gathered, reading(0, 2));
    for second in 1..=20 {
        add(&mut gathered, reading(second, 1));
        let of = |level| gathered.power.iter().filter(move |reading| reading.level == Level(level));
        let seconds: Vec<u64> = of(1).map(|reading| reading.at.0.as_secs()).collect();
        assert_eq!(seconds, (second.saturating_sub(7).max(1)..=second).collect::<Vec<_>>());
        assert_eq!(of(2).count(), 1);
    }
}

/// The answer of a level, as a reading makes it known.
fn answer(snapshot: &mut Snapshot, level: Level, state: PowerState, at: Moment) {
    if state == PowerState::On {
        take_back(snapshot, "n", level);
    }
    observe_run(snapshot, "n", level, state, at);
}

/// Renewed at this second.
fn lease(second: u64) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: "n".into(),
        renewed: Some(jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(second)),
        duration: Duration::from_secs(40),
        change_seen_at: Moment(Duration::from_secs(second)),
    }
}

#[test]
fn a_level_has_reported_off_since_its_first_answer_until_it_reports_on() {
    let at = |second| Moment(Duration::from_secs(second));
    let mut snapshot = Snapshot::default();
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, at(0));
    assert!(snapshot.gathered.is_empty(), "its Node is gone, or it is under no remediation any more");
    snapshot.nodes.insert("n".into(), Node::default());
    snapshot.gathered.insert("n".into(), fenced_by(&["bmc", "pdu"]));
    snapshot.kubelet_leases.insert("n".into(), lease(0));
    for (second, state) in [(1, PowerState::Off), (3, PowerState::Unknown), (5, PowerState::Off)] {
        observe_run(&mut snapshot, "n", Level(1), state, at(second));
    }
    let runs = |snapshot: &Snapshot| {
        let runs = &snapshot.gathered["n"].off_runs;
        runs.iter().map(|(level, run)| (level.0, run.since.0.as_secs(), run.is_contradicted)).collect::<Vec<_>>()
    };
    assert_eq!(runs(&snapshot), [(1, 1, false)]);
    snapshot.kubelet_leases.insert("n".into(), lease(16));
    observe_run(&mut snapshot, "n", Level(2), PowerState::Off, at(17));
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, at(17));
    assert_eq!(runs(&snapshot), [(1, 1, true), (2, 17, false)]);
    observe_run(&mut snapshot, "n", Level(1), PowerState::On, at(18));
    assert_eq!(runs(&snapshot), [(2, 17, false)]);
}

/// By one method a level.
fn fenced_by(methods: &[&str]) -> Gathered {
    let level = |method: &&str| FenceLevel { methods: vec![(*method).to_owned()], ..FenceLevel::default() };
    let plan = FencePlan { levels: methods.iter().map(level).collect(), ..FencePlan::default() };
    Gathered { methods: Some(Ok(plan)), ..Gathered::default() }
}

/// The leader before saw it, and wrote it down.
#[test]
fn a_level_that_the_record_denies_is_not_believed_before_it_reports_on() {
    let at = |second| Moment(Duration::from_secs(second));
    let mut snapshot = Snapshot::default();
    snapshot.nodes.insert("n".into(), Node::default());
    snapshot.gathered.insert("n".into(), Gathered::default());
    let mut fence = NodeFence { metadata: Default::default(), spec: Default::default(), status: Default::default() };
    fence.status.denied_methods = ["pdu".to_owned()].into();
    snapshot.fences.insert("n".into(), fence);
    snapshot.gathered.insert("n".into(), fenced_by(&["bmc", "pdu"]));
    for level in [Level(1), Level(2)] {
        observe_run(&mut snapshot, "n", level, PowerState::Off, at(1));
    }
    let denied = |snapshot: &Snapshot| {
        let runs = snapshot.gathered["n"].off_runs.iter();
        runs.filter(|(_, run)| run.is_contradicted).map(|(level, _)| *level).collect::<Vec<_>>()
    };
    assert_eq!(denied(&snapshot), [Level(2)]);
    answer(&mut snapshot, Level(2), PowerState::On, at(2));
    assert_eq!(denied(&snapshot), []);
    // The record is not written yet, for an act is under way; and then it is off.
    answer(&mut snapshot, Level(2), PowerState::Off, at(3));
    assert_eq!(denied(&snapshot), []);
    assert_eq!(snapshot.denied_now("n"), BTreeSet::new());
}

fn with_record(denied: &[&str], plan: Gathered) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.nodes.insert("n".into(), Node { uid: "machine".into(), ..Node::default() });
    let mut fence = NodeFence { metadata: Default::default(), spec: Default::default(), status: Default::default() };
    fence.status.denied_methods = denied.iter().map(|method| (*method).to_owned()).collect();
    snapshot.fences.insert("n".into(), fence);
    snapshot.gathered.insert("n".into(), plan);
    snapshot.kubelet_leases.insert("n".into(), lease(0));
    snapshot
}

/// It may be of another level: the methods are read by a new leader while outlets answer already.
#[test]
fn a_denial_is_of_no_level_before_it_is_known_what_that_asks() {
    let at = |second| Moment(Duration::from_secs(second));
    let mut snapshot = with_record(&["bmc"], Gathered::default());
    answer(&mut snapshot, Level(2), PowerState::Off, at(1));
    let run = |snapshot: &Snapshot, level| snapshot.gathered["n"].off_runs.get(&Level(level)).cloned();
    assert!(run(&snapshot, 2).is_some_and(|run| !run.is_contradicted));
    snapshot.gathered.get_mut("n").unwrap().methods = fenced_by(&["bmc", "pdu"]).methods;
    for level in [1, 2] {
        answer(&mut snapshot, Level(level), PowerState::Off, at(2));
        assert_eq!(run(&snapshot, level).map(|run| run.is_contradicted), Some(level == 1), "{level}");
    }
}

/// Nor is it known whose On it is.
#[test]
fn on_of_what_is_not_known_ends_no_contradiction() {
    let at = |second| Moment(Duration::from_secs(second));
    let mut snapshot = with_record(&["pdu"], fenced_by(&["pdu"]));
    answer(&mut snapshot, Level(1), PowerState::Off, at(1));
    snapshot.gathered.get_mut("n").unwrap().methods = None;
    answer(&mut snapshot, Level(1), PowerState::On, at(2));
    assert!(snapshot.gathered["n"].off_runs[&Level(1)].is_contradicted);
    assert!(snapshot.denied_now("n").contains("pdu"));
    snapshot.gathered.get_mut("n").unwrap().methods = fenced_by(&["pdu"]).methods;
    answer(&mut snapshot, Level(1), PowerState::On, at(3));
    assert!(snapshot.gathered["n"].off_runs.is_empty() && snapshot.denied_now("n").is_empty());
}

fn of(methods: &[&str]) -> FenceLevel {
    FenceLevel { methods: methods.iter().map(|method| (*method).to_owned()).collect(), ..FenceLevel::default() }
}

/// Outlets that always read Off, and a BMC that is right: together they report On. And the one is denied by the record, the
/// other by the record before it.
#[test]
fn a_level_is_denied_by_both_accounts_together_and_takes_back_only_what_it_asks_alone() {
    let levels = vec![of(&["a", "b", "bmc"]), of(&["a", "b"])];
    let plan = FencePlan { levels, ..FencePlan::default() };
    let mut snapshot = with_record(&["a"], Gathered { methods: Some(Ok(plan)), ..Gathered::default() });
    let methods = BTreeSet::from(["b".to_owned()]);
    snapshot.denied.insert("n".into(), DeniedMethods { node_uid: "machine".into(), methods });
    let at = |second| Moment(Duration::from_secs(second));
    let denied = |snapshot: &Snapshot, level| {
        let run = snapshot.gathered["n"].off_runs.get(&Level(level));
        run.is_some_and(|run| run.is_contradicted)
    };
    for level in [1, 2] {
        answer(&mut snapshot, Level(level), PowerState::Off, at(1));
        assert_eq!(denied(&snapshot, level), level == 2, "{level}");
    }
    answer(&mut snapshot, Level(1), PowerState::On, at(2));
    assert_eq!(snapshot.denied_now("n").len(), 2, "the BMC may have reported it");
    answer(&mut snapshot, Level(2), PowerState::On, at(3));
    assert!(snapshot.denied_now("n").is_empty() && snapshot.denied["n"].methods.is_empty());
}

/// By the boot that lives on: a plug of another machine was turned on again with it. And what lies again is denied again.
#[test]
fn on_takes_nothing_back_of_a_record_that_is_given_up_nor_of_a_later_lie() {
    let at = |second| Moment(Duration::from_secs(second));
    let mut snapshot = with_record(&["pdu"], fenced_by(&["pdu"]));
    let giving_up = Some(Blocker::plain("FalseConfirmation"));
    snapshot.fences.get_mut("n").unwrap().status.giving_up = giving_up;
    answer(&mut snapshot, Level(1), PowerState::On, at(1));
    assert!(snapshot.denied_now("n").contains("pdu"));
    snapshot.fences.get_mut("n").unwrap().status.giving_up = None;
    answer(&mut snapshot, Level(1), PowerState::On, at(2));
    answer(&mut snapshot, Level(1), PowerState::Off, at(3));
    assert!(snapshot.denied_now("n").is_empty());
    snapshot.kubelet_leases.insert("n".into(), lease(16));
    answer(&mut snapshot, Level(1), PowerState::Off, at(17));
    assert!(snapshot.denied_now("n").contains("pdu"), "the record denies it still");
}

/// It was seen before the API server's store went back, and no restored record knows it.
#[test]
fn a_level_that_was_denied_before_a_restore_is_not_believed_before_it_reports_on() {
    let at = |second| Moment(Duration::from_secs(second));
    let mut snapshot = Snapshot::default();
    snapshot.nodes.insert("n".into(), Node { uid: "machine".into(), ..Node::default() });
    snapshot.gathered.insert("n".into(), fenced_by(&["bmc"]));
    let denied = |snapshot: &Snapshot| snapshot.gathered["n"].off_runs.get(&Level(1)).map(|run| run.is_contradicted);
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, at(1));
    assert_eq!(denied(&snapshot), Some(false));
    let before = |uid: &str| DeniedMethods { node_uid: uid.into(), methods: BTreeSet::from(["bmc".to_owned()]) };
    snapshot.denied.insert("n".into(), before("another machine"));
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, at(2));
    assert_eq!(denied(&snapshot), Some(false));
    snapshot.denied.insert("n".into(), before("machine"));
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, at(3));
    assert_eq!(denied(&snapshot), Some(true));
    // A new term has gathered nothing yet.
    snapshot.gathered.insert("n".into(), fenced_by(&["bmc"]));
    for state in [PowerState::Unknown, PowerState::Off] {
        observe_run(&mut snapshot, "n", Level(1), state, at(4));
        assert_eq!(denied(&snapshot), Some(true), "{state:?}");
    }
    answer(&mut snapshot, Level(1), PowerState::On, at(5));
    answer(&mut snapshot, Level(1), PowerState::Off, at(6));
    assert_eq!(denied(&snapshot), Some(false));
}

/// Levels are what their methods are, whichever number they have.
#[test]
fn what_was_read_of_other_methods_is_of_no_level_any_more() {
    let plan = |methods: &[&str]| fenced_by(methods).methods.unwrap();
    let unread: Result<FencePlan, Blocker> = Err(Blocker::plain("FenceNotReady/unread"));
    let two = plan(&["bmc", "pdu"]);
    for (before, now, same) in [
        (None, &two, true),
        (Some(&two), &two, true),
        (Some(&two), &plan(&["pdu", "bmc"]), false),
        (Some(&two), &plan(&["bmc"]), false),
        (Some(&two), &unread, false),
        (Some(&unread), &two, false),
        (Some(&unread), &unread, false),
    ] {
        assert_eq!(are_levels_the_same(before, Some(now)), same, "{before:?} {now:?}");
    }
    let mut snapshot = Snapshot::default();
    snapshot.nodes.insert("n".into(), Node::default());
    snapshot.gathered.insert("n".into(), fenced_by(&["bmc", "pdu"]));
    snapshot.kubelet_leases.insert("n".into(), lease(0));
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, Moment(Duration::from_secs(1)));
    let since = |snapshot: &Snapshot| snapshot.gathered["n"].off_runs[&Level(1)].since.0.as_secs();
    snapshot.gathered.get_mut("n").unwrap().methods = fenced_by(&["bmc"]).methods;
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, Moment(Duration::from_secs(2)));
    assert_eq!(since(&snapshot), 1);
    snapshot.gathered.get_mut("n").unwrap().methods = fenced_by(&["pdu"]).methods;
    observe_run(&mut snapshot, "n", Level(1), PowerState::Off, Moment(Duration::from_secs(3)));
    assert_eq!((since(&snapshot), &snapshot.gathered["n"].off_runs[&Level(1)].methods), (3, &vec!["pdu".to_owned()]));
}

/// A level that is gone keeps no method denied that another level reports On by.
#[test]
fn runs_of_levels_that_changed_are_dropped_and_what_they_found_out_is_known() {
    let mut gathered = fenced_by(&["pdu"]);
    let run = |method: &str, is_contradicted| OffRun {
        methods: vec![method.to_owned()],
        is_contradicted,
        ..off_run::denied(Moment::default(), &Node::default())
    };
    gathered.off_runs =
        [(Level(1), run("bmc", true)), (Level(2), run("pdu", true)), (Level(3), run("x", false))].into();
    let found_out = drop_runs(&mut gathered);
    assert_eq!(found_out, BTreeSet::from(["bmc".to_owned(), "pdu".to_owned()]));
    assert!(gathered.off_runs.is_empty());
    gathered.off_runs = [(Level(1), run("pdu", true))].into();
    assert!(drop_runs(&mut gathered).is_empty() && gathered.off_runs.len() == 1, "it is what it was");
}
