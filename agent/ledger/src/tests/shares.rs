//! What one user or unit may take of the node's limits, and what is left for others.

mod counting;
mod shipped;

use nodewell_model::{Condition, Event, Status};

use super::{
    reports::{broken, everything_of_disks, raid},
    *,
};
use crate::{Applied, ClearRequest, Limits, Rejection, Share};

const AMPLE: Share = Share { of_one: 1_000, of_granted: 1_000 };

fn limited(limits: Limits) -> Ledger {
    watched().with_limits(limits)
}

fn few() -> Limits {
    Limits { problem_share: AMPLE, subject_share: AMPLE, reason_share: AMPLE, ..Limits::default() }
}

/// One daemon more of `principal` reports these; why it is not taken.
fn flood(ledger: &mut Ledger, principal: &str, daemon: usize, conditions: Vec<Condition>) -> Option<Rejection> {
    let status = Status { source: format!("d{daemon}"), ..raid(conditions) };
    ledger.report(vec![status], &sender(principal, OnStale::Keep), at(6)).err().map(|refused| refused.why)
}

/// How many daemons with one fault each are taken, each of another subject.
fn taken(ledger: &mut Ledger, principal: &str) -> usize {
    (0..50).take_while(|n| flood(ledger, principal, *n, vec![broken(&format!("{principal}-{n}"), 5)]).is_none()).count()
}

fn by_reason(n: usize) -> Condition {
    Condition { reason: Name::new(&format!("Reason{n}")).unwrap(), ..broken("md0", 5) }
}

