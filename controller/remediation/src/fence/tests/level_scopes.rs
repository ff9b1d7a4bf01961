//! Which levels are read, and which one an act would be of: that of the act that was begun, or the best one.

use std::time::Duration;

use super::{
    course::dead,
    fixture::Fixture,
    parts::{level, plan, reading, steps},
};
use crate::{
    action::Action,
    api::fence::{Confirmation, IntendedOp, Intent, Phase},
    fence::{
        Next,
        levels::{at_hand, counts, scope, to_read, to_turn_on_too},
    },
    snapshot::{FenceLevel, FencePlan, FenceScope, Level, PowerReading, PowerState},
    time::Moment,
};

/// A BMC and outlets, each its own, of a record that has just been opened.
fn two_levels() -> Fixture {
    let mut fixture = Fixture::new(steps(&["power"]));
    let outlets = FenceLevel { asks_machine: false, ..level("pdu") };
    fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![level("ipmi"), outlets], ..plan() }));
    fixture
}

fn read(fixture: &Fixture) -> Vec<u32> {
    let scopes = to_read(Some(&fixture.fence.status), Some(&fixture.gathered), fixture.now.moment);
    assert!(scopes.iter().all(|scope| scope.storage.is_none()), "{scopes:?}");
    scopes.into_iter().map(|scope| scope.level.0).collect()
}

fn acts_by(fixture: &Fixture) -> u32 {
    scope(Some(&fixture.fence.status), Some(&fixture.gathered), fixture.now.moment).unwrap().level.0
}

fn intent(fixture: &Fixture) -> Intent {
    Intent { op: IntendedOp::PowerOff, epoch: 7, at: fixture.now.wall, pods: 0 }
}

fn confirmation(fixture: &Fixture) -> Confirmation {
    Confirmation {
        at: fixture.now.wall,
        reads: 2,
        by: Vec::new(),
        boot_id: String::new(),
        already_off: false,
        epoch: 7,
    }
}

#[test]
fn a_level_that_failed_gives_way_to_the_next_and_both_are_read() {
    let mut fixture = two_levels();
    assert_eq!((read(&fixture), acts_by(&fixture)), (vec![1], 1));
    fixture.fence.status.failed_levels = vec![Level(1)];
    assert_eq!((read(&fixture), acts_by(&fixture)), (vec![1, 2], 2));
    fixture.fence.status.failed_levels = vec![Level(1), Level(2)];
    assert_eq!((read(&fixture), acts_by(&fixture)), (vec![1], 1));
}

#[test]
fn an_act_that_was_begun_stays_at_its_level() {
    let begun: [fn(&mut Fixture); 3] = [
        |fixture| fixture.fence.status.intent = Some(intent(fixture)),
        |fixture| fixture.fence.status.off = Some(confirmation(fixture)),
        |fixture| {
            fixture.fence.status.intent = Some(intent(fixture));
            fixture.fence.status.off = Some(confirmation(fixture));
        },
    ];
    for begin in begun {
        let mut fixture = two_levels();
        fixture.fence.status.level = Level(2);
        assert_eq!(acts_by(&fixture), 1, "nothing was begun: the first one can be used");
        begin(&mut fixture);
        assert_eq!((read(&fixture), acts_by(&fixture)), (vec![1, 2], 2));
    }
}

#[test]
fn a_storage_is_read_alone_and_without_methods_nothing_is() {
    let mut fixture = two_levels();
    let storage = Some("csi.example".to_owned());
    let first = FencePlan { levels: vec![level("fabric")], storage_only: storage.clone(), ..plan() };
    fixture.gathered.methods = Some(Ok(first));
    let scopes = to_read(Some(&fixture.fence.status), Some(&fixture.gathered), fixture.now.moment);
    assert_eq!(scopes, [FenceScope { storage, level: Level(1) }]);
    fixture.gathered.methods = None;
    assert_eq!(read(&fixture), Vec::<u32>::new());
}

#[test]
fn a_level_is_silent_from_its_tenth_second_without_an_answer_on() {
    for (secs, level) in [(9, 1), (10, 2), (11, 2), (60, 2), (61, 1)] {
        let mut fixture = two_levels();
        fixture.gathered.unanswered.insert(Level(1), fixture.now.moment);
        fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(secs));
        assert_eq!(acts_by(&fixture), level, "asked in vain since {secs} s");
    }
}

#[test]
fn a_level_stays_silent_while_it_is_still_asked() {
    for (asked, expected) in [(1, 2), (2, 1)] {
        let mut fixture = two_levels();
        let since = fixture.now.moment;
        fixture.gathered.unanswered.insert(Level(1), since);
        let at = since.plus(Duration::from_secs(55));
        let unknown = PowerReading { level: Level(asked), ..reading(at, PowerState::Unknown) };
        fixture.gathered.power.push(unknown);
        fixture.now.moment = since.plus(Duration::from_secs(100));
        assert_eq!(acts_by(&fixture), expected, "level {asked} was asked 45 s ago");
    }
}

#[test]
fn while_none_can_be_used_all_are_read() {
    let mut fixture = two_levels();
    let mut unproven = FencePlan { levels: vec![level("ipmi"), level("pdu"), level("pdu-b")], ..plan() };
    for level in &mut unproven.levels {
        level.identity = Some(Err("another machine's".into()));
    }
    fixture.gathered.methods = Some(Ok(unproven.clone()));
    assert_eq!(read(&fixture), [1, 2, 3]);
    unproven.levels[1].identity = Some(Ok(()));
    fixture.gathered.methods = Some(Ok(unproven));
    assert_eq!((read(&fixture), acts_by(&fixture)), (vec![1, 2], 2));
}

