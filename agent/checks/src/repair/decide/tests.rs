//! The decision case by case, and its bounds over random histories.

use proptest::{collection::vec, prelude::*};

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const UNIT: &str = "containerd.service";

fn settings() -> RepairSettings {
    let unit = |name| UnitRepair::of(name, Name::fixed("ContainerRuntimeUnhealthy"));
    RepairSettings { enabled: true, units: vec![unit(UNIT), unit("kubelet.service")], ..RepairSettings::default() }
}

fn at(minutes: u32) -> Moment {
    let wall: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    let boottime = MINUTE * minutes;
    Moment { wall: wall + boottime, boottime, boot_id: "one".to_owned() }
}

fn broken() -> Option<UnitProblem> {
    let reason = Name::fixed("ContainerdUnhealthy");
    Some(UnitProblem { reason, lasted: 5 * MINUTE, message: "no answer".to_owned() })
}

fn unit(activity: Activity) -> UnitNow {
    UnitNow { activity, lasted: Some(60 * MINUTE) }
}

fn observed(problem: Option<UnitProblem>, state: UnitNow) -> ObservedUnit {
    ObservedUnit { problem, state }
}

/// What is decided about the first unit while the second is healthy.
fn first(problem: Option<UnitProblem>, state: UnitNow, history: &History, now: &Moment) -> Decision {
    decide_all(&settings(), &[observed(problem, state), observed(None, unit(Activity::Active))], history, now)[0]
}

#[test]
fn a_broken_unit_is_repaired_and_a_healthy_one_left_alone() {
    let history = History::default();
    assert_eq!(first(broken(), unit(Activity::Active), &history, &at(60)), Decision::Repair);
    assert_eq!(first(broken(), unit(Activity::Failed), &history, &at(60)), Decision::Repair);
    assert_eq!(first(None, unit(Activity::Failed), &history, &at(60)), Decision::Nothing);
}

#[test]
fn what_is_not_clear_holds() {
    let history = History::default();
    let held = |state| first(broken(), state, &history, &at(60));
    assert_eq!(held(unit(Activity::Missing)), Decision::Hold(Hold::Missing));
    assert_eq!(held(unit(Activity::Unknown)), Decision::Hold(Hold::Unknown));
    assert_eq!(held(unit(Activity::Changing)), Decision::Hold(Hold::Changing));
    assert_eq!(held(unit(Activity::Stopped)), Decision::Hold(Hold::Stopped));
    let young = UnitNow { activity: Activity::Active, lasted: Some(MINUTE) };
    assert_eq!(held(young), Decision::Hold(Hold::JustStarted(4 * MINUTE)));
}

#[test]
fn a_boot_and_a_short_problem_are_waited_out() {
    let history = History::default();
    let state = unit(Activity::Active);
    assert_eq!(first(broken(), state, &history, &at(9)), Decision::Hold(Hold::Grace(MINUTE)));
    let short = broken().map(|problem| UnitProblem { lasted: MINUTE, ..problem });
    assert_eq!(first(short, state, &history, &at(60)), Decision::Hold(Hold::NotForLong(MINUTE)));
}

#[test]
fn two_broken_units_are_repaired_one_after_the_other() {
    let mut history = History::default();
    let seen = [observed(broken(), unit(Activity::Active)), observed(broken(), unit(Activity::Failed))];
    let now = decide_all(&settings(), &seen, &history, &at(60));
    assert_eq!(now, [Decision::Repair, Decision::Hold(Hold::AnotherFirst)]);
    history.begin(UNIT, &at(60));
    let then = decide_all(&settings(), &seen, &history, &at(61));
    assert_eq!(then, [Decision::Hold(Hold::BackOff(4 * MINUTE)), Decision::Hold(Hold::MinInterval(MINUTE))]);
    assert_eq!(decide_all(&settings(), &seen, &history, &at(62))[1], Decision::Repair);
}

