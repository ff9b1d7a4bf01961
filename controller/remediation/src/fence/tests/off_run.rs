//! Levels that report Off of a machine whose kubelet speaks.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use super::{
    fixture::Fixture,
    interrupts::in_phase,
    parts::{level, plan, reading},
    rack::{BMC, PDU},
};
use crate::{
    action::Action,
    api::fence::{Blocker, Phase},
    facts::{LeaseView, Node},
    fence::{
        Next, evidence, levels,
        off_run::{denies, observe},
    },
    snapshot::{FenceLevel, FencePlan, OffRun, PowerReading, PowerState, Renewal},
    time::Moment,
};

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

/// By the node's clock, which is an hour ahead of this host's.
fn nodes_clock(seconds: u64) -> Timestamp {
    Timestamp::UNIX_EPOCH + Duration::from_secs(3600 + seconds)
}

fn of_boot(boot: &str) -> Node {
    Node { boot_id: boot.into(), ..Node::default() }
}

fn spoke(seconds: u64) -> LeaseView {
    LeaseView {
        renewed: Some(nodes_clock(seconds)),
        change_seen_at: at(seconds),
        ..Fixture::new(Vec::new()).kubelet.unwrap()
    }
}

/// The kubelet spoke a second before.
fn run(since: u64, boot: &str, is_contradicted: bool) -> OffRun {
    let last_renewal = Some(Renewal { at: nodes_clock(since - 1), seen_at: at(since - 1) });
    OffRun { since: at(since), boot: boot.into(), last_renewal, is_contradicted, methods: Vec::new() }
}

#[test]
fn off_of_a_machine_whose_kubelet_speaks_afterwards_is_contradicted() {
    let first = observe(None, PowerState::Off, at(100), &of_boot("a"), Some(&spoke(99)));
    assert_eq!(first, Some(run(100, "a", false)), "it may have died right before");
    for (seen, is_contradicted) in [(99, false), (105, false), (106, true), (120, true)] {
        let next = observe(first.clone(), PowerState::Off, at(130), &of_boot("a"), Some(&spoke(seen)));
        assert_eq!(next, Some(run(100, "a", is_contradicted)), "{seen}");
    }
    for renewed in [Some(nodes_clock(99)), Some(nodes_clock(105)), Some(nodes_clock(20)), None] {
        let late = LeaseView { renewed, ..spoke(140) };
        let next = observe(first.clone(), PowerState::Off, at(141), &of_boot("a"), Some(&late));
        assert_eq!(next, Some(run(100, "a", false)), "a renewal of before, or of no time, that is seen so late");
    }
}

/// Of a Lease that had no time when Off was read first: a person may have made it, and given it one. A kubelet goes on.
#[test]
fn the_first_renewal_of_all_is_no_sign_of_life_and_the_next_one_is() {
    let (node, empty) = (of_boot("a"), LeaseView { renewed: None, ..spoke(99) });
    let first = observe(None, PowerState::Off, at(100), &node, Some(&empty));
    let next = observe(first, PowerState::Off, at(130), &node, Some(&spoke(120)));
    assert_eq!(next.as_ref().map(|run| run.is_contradicted), Some(false));
    for (seen, is_contradicted) in [(120, false), (125, false), (126, true)] {
        let later = observe(next.clone(), PowerState::Off, at(140), &node, Some(&spoke(seen)));
        assert_eq!(later.map(|run| run.is_contradicted), Some(is_contradicted), "{seen}");
    }
}

/// It was out of sight for long: what it renewed before it died may be found on the way, however late.
#[test]
fn what_was_renewed_before_off_was_read_contradicts_nothing() {
    let (node, known) = (of_boot("a"), spoke(40));
    let first = observe(None, PowerState::Off, at(100), &node, Some(&known));
    for (renewed, is_contradicted) in [(99, false), (105, false), (106, true)] {
        let next = observe(
            first.clone(),
            PowerState::Off,
            at(131),
            &node,
            Some(&LeaseView { change_seen_at: at(130), ..spoke(renewed) }),
        );
        assert_eq!(next.map(|run| run.is_contradicted), Some(is_contradicted), "{renewed}");
    }
}

