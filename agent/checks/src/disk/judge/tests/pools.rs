use super::*;
use crate::disk::reading::{PhyReading, PoolMode, PoolReading, PoolStatus};

const NUMBER: &str = "253:4";

fn pool(status: PoolStatus) -> Health {
    Health::Pool(PoolReading { name: "vg-pool-tpool".to_owned(), status: Part::Read(status) })
}

fn filled(data_percent: u8, metadata_percent: u8) -> Health {
    pool(PoolStatus { data_percent, metadata_percent, ..PoolStatus::default() })
}

fn mode(mode: PoolMode, needs_check: bool) -> Health {
    pool(PoolStatus { data_percent: 40, metadata_percent: 10, mode, needs_check })
}

fn message(state: State) -> String {
    match state {
        State::Healthy { message } | State::Unknown { message, .. } => message,
        State::Faulty(faults) => faults[0].message.clone(),
    }
}

#[test]
fn a_pool_that_fills_up_is_reported_until_it_has_room() {
    let mut bench = Bench::new();
    let mut with = |data, metadata| reasons(&bench.one(NUMBER, filled(data, metadata)));
    assert_eq!(with(94, 3), [""; 0]);
    assert_eq!(with(95, 3), [""; 0]);
    assert_eq!(with(96, 3), ["ThinPoolSpaceLow"]);
    // Not at the limit again and again.
    assert_eq!(with(94, 3), ["ThinPoolSpaceLow"]);
    assert_eq!(with(90, 3), ["ThinPoolSpaceLow"]);
    assert_eq!(with(89, 3), [""; 0]);
    assert_eq!(with(94, 3), [""; 0]);
    assert_eq!(with(40, 95), [""; 0]);
    assert_eq!(with(40, 97), ["ThinPoolSpaceLow"], "metadata");
}

#[test]
fn a_pool_that_is_extended_by_itself_is_no_fault() {
    let mut bench = Bench::new();
    for (data, metadata) in [(96, 3), (81, 3), (99, 3), (70, 3), (40, 96), (40, 70)].repeat(3) {
        assert_eq!(reasons(&bench.one(NUMBER, filled(data, metadata))), [""; 0], "{data} {metadata}");
    }
}

#[test]
fn what_the_kernel_does_with_a_pool_counts_in_two_looks() {
    let failures = [
        (mode(PoolMode::OutOfDataSpace, false), "ThinPoolFull"),
        (mode(PoolMode::ReadOnly, false), "ThinPoolFailed"),
        (mode(PoolMode::ReadOnlyByOrder, true), "ThinPoolFailed"),
        (mode(PoolMode::Failed, false), "ThinPoolFailed"),
    ];
    for (health, reason) in failures {
        let mut bench = Bench::new();
        assert_eq!(reasons(&bench.one(NUMBER, health.clone())), [""; 0]);
        assert_eq!(reasons(&bench.one(NUMBER, health.clone())), [reason]);
        bench.restart();
        assert_eq!(reasons(&bench.one(NUMBER, health)), [reason]);
        assert_eq!(reasons(&bench.one(NUMBER, filled(40, 10))), [""; 0]);
    }
}

#[test]
fn a_pool_that_is_read_only_on_purpose_is_no_fault() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        let state = bench.one(NUMBER, mode(PoolMode::ReadOnlyByOrder, false));
        assert_eq!(reasons(&state), [""; 0]);
        assert!(message(state).contains("read-only by its table"));
    }
}

#[test]
fn a_pool_that_cannot_be_asked_is_unknown_and_another_in_its_place_is_new() {
    let mut bench = Bench::new();
    bench.one(NUMBER, filled(97, 3));
    assert_eq!(reasons(&bench.one(NUMBER, filled(97, 3))), ["ThinPoolSpaceLow"]);
    let denied = Part::Denied("CAP_SYS_ADMIN".to_owned());
    let denied = Health::Pool(PoolReading { name: "vg-pool-tpool".to_owned(), status: denied });
    assert_eq!(reasons(&bench.one(NUMBER, denied)), ["? PermissionDenied"]);
    let findings = bench.round(vec![(NUMBER, reading_of("LVM-other-tpool", filled(92, 3)))]);
    assert_eq!(reasons(&findings.verdicts[0].state), [""; 0]);
    let lines: Vec<_> = findings.hardware.iter().map(|line| (line.class.as_str(), line.total)).collect();
    assert_eq!(lines, [("thin pools", 1)]);
    assert_eq!(findings.verdicts[0].condition.as_str(), "DiskUnhealthy");
}

