//! A machine with a BMC and, at the second level, the outlets that it hangs on: by which of them it is fenced.

use std::time::Duration;

use super::{
    parts::plan,
    rack::{BMC, Manner, PDU, Rack, at},
};
use crate::{
    action::Action,
    api::fence::{DrainReport, IntendedOp, Phase},
    fence::{Next, levels},
    snapshot::{PowerReading, PowerState},
    time::Moment,
};

#[test]
fn a_bmc_that_answers_is_all_that_is_used() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.releases(120));
    assert_eq!((rack.orders.as_slice(), rack.outlets), (&[(BMC, false)][..], true));
    assert!(rack.readings.iter().all(|reading| reading.level == BMC), "the outlets are not even asked");
    assert!(!rack.warns("level"));
    assert!(rack.run(120, at(Phase::Recovering)));
    assert_eq!(rack.orders, [(BMC, false), (BMC, true)]);
}

/// AC loss: the outlet is On and the machine off, and nothing can tell.
#[test]
fn outlets_of_a_machine_whose_bmc_is_dead_are_ordered_off_before_its_pods_are_released() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    rack.lose_feed();
    assert!(rack.releases(60), "{:?}", rack.fixture.fence.status);
    assert_eq!((rack.orders.as_slice(), rack.outlets), (&[(PDU, false)][..], false));
    assert!(rack.warns("level 1 (ipmi) does not answer"), "{:?}", rack.warned);
    assert_eq!(rack.fixture.fence.status.cycles.len(), 1);
}

#[test]
fn a_bmc_that_does_not_obey_gives_way_at_once() {
    let mut rack = Rack::new(Manner::Disobeys, Manner::Honest);
    assert!(rack.releases(80), "{:?}", rack.fixture.fence.status);
    assert_eq!(rack.orders, [(BMC, false), (PDU, false)]);
    assert!(rack.warns("level 1 (ipmi) did not turn it off"), "{:?}", rack.warned);
    assert_eq!(rack.fixture.fence.status.cycles.len(), 1, "one incident is one cycle");
}

#[test]
fn a_bmc_that_falls_silent_after_its_order_gives_way() {
    let mut rack = Rack::new(Manner::SilentAfterOrder, Manner::Honest);
    assert!(rack.releases(100), "{:?}", rack.fixture.fence.status);
    assert_eq!(rack.orders, [(BMC, false), (PDU, false)]);
    assert_eq!(rack.fixture.fence.status.cycles.len(), 1);
}

/// Its BMC is fed by what was turned off, or the outlets are another machine's.
#[test]
fn on_by_the_machine_itself_is_stronger_than_off_by_its_outlets() {
    let mut rack = Rack::new(Manner::ReadsOn, Manner::Honest);
    assert!(!rack.releases(2000), "{:?}", rack.fixture.fence.status);
    assert!(rack.orders.contains(&(PDU, false)));
    assert_eq!(rack.fixture.phase(), Phase::Quarantined, "a person looks at the wiring");
    assert!(rack.orders.len() <= 10, "{:?}", rack.orders);
}

/// Outlets at the first level are On while the machine is off by its BMC: that speaks against nothing.
#[test]
fn on_by_an_outlet_is_no_word_of_the_machine() {
    let mut rack = Rack::new(Manner::Disobeys, Manner::Honest);
    let Some(Ok(plan)) = &mut rack.fixture.gathered.methods else { unreachable!() };
    plan.levels[0].asks_machine = false;
    assert!(rack.run(80, at(Phase::OffConfirmed)));
    for reading in &mut rack.readings {
        reading.asks_machine = false;
    }
    let now = rack.fixture.now.moment;
    rack.readings.push(PowerReading { at: now, level: BMC, asks_machine: false, state: PowerState::On });
    rack.fixture.gathered.power.clone_from(&rack.readings);
    let Next::Act(action) = rack.fixture.next() else { panic!("{:?}", rack.fixture.next()) };
    let stays = match &action {
        Action::Save { fence, .. } => fence.status.phase != Phase::AwaitGuards,
        _ => true,
    };
    assert!(stays, "{action:?}");
}

#[test]
fn two_levels_that_do_not_obey_take_turns_until_a_person_looks() {
    let mut rack = Rack::new(Manner::Disobeys, Manner::Disobeys);
    assert!(!rack.releases(4000));
    assert_eq!(rack.fixture.phase(), Phase::Quarantined);
    let (bmc, pdu) = (rack.orders.iter().filter(|order| order.0 == BMC).count(), rack.orders.len());
    assert!((2..=5).contains(&bmc) && (4..=10).contains(&pdu), "{:?}", rack.orders);
}

