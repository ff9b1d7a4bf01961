//! Levels that report Off of a machine whose kubelet speaks.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    fixture::Fixture,
    interrupts::in_phase,
    parts::{level, plan, reading},
    rack::{BMC, PDU},
};
use crate::{
    api::fence::Phase,
    facts::{LeaseView, Node},
    fence::{evidence, levels, off_run::observe},
    snapshot::{FenceLevel, FencePlan, OffRun, PowerState},
    time::{Moment, Now},
};

fn at(seconds: u64) -> Now {
    let span = Duration::from_secs(seconds);
    Now { moment: Moment(span), wall: Timestamp::UNIX_EPOCH + span }
}

fn of_boot(boot: &str) -> Node {
    Node { boot_id: boot.into(), ..Node::default() }
}

fn spoke(seconds: u64) -> LeaseView {
    let renewed = Some(at(seconds).wall);
    LeaseView { renewed, change_seen_at: at(seconds).moment, ..Fixture::new(Vec::new()).kubelet.unwrap() }
}

fn run(since: u64, boot: &str, is_contradicted: bool) -> OffRun {
    OffRun { since: at(since), boot: boot.into(), is_contradicted }
}

#[test]
fn off_of_a_machine_whose_kubelet_speaks_afterwards_is_contradicted() {
    let first = observe(None, PowerState::Off, at(100), &of_boot("a"), Some(&spoke(99)));
    assert_eq!(first, Some(run(100, "a", false)), "it may have died right before");
    for (seen, is_contradicted) in [(99, false), (114, false), (115, true), (120, true)] {
        let next = observe(first.clone(), PowerState::Off, at(130), &of_boot("a"), Some(&spoke(seen)));
        assert_eq!(next, Some(run(100, "a", is_contradicted)), "{seen}");
    }
    for renewed in [Some(at(99).wall), Some(at(100).wall), None] {
        let late = LeaseView { renewed, ..spoke(140) };
        let next = observe(first.clone(), PowerState::Off, at(141), &of_boot("a"), Some(&late));
        assert_eq!(next, Some(run(100, "a", false)), "a renewal of before, or of no time, that is seen so late");
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
    assert_eq!(next(run(100, "a", false)), Some(run(300, "b", false)));
    assert_eq!(next(run(100, "a", true)), Some(run(100, "a", true)), "one that was wrong is so until it is right");
}

/// The Lease was deleted, and a person makes it again.
#[test]
fn a_lease_that_is_made_again_contradicts_nothing() {
    let (known, node) = (Some(run(100, "a", false)), of_boot("a"));
    let without = observe(known, PowerState::Off, at(300), &node, None);
    assert_eq!(without, Some(run(300, "a", false)));
    assert_eq!(observe(without, PowerState::Off, at(302), &node, Some(&spoke(301))), Some(run(300, "a", false)));
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