fn zpool(state: &str) -> Health {
    Health::Zpool { state: state.to_owned() }
}

#[test]
fn a_zfs_pool_is_judged_by_its_own_state_in_two_looks() {
    let states = [
        ("DEGRADED", "ZfsPoolDegraded"),
        ("FAULTED", "ZfsPoolFaulted"),
        ("UNAVAIL", "ZfsPoolFaulted"),
        ("OFFLINE", "ZfsPoolFaulted"),
        ("REMOVED", "ZfsPoolFaulted"),
        ("SUSPENDED", "ZfsPoolSuspended"),
    ];
    for (state, reason) in states {
        let mut bench = Bench::new();
        let mut with = |state| reasons(&bench.one("zpool tank", zpool(state)));
        assert_eq!((with("ONLINE"), with(state)), (Vec::new(), Vec::new()), "{state}");
        assert_eq!((with(state), with("TRANSITIONING")), (vec![reason.to_owned()], vec![reason.to_owned()]));
        assert_eq!(with("ONLINE"), [""; 0], "{state}");
    }
}

#[test]
fn a_pool_that_is_imported_or_exported_is_no_fault() {
    let mut bench = Bench::new();
    for state in ["TRANSITIONING", "OFFLINE", "ONLINE", "SPLIT", "SPLIT", "UNKNOWN", "UNKNOWN", "ONLINE", "OFFLINE"] {
        assert_eq!(reasons(&bench.one("zpool tank", zpool(state))), [""; 0], "{state}");
    }
    let gone = bench.round(Vec::new());
    assert_eq!((gone.verdicts.len(), gone.events.len()), (0, 0), "exported");
}

#[test]
fn a_zfs_pool_goes_by_its_name_in_the_condition_of_the_kernel_logs_rule() {
    let mut bench = Bench::new();
    bench.round(vec![("zpool tank", reading_of("", zpool("SUSPENDED")))]);
    let suspended = bench.round(vec![("zpool tank", reading_of("", zpool("SUSPENDED")))]);
    let verdict = &suspended.verdicts[0];
    assert_eq!((verdict.condition.as_str(), verdict.subject.as_str()), ("VolumeUnhealthy", "tank"));
    assert_eq!(suspended.recoveries, []);
    let online = bench.round(vec![("zpool tank", reading_of("", zpool("ONLINE")))]);
    let over = &online.recoveries[0];
    assert_eq!((over.condition.as_str(), over.subject.as_str()), ("VolumeUnhealthy", "tank"));
    assert_eq!(over.reason.as_ref().map(Name::as_str), Some("ZfsPoolSuspended"));
    assert_eq!(online.hardware[0].class, "ZFS pools");
}

#[test]
fn errors_of_a_link_are_an_event_and_the_link_has_no_state() {
    let mut bench = Bench::new();
    let mut at = |count: u64| {
        let counters = BTreeMap::from([("invalid_dword_count".to_owned(), count)]);
        let phy = PhyReading { address: "0x5006".to_owned(), rate: Some("12.0 Gbit".to_owned()), counters };
        let findings = bench.round(vec![("phy-0:3", reading_of("", Health::Phy(phy)))]);
        assert_eq!((findings.verdicts.len(), findings.hardware.len()), (0, 0));
        let of = |event: DeviceEvent| format!("{} {}: {}", event.reason, event.subject.unwrap(), event.message);
        findings.events.into_iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!([0, 50, 100].map(&mut at), [const { Vec::<String>::new() }; 3]);
    let expected = "SasLinkErrors phy-0:3: errors within an hour: invalid_dword_count 120 or more (limit 120), link at 12.0 \
                    Gbit; reseat or replace the cable, check backplane and power";
    assert_eq!(at(150), [expected]);
    assert_eq!(at(200), [""; 0]);
    let silent = Err(PollError::NoAnswer(NoAnswer::asked(start(), "no answer within 20 s")));
    let findings = bench.round(vec![("phy-0:3", silent)]);
    assert_eq!((findings.verdicts.len(), findings.hardware.len()), (0, 0), "its disks show it");
}
