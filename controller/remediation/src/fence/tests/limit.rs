//! A node whose power cycles are at their limit: its pods are released all the same, and its machine is left off.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    fixture::{Fixture, NODE},
    parts::{policy, reading, steps},
};
use crate::{
    action::Action,
    api::{
        OUT_OF_SERVICE, RELEASE,
        fence::{Blocker, DrainReport, Phase},
        policy::OffUntil,
    },
    fence::{Next, PredicateState, left_off::is_kept_out},
    policy::Policy,
    snapshot::{Level, PowerReading, PowerState},
};

fn limited() -> Fixture {
    let mut fixture = dead();
    fixture.guard_blockers.power = vec![Blocker::new("PowerCycleLimit", "2 in 24h")];
    fixture
}

fn blocker(fixture: &Fixture) -> (&str, &str) {
    fixture.fence.status.blocked_by.first().map_or(("", ""), |blocker| (&blocker.reason, &blocker.message))
}

fn is_out_of_service(fixture: &Fixture) -> bool {
    fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some()
}

/// Its pods are released, and nothing more is to be done.
fn left_off() -> Fixture {
    let mut fixture = limited();
    run(&mut fixture, 600, |fixture| !fixture.fence.status.blocked_by.is_empty() && fixture.fence.status.released > 0);
    fixture
}

/// Another actor turns it on, and its node becomes well.
fn turned_on(fixture: &mut Fixture) -> Vec<Phase> {
    fixture.turn(true);
    let mut phases = run(fixture, 60, |_| false);
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    phases.extend(run(fixture, 300, at(Phase::Closed)));
    phases
}

fn release(fixture: &mut Fixture, value: &str) {
    fixture.fence.metadata.annotations.insert(RELEASE.into(), value.into());
}

#[test]
fn a_machine_that_is_off_at_the_limit_has_its_pods_released_and_gets_no_order() {
    let mut fixture = limited();
    fixture.turn(false);
    let phases = run(&mut fixture, 900, |_| false);
    assert!(phases.contains(&Phase::OffConfirmed) && !phases.contains(&Phase::PoweringOff), "{phases:?}");
    assert_eq!((fixture.phase(), fixture.fence.status.released, fixture.powered), (Phase::PodsReleased, 1, false));
    assert!(is_out_of_service(&fixture) && fixture.fence.status.cycles.is_empty());
    assert_eq!(blocker(&fixture).0, "PowerCycleLimit");
}

#[test]
fn a_dead_machine_that_is_on_at_the_limit_is_turned_off_once_and_stays_off() {
    let mut fixture = limited();
    let phases = run(&mut fixture, 3600, |_| false);
    assert_eq!(phases.iter().filter(|phase| **phase == Phase::PoweringOff).count(), 1, "{phases:?}");
    assert!(!phases.contains(&Phase::PoweringOn), "{phases:?}");
    assert_eq!((fixture.phase(), fixture.fence.status.released, fixture.powered), (Phase::PodsReleased, 1, false));
    assert!(fixture.fence.status.cycles.is_empty(), "an off without an on is no cycle");
    let (reason, message) = blocker(&fixture);
    assert!(reason == "PowerCycleLimit" && message.contains(&format!("release {NODE}")), "{message}");
}

/// Its Off was confirmed and lost again (a level that gave way), and it is not left off any more: what ends its remediation
/// turns it on.
#[test]
fn one_that_was_turned_off_to_be_left_off_is_a_cycle_once_it_is_not() {
    for (ordered_off, counted, is_lifted, cycles) in
        [(true, false, true, 1), (true, true, true, 0), (true, false, false, 0), (false, false, true, 0)]
    {
        let mut fixture = limited();
        fixture.turn(false);
        run(&mut fixture, 600, at(Phase::AwaitGuards));
        (fixture.fence.status.at_limit, fixture.fence.status.ordered_off) = (true, ordered_off);
        fixture.fence.status.order_counted = counted;
        if is_lifted {
            fixture.guard_blockers.power.clear();
        }
        run(&mut fixture, 600, at(Phase::OffConfirmed));
        let status = &fixture.fence.status;
        assert_eq!((status.phase, status.cycles.len()), (Phase::OffConfirmed, cycles), "{ordered_off} {is_lifted}");
        assert!(status.off.as_ref().unwrap().already_off && status.at_limit != is_lifted);
    }
}

