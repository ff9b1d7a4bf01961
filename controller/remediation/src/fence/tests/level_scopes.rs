//! Which levels are read, and which one an act would be of: that of the act that was begun, or the best one.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{level, plan, reading, steps},
};
use crate::{
    api::fence::{Confirmation, IntendedOp, Intent},
    fence::levels::{scope, to_read},
    snapshot::{FenceLevel, FencePlan, FenceScope, Level, PowerReading, PowerState},
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