#[test]
fn pauses_double_until_it_gives_up_and_only_a_healthy_unit_ends_that() {
    let mut history = History::default();
    let state = unit(Activity::Failed);
    let decide = |history: &History, minutes| first(broken(), state, history, &at(minutes));
    history.begin(UNIT, &at(60));
    assert_eq!(decide(&history, 65), Decision::Repair);
    history.begin(UNIT, &at(65));
    assert_eq!(decide(&history, 70), Decision::Hold(Hold::BackOff(5 * MINUTE)));
    assert_eq!(decide(&history, 75), Decision::Repair);
    history.begin(UNIT, &at(75));
    assert_eq!(decide(&history, 94), Decision::Hold(Hold::BackOff(MINUTE)));
    assert_eq!(decide(&history, 95), Decision::GiveUp);
    assert!(history.give_up(UNIT, &at(95)));
    assert!(!history.give_up(UNIT, &at(96)), "reported once");
    assert_eq!(decide(&history, 10_000), Decision::Hold(Hold::GivenUp));
    assert!(history.is_healthy(UNIT));
    assert_eq!(decide(&history, 100), Decision::GiveUp, "the window still counts");
    assert_eq!(decide(&history, 10_000), Decision::Repair);
}

#[test]
fn a_reboot_forgets_no_repair() {
    let mut history = History::default();
    for minutes in [60, 65, 75] {
        history.begin(UNIT, &at(minutes));
    }
    let saved = serde_json::to_string(&history).unwrap();
    let history: History = serde_json::from_str(&saved).unwrap();
    let after = Moment { boottime: 20 * MINUTE, boot_id: "two".to_owned(), ..at(120) };
    assert_eq!(first(broken(), unit(Activity::Failed), &history, &after), Decision::GiveUp);
    let back = Moment { wall: "2020-01-01T00:00:00Z".parse().unwrap(), ..after };
    let held = first(broken(), unit(Activity::Failed), &history, &back);
    assert!(matches!(held, Decision::Hold(Hold::BackOff(_))), "a clock that went back allows nothing: {held:?}");
}

/// What happens in one minute.
#[derive(Debug, Clone, Copy)]
struct Minute {
    activities: [Activity; 2],
    are_broken: [bool; 2],
    reboots: bool,
}

fn minute() -> impl Strategy<Value = Minute> {
    let activity = || {
        prop_oneof![4 => Just(Activity::Active), 4 => Just(Activity::Failed), 1 => Just(Activity::Stopped),
            1 => Just(Activity::Changing), 1 => Just(Activity::Unknown)]
    };
    let broken = || prop::bool::weighted(0.9);
    ([activity(), activity()], [broken(), broken()], prop::bool::weighted(0.01))
        .prop_map(|(activities, are_broken, reboots)| Minute { activities, are_broken, reboots })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_history_breaks_a_bound(minutes in vec(minute(), 1..600)) {
        let settings = settings();
        let (mut history, mut done, mut boot, mut booted) = (History::default(), Vec::new(), 0, 0);
        for (n, minute) in (0_u32..).zip(minutes) {
            if minute.reboots {
                (boot, booted) = (boot + 1, n);
            }
            let boottime = MINUTE * (n - booted);
            let now = Moment { boottime, boot_id: boot.to_string(), wall: at(n).wall };
            let seen: Vec<_> = minute.activities.into_iter().zip(minute.are_broken)
                .map(|(activity, is_broken)| observed(broken().filter(|_| is_broken), unit(activity))).collect();
            let decisions = decide_all(&settings, &seen, &history, &now);
            let acts: Vec<usize> = (0..2).filter(|n| decisions[*n] == Decision::Repair).collect();
            prop_assert!(acts.len() <= 1, "two at once");
            for which in acts {
                prop_assert!(boottime >= settings.grace_after_boot);
                prop_assert!(matches!(minute.activities[which], Activity::Active | Activity::Failed));
                history.begin(&settings.units[which].unit, &now);
                done.push((n, which));
            }
            for (which, decision) in decisions.iter().enumerate() {
                match decision {
                    Decision::GiveUp => { history.give_up(&settings.units[which].unit, &now); }
                    Decision::Nothing => { history.is_healthy(&settings.units[which].unit); }
                    _ => {}
                }
            }
        }
        for pair in done.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= 2, "too close: {pair:?}");
        }
        for which in 0..2 {
            let times: Vec<u32> = done.iter().filter(|(_, of)| *of == which).map(|(n, _)| *n).collect();
            for four in times.windows(4) {
                prop_assert!(four[3] - four[0] >= 360, "more than three in six hours: {four:?}");
            }
        }
    }
}
