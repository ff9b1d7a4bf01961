use super::*;
use crate::disk::reading::{ArrayReading, MapPath, MapReading};

fn array(state: &str, missing: Option<u32>, action: &str) -> Health {
    let notes = |name: &str| name.to_owned();
    Health::Array(ArrayReading { state: notes(state), level: notes("raid5"), disks: 3, missing, action: notes(action) })
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