#[test]
fn who_floods_has_its_share_and_no_more() {
    let share = Share { of_one: 3, of_granted: 8 };
    let of_problems = |whose: &str| Rejection::ShareOfProblems(whose.into(), 3);
    let of_subjects = |whose: &str| Rejection::ShareOfSubjects(whose.into(), 3, broken("md0", 5).reason);
    let of_reasons = |whose: &str| Rejection::ShareOfReasons(whose.into(), 3, Name::fixed("DiskUnhealthy"));
    type ShareOf<'a> = &'a dyn Fn(&str) -> Rejection;
    let cases: [(Limits, ShareOf<'_>, bool); 3] = [
        (Limits { problem_share: share, ..few() }, &of_problems, false),
        (Limits { subject_share: share, ..few() }, &of_subjects, false),
        (Limits { reason_share: share, ..few() }, &of_reasons, true),
    ];
    for (limits, share_of, by_reasons) in cases {
        let mut ledger = limited(limits);
        let mut refused = |principal: &str, first: usize| {
            let fault = |n: usize| {
                if by_reasons { by_reason(first + n) } else { broken(&format!("{principal}-{n}"), 5) }
            };
            let taken = (0..50).take_while(|n| flood(&mut ledger, principal, *n, vec![fault(*n)]).is_none()).count();
            (taken, flood(&mut ledger, principal, 60, vec![fault(60)]))
        };
        assert_eq!(refused("uid:7", 100), (3, Some(share_of("uid:7"))));
        assert_eq!(refused("uid:8", 200), (3, Some(share_of("uid:8"))), "another one has its own");
        assert_eq!(refused("uid:9", 300), (2, Some(share_of("uid:9"))), "what all of them may take is used up");
        assert_eq!(refused("root", 400), (50, None), "root finds room");
        assert_eq!(ledger.apply(raise("sda", 7), at(7)), Ok(Applied::Started));
    }
}

#[test]
fn what_was_refused_finds_room_when_others_are_over() {
    let mut ledger = limited(Limits { problem_share: Share { of_one: 2, of_granted: 100 }, ..few() });
    assert_eq!(taken(&mut ledger, "uid:7"), 2);
    assert_eq!(flood(&mut ledger, "uid:7", 0, Vec::new()), None, "a heartbeat");
    assert_eq!(flood(&mut ledger, "uid:7", 0, vec![broken("uid:7-0", 6)]), None, "what is there already");
    let fine = Condition { status: ConditionStatus::False, ..broken("uid:7-0", 7) };
    assert_eq!(flood(&mut ledger, "uid:7", 0, vec![fine]), None);
    assert_eq!(flood(&mut ledger, "uid:7", 1, vec![broken("another", 8)]), None);
    assert!(flood(&mut ledger, "uid:7", 0, vec![broken("one more", 8)]).is_some());
}

/// A batch is counted as a whole.
#[test]
fn one_batch_passes_no_share() {
    let share = Share { of_one: 2, of_granted: 100 };
    for limits in [
        Limits { problem_share: share, ..few() },
        Limits { subject_share: share, ..few() },
        Limits { reason_share: share, ..few() },
    ] {
        let mut ledger = limited(limits);
        let faults = |count: usize| (0..count).map(|n| Condition { subject: Some(format!("md{n}")), ..by_reason(n) });
        let of_one_reason = |count: usize| (0..count).map(|n| broken(&format!("md{n}"), 5));
        let by = |count: usize| {
            if limits.subject_share == share { of_one_reason(count).collect() } else { faults(count).collect() }
        };
        assert!(flood(&mut ledger, "uid:7", 0, by(3)).is_some());
        assert_eq!(flood(&mut ledger, "uid:7", 0, by(2)), None);
    }
}

/// Two daemons of one user that name the same reason use it once.
#[test]
fn a_reason_counts_once() {
    let mut ledger = limited(Limits { reason_share: Share { of_one: 2, of_granted: 2 }, ..few() });
    for (principal, daemon, reason) in [("uid:7", 0, 1), ("uid:7", 1, 2), ("uid:7", 2, 1), ("uid:8", 0, 2)] {
        let fault = Condition { subject: Some(format!("{principal}-{daemon}")), ..by_reason(reason) };
        assert_eq!(flood(&mut ledger, principal, daemon, vec![fault]), None);
    }
    assert!(flood(&mut ledger, "uid:8", 1, vec![by_reason(3)]).is_some());
}

#[test]
fn daemons_of_others_leave_room_for_roots() {
    let mut ledger = limited(Limits { granted_daemons: 3, external_daemons: 5, ..few() });
    assert_eq!(taken(&mut ledger, "uid:7"), 3);
    assert_eq!(flood(&mut ledger, "uid:8", 0, Vec::new()), Some(Rejection::TooManyDaemons("d0@uid:8".into())));
    assert_eq!(taken(&mut ledger, "root"), 2);
}

/// Many daemons that claim what is broken already must not keep the kernel's own claim out: it is the one that stays.
#[test]
fn claims_of_peers_leave_room_for_those_of_rules() {
    let mut ledger = limited(Limits::default());
    let sda = || Condition { reason: Name::fixed("IOError"), ..broken("sda", 5) };
    let report = |ledger: &mut Ledger, principal: &str| {
        (0..64).map(|n| flood(ledger, principal, n, vec![sda()])).collect::<Vec<_>>()
    };
    for principal in ["uid:7", "uid:8"] {
        let refused = report(&mut ledger, principal);
        assert_eq!(refused.iter().filter(|refused| refused.is_none()).count(), 8, "{principal}");
        let share = Rejection::ShareOfClaims(principal.into(), 8, Name::fixed("IOError"));
        assert_eq!(refused.last(), Some(&Some(share)));
    }
    assert_eq!(flood(&mut ledger, "uid:7", 0, vec![sda()]), None, "the same again");
    assert_eq!(ledger.apply(raise("sda", 7), at(7)), Ok(Applied::Repeated));
    assert_eq!(flood(&mut ledger, "root", 0, vec![sda()]), None);
    for principal in ["uid:7", "uid:8", "root"] {
        for n in 0..64 {
            let last = Status { source: format!("d{n}"), last: true, ..raid(Vec::new()) };
            ledger.report(vec![last], &sender(principal, OnStale::Keep), at(8)).unwrap();
        }
    }
    assert_eq!(status(&mut ledger), ConditionStatus::True, "the disk is broken all the same");
}

/// All peers together, some of one batch, leave room too.
#[test]
fn claims_of_all_peers_leave_room_for_roots() {
    let mut ledger = limited(Limits { claim_share: Share { of_one: 4, of_granted: 6 }, claims: 8, ..few() });
    let batch = |count: usize| -> Vec<Status> {
        (0..count).map(|n| Status { source: format!("d{n}"), ..raid(vec![broken("sda", 5)]) }).collect()
    };
    let taken = |ledger: &mut Ledger, principal: &str, count: usize| {
        ledger.report(batch(count), &sender(principal, OnStale::Keep), at(6)).is_ok()
    };
    assert!(!taken(&mut ledger, "uid:7", 5));
    assert!(taken(&mut ledger, "uid:7", 4));
    assert!(!taken(&mut ledger, "uid:8", 3));
    assert!(taken(&mut ledger, "uid:8", 2));
    assert!(taken(&mut ledger, "root", 2));
}

#[test]
fn a_restart_knows_whose_the_reserve_is() {
    let share = Share { of_one: 2, of_granted: 2 };
    let mut ledger = limited(Limits { problem_share: share, ..few() });
    assert_eq!(taken(&mut ledger, "root"), 50);
    let mut ledger = Disk::of(&ledger).restart(BOOT, at(9)).with_limits(Limits { problem_share: share, ..few() });
    assert_eq!(taken(&mut ledger, "uid:7"), 2, "root's problems are not of their share");
    assert_eq!(taken(&mut ledger, "uid:8"), 0);
}

/// Names are for peers to choose, and a counter is for ever.
#[test]
fn reasons_of_peers_leave_room_for_counters_of_rules() {
    let counted_reasons = Share { of_one: 2, of_granted: 3 };
    let mut ledger = limited(Limits { counted_reasons, ..few() });
    let report = |ledger: &mut Ledger, principal: &str, reasons: std::ops::Range<usize>| {
        for n in reasons {
            let event = Event {
                reason: Name::new(&format!("Junk{n}")).unwrap(),
                severity: Severity::Warn,
                timestamp: wall(1),
                message: "m".into(),
                subject: None,
                seen_by: None,
            };
            let status = Status { source: "d".into(), events: vec![event], ..Status::default() };
            ledger.report(vec![status], &sender(principal, OnStale::Keep), at(6)).unwrap();
        }
    };
    let counters = |ledger: &Ledger| {
        let raised = ledger.counters().raised;
        raised.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    report(&mut ledger, "uid:7", 0..10);
    assert_eq!(counters(&ledger), "Junk0 1, Junk1 1, Others 8");
    report(&mut ledger, "uid:8", 10..20);
    assert_eq!(counters(&ledger), "Junk0 1, Junk1 1, Others 18", "Others is a counter, too");
    report(&mut ledger, "uid:8", 0..1);
    for reason in ["Ext4Error", "OOMKilling"] {
        let finding = Finding { condition: None, reason: Name::fixed(reason), ..raise("", 1) };
        ledger.apply(finding, at(1)).unwrap();
    }
    assert_eq!(counters(&ledger), "Ext4Error 1, Junk0 2, Junk1 1, OOMKilling 1, Others 18");
    report(&mut ledger, "root", 30..33);
    assert_eq!(counters(&ledger), "Ext4Error 1, Junk0 2, Junk1 1, Junk30 1, Junk31 1, OOMKilling 1, Others 19");
}

/// Whatever makes the event: a report of it, the start of a problem, or each way of its end.
#[test]
fn events_are_of_a_peer_by_its_rights_and_not_by_its_name() {
    for (principal, may_use_reserve) in [("uid:7", false), ("raid.service", true), ("raid.service", false)] {
        let sender = Sender { may_use_reserve, ..sender(principal, OnStale::Clear) };
        let mut ledger = watched();
        let mut report = |status: Status, secs| ledger.report(vec![status], &sender, at(secs)).unwrap();
        let event = Event {
            reason: Name::fixed("RaidChecked"),
            severity: Severity::Warn,
            timestamp: wall(1),
            message: "m".into(),
            subject: None,
            seen_by: None,
        };
        report(Status { events: vec![event], ..raid(vec![broken("md0", 5), broken("md1", 5), broken("md2", 5)]) }, 6);
        report(raid(vec![Condition { status: ConditionStatus::False, ..broken("md0", 7) }]), 7);
        report(Status { full: true, ..raid(vec![broken("md2", 5)]) }, 8);
        ledger.advance(at(100));
        let silent = ledger.take_events();
        let mut report = |status: Status, secs| ledger.report(vec![status], &sender, at(secs)).unwrap();
        report(raid(vec![broken("md3", 105)]), 106);
        report(Status { last: true, ..raid(Vec::new()) }, 107);
        let events = [silent, ledger.take_events()].concat();
        assert_eq!(events.len(), 1 + 4 + 4);
        assert!(events.iter().all(|event| event.from_peer != may_use_reserve), "{principal} {events:?}");
    }
}

/// It may do so as often as it likes.
#[test]
fn what_a_peer_clears_is_its_own_event() {
    for (peer, source) in [(Some("uid:7"), "nodewell@uid:7"), (None, "nodewell")] {
        let mut ledger = watched();
        ledger.apply(raise("sda", 1), at(1)).unwrap();
        ledger.take_events();
        assert_eq!(ledger.clear(&ClearRequest { peer: peer.map(Arc::from), ..everything_of_disks() }, at(2)), 1);
        let ended = ledger.take_events().remove(0);
        assert_eq!((ended.source.as_str(), ended.from_peer), (source, peer.is_some()));
    }
}

#[test]
fn what_rules_find_is_of_no_peer_also_where_peers_claimed_it() {
    let mut ledger = watched();
    flood(&mut ledger, "uid:7", 0, vec![Condition { reason: Name::fixed("IOError"), ..broken("sda", 5) }]);
    ledger.apply(raise("sda", 7), at(7)).unwrap();
    flood(&mut ledger, "uid:7", 0, vec![Condition { status: ConditionStatus::False, ..broken("sda", 8) }]);
    ledger.take_events();
    ledger.apply(clear("sda", 9), at(9)).unwrap();
    ledger.apply(raise("sda", 10), at(10)).unwrap();
    let events = ledger.take_events();
    assert!(events.len() == 2 && events.iter().all(|event| !event.from_peer), "{events:?}");
}