#[test]
fn only_on_ends_it() {
    for known in [run(100, "a", true), run(100, "a", false)] {
        let next = |state| observe(Some(known.clone()), state, at(300), &of_boot("a"), Some(&spoke(101)));
        assert_eq!(next(PowerState::On), None);
        assert_eq!(next(PowerState::Unknown), Some(known.clone()));
        assert_eq!(next(PowerState::Off), Some(known.clone()));
    }
}

/// It was turned on by hand, and died again: only what its level reported of the boot before is void by that.
#[test]
fn a_new_boot_begins_another_run_of_a_level_that_was_right() {
    let next = |known| observe(Some(known), PowerState::Off, at(300), &of_boot("b"), Some(&spoke(200)));
    let last_renewal = Some(Renewal { at: nodes_clock(200), seen_at: at(200) });
    assert_eq!(next(run(100, "a", false)), Some(OffRun { last_renewal, ..run(300, "b", false) }));
    assert_eq!(next(run(100, "a", true)), Some(run(100, "a", true)), "one that was wrong is so until it is right");
}

/// The Lease was deleted, and a person makes it again.
#[test]
fn a_lease_that_is_made_again_contradicts_nothing() {
    let (known, node) = (Some(run(100, "a", false)), of_boot("a"));
    let without = observe(known, PowerState::Off, at(300), &node, None);
    let unseen = OffRun { last_renewal: None, ..run(300, "a", false) };
    assert_eq!(without, Some(unseen.clone()));
    let made = Some(Renewal { at: nodes_clock(301), seen_at: at(301) });
    let with = observe(without, PowerState::Off, at(302), &node, Some(&spoke(301)));
    assert_eq!(with, Some(OffRun { last_renewal: made, ..unseen }));
    assert_eq!(observe(Some(run(100, "a", true)), PowerState::Off, at(300), &node, None), Some(run(100, "a", true)));
}

/// It is neither evidence nor the level of an act; another one is.
#[test]
fn a_level_that_is_contradicted_is_not_used() {
    let mut fixture = in_phase(Phase::AwaitGuards);
    let spoke = fixture.now.moment;
    let after = |secs| spoke.plus(Duration::from_secs(secs));
    fixture.now.moment = after(60);
    fixture.gathered.power = [55, 57, 59].map(|secs| reading(after(secs), PowerState::Off)).into();
    assert!(evidence::bmc_off(&fixture.input()).is_some() && levels::at_hand(&fixture.input()).is_ok());
    fixture.gathered.off_runs = [(BMC, run(1, "a", true))].into();
    assert!(evidence::bmc_off(&fixture.input()).is_none());
    assert_eq!(levels::at_hand(&fixture.input()).map(|_| ()).unwrap_err().reason, "FenceNotReady");
    let pdu_level = FenceLevel { asks_machine: false, ..level("pdu") };
    fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![level("ipmi"), pdu_level], ..plan() }));
    assert_eq!(levels::at_hand(&fixture.input()).map(|at| at.number).unwrap(), PDU);
    fixture.gathered.off_runs = [(BMC, run(1, "a", false))].into();
    assert_eq!(levels::at_hand(&fixture.input()).map(|at| at.number).unwrap(), BMC);
}

/// A switch that keeps a node off its storage reports Off of a machine that runs, and is right.
#[test]
fn a_storage_is_not_contradicted() {
    let mut fixture = in_phase(Phase::AwaitGuards);
    fixture.gathered.methods = Some(Ok(FencePlan { storage_only: Some("san".into()), ..plan() }));
    fixture.gathered.off_runs = [(BMC, run(1, "a", true))].into();
    assert!(levels::at_hand(&fixture.input()).is_ok());
}

fn saved(fixture: &Fixture) -> Option<BTreeSet<String>> {
    match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => Some(fence.status.denied_methods),
        _ => None,
    }
}

fn methods(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn run_of(names: &[&str], is_contradicted: bool) -> OffRun {
    OffRun { methods: names.iter().map(|name| (*name).to_owned()).collect(), ..run(1, "a", is_contradicted) }
}

fn with_two_levels() -> Fixture {
    let mut fixture = in_phase(Phase::AwaitGuards);
    fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![level("ipmi"), level("pdu")], ..plan() }));
    fixture
}

