//! Merging and limits on made-up time.

mod senders;

use nodewell_model::{BootId, Origin};

use super::*;

const fn at(secs: u64) -> Duration {
    Duration::from_secs(1000 + secs)
}

fn now(secs: u64) -> Now {
    let wall = Timestamp::from_second(1_700_000_000 + i64::try_from(secs).unwrap()).unwrap();
    Now { wall, boottime: at(secs) }
}

fn record(sequence: u64, reason: &'static str, subject: &str) -> EventRecord {
    let boot_id = BootId::default();
    let time = Timestamp::from_second(i64::try_from(sequence).unwrap()).unwrap();
    EventRecord {
        id: sequence,
        origin: Origin::Kmsg { boot_id, sequence },
        boot_id: Some(boot_id),
        severity: Severity::Error,
        time,
        last_time: time,
        reason: Name::fixed(reason),
        message: format!("message {sequence}"),
        subject: Some(subject.to_owned()),
        source: "kernel-monitor".into(),
        pod_uid: None,
        from_peer: false,
        condition: None,
        count: 1,
        test: false,
    }
}

fn aggregate() -> Aggregate {
    Aggregate::new(EventLimits::default())
}

fn ready(aggregate: &mut Aggregate, now: u64) -> Option<Delivery> {
    match aggregate.next(at(now)) {
        Next::Send(delivery) => Some(*delivery),
        _ => None,
    }
}

/// Delivers all that no limit holds back; what was written: (created before, count).
fn drain(aggregate: &mut Aggregate, now: u64) -> Vec<(bool, u64)> {
    let mut written = Vec::new();
    while let Some(delivery) = ready(aggregate, now) {
        aggregate.delivered(&delivery, at(now));
        written.push((delivery.created, delivery.count));
    }
    written
}

#[test]
fn identical_events_become_one_object_with_an_absolute_count() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    assert_eq!(drain(&mut events, 0), [(false, 1)]);
    events.add(record(2, "IOError", "sda"), now(1));
    events.add(EventRecord { count: 40, ..record(3, "IOError", "sda") }, now(1));
    let count = ready(&mut events, 1).unwrap();
    assert_eq!((count.created, count.count, count.message.as_str()), (true, 42, "message 3"));
    assert_eq!((count.first.id, count.last_time.as_second()), (1, 3));
}

#[test]
fn different_subjects_reasons_conditions_and_severities_are_different_objects() {
    let mut events = aggregate();
    let base = record(1, "IOError", "sda");
    events.add(base.clone(), now(0));
    events.add(record(1, "IOError", "sdb"), now(0));
    events.add(record(1, "AtaError", "sda"), now(0));
    events.add(EventRecord { condition: Some(Name::fixed("DiskUnhealthy")), ..base.clone() }, now(0));
    events.add(EventRecord { severity: Severity::Info, ..base.clone() }, now(0));
    events.add(EventRecord { source: "other".into(), ..base }, now(0));
    let hashes: std::collections::BTreeSet<u64> =
        std::iter::from_fn(|| ready(&mut events, 0).inspect(|delivery| events.delivered(delivery, at(0))))
            .map(|delivery| delivery.hash)
            .collect();
    assert_eq!(hashes.len(), 6, "one record, six events, six names");
}

#[test]
fn the_same_record_makes_the_same_name() {
    let hash_of = |record| {
        let mut events = aggregate();
        events.add(record, now(0));
        ready(&mut events, 0).unwrap().hash
    };
    assert_eq!(hash_of(record(7, "IOError", "sda")), hash_of(record(7, "IOError", "sda")));
    assert_ne!(hash_of(record(7, "IOError", "sda")), hash_of(record(8, "IOError", "sda")));
}

#[test]
fn after_an_hour_a_new_object_begins_and_the_old_one_is_still_delivered() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    events.add(record(2, "IOError", "sda"), now(3599));
    events.add(record(3, "IOError", "sda"), now(3600));
    assert_eq!(drain(&mut events, 3600), [(false, 2), (false, 1)]);
    assert_eq!(events.series.len(), 1, "the closed one is forgotten");
}

#[test]
fn a_subject_may_write_five_times_and_then_once_a_minute_and_nothing_is_uncounted() {
    let mut events = aggregate();
    let mut written = Vec::new();
    for second in 0..240 {
        events.add(record(second + 1, "IOError", "sda"), now(second));
        written.extend(drain(&mut events, second).into_iter().map(|(_, count)| (second, count)));
    }
    assert_eq!(written, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (60, 61), (120, 121), (180, 181)]);
    assert_eq!(drain(&mut events, 240), [(true, 240)]);
}