#[test]
fn that_it_is_left_off_is_a_warning() {
    let mut fixture = limited();
    run(&mut fixture, 400, at(Phase::AwaitGuards));
    let mut warned = None;
    for _ in 0..120 {
        fixture.pass(Duration::from_secs(1));
        let Next::Act(Action::Save { fence, why }) = fixture.next() else { continue };
        if fence.status.phase == Phase::PoweringOff {
            warned = Some(why);
            break;
        }
        fixture.store(*fence);
    }
    let warned = warned.expect("power off is intended");
    assert_eq!((warned.reason.as_str(), warned.warning), ("LeftOffAtLimit", true), "{warned:?}");
}

#[test]
fn every_other_guard_is_asked_as_ever() {
    for on in [true, false] {
        let mut fixture = limited();
        fixture.turn(on);
        fixture.alive = false;
        fixture.guard_blockers.power.push(Blocker::new("BudgetZone", ""));
        run(&mut fixture, 900, |_| false);
        let status = &fixture.fence.status;
        assert_eq!((status.phase, status.released, fixture.powered), (Phase::AwaitGuards, 0, on));
        assert!(status.is_blocked_by("BudgetZone") && status.is_blocked_by("PowerCycleLimit"), "{status:?}");
    }
}

/// On for a repair, or by its firmware when the mains came back.
#[test]
fn a_machine_that_boots_by_itself_stays_out_of_service_until_a_person_releases_it() {
    let mut fixture = left_off();
    let phases = turned_on(&mut fixture);
    assert_eq!((phases.last(), fixture.powered), (Some(&Phase::PodsReleased), true), "{phases:?}");
    assert!(is_out_of_service(&fixture) && blocker(&fixture).1.contains("is on again"), "{:?}", blocker(&fixture));
    release(&mut fixture, "1");
    let phases = run(&mut fixture, 300, at(Phase::Closed));
    assert_eq!(fixture.phase(), Phase::Closed, "{phases:?}");
    assert!(!is_out_of_service(&fixture) && !phases.contains(&Phase::PoweringOn), "{phases:?}");
}

#[test]
fn a_policy_may_take_it_back_by_its_own_healthy_boot() {
    let mut fixture = left_off();
    fixture.policy = Some(Policy { off_until: OffUntil::HealthyBoot, ..policy() });
    let phases = run(&mut fixture, 900, |_| false);
    assert_eq!(
        (phases.as_slice(), fixture.powered),
        (&[Phase::PodsReleased][..], false),
        "it is not turned on for that"
    );
    assert_eq!(turned_on(&mut fixture).last(), Some(&Phase::Closed));
    assert!(!is_out_of_service(&fixture));
}

/// Which of both it was is not known: the careful one.
#[test]
fn a_policy_that_is_gone_neither_turns_it_on_nor_takes_it_back() {
    let mut fixture = left_off();
    fixture.policy = None;
    let phases = turned_on(&mut fixture);
    assert_eq!(phases.last(), Some(&Phase::PodsReleased), "{phases:?}");
    let mut fixture = limited();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.policy = None;
    let phases = run(&mut fixture, 400, |_| false);
    assert_eq!((phases.as_slice(), fixture.powered), (&[Phase::OffConfirmed][..], false));
    release(&mut fixture, "1");
    let phases = run(&mut fixture, 60, at(Phase::AwaitReady));
    assert!(phases.contains(&Phase::PoweringOn) && fixture.powered, "a person may: {phases:?}");
}

#[test]
fn a_person_has_a_machine_turned_on_that_was_left_off_and_that_is_a_cycle() {
    let mut fixture = left_off();
    release(&mut fixture, "1");
    let phases = run(&mut fixture, 60, at(Phase::AwaitReady));
    assert_eq!((fixture.phase(), fixture.powered, fixture.fence.status.cycles.len()), (Phase::AwaitReady, true, 1));
    assert!(phases.contains(&Phase::PoweringOn), "{phases:?}");
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    run(&mut fixture, 300, at(Phase::Closed));
    assert_eq!(fixture.phase(), Phase::Closed);
}

#[test]
fn a_person_has_a_machine_turned_on_that_its_step_left_off() {
    let mut fixture = dead();
    fixture.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut fixture, 400, |fixture| fixture.fence.status.is_blocked_by("LeftOff"));
    release(&mut fixture, "1");
    run(&mut fixture, 60, at(Phase::AwaitReady));
    assert_eq!((fixture.phase(), fixture.powered), (Phase::AwaitReady, true));
}

