use super::*;
use crate::disk::reading::{ArrayReading, MapPath, MapReading, RaidVolumeReading};

fn array(state: &str, missing: Option<u32>, action: &str) -> Health {
    let notes = |name: &str| name.to_owned();
    let (state, action) = (notes(state), notes(action));
    Health::Array(ArrayReading { state, level: notes("raid5"), disks: 3, missing, action, ..ArrayReading::default() })
}

#[test]
fn an_array_is_degraded_until_it_is_rebuilt() {
    let mut bench = Bench::new();
    let mut with = |state, missing, action| reasons(&bench.one("md0", array(state, missing, action)));
    assert_eq!(with("clean", Some(0), "idle"), [""; 0]);
    assert_eq!(with("active", Some(1), "idle"), ["MdArrayDegraded"]);
    assert_eq!(with("active", Some(1), "recover"), ["MdArrayDegraded"]);
    assert_eq!(with("clean", Some(0), "check"), [""; 0]);
    assert_eq!(with("broken", None, ""), ["MdArrayDegraded"]);
    assert_eq!(with("clean", None, ""), [""; 0]);
    assert_eq!(with("inactive", Some(1), ""), [""; 0]);
}

#[test]
fn a_whole_array_is_the_evidence_that_what_the_kernel_log_reported_is_over() {
    let mut bench = Bench::new();
    let degraded = bench.round(vec![("md0", reading_of("", array("active", Some(1), "recover")))]);
    assert_eq!(degraded.recoveries, []);
    let whole = bench.round(vec![("md0", reading_of("", array("clean", Some(0), "idle")))]);
    assert_eq!(whole.recoveries[0].reason.as_ref().map(Name::as_str), Some("MdArrayDegraded"));
    assert_eq!((whole.recoveries[0].subject.as_str(), whole.recoveries[0].seen_before), ("md0", start()));
    let without_redundancy = bench.round(vec![("md0", reading_of("", array("clean", None, "")))]);
    assert_eq!(without_redundancy.recoveries, []);
}

/// What a check of an array of this level leaves, look by look: the messages of its Events, and of its state.
fn checked(level: &str) -> (Vec<String>, Vec<String>) {
    let mut bench = Bench::new();
    let (mut events, mut states) = (Vec::new(), Vec::new());
    let looks = [
        ("idle", "none", None, 0),
        ("check", "check", Some(42), 8),
        ("check", "check", None, 8),
        ("idle", "check", None, 16),
        ("repair", "repair", Some(3), 16),
        ("idle", "repair", None, 16),
    ];
    for (action, last_action, done_percent, sectors) in looks {
        let [state, level, action, last_action] = ["clean", level, action, last_action].map(str::to_owned);
        let array = ArrayReading {
            state,
            level,
            disks: 3,
            missing: Some(0),
            action,
            done_percent,
            last_action,
            mismatched_sectors: Some(sectors),
        };
        let findings = bench.round(vec![("md0", reading_of("", Health::Array(array)))]);
        assert!(findings.events.iter().all(|event| event.subject.as_deref() == Some("md0")));
        events.extend(findings.events.iter().map(|event| format!("{}: {}", event.reason, event.message)));
        let State::Healthy { message } = &findings.verdicts[0].state else { panic!("{findings:?}") };
        states.push(message.clone());
    }
    (events, states)
}

#[test]
fn what_a_check_of_parity_finds_is_reported_once_and_shown() {
    let (events, states) = checked("raid6");
    let expected = "MdMismatch: a check of raid6 found 16 sectors where data and parity differ; see SMART data of the disks \
                    and memory errors, then run a repair (sync_action)";
    assert_eq!(events, [expected]);
    assert_eq!(
        states,
        [
            "raid6, all 3 disks",
            "no fault: raid6, all 3 disks, check 42 % done, 8 sectors differ",
            "no fault: raid6, all 3 disks, check waits, 8 sectors differ",
            "no fault: raid6, all 3 disks, 16 sectors differ",
            "no fault: raid6, all 3 disks, repair 3 % done",
            "raid6, all 3 disks",
        ]
    );
}

#[test]
fn mirrors_that_differ_are_not_reported() {
    for level in ["raid1", "raid10"] {
        let (events, states) = checked(level);
        assert_eq!((events.len(), states[3].as_str()), (0, format!("{level}, all 3 disks").as_str()));
    }
}

fn volume(state: &str) -> Health {
    let (state, level) = (state.to_owned(), "raid1".to_owned());
    let done_percent = (state == "resyncing").then_some(42);
    Health::Volume(RaidVolumeReading { state, level, done_percent })
}

#[test]
fn a_controllers_volume_is_degraded_from_the_second_look_until_its_resync_is_done() {
    let mut bench = Bench::new();
    let mut with = |state| reasons(&bench.one("sda", volume(state)));
    assert_eq!(with("active"), [""; 0]);
    assert_eq!(with("degraded"), [""; 0]);
    assert_eq!(with("degraded"), ["RaidVolumeDegraded"]);
    assert_eq!(with("resyncing"), ["RaidVolumeDegraded"]);
    assert_eq!(with("unknown"), ["? DeviceUnreadable"]);
    assert_eq!(with("resyncing"), ["RaidVolumeDegraded"]);
    assert_eq!(with("active"), [""; 0]);
    assert_eq!(with("offline"), [""; 0]);
    assert_eq!(with("offline"), ["RaidVolumeOffline"]);
    assert_eq!(with("active"), [""; 0]);
}