/// As ever: nothing is done, and nothing is given up.
#[test]
fn two_levels_that_are_silent_wait() {
    let mut rack = Rack::new(Manner::Silent, Manner::Silent);
    rack.run(30, |_| false);
    let Some(Ok(plan)) = &mut rack.fixture.gathered.methods else { unreachable!() };
    for level in &mut plan.levels {
        level.identity = Some(Err("no answer".into()));
    }
    rack.orders.clear();
    rack.fixture.fence.status.intent = None;
    assert!(!rack.releases(300));
    rack.pdu = Manner::Honest;
    let Some(Ok(plan)) = &mut rack.fixture.gathered.methods else { unreachable!() };
    plan.levels[1].identity = Some(Ok(()));
    assert!(rack.releases(700), "{:?}", rack.fixture.fence.status);
}

#[test]
fn a_level_that_is_not_its_own_is_not_used() {
    let mut rack = Rack::new(Manner::Silent, Manner::Honest);
    let Some(Ok(plan)) = &mut rack.fixture.gathered.methods else { unreachable!() };
    plan.levels[0].identity = Some(Err("no answer".into()));
    plan.levels[1].identity = Some(Err("another's".into()));
    assert!(!rack.releases(300));
    assert_eq!(rack.orders, []);
    let blockers = &rack.fixture.fence.status.blocked_by;
    let unproven = blockers.iter().find(|blocker| blocker.reason == "IdentityUnproven").unwrap();
    assert!(unproven.message.contains("level 1: no answer; level 2: another's"), "{unproven}");
}

#[test]
fn off_that_was_confirmed_by_a_bmc_which_falls_silent_is_confirmed_by_the_outlets() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.run(120, at(Phase::OffConfirmed)));
    rack.bmc = Manner::Silent;
    // The confirmation has grown old, as with a new leader.
    rack.fixture.epoch += 1;
    assert!(rack.releases(60), "{:?}", rack.fixture.fence.status);
    assert_eq!(rack.orders.last(), Some(&(PDU, false)));
}

/// The leader died between the record of its release and the taint, and the rack lost its feed.
#[test]
fn a_release_in_doubt_is_proven_by_the_outlets_when_the_bmc_falls_silent() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.run(120, |rack| at(Phase::PodsReleased)(rack) && rack.fixture.fence.status.intent.is_some()));
    rack.bmc = Manner::Silent;
    rack.fixture.epoch += 1;
    assert!(rack.run(5, at(Phase::InDoubt)) && rack.orders.len() == 1);
    assert!(rack.releases(60), "{:?}", rack.fixture.fence.status);
    assert_eq!(rack.orders, [(BMC, false), (PDU, false)]);
}

/// It was drained, and its BMC shares a port with its host: it is booting, unseen. Or a person aborted it meanwhile.
#[test]
fn a_power_on_in_doubt_waits_for_its_level_unless_the_machine_fell_silent_with_its_pods() {
    for (drained, abort, released, gives_way) in [
        (false, false, false, true),
        (true, false, false, false),
        (false, true, false, false),
        (false, false, true, false),
    ] {
        let mut rack = Rack::new(Manner::Honest, Manner::Honest);
        assert!(rack.run(120, at(Phase::OffConfirmed)));
        let status = &mut rack.fixture.fence.status;
        status.drain = drained.then(|| DrainReport { done: true, ..DrainReport::default() });
        status.release_begun = released;
        rack.fixture.fence.spec.abort = abort;
        rack.in_doubt(IntendedOp::PowerOn);
        rack.bmc = Manner::Silent;
        assert_eq!(rack.run(60, at(Phase::AwaitGuards)), gives_way, "{drained} {abort} {released}");
    }
}

#[test]
fn a_release_in_doubt_that_a_person_aborted_waits_for_its_level() {
    for (abort, gives_way) in [(false, true), (true, false)] {
        let mut rack = Rack::new(Manner::Honest, Manner::Honest);
        assert!(rack.run(120, at(Phase::OffConfirmed)));
        rack.fixture.fence.spec.abort = abort;
        rack.in_doubt(IntendedOp::Release);
        rack.bmc = Manner::Silent;
        assert_eq!(rack.run(60, at(Phase::AwaitGuards)), gives_way, "{abort}");
    }
}

/// After a person's retry nothing is intended.
#[test]
fn a_retry_by_a_level_that_is_silent_goes_on_by_another_one() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.run(120, at(Phase::OffConfirmed)));
    rack.fixture.fence.status.phase = Phase::InDoubt;
    rack.bmc = Manner::Silent;
    assert!(rack.run(60, at(Phase::AwaitGuards)), "{:?}", rack.fixture.fence.status);
}

