//! How shares are counted: what a report ends makes room, and a batch costs one look.

use super::{super::reports::subjects, *};

/// What a report ends makes room for what it adds, also where nothing more is free.
#[test]
fn who_has_its_whole_share_may_exchange_it() {
    let share = Share { of_one: 2, of_granted: 2 };
    for limits in [Limits { subject_share: share, ..few() }, Limits { problem_share: share, ..few() }] {
        let mut ledger = limited(limits);
        let mut report = |conditions, full| {
            let status = Status { full, ..raid(conditions) };
            ledger.report(vec![status], &sender("uid:7", OnStale::Keep), at(6)).is_ok()
        };
        assert!(report(vec![broken("md0", 5), broken("md1", 5)], false));
        assert!(!report(vec![broken("md2", 5)], false), "one more");
        assert!(!report(vec![broken("md1", 5), broken("md2", 5), broken("md3", 5)], true), "more in exchange");
        assert!(report(vec![broken("md2", 5), broken("md3", 5)], true));
        let over = |subject: &str| Condition { status: ConditionStatus::False, ..broken(subject, 6) };
        assert!(report(vec![broken("md4", 5), over("md2")], false), "one over, one new");
        assert!(report(vec![broken("md4", 5), broken("md3", 5)], true), "the same again");
        assert_eq!(subjects(&mut ledger), ["md3", "md4"]);
    }
}

#[test]
fn reasons_may_be_exchanged_too() {
    let mut ledger = limited(Limits { reason_share: Share { of_one: 2, of_granted: 2 }, ..few() });
    let mut report = |reasons: &[usize]| {
        let conditions = reasons.iter().copied().map(by_reason).collect();
        ledger.report(vec![raid(conditions)], &sender("uid:7", OnStale::Keep), at(6)).is_ok()
    };
    assert!(report(&[1, 2]));
    assert!(!report(&[1, 2, 3]));
    assert!(report(&[3, 4]), "those of a subject are replaced");
    assert!(report(&[4, 5]));
}

/// Its daemons report in one batch: what one of them ends, another may have.
#[test]
fn daemons_of_one_batch_may_hand_over() {
    let mut ledger = limited(Limits { problem_share: Share { of_one: 1, of_granted: 1 }, ..few() });
    let named = |source: &str, conditions| Status { source: source.into(), full: true, ..raid(conditions) };
    let mut report = |batch| ledger.report(batch, &sender("uid:7", OnStale::Keep), at(6)).is_ok();
    assert!(report(vec![named("old", vec![broken("md0", 5)])]));
    assert!(!report(vec![named("new", vec![broken("md1", 5)])]));
    assert!(report(vec![named("new", vec![broken("md1", 5)]), named("old", Vec::new())]));
}

/// One daemon's flood that is refused again and again must not cost a look at everyone's claims for each entry.
#[test]
fn a_batch_costs_one_look_at_the_claims_however_long_it_is() {
    let mut ledger = limited(Limits::default());
    let alike = |principal: &str, count: usize| -> Vec<Condition> {
        (0..count).map(|n| broken(&format!("{principal}-{n}"), 5)).collect()
    };
    assert_eq!(flood(&mut ledger, "uid:8", 0, alike("uid:8", 250)), None);
    let walked = |ledger: &Ledger, conditions| ledger.walked_for(&[raid(conditions)], &sender("uid:7", OnStale::Keep));
    assert_eq!(walked(&ledger, alike("uid:7", 6)), 0, "far from the share");
    for count in [10, 50, 200] {
        assert_eq!(walked(&ledger, alike("uid:7", count)), 250 + count);
    }
    let mut ledger = limited(Limits::default());
    let reasons = |first: usize, count: usize| (first..first + count).map(by_reason).collect();
    assert_eq!(flood(&mut ledger, "uid:8", 0, reasons(100, 40)), None);
    for count in [30, 60] {
        assert_eq!(walked(&ledger, reasons(0, count)), 40 + count);
    }
}

/// Near the share of each of many reasons, too.
#[test]
fn a_batch_of_many_reasons_costs_one_look() {
    let mut ledger = limited(Limits { subject_share: Share { of_one: 4, of_granted: 100 }, ..few() });
    let grid = |principal: &str, subjects: usize, reasons: usize| -> Vec<Condition> {
        let fault =
            |n: usize| Condition { subject: Some(format!("{principal}-{}", n / reasons)), ..by_reason(n % reasons) };
        (0..subjects * reasons).map(fault).collect()
    };
    assert_eq!(flood(&mut ledger, "uid:8", 0, grid("uid:8", 4, 20)), None);
    for count in [1, 5, 20] {
        let report = raid(grid("uid:7", 1, count));
        assert_eq!(ledger.walked_for(&[report], &sender("uid:7", OnStale::Keep)), 80 + count);
    }
}

/// Their gauges stay; they are no reason to count.
#[test]
fn reasons_that_are_over_bring_no_share_nearer() {
    let mut ledger = limited(Limits::default());
    for n in 0..100 {
        let finding = |finding: Finding| Finding { reason: Name::new(&format!("Rule{n}")).unwrap(), ..finding };
        ledger.apply(finding(raise("sda", 1)), at(1)).unwrap();
        ledger.apply(finding(clear("sda", 2)), at(2)).unwrap();
    }
    let walked = ledger.walked_for(&[raid(vec![broken("md0", 5)])], &sender("uid:7", OnStale::Keep));
    assert_eq!(walked, 0);
}

#[test]
fn what_is_too_much_for_one_daemon_is_refused_before_its_entries_are_looked_at() {
    let mut ledger = limited(Limits { problem_share: Share { of_one: 1, of_granted: 1 }, ..few() });
    let unknown = Condition { condition: Name::fixed("NoSuchCondition"), ..broken("md0", 5) };
    let many = [unknown].into_iter().chain((0..256).map(|n| broken(&format!("md{n}"), 5))).collect();
    assert_eq!(flood(&mut ledger, "uid:7", 0, many), Some(Rejection::TooManySubjects("d0@uid:7".into(), 256)));
}

/// What several entries of a batch name is one problem, and one reason.
#[test]
fn a_batch_needs_room_once_for_what_it_names_twice() {
    let mut ledger = limited(Limits { problems: 3, reasons: 2, ..few() });
    let of = |daemon: &str, conditions| Status { source: daemon.into(), ..raid(conditions) };
    let mut report = |batch| ledger.report(batch, &sender("root", OnStale::Keep), at(6)).map_err(|refused| refused.why);
    let other = || Condition { subject: Some("md1".into()), ..by_reason(2) };
    let first = vec![broken("md0", 5), broken("md1", 5), other()];
    assert_eq!(report(vec![of("a", first.clone()), of("b", first)]), Ok(()));
    assert_eq!(report(vec![of("c", vec![broken("md2", 5)])]), Err(Rejection::TooManyProblems));
    let last = |daemon: &str| Status { last: true, ..of(daemon, Vec::new()) };
    assert_eq!(report(vec![last("a"), last("b")]), Ok(()));
    let three = vec![by_reason(1), by_reason(2), by_reason(3)];
    assert_eq!(report(vec![of("c", three)]), Err(Rejection::TooManyReasons(Name::fixed("DiskUnhealthy"))));
}