#[test]
fn a_volume_that_is_new_or_checked_resyncs_without_a_fault() {
    let mut bench = Bench::new();
    for _ in 0..4 {
        let State::Healthy { message } = bench.one("sda", volume("resyncing")) else { panic!("a fault") };
        assert_eq!(message, "no fault: rebuild 42 % done");
    }
    let State::Healthy { message } = bench.one("sda", volume("active")) else { panic!("a fault") };
    assert_eq!(message, "no fault: raid1 volume, active");
}

#[test]
fn what_a_volume_had_outlives_a_restart_and_its_end_is_an_event() {
    let mut bench = Bench::new();
    bench.one("sda", volume("degraded"));
    bench.one("sda", volume("degraded"));
    bench.restart();
    let findings = bench.round(vec![("sda", reading(volume("resyncing")))]);
    assert_eq!(reasons(&findings.verdicts[0].state), ["RaidVolumeDegraded"]);
    let lines: Vec<_> =
        findings.hardware.iter().map(|line| (line.class.as_str(), line.total, line.healthy())).collect();
    assert_eq!(lines, [("RAID volumes", 1, 0)]);
    // A driver gives a failed volume up.
    let gone = bench.round(Vec::new());
    assert_eq!(gone.events.iter().map(|event| event.reason.as_str()).collect::<Vec<_>>(), ["DiskGone"]);
}

#[test]
fn a_map_names_the_paths_that_failed() {
    let mut bench = Bench::new();
    let map = |works: [bool; 2]| {
        let path = |(device, works): (&str, bool)| MapPath { device: device.to_owned(), works };
        let paths = ["sdb", "sdc"].into_iter().zip(works).map(path).collect();
        Health::Map(MapReading { name: "mpatha".to_owned(), paths: Part::Read(paths) })
    };
    assert_eq!(reasons(&bench.one("dm-3", map([true, true]))), [""; 0]);
    let State::Faulty(faults) = bench.one("dm-3", map([true, false])) else { panic!("not faulty") };
    assert_eq!(
        faults[0].message,
        "mpatha: 1 of 2 paths work, failed: sdc; see multipath -ll, check port, cable, switch and storage controller"
    );
    let denied = MapReading { name: "mpatha".to_owned(), paths: Part::Denied("CAP_SYS_ADMIN".to_owned()) };
    assert_eq!(reasons(&bench.one("dm-3", Health::Map(denied))), ["? PermissionDenied"]);
}

#[test]
fn a_map_that_lost_paths_or_all_of_them_is_degraded_until_the_next_boot() {
    let mut bench = Bench::new();
    let map = |name: &str, count: usize| {
        let path = |device: &&str| MapPath { device: (*device).to_owned(), works: true };
        let paths = ["sdb", "sdc", "sdd"][..count].iter().map(path).collect();
        reading_of("", Health::Map(MapReading { name: name.to_owned(), paths: Part::Read(paths) }))
    };
    let with = |bench: &mut Bench, name, count| {
        let findings = bench.round(vec![("dm-3", map(name, count))]);
        match &findings.verdicts[0].state {
            State::Faulty(faults) => {
                let (paths, _) = faults[0].message.split_once("; see multipath -ll, check port, ").unwrap();
                paths.to_owned()
            }
            _ => String::new(),
        }
    };
    assert_eq!(with(&mut bench, "mpatha", 0), "mpatha: 0 of 0 paths work");
    assert_eq!(with(&mut bench, "mpatha", 1), "");
    assert_eq!(with(&mut bench, "mpatha", 3), "");
    assert_eq!(with(&mut bench, "mpatha", 2), "mpatha: 2 of 3 paths work");
    bench.restart();
    assert_eq!(with(&mut bench, "mpatha", 0), "mpatha: 0 of 3 paths work");
    // Another map gets the number; and a new boot counts from zero.
    assert_eq!(with(&mut bench, "mpathb", 2), "");
    bench.restart();
    bench.now.boot_id = "another".to_owned();
    assert_eq!(with(&mut bench, "mpathb", 1), "");
}

#[test]
fn disks_arrays_and_maps_are_counted_apart() {
    let mut bench = Bench::new();
    let answers = vec![
        ("md0", reading_of("", array("active", Some(1), "idle"))),
        ("nvme0", reading(nvme_with(|_| {}))),
        ("sda", reading_of("S2", Health::Plain { why: "USB".to_owned() })),
    ];
    let hardware = bench.round(answers).hardware;
    let lines: Vec<_> = hardware.iter().map(|line| (line.class.as_str(), line.total, line.healthy())).collect();
    assert_eq!(lines, [("disks", 2, 2), ("disk arrays", 1, 0)]);
}
