//! Ticks that are kept, skipped and shared.

use proptest::prelude::*;

use super::*;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn of(limit: usize, tasks: &[(u64, u64)]) -> Schedule {
    let mut schedule = Schedule::default();
    schedule
        .add(limit, tasks.iter().map(|(interval, first)| Timing { interval: secs(*interval), first: secs(*first) }));
    schedule
}

fn start(schedule: &mut Schedule, now: u64) -> Option<(usize, u64, u64)> {
    schedule.start(secs(now)).map(|start| (start.task, start.due.as_secs(), start.skipped))
}

#[test]
fn a_task_runs_at_its_ticks() {
    let mut schedule = of(3, &[(10, 3)]);
    assert_eq!((start(&mut schedule, 2), schedule.next()), (None, Some(secs(3))));
    assert_eq!(start(&mut schedule, 3), Some((0, 3, 0)));
    assert_eq!((start(&mut schedule, 13), schedule.next()), (None, None), "never over itself");
    assert_eq!(schedule.ended(0, secs(5)), 0);
    assert_eq!(schedule.next(), Some(secs(13)));
}

#[test]
fn a_slow_run_skips_its_own_ticks_and_no_others() {
    let mut schedule = of(3, &[(10, 0), (10, 0)]);
    assert_eq!((start(&mut schedule, 0), start(&mut schedule, 0)), (Some((0, 0, 0)), Some((1, 0, 0))));
    schedule.ended(1, secs(1));
    assert_eq!(start(&mut schedule, 10), Some((1, 10, 0)), "the other goes on");
    assert_eq!(schedule.ended(0, secs(35)), 3, "10, 20 and 30");
    assert_eq!(schedule.next(), Some(secs(40)));
}

#[test]
fn a_full_lane_makes_late_and_not_lost() {
    let mut schedule = of(1, &[(10, 0), (10, 1), (10, 2)]);
    assert_eq!(start(&mut schedule, 2), Some((0, 0, 0)));
    assert_eq!((start(&mut schedule, 2), schedule.next()), (None, None));
    schedule.ended(0, secs(4));
    assert_eq!(start(&mut schedule, 4), Some((1, 1, 0)), "who waits the longest");
    schedule.ended(1, secs(5));
    assert_eq!(start(&mut schedule, 5), Some((2, 2, 0)));
    schedule.ended(2, secs(6));
    assert_eq!(schedule.next(), Some(secs(10)));
}

#[test]
fn lanes_do_not_share() {
    let mut schedule = of(1, &[(10, 0)]);
    schedule.add(1, [Timing { interval: secs(10), first: secs(0) }]);
    assert_eq!((start(&mut schedule, 0), start(&mut schedule, 0)), (Some((0, 0, 0)), Some((1, 0, 0))));
}

#[test]
fn after_a_long_stall_there_is_one_start_and_no_burst() {
    let mut schedule = of(3, &[(10, 0)]);
    assert_eq!(start(&mut schedule, 3605), Some((0, 3600, 360)));
    schedule.ended(0, secs(3606));
    assert_eq!((start(&mut schedule, 3606), schedule.next()), (None, Some(secs(3610))));
}

#[test]
fn the_first_run_is_soon_and_spread() {
    assert!((0..1000).all(|random| first(secs(86_400), random * 7919) < secs(5)));
    assert!((0..1000).all(|random| first(secs(1), random * 7919) < secs(1)));
    assert_ne!(first(secs(30), 1), first(secs(30), 2));
}

proptest! {
    /// Against a clock that jumps as it likes: no overlap, no group over its limit, no tick twice, none unaccounted for.
    #[test]
    fn ticks_are_used_or_skipped_once(
        intervals in proptest::collection::vec(1_u64..20, 1..6), limit in 1_usize..4,
        steps in proptest::collection::vec((0_u64..30, 0_usize..6), 1..200),
    ) {
        let mut schedule = Schedule::default();
        schedule.add(limit, intervals.iter().map(|interval| Timing { interval: secs(*interval), first: secs(0) }));
        let mut running = vec![false; intervals.len()];
        let mut accounted = vec![0_u64; intervals.len()];
        let mut now = 0;
        for (passed, ends) in steps {
            now += passed;
            if ends < running.len() && running[ends] {
                accounted[ends] += schedule.ended(ends, secs(now));
                running[ends] = false;
            }
            while let Some(start) = schedule.start(secs(now)) {
                prop_assert!(!running[start.task]);
                running[start.task] = true;
                accounted[start.task] += start.skipped + 1;
                prop_assert_eq!(start.due.as_secs(), (accounted[start.task] - 1) * intervals[start.task]);
                prop_assert!(start.due.as_secs() <= now);
            }
            prop_assert!(running.iter().filter(|running| **running).count() <= limit);
            prop_assert!(schedule.next().is_none_or(|next| next > secs(now)));
        }
    }
}