/// A dead node whose act by the BMC has failed, this very moment.
fn failed(levels: &[u32]) -> Fixture {
    let mut fixture = Fixture { gathered: two_levels().gathered, ..dead() };
    let now = fixture.now.wall;
    let status = &mut fixture.fence.status;
    (status.phase, status.failures, status.last_failure) = (Phase::Failed, 3, Some(now));
    status.failed_levels = levels.iter().copied().map(Level).collect();
    fixture
}

#[test]
fn after_a_failure_the_other_level_is_tried_at_once_and_the_same_one_later() {
    let fixture = failed(&[1]);
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.failures), (Phase::AwaitGuards, 0));
    assert_eq!(fence.status.failed_levels, [Level(1)], "it failed once");
    // The level that failed last is not the record's: this failure is no matter of levels.
    let fixture = failed(&[1, 2]);
    assert!(matches!(fixture.next(), Next::Wait { until: Some(_), .. }), "{:?}", fixture.next());
    let mut fixture = failed(&[1]);
    let Some(Ok(plan)) = &mut fixture.gathered.methods else { panic!("there are two levels") };
    plan.levels[1].identity = Some(Err("another machine's".into()));
    assert!(
        matches!(fixture.next(), Next::Wait { until: Some(_), .. }),
        "no other one can be used: {:?}",
        fixture.next()
    );
}

#[test]
fn a_silent_level_in_doubt_counts_as_failed() {
    let mut fixture = failed(&[]);
    let intent = intent(&fixture);
    (fixture.fence.status.phase, fixture.fence.status.intent) = (Phase::InDoubt, Some(intent));
    fixture.gathered.unanswered.insert(Level(1), fixture.now.moment);
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(10));
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.failed_levels), (Phase::AwaitGuards, vec![Level(1)]));
}

#[test]
fn a_reading_counts_by_its_level_or_of_the_machine_itself() {
    for (at_level, of_level, asks_machine, expected) in
        [(1, 1, true, true), (1, 2, false, false), (2, 1, true, true), (2, 1, false, false), (2, 2, false, true)]
    {
        let mut fixture = two_levels();
        fixture.fence.status.level = Level(at_level);
        fixture.fence.status.intent = Some(intent(&fixture));
        let reading =
            PowerReading { level: Level(of_level), asks_machine, ..reading(fixture.now.moment, PowerState::On) };
        assert_eq!(counts(&fixture.input(), &reading), expected, "{of_level} read, {at_level} acts");
    }
}

/// Turned on by its outlets 20 s ago; its BMC reported these, so many seconds ago.
fn turned_on(readings: &[(u64, PowerState)]) -> Fixture {
    let mut fixture = two_levels();
    fixture.now.moment = fixture.entered.plus(Duration::from_secs(20));
    fixture.fence.status.level = Level(2);
    fixture.fence.status.off = Some(confirmation(&fixture));
    let now = fixture.now.moment.0;
    let all = readings.iter().map(|(secs, state)| reading(Moment(now - Duration::from_secs(*secs)), *state));
    fixture.gathered.power = all.collect();
    fixture
}

#[test]
fn a_bmc_that_still_reads_off_is_turned_on_too() {
    use PowerState::{Off, On, Unknown};
    let tables: [(&[(u64, PowerState)], bool); 10] = [
        (&[(3, Off), (1, Off)], true),
        (&[(2, Off), (1, Off)], false),
        (&[(1, Off)], false),
        (&[], false),
        (&[(3, Off), (1, On)], false),
        (&[(3, Off), (2, Unknown), (1, Off)], false),
        (&[(12, Off), (10, Off)], true),
        (&[(13, Off), (11, Off)], false),
        (&[(21, Off), (1, Off)], false),
        (&[(20, Off), (1, Off)], false),
    ];
    for (readings, expected) in tables {
        let fixture = turned_on(readings);
        assert_eq!(to_turn_on_too(&fixture.input()).is_some(), expected, "{readings:?}");
    }
    let good = || turned_on(&[(3, Off), (1, Off)]);
    let edits: [fn(&mut Fixture); 4] = [
        |fixture| first(fixture).asks_machine = false,
        |fixture| fixture.fence.status.level = Level(1),
        |fixture| first(fixture).identity = Some(Err("another machine's".into())),
        |fixture| fixture.fence.status.off = None,
    ];
    assert_eq!(to_turn_on_too(&good().input()), Some(Level(1)));
    for edit in edits {
        let mut fixture = good();
        edit(&mut fixture);
        assert_eq!(to_turn_on_too(&fixture.input()), None);
    }
}

fn first(fixture: &mut Fixture) -> &mut FenceLevel {
    let Some(Ok(plan)) = &mut fixture.gathered.methods else { panic!("there are two levels") };
    &mut plan.levels[0]
}

#[test]
fn a_level_that_is_not_proven_to_be_the_nodes_is_named_where_there_are_several() {
    let mut fixture = two_levels();
    first(&mut fixture).identity = Some(Err("ipmi: 4c4c4544".into()));
    let Some(Ok(plan)) = &mut fixture.gathered.methods else { panic!("there are two levels") };
    plan.levels[1].identity = Some(Err("pdu: no outlets=".into()));
    let blocker = at_hand(&fixture.input()).map(|at| at.number).unwrap_err();
    assert!(blocker.message.ends_with(": level 1: ipmi: 4c4c4544; level 2: pdu: no outlets="), "{}", blocker.message);
    let Some(Ok(plan)) = &mut fixture.gathered.methods else { panic!("there are two levels") };
    plan.levels.truncate(1);
    let blocker = at_hand(&fixture.input()).map(|at| at.number).unwrap_err();
    assert!(blocker.message.ends_with("node's: ipmi: 4c4c4544"), "{}", blocker.message);
}
