//! Several reasons of one subject, figures that change, and counts of devices, by example.

use nodewell_model::{Condition, Hardware, Origin, Status, view::HardwareView};

use super::{
    reports::{broken, condition, raid, take},
    *,
};

fn fault(reason: &'static str, subject: &str, secs: i64) -> Condition {
    Condition { reason: Name::fixed(reason), ..broken(subject, secs) }
}

fn reasons(ledger: &mut Ledger) -> Vec<String> {
    let mut reasons: Vec<_> = disk(ledger).problems.iter().map(|problem| problem.reason.to_string()).collect();
    reasons.sort();
    reasons
}

fn disks(total: u32, lost: u32) -> Hardware {
    let states = (lost > 0).then(|| ("lost".to_owned(), lost)).into_iter().collect();
    Hardware { class: "disks".to_owned(), total, states, ..Hardware::default() }
}

fn counting(source: &str, hardware: Vec<Hardware>) -> Status {
    Status { source: source.to_owned(), hardware: Some(hardware), ..raid(Vec::new()) }
}

#[test]
fn one_subject_may_have_several_faults_and_each_ends_by_itself() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![fault("SpareLow", "nvme0", 5), fault("ReadOnly", "nvme0", 6)]), 7);
    assert_eq!(reasons(&mut ledger), ["ReadOnly", "SpareLow"]);
    let view = disk(&mut ledger);
    assert_eq!((view.reason.as_str(), view.transition), ("SpareLow", wall(5)), "the oldest of the worst");
    assert!(view.message.ends_with("; also ReadOnly nvme0"), "{}", view.message);
    take(&mut ledger, raid(vec![fault("ReadOnly", "nvme0", 6)]), 9);
    assert_eq!(reasons(&mut ledger), ["ReadOnly"]);
    let events = ledger.take_events();
    let last = events.last().unwrap();
    assert_eq!(last.message, "SpareLow on nvme0 is over: its daemon no longer reports it");
    assert_eq!((last.reason.as_str(), last.time, events.len()), ("ProblemEnded", wall(9), 3));
}

#[test]
fn faults_that_stay_are_not_touched_by_those_that_come() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![fault("SpareLow", "nvme0", 5)]), 6);
    ledger.take_events();
    take(&mut ledger, raid(vec![fault("SpareLow", "nvme0", 5), fault("ReadOnly", "nvme0", 8)]), 8);
    let events = ledger.take_events();
    assert_eq!((events.len(), events[0].reason.as_str()), (1, "ReadOnly"));
    assert!(disk(&mut ledger).problems.iter().all(|problem| problem.count == 1));
}

#[test]
fn false_ends_every_reason_and_unknown_doubts_every_one() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![fault("SpareLow", "nvme0", 5), fault("ReadOnly", "nvme0", 6)]), 7);
    take(&mut ledger, raid(vec![condition(Some("nvme0"), ConditionStatus::Unknown, 8)]), 8);
    let unconfirmed = |problem: &nodewell_model::view::ProblemView| problem.unconfirmed_since == Some(wall(8));
    assert!(disk(&mut ledger).problems.iter().all(unconfirmed) && reasons(&mut ledger).len() == 2);
    take(&mut ledger, raid(vec![condition(Some("nvme0"), ConditionStatus::False, 9)]), 9);
    assert_eq!((status(&mut ledger), reasons(&mut ledger).len()), (ConditionStatus::False, 0));
}

#[test]
fn ends_by_one_report_are_events_of_their_own_even_with_an_id() {
    let mut ledger = ledger();
    let all = ["SpareLow", "ReadOnly", "WornOut"].map(|reason| fault(reason, "nvme0", 5)).to_vec();
    take(&mut ledger, raid(all), 6);
    ledger.take_events();
    let fine = raid(vec![condition(Some("nvme0"), ConditionStatus::False, 9)]);
    take(&mut ledger, Status { id: Some("9".to_owned()), ..fine }, 9);
    let events = ledger.take_events();
    let mut origins: Vec<&Origin> = events.iter().map(|event| &event.origin).collect();
    origins.dedup();
    assert_eq!(origins.len(), 3, "who delivers them takes two of one origin for one");
}

#[test]
fn what_a_person_clears_of_several_is_only_what_was_meant() {
    let mut ledger = ledger();
    let both = || raid(vec![fault("SpareLow", "nvme0", 5), fault("ReadOnly", "nvme0", 6)]);
    take(&mut ledger, both(), 7);
    let spare = crate::ClearRequest {
        condition: Name::fixed("DiskUnhealthy"),
        reason: Some(Name::fixed("SpareLow")),
        subject: None,
        id: None,
        evidence: None,
        if_unchanged_since: None,
        peer: None,
    };
    assert_eq!(ledger.clear(&spare, at(8)), 1);
    assert_eq!(reasons(&mut ledger), ["ReadOnly"]);
    take(&mut ledger, both(), 9);
    assert_eq!(reasons(&mut ledger).len(), 2);
}

#[test]
fn other_figures_are_shown_and_are_no_news_for_the_disk() {
    let mut ledger = ledger();
    let hot = |celsius: i64, secs| Condition { message: format!("{celsius} degrees"), ..fault("Hot", "nvme0", secs) };
    take(&mut ledger, raid(vec![hot(81, 5)]), 6);
    ledger.take_rows();
    for secs in 7..40 {
        take(&mut ledger, raid(vec![hot(75 + secs, 5)]), secs);
        assert_eq!(disk(&mut ledger).message, format!("nvme0: {} degrees", 75 + secs));
    }
    assert_eq!((ledger.take_rows(), disk(&mut ledger).problems[0].count), (Vec::new(), 1));
    take(&mut ledger, raid(vec![Condition { message: "on fire".to_owned(), ..hot(0, 5) }]), 41);
    assert_eq!(ledger.take_rows().len(), 2, "other words: the claim, and the id of its report");
}