#[test]
fn the_global_limit_holds_and_a_flood_of_one_reason_hides_no_other() {
    let mut events = aggregate();
    for n in 1..=3000 {
        events.add(record(n, "IOError", &format!("sd{n}")), now(0));
    }
    assert_eq!(drain(&mut events, 0).len(), 50 + 5, "the global burst, then the reason's reserve");
    assert!(matches!(events.next(at(0)), Next::At(_)));
    events.add(record(9000, "KernelOops", "cpu"), now(0));
    assert_eq!(ready(&mut events, 0).unwrap().first.reason.as_str(), "KernelOops");
    drain(&mut events, 0);
    assert_eq!(drain(&mut events, 1).len(), 10);
}

#[test]
fn events_go_out_in_order_of_time() {
    let mut events = aggregate();
    for sequence in [5, 3, 4] {
        events.add(record(sequence, "IOError", &sequence.to_string()), now(0));
    }
    let order: Vec<u64> =
        std::iter::from_fn(|| ready(&mut events, 0).inspect(|delivery| events.delivered(delivery, at(0))))
            .map(|delivery| delivery.first.id)
            .collect();
    assert_eq!(order, [3, 4, 5]);
}

#[test]
fn what_came_in_during_a_request_is_sent_after_it() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    let first = ready(&mut events, 0).unwrap();
    events.add(record(2, "IOError", "sda"), now(0));
    events.delivered(&first, at(0));
    assert_eq!(drain(&mut events, 0), [(true, 2)]);
}

#[test]
fn an_event_that_existed_is_delivered_and_a_higher_count_is_written_over_it() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    let once = ready(&mut events, 0).unwrap();
    events.existed(&once, 1, at(0));
    assert_eq!(events.waiting(), 0);
    events.add(EventRecord { count: 3, ..record(2, "AtaError", "sda") }, now(0));
    let thrice = ready(&mut events, 0).unwrap();
    events.existed(&thrice, 2, at(0));
    assert_eq!(drain(&mut events, 0), [(true, 3)]);
}

#[test]
fn a_higher_count_of_an_agent_before_us_is_never_lowered() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    let first = ready(&mut events, 0).unwrap();
    events.existed(&first, 4, at(0));
    for sequence in 2..=4 {
        events.add(record(sequence, "IOError", "sda"), now(0));
    }
    assert_eq!(drain(&mut events, 0), [], "the same four, read again");
    events.add(record(5, "IOError", "sda"), now(0));
    assert_eq!(drain(&mut events, 0), [(true, 5)]);
}

#[test]
fn an_event_under_way_is_not_given_up_for_others() {
    let mut events = Aggregate::new(EventLimits { outbox: 1, ..EventLimits::default() });
    events.add(record(1, "IOError", "sda"), now(0));
    let under_way = ready(&mut events, 0).unwrap();
    assert_eq!(events.add(record(2, "AtaError", "sda"), now(0)), 1, "the newcomer goes");
    events.delivered(&under_way, at(0));
    events.add(record(3, "IOError", "sda"), now(0));
    assert_eq!(drain(&mut events, 0), [(true, 2)]);
}

#[test]
fn an_event_that_vanished_is_made_again() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    drain(&mut events, 0);
    events.add(record(2, "IOError", "sda"), now(0));
    let count = ready(&mut events, 0).unwrap();
    events.vanished(&count);
    assert_eq!(drain(&mut events, 0), [(false, 2)]);
}

#[test]
fn a_full_outbox_counts_what_it_gives_up() {
    let mut events = Aggregate::new(EventLimits { outbox: 2, ..EventLimits::default() });
    events.add(record(1, "IOError", "sda"), now(0));
    events.add(EventRecord { severity: Severity::Info, count: 7, ..record(2, "KubeletStart", "k") }, now(0));
    assert_eq!(events.add(record(3, "AtaError", "sda"), now(0)), 7);
    assert_eq!(drain(&mut events, 0).len(), 2);
}

#[test]
fn a_refused_event_is_lost_and_counted_and_the_queue_goes_on() {
    let mut events = aggregate();
    events.add(EventRecord { count: 4, ..record(1, "IOError", "sda") }, now(0));
    events.add(record(2, "AtaError", "sda"), now(0));
    let bad = ready(&mut events, 0).unwrap();
    assert_eq!(events.rejected(&bad, at(0)), 4);
    assert_eq!(drain(&mut events, 0), [(false, 1)]);
}

#[test]
fn a_server_that_refuses_everything_is_asked_no_more_often_than_one_that_takes_it() {
    let mut events = aggregate();
    let mut asked = 0;
    for n in 1..=3000 {
        events.add(record(n, "IOError", &format!("sd{n}")), now(0));
    }
    while let Some(delivery) = ready(&mut events, 0) {
        events.rejected(&delivery, at(0));
        asked += 1;
    }
    assert_eq!(asked, 50 + 5, "the global burst, then the reason's reserve");
}

#[test]
fn another_node_object_gets_new_events() {
    let mut events = aggregate();
    events.add(record(1, "IOError", "sda"), now(0));
    drain(&mut events, 0);
    events.start_over();
    events.add(record(2, "IOError", "sda"), now(0));
    assert_eq!(drain(&mut events, 0), [(false, 1)]);
}