#[test]
fn a_release_of_before_gives_no_machine_back() {
    let mut fixture = limited();
    release(&mut fixture, "1");
    run(&mut fixture, 900, |_| false);
    assert_eq!((fixture.phase(), fixture.powered), (Phase::PodsReleased, false));
    release(&mut fixture, "2");
    run(&mut fixture, 60, at(Phase::AwaitReady));
    assert!(fixture.powered);
}

/// The outlets, which are asked while the BMC is silent, report On of a machine that the BMC turned off.
#[test]
fn what_another_level_reads_does_not_keep_a_released_machine_off() {
    let mut fixture = left_off();
    fixture.pass(Duration::from_secs(1));
    let outlets = PowerReading { level: Level(2), asks_machine: false, ..reading(fixture.now.moment, PowerState::On) };
    fixture.gathered.power.push(outlets);
    release(&mut fixture, "1");
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(fence.status.phase, Phase::PoweringOn);
}

/// It was turned on, and off again, and no one but the person who releases it turns it on now.
#[test]
fn a_machine_that_was_on_for_a_while_is_turned_on_when_it_is_released() {
    let mut fixture = left_off();
    for on in [true, false] {
        fixture.turn(on);
        run(&mut fixture, 20, |_| false);
    }
    assert_eq!((fixture.phase(), fixture.powered), (Phase::PodsReleased, false));
    release(&mut fixture, "1");
    run(&mut fixture, 60, at(Phase::AwaitReady));
    assert!(fixture.powered);
}

/// An abort turns on what this record turned off at the limit: a cycle.
#[test]
fn an_abort_of_a_machine_that_was_turned_off_at_the_limit_is_a_cycle() {
    let mut fixture = left_off();
    assert!(fixture.fence.status.cycles.is_empty());
    fixture.fence.spec.abort = true;
    run(&mut fixture, 60, at(Phase::AwaitReady));
    assert_eq!((fixture.phase(), fixture.fence.status.cycles.len()), (Phase::AwaitReady, 1));
}

/// A wish may be longer than a record has room for.
#[test]
fn a_release_of_any_length_counts_once() {
    let mut fixture = left_off();
    release(&mut fixture, &"x".repeat(5000));
    run(&mut fixture, 60, at(Phase::AwaitReady));
    assert_eq!((fixture.powered, fixture.fence.status.observed_release.len()), (true, 253));
}

/// Nothing is to be released, and what it still does it may go on to do.
#[test]
fn a_node_that_lives_keeps_its_power_at_the_limit() {
    for kinds in [["cordon", "drain", "reboot"], ["cordon", "drain", "power"]] {
        let mut fixture = Fixture::new(steps(&kinds));
        run(&mut fixture, 400, at(Phase::AwaitGuards));
        assert!(fixture.fence.status.drain.as_ref().is_some_and(DrainReport::emptied));
        fixture.guard_blockers.power = vec![Blocker::new("PowerCycleLimit", "2 in 24h")];
        run(&mut fixture, 3, |_| false);
        assert_eq!((fixture.phase(), fixture.powered), (Phase::Quarantined, true));
    }
}

#[test]
fn an_abort_turns_on_what_was_left_off() {
    let mut fixture = left_off();
    fixture.fence.spec.abort = true;
    run(&mut fixture, 60, at(Phase::AwaitReady));
    assert!(fixture.powered);
}

#[test]
fn a_boot_stays_out_of_service_only_at_the_limit_and_only_until_a_person_releases_it() {
    for (at_limit, until, phase, expected) in [
        (true, Some(OffUntil::Released), Phase::PodsReleased, true),
        (true, None, Phase::PodsReleased, true),
        (true, Some(OffUntil::HealthyBoot), Phase::PodsReleased, false),
        (false, Some(OffUntil::Released), Phase::PodsReleased, false),
        (false, None, Phase::PodsReleased, false),
        (true, Some(OffUntil::Released), Phase::OffConfirmed, false),
    ] {
        let mut fixture = dead();
        fixture.fence.spec.steps = steps(&["power"]);
        (fixture.fence.status.at_limit, fixture.fence.status.phase) = (at_limit, phase);
        fixture.policy = until.map(|off_until| Policy { off_until, ..policy() });
        assert_eq!(is_kept_out(&fixture.input()), expected, "{at_limit} {until:?} {phase:?}");
    }
}