/// The next leader has seen neither the Off nor the kubelet.
#[test]
fn the_record_remembers_which_methods_are_denied_until_they_report_on() {
    let mut fixture = with_two_levels();
    fixture.gathered.off_runs = [(BMC, run_of(&["ipmi"], false))].into();
    assert_eq!(saved(&fixture).unwrap_or_default(), methods(&[]));
    fixture.gathered.off_runs = [(BMC, run_of(&["ipmi"], true)), (PDU, run_of(&["pdu"], false))].into();
    assert_eq!(saved(&fixture), Some(methods(&["ipmi"])));
    fixture.fence.status.denied_methods = methods(&["ipmi"]);
    let stays = |fixture: &Fixture| saved(fixture).is_none_or(|denied| denied == methods(&["ipmi"]));
    assert!(stays(&fixture), "once");
    // Another leader, which has read nothing yet; and then Off.
    fixture.gathered.off_runs.clear();
    assert!(stays(&fixture), "nothing was read yet");
    // A reading of On is the executor's to judge: whose it is may not be known.
    fixture.gathered.power = vec![reading(fixture.now.moment, PowerState::On)];
    assert!(stays(&fixture));
    fixture.gathered.reported_on = methods(&["ipmi"]);
    assert_eq!(saved(&fixture), Some(methods(&[])));
    // Off of a machine that runs, after that On.
    fixture.gathered.off_runs = [(BMC, run_of(&["ipmi"], true))].into();
    assert!(stays(&fixture));
}

/// Two are to be known together: a level of both is believed by neither account alone.
#[test]
fn what_records_before_denied_is_taken_over_before_it_is_known_how_the_node_is_fenced() {
    let mut fixture = with_two_levels();
    fixture.fence.status.denied_methods = methods(&["ipmi"]);
    fixture.denied_before = methods(&["pdu"]);
    let read = fixture.gathered.methods.clone();
    for known in [read.clone(), None, Some(Err(Blocker::plain("FenceNotReady/unread")))] {
        fixture.gathered.methods = known;
        assert_eq!(saved(&fixture), Some(methods(&["ipmi", "pdu"])), "{:?}", fixture.gathered.methods);
    }
    fixture.gathered.methods = read;
    fixture.gathered.reported_on = methods(&["pdu"]);
    assert!(saved(&fixture).is_none_or(|denied| denied == methods(&["ipmi"])));
    fixture.fence.status.storage_only = Some("san".into());
    assert!(saved(&fixture).is_none_or(|denied| denied == methods(&["ipmi"])), "a storage has no such levels");
}

/// The record does not show it yet: an act is under way, and its outcome is written first.
#[test]
fn a_denial_counts_no_more_from_the_on_that_takes_it_back() {
    let mut fixture = in_phase(Phase::AwaitGuards);
    fixture.fence.status.denied_methods = methods(&["ipmi"]);
    assert!(levels::at_hand(&fixture.input()).is_err());
    fixture.gathered.reported_on = methods(&["ipmi"]);
    assert!(levels::at_hand(&fixture.input()).is_ok());
    fixture.fence.status.giving_up = Some(Blocker::plain("FalseConfirmation"));
    assert!(levels::at_hand(&fixture.input()).is_err());
}

/// A plug of another machine was turned on again with it: its On proves nothing before a person has seen to it.
#[test]
fn a_lie_that_the_boot_has_shown_is_taken_back_after_a_retry_alone() {
    let lie = || Some(Blocker::plain("FalseConfirmation"));
    for (phase, giving_up, is_taken_back) in [
        (Phase::Recovering, lie(), false),
        (Phase::Recovering, None, true),
        (Phase::Quarantined, None, false),
        (Phase::InDoubt, None, true),
        (Phase::AwaitGuards, None, true),
    ] {
        let mut fixture = in_phase(phase);
        fixture.fence.status.giving_up = giving_up;
        fixture.fence.status.denied_methods = methods(&["ipmi"]);
        fixture.gathered.reported_on = methods(&["ipmi"]);
        let denied = saved(&fixture).unwrap_or_else(|| methods(&["ipmi"]));
        assert_eq!(denied.is_empty(), is_taken_back, "{phase:?}");
    }
}