#[test]
fn memory_is_bounded_in_a_flood_of_distinct_events() {
    let mut events = Aggregate::new(EventLimits { outbox: 64, ..EventLimits::default() });
    let mut lost = 0;
    let mut delivered = 0;
    for n in 1..=20_000 {
        lost += events.add(record(n, "IOError", &format!("sd{n}")), now(n / 10));
        delivered += drain(&mut events, n / 10).iter().map(|(_, count)| count).sum::<u64>();
    }
    assert!(events.series.len() <= 64 + REMEMBERED_LIMIT + 1);
    let waiting: u64 = events.series.values().map(|series| series.count - series.sent).sum();
    assert_eq!(lost + delivered + waiting, 20_000, "all are seen, counted or waiting");
}

/// A kill of a pod whose name is not known yet, and the same kill read again when it is, or the other way round.
#[test]
fn an_event_of_a_pod_is_the_same_by_whichever_name() {
    let kill = |n: u64, subject: &str, uid: &str| EventRecord {
        pod_uid: Some(uid.to_owned()),
        ..record(n, "OOMKilling", subject)
    };
    let (by_name, by_uid) = (kill(1, "default/web-0", "u-1"), kill(1, "u-1", "u-1"));
    assert_eq!(series::hash(&by_name), series::hash(&by_uid), "the same Event's name");
    assert_ne!(series::hash(&by_name), series::hash(&kill(1, "default/web-0", "u-2")));
    let mut events = aggregate();
    events.add(by_uid, now(0));
    events.add(kill(2, "default/web-0", "u-1"), now(1));
    events.add(kill(3, "default/web-1", "u-2"), now(2));
    assert_eq!(events.series.len(), 2, "one for each pod");
}

/// Its reasons are its own to invent, its severity is its word, and its names may be those of others.
#[test]
fn a_peer_that_floods_delays_no_other_reporter() {
    let mut events = aggregate();
    let of_peer = |n: u64, reason: &str, peer: &str| EventRecord {
        source: format!("d@{peer}"),
        from_peer: true,
        severity: Severity::Critical,
        reason: Name::new(reason).unwrap(),
        ..record(n, "IOError", "sda")
    };
    for n in 1..=5000 {
        events.add(of_peer(n, &format!("Junk{n}"), "uid:7"), now(0));
    }
    assert_eq!(drain(&mut events, 0).len(), 25, "its burst; no reserve for what it has invented");
    events.add(of_peer(6000, "Other", "uid:8"), now(0));
    assert!(matches!(events.next(at(0)), Next::At(_)), "all peers together have used up theirs");
    for n in 0..20 {
        events.add(record(7000 + n, "Ext4Error", &format!("sd{n}")), now(0));
    }
    assert_eq!(drain(&mut events, 0).len(), 20, "what is ours goes out at once");
    let mut written = 0;
    for second in 1..=60 {
        events.add(of_peer(8000 + second, &format!("More{second}"), "uid:7"), now(second));
        events.add(record(9000 + second, "Ext4Error", &format!("nvme{second}")), now(second));
        let deliveries: Vec<Delivery> = std::iter::from_fn(|| {
            ready(&mut events, second).inspect(|delivery| events.delivered(delivery, at(second)))
        })
        .collect();
        assert!(deliveries.iter().any(|one| one.first.subject == Some(format!("nvme{second}"))), "{second}");
        written += deliveries.iter().filter(|one| one.first.source == "d@uid:7").count();
    }
    assert_eq!(written, 60, "one a second");
}

#[test]
fn a_peer_uses_up_no_subject_of_another_reporter() {
    let mut events = aggregate();
    for n in 1..=10 {
        events.add(EventRecord { source: "d@uid:7".into(), from_peer: true, ..record(n, "IOError", "sda") }, now(0));
        drain(&mut events, 0);
    }
    events.add(record(20, "IOError", "sda"), now(0));
    assert_eq!(drain(&mut events, 0), [(false, 1)]);
}

/// Repetitions are counted on the Event that there is.
#[test]
fn what_peers_invent_makes_no_series_of_others_forgotten() {
    let mut events = aggregate();
    events.add(record(1, "Ext4Error", "sda"), now(0));
    drain(&mut events, 0);
    for n in 0..3000 {
        let reason = Name::new(&format!("Junk{n}")).unwrap();
        events.add(
            EventRecord { source: "d@uid:7".into(), from_peer: true, reason, ..record(n + 2, "IOError", "sda") },
            now(n),
        );
        drain(&mut events, n);
    }
    events.add(record(9000, "Ext4Error", "sda"), now(3000));
    assert!(drain(&mut events, 3000).contains(&(true, 2)), "it is counted on, and no new Event begins");
}
