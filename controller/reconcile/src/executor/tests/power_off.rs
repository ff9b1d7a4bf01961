//! Power off: what proves it, and what does not.

use std::time::Duration;

use nodewell_remediation::{
    action::{Done, Failed},
    api::fence::IntendedOp,
    facts::{LeaseView, Node},
    snapshot::PowerState::{self, Off, On, Unknown},
};

use super::{
    double::Double,
    stage::{EPOCH, Stage, lease, node},
};
use crate::cluster::LeaseKind;

/// How often its BMC was asked until Off was proven.
async fn asked_until_proven(reports: &[PowerState]) -> usize {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.bmc(reports.iter().copied());
    let outcome = stage.perform().await;
    assert!(matches!(outcome, Ok(Done::Off(_))), "{reports:?}: {outcome:?}");
    let names = stage.names();
    let order = names.iter().position(|call| call == "off").expect("it was ordered off");
    assert!(!names[..order].contains(&"read".to_owned()), "a reading of before the order proves nothing of it");
    names.iter().filter(|call| *call == "read").count()
}

#[tokio::test(start_paused = true)]
async fn off_is_proven_by_two_readings_a_second_apart_after_the_order() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    let Ok(Done::Off(confirmation)) = stage.perform().await else { panic!("{:?}", stage.names()) };
    assert_eq!((confirmation.reads, confirmation.boot_id.as_str(), confirmation.epoch), (2, "old", EPOCH));
    let (order, reads) = (stage.times("off")[0], stage.times("read"));
    assert!(reads.len() == 2 && reads[0] >= order && reads[1] - reads[0] >= Duration::from_secs(1), "{reads:?}");
    assert_eq!(confirmation.at, stage.clock.wall(), "the newest of them");
}

/// On, or a state that is neither, takes back what was read before.
#[tokio::test(start_paused = true)]
async fn off_is_proven_by_two_readings_with_nothing_else_between_them() {
    let tables: [(&[PowerState], usize); 8] = [
        (&[Off, Off], 2),
        (&[On, Off, Off], 3),
        (&[Unknown, Off, Off], 3),
        (&[Off, On, Off, Off], 4),
        (&[Off, Unknown, Off, Off], 4),
        (&[Unknown, Unknown, Off, Off], 4),
        (&[Off, Unknown, Off, On, Off, Off], 6),
        (&[Off, On, On, Off, Unknown, Off, Off], 7),
    ];
    for (reports, asked) in tables {
        assert_eq!(asked_until_proven(reports).await, asked, "{reports:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_never_reports_off_twice_proves_nothing() {
    let turns: [[PowerState; 2]; 4] = [[On, On], [Unknown, Unknown], [Off, On], [Unknown, Off]];
    for turn in turns {
        let stage = Stage::of(IntendedOp::PowerOff).await;
        stage.bmc(turn.into_iter().cycle().take(400));
        assert_eq!(stage.perform().await, Err(Failed::Timeout(Duration::from_secs(60))), "{turn:?}");
        assert!(stage.times("read").len() >= 60, "{turn:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_takes_its_time_is_asked_twice_all_the_same() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.double.truth.borrow_mut().slow.insert("read", Duration::from_secs(12));
    assert!(matches!(stage.perform().await, Ok(Done::Off(_))));
    assert_eq!(stage.times("read").len(), 2);
}

/// 30 s are the most that a reading is waited for.
#[tokio::test(start_paused = true)]
async fn a_bmc_that_answers_too_late_reports_nothing() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.double.truth.borrow_mut().slow.insert("read", Duration::from_secs(40));
    assert_eq!(stage.perform().await, Err(Failed::Timeout(Duration::from_secs(60))));
}

/// The loop asks beside this, and gets On: whichever caller asked, it was On.
#[tokio::test(start_paused = true)]
async fn on_that_another_caller_was_reported_breaks_the_proof() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    let (cache, clock) = (stage.cache.clone(), stage.clock);
    let double = Double::new(
        stage.double.truth.take(),
        Box::new(move |call, before, _| {
            if (call, before) == ("read", 1) {
                cache.gather("n", |gathered| gathered.last_on_answer = Some(clock.moment()));
            }
        }),
    );
    let stage = Stage { double, ..stage };
    assert!(matches!(stage.perform().await, Ok(Done::Off(_))));
    assert!(stage.times("read").len() >= 4, "{:?}", stage.names());
}

#[tokio::test(start_paused = true)]
async fn an_order_that_failed_is_followed_by_no_proof() {
    for failed in [Failed::Refused("no".into()), Failed::InDoubt("?".into()), Failed::NotBegun("lease".into())] {
        let stage = Stage::of(IntendedOp::PowerOff).await;
        stage.double.truth.borrow_mut().order = Some(failed.clone());
        assert_eq!(stage.perform().await, Err(failed));
        assert!(stage.times("read").is_empty());
    }
}

/// Its BMC reports On for ever, and from the sixth second on the Node names this boot; its Lease is renewed every ten
/// seconds, or once.
async fn with_a_boot(boot_id: &'static str, renews: bool) -> (Result<Done, Failed>, Duration) {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.bmc(std::iter::repeat_n(On, 400));
    let (cache, clock) = (stage.cache.clone(), stage.clock);
    let double = Double::new(
        stage.double.truth.take(),
        Box::new(move |call, before, _| {
            if call != "read" || before < 5 {
                return;
            }
            let resource_version = format!("{}", 100 + before);
            cache.apply_node(Node { boot_id: boot_id.into(), resource_version: resource_version.clone(), ..node() });
            if before == 5 || renews && before.is_multiple_of(10) {
                let renewed = Some(clock.wall());
                cache.apply_lease(LeaseKind::Kubelet, "n", LeaseView { renewed, resource_version, ..lease() });
            }
        }),
    );
    let (stage, began) = (Stage { double, ..stage }, clock.moment());
    let outcome = stage.perform().await;
    (outcome, clock.moment().since(began))
}

/// Power that comes back by itself: Off is never read, and the minute is not waited for.
#[tokio::test(start_paused = true)]
async fn a_new_boot_that_renews_its_lease_twice_ends_the_wait() {
    let (outcome, elapsed) = with_a_boot("new", true).await;
    assert_eq!(outcome, Ok(Done::Booted));
    assert!((10..30).contains(&elapsed.as_secs()), "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_is_not_another_or_that_speaks_once_ends_nothing() {
    for (boot_id, renews) in [("old", true), ("new", false), ("", true)] {
        let (outcome, _) = with_a_boot(boot_id, renews).await;
        assert_eq!(outcome, Err(Failed::Timeout(Duration::from_secs(60))), "{boot_id:?}, {renews}");
    }
}