/// Numbers are a matter of the order in the configuration.
#[test]
fn a_method_is_denied_by_whichever_level_it_is_asked() {
    let mut fixture = with_two_levels();
    let usable = |fixture: &Fixture| levels::at_hand(&fixture.input()).map(|at| at.level.methods.clone()).ok();
    fixture.fence.status.denied_methods = methods(&["pdu"]);
    for (denied, by, then) in [
        (&["pdu"], &[&["pdu"] as &[&str], &["ipmi"]] as &[&[&str]], Some("ipmi")),
        (&["pdu"], &[&["pdu"]], None),
        (&["pdu"], &[&["pdu", "other-pdu"]], Some("pdu")),
        (&["pdu"], &[&["corrected-pdu"]], Some("corrected-pdu")),
        (&["pdu"], &[], None),
    ] {
        fixture.fence.status.denied_methods = methods(denied);
        let of = |methods: &&[&str]| FenceLevel {
            methods: methods.iter().map(|name| (*name).to_owned()).collect(),
            ..level("")
        };
        fixture.gathered.methods = Some(Ok(FencePlan { levels: by.iter().map(of).collect(), ..plan() }));
        let first = usable(&fixture).and_then(|methods| methods.into_iter().next());
        assert_eq!(first.as_deref(), then, "{by:?}");
    }
    // And so is what this leader saw of a level that has another number by now.
    fixture.fence.status.denied_methods.clear();
    fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![level("other")], ..plan() }));
    fixture.gathered.off_runs = [(BMC, run_of(&["pdu"], true))].into();
    assert_eq!(usable(&fixture), Some(vec!["other".to_owned()]));
    assert_eq!(saved(&fixture).unwrap_or_default(), methods(&[]), "it is not of this level");
    fixture.gathered.off_runs = [(BMC, run_of(&[], true))].into();
    assert_eq!(usable(&fixture), None, "what was asked is not known");
}

#[test]
fn what_has_lied_is_denied_and_nothing_else() {
    let asked = ["ipmi".to_owned(), "pdu".to_owned()];
    for (denied, asks, is_denied) in [
        (&[][..], None, false),
        (&["ipmi"], None, true),
        (&[], Some(&asked[..0]), false),
        (&["ipmi"], Some(&asked[..0]), false),
        (&[], Some(&asked[..1]), false),
        (&["ipmi"], Some(&asked[..1]), true),
        (&["ipmi"], Some(&asked[..]), false),
        (&["ipmi", "pdu"], Some(&asked[..]), true),
    ] {
        assert_eq!(denies(&methods(denied), asks), is_denied, "{denied:?} of {asks:?}");
    }
}

/// What does not answer now may answer later; what lies, only after a person's hands.
#[test]
fn a_level_that_is_silent_goes_before_one_that_is_denied() {
    let mut fixture = with_two_levels();
    fixture.fence.status.denied_methods = methods(&["ipmi"]);
    let now = fixture.now.moment;
    fixture.gathered.unanswered = [(PDU, now)].into();
    fixture.gathered.power =
        vec![PowerReading { level: PDU, ..reading(now.plus(Duration::from_secs(20)), PowerState::Unknown) }];
    fixture.now.moment = now.plus(Duration::from_secs(20));
    assert_eq!(levels::at_hand(&fixture.input()).map(|at| at.number).ok(), Some(PDU));
}

/// A switch that keeps a node off its storage reports Off of a machine that runs.
#[test]
fn a_storage_is_remembered_as_no_liar() {
    let mut fixture = in_phase(Phase::AwaitGuards);
    fixture.gathered.methods = Some(Ok(FencePlan { storage_only: Some("san".into()), ..plan() }));
    fixture.gathered.off_runs = [(BMC, run_of(&["ipmi"], true))].into();
    assert_eq!(saved(&fixture).unwrap_or_default(), methods(&[]));
}