#[test]
fn what_is_well_costs_nothing_however_it_is_worded() {
    let mut ledger = ledger();
    let fine = |message: &str| Condition {
        message: message.to_owned(),
        ..condition(Some("nvme0"), ConditionStatus::False, 5)
    };
    take(&mut ledger, raid(vec![fine("31 degrees")]), 6);
    ledger.take_rows();
    let version = ledger.version();
    for message in ["32 degrees", "17 % worn", "31 degrees"] {
        take(&mut ledger, raid(vec![fine(message)]), 20);
    }
    assert_eq!((ledger.version(), ledger.take_rows()), (version, Vec::new()));
    assert_eq!(disk(&mut ledger).message, "nothing is wrong");
}

#[test]
fn devices_are_added_up_by_class_and_stay_while_their_daemon_is_silent() {
    let mut ledger = ledger();
    take(&mut ledger, counting("raid", vec![disks(4, 1)]), 1);
    let fans = Hardware { class: "Fans".to_owned(), ..disks(3, 0) };
    take(&mut ledger, counting("smart", vec![disks(2, 1), fans]), 9);
    let shown = |ledger: &Ledger| -> Vec<(String, u32, u32, Option<Timestamp>)> {
        let row = |one: HardwareView| (one.class, one.total, one.healthy, one.unconfirmed_since);
        ledger.hardware().into_iter().map(row).collect()
    };
    let all = |since| vec![("disks".to_owned(), 6, 4, since), ("Fans".to_owned(), 3, 3, None)];
    assert_eq!(shown(&ledger), all(None));
    assert_eq!(ledger.hardware()[0].states["lost"], 2);
    take(&mut ledger, raid(Vec::new()), 10);
    assert_eq!(shown(&ledger), all(None), "a heartbeat takes nothing back");
    let smart = Status { source: "smart".to_owned(), ..raid(Vec::new()) };
    take(&mut ledger, smart, 20);
    ledger.advance(at(45));
    assert_eq!(shown(&ledger), all(Some(wall(40))));
    take(&mut ledger, Status { last: true, ..raid(Vec::new()) }, 46);
    assert_eq!(shown(&ledger), [("disks".to_owned(), 2, 1, None), ("Fans".to_owned(), 3, 3, None)]);
    take(&mut ledger, Status { source: "smart".to_owned(), full: true, ..raid(Vec::new()) }, 47);
    assert_eq!(shown(&ledger), []);
}

#[test]
fn a_fact_about_the_host_is_no_device_unless_a_daemon_counts_devices_of_that_name() {
    let mut ledger = ledger();
    let fact = Hardware { class: "reboots".to_owned(), informational: true, ..disks(1, 0) };
    take(&mut ledger, counting("raid", vec![disks(4, 1), fact.clone()]), 1);
    let shown = |ledger: &Ledger| ledger.hardware().iter().map(|one| one.informational).collect::<Vec<_>>();
    assert_eq!(shown(&ledger), [false, true]);
    take(&mut ledger, counting("smart", vec![Hardware { informational: false, ..fact }]), 2);
    assert_eq!(shown(&ledger), [false, false]);
}

#[test]
fn the_same_count_again_is_no_change() {
    let mut ledger = ledger();
    take(&mut ledger, counting("raid", vec![disks(4, 1)]), 1);
    ledger.take_rows();
    let version = ledger.version();
    take(&mut ledger, counting("raid", vec![disks(4, 1)]), 2);
    assert_eq!((ledger.version(), ledger.take_rows()), (version, Vec::new()));
    take(&mut ledger, counting("raid", vec![disks(4, 0)]), 3);
    assert!(ledger.version() > version && ledger.take_rows().len() == 1);
}

/// As 0.1.0 before there were several reasons and counts of devices wrote them.
#[test]
fn rows_of_an_older_version_are_read() {
    let row = |table, key: &str, value: &str| Row { table, key: key.to_owned(), value: Some(value.to_owned()) };
    let claim = r#"{"since":"2027-01-15T08:00:05Z","last_seen":"2027-01-15T08:00:06Z","count":1,"severity":"warn",
        "message":"md0 lost a disk","boot_id":"0123456789abcdef0123456789abcdef","ends_at_boot":false,"action":null,
        "quiet":null,"transition":"2027-01-15T08:00:05Z","deadline":null}"#;
    let daemon = r#"{"state":"running","reason":null,"message":"","watches":["DiskUnhealthy"],
        "ttl":{"secs":30,"nanos":0},"silent_since":null,"records":0,"lost":0,
        "reporter":{"on_stale":"keep","ids":["1"],"unsure":[]}}"#;
    let rows = vec![
        row(Table::Claims, r#"["DiskUnhealthy","RaidDegraded","md0","raid@root",false]"#, claim),
        row(Table::Daemons, "raid@root", daemon),
    ];
    let mut ledger = ledger();
    let taken = ledger.load(rows, at(10));
    assert_eq!((taken.claims, taken.unreadable), (1, 0));
    take(&mut ledger, raid(vec![fault("RaidDegraded", "md0", 5), fault("RaidSlow", "md0", 11)]), 11);
    assert_eq!(reasons(&mut ledger), ["RaidDegraded", "RaidSlow"]);
    let claims: Vec<u64> = disk(&mut ledger).problems.iter().map(|problem| problem.count).collect();
    assert_eq!(claims, [1, 1], "known again, not claimed again");
}