/// A provider is asked by no level.
#[test]
fn a_reap_in_doubt_gives_no_level_up() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.run(120, at(Phase::OffConfirmed)));
    rack.in_doubt(IntendedOp::Reap);
    rack.bmc = Manner::Silent;
    assert!(rack.run(60, |rack| rack.fixture.phase() != Phase::InDoubt));
    assert_eq!(rack.fixture.phase(), Phase::Failed);
}

/// Off was read twice, and On before anything was released.
#[test]
fn a_bmc_that_flaps_gives_way() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.run(120, at(Phase::OffConfirmed)));
    rack.fixture.powered = true;
    rack.bmc = Manner::Disobeys;
    assert!(rack.run(1, at(Phase::AwaitGuards)), "{:?}", rack.fixture.phase());
    assert_eq!(rack.fixture.fence.status.failed_levels, [BMC]);
    assert!(rack.releases(30), "{:?}", rack.fixture.fence.status);
    assert_eq!(rack.orders, [(BMC, false), (PDU, false)]);
    assert_eq!(rack.fixture.fence.status.failed_levels, []);
}

/// Without another way a person looks, after as many tries as ever.
#[test]
fn the_only_bmc_is_given_up_when_it_flaps_on() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    rack.fixture.gathered.methods = Some(Ok(plan()));
    for round in 1..=5 {
        assert!(rack.run(120, at(Phase::OffConfirmed)), "{round}: {:?}", rack.fixture.fence.status);
        rack.fixture.powered = true;
        assert!(rack.run(1, at(Phase::AwaitGuards)));
        assert_eq!(rack.fixture.fence.status.failed_levels.len(), round);
    }
    assert!(rack.run(10, at(Phase::Quarantined)), "{:?}", rack.fixture.phase());
    assert_eq!(rack.orders.len(), 5);
}

#[test]
fn a_new_leader_goes_on_by_the_level_of_the_record() {
    let mut rack = Rack::new(Manner::Silent, Manner::Honest);
    assert!(rack.run(120, at(Phase::OffConfirmed)));
    rack.fixture.epoch += 1;
    rack.readings.clear();
    rack.fixture.gathered.unanswered.clear();
    assert!(rack.releases(30), "{:?}", rack.fixture.fence.status);
    assert_eq!(rack.orders, [(PDU, false)]);
}

#[test]
fn a_machine_that_its_outlets_do_not_start_is_turned_on_by_its_bmc() {
    for starts_with_power in [true, false] {
        let mut rack = Rack::new(Manner::Silent, Manner::Honest);
        rack.starts_with_power = starts_with_power;
        assert!(rack.releases(80));
        rack.bmc = Manner::Honest;
        assert!(rack.run(300, at(Phase::Recovering)), "{:?}", rack.fixture.fence.status);
        let by_bmc = rack.orders.contains(&(BMC, true));
        assert_eq!(by_bmc, !starts_with_power, "{:?}", rack.orders);
    }
}

/// As after a record that waited for a person.
#[test]
fn a_question_of_long_ago_is_no_silence() {
    let mut rack = Rack::new(Manner::Silent, Manner::Honest);
    assert!(rack.run(45, |rack| rack.warns("nothing")) || rack.fixture.gathered.unanswered.contains_key(&BMC));
    let level = |rack: &Rack| levels::scope(None, Some(&rack.fixture.gathered), rack.fixture.now.moment).unwrap().level;
    assert_eq!(level(&rack), PDU);
    rack.fixture.now.moment = rack.fixture.now.moment.plus(Duration::from_secs(61));
    assert_eq!(level(&rack), BMC);
}

#[test]
fn readings_of_off_by_both_levels_are_not_two_readings() {
    let mut rack = Rack::new(Manner::Silent, Manner::Honest);
    assert!(rack.run(60, |rack| rack.fixture.gathered.unanswered.contains_key(&BMC)));
    rack.fixture.pass(Duration::from_secs(60));
    let now = rack.fixture.now.moment;
    let before = Moment(now.0 - Duration::from_secs(2));
    let reading = |at, level, state| PowerReading { at, level, asks_machine: level == BMC, state };
    let off = |readings: Vec<PowerReading>, rack: &mut Rack| {
        rack.fixture.gathered.power = readings;
        crate::fence::evidence::is_off(&rack.fixture.input()).is_some()
    };
    let (on, is_off) = (PowerState::On, PowerState::Off);
    assert!(off(vec![reading(before, PDU, is_off), reading(now, PDU, is_off)], &mut rack));
    assert!(!off(vec![reading(before, BMC, is_off), reading(now, PDU, is_off)], &mut rack));
    let mixed = vec![reading(before, PDU, is_off), reading(before, BMC, on), reading(now, PDU, is_off)];
    assert!(!off(mixed, &mut rack), "the machine itself reported On between them");
}
