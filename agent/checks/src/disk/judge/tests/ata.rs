use super::*;
use crate::disk::{
    ata::page::Attribute,
    reading::{AtaReading, SelfTest, Smart},
};

fn attribute(id: u8, value: u8, threshold: u8, raw: u64) -> Attribute {
    Attribute { id, is_prefailure: matches!(id, 1 | 5), value, threshold: Some(threshold), raw }
}

fn disk(attributes: &[Attribute]) -> AtaReading {
    AtaReading {
        smart: Smart::On,
        failing: Part::Read(false),
        attributes: Part::Read(attributes.to_vec()),
        ..AtaReading::default()
    }
}

fn state(bench: &mut Bench, reading: AtaReading) -> Vec<String> {
    reasons(&bench.one("sda", Health::Ata(reading)))
}

fn raw(bench: &mut Bench, id: u8, raw: u64) -> Vec<String> {
    state(bench, disk(&[attribute(id, 100, 10, raw)]))
}

#[test]
fn the_disks_own_prediction_counts() {
    let mut bench = Bench::new();
    let failing = AtaReading { failing: Part::Read(true), ..disk(&[attribute(5, 3, 36, 4000)]) };
    let State::Faulty(faults) = bench.one("sda", Health::Ata(failing)) else { panic!("not faulty") };
    let message = "the disk predicts its own failure, attribute 5 is 3 (threshold 36); save the data and replace the \
                   disk now (M, serial number S1)";
    assert_eq!((faults.len(), faults[0].reason.as_str(), faults[0].message.as_str()), (1, "SmartPrefail", message));
    // A controller that drops the status leaves the attribute.
    let silent = AtaReading { failing: Part::Absent, ..disk(&[attribute(1, 6, 6, 0)]) };
    assert_eq!(state(&mut bench, silent), ["SmartPrefail"]);
    let alone = AtaReading { failing: Part::Read(true), attributes: Part::Absent, ..disk(&[]) };
    assert_eq!(state(&mut bench, alone), ["SmartPrefail"]);
    assert_eq!(state(&mut bench, disk(&[attribute(5, 100, 36, 4000)])), [""; 0]);
}

#[test]
fn old_age_is_no_prediction() {
    let mut bench = Bench::new();
    assert_eq!(state(&mut bench, disk(&[attribute(177, 5, 5, 900)])), ["DiskWornOut"]);
}

#[test]
fn counters_of_old_are_no_fault_and_growing_ones_are() {
    let cases = [
        (197, "PendingSectorsGrowing"),
        (198, "OfflineUncorrectableGrowing"),
        (187, "MediaErrorsGrowing"),
        (5, "ReallocatedSectorsGrowing"),
    ];
    for (id, reason) in cases {
        let mut bench = Bench::new();
        assert_eq!(raw(&mut bench, id, 8), [""; 0]);
        assert_eq!(raw(&mut bench, id, 8), [""; 0]);
        assert_eq!(raw(&mut bench, id, 9), [reason]);
        assert_eq!(raw(&mut bench, id, 9), [reason]);
    }
}

#[test]
fn pending_sectors_that_are_written_end_it_after_two_readings() {
    let mut bench = Bench::new();
    let mut with = |count| raw(&mut bench, 197, count);
    assert_eq!(with(0), [""; 0]);
    assert_eq!(with(16), ["PendingSectorsGrowing"]);
    assert_eq!(with(0), ["PendingSectorsGrowing"]);
    assert_eq!(with(0), [""; 0]);
}

#[test]
fn a_counter_that_did_not_grow_for_a_week_is_over() {
    let mut bench = Bench::new();
    assert_eq!(raw(&mut bench, 5, 0), [""; 0]);
    assert_eq!(raw(&mut bench, 5, 3), ["ReallocatedSectorsGrowing"]);
    for _ in 0..6 {
        bench.pass(Duration::from_secs(24 * 3600));
        assert_eq!(raw(&mut bench, 5, 3), ["ReallocatedSectorsGrowing"]);
    }
    // The wall clock may jump as it likes.
    bench.now.wall = "1970-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(raw(&mut bench, 5, 3), ["ReallocatedSectorsGrowing"]);
    bench.now.wall = "2038-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(raw(&mut bench, 5, 3), ["ReallocatedSectorsGrowing"]);
    bench.pass(Duration::from_secs(24 * 3600));
    assert_eq!(raw(&mut bench, 5, 3), [""; 0]);
}

#[test]
fn other_numbers_in_the_upper_bytes_are_not_counted() {
    let mut bench = Bench::new();
    assert_eq!(raw(&mut bench, 5, 0x0001_0000_0000), [""; 0]);
    assert_eq!(raw(&mut bench, 5, 0x0007_0003_0000), [""; 0]);
}

const CRC: &str = "3 more damaged transfers, 53 in all; reseat or replace the cable, check backplane and power \
                   (M, serial number S1)";

#[test]
fn crc_errors_are_an_event_not_a_problem() {
    let mut bench = Bench::new();
    let mut reported = |raw| {
        let reading = disk(&[attribute(199, 200, 0, raw)]);
        let findings = bench.round(vec![("sda", super::reading(Health::Ata(reading)))]);
        assert_eq!(reasons(&findings.verdicts[0].state), [""; 0]);
        findings.events.into_iter().map(|event| event.message).collect::<Vec<_>>()
    };
    assert_eq!(reported(50), [""; 0]);
    assert_eq!(reported(53), [CRC]);
    assert_eq!(reported(53), [""; 0]);
}

#[test]
fn heat_is_the_disks_own_limit_or_beyond_any() {
    let mut bench = Bench::new();
    let mut at = |id, value, raw| state(&mut bench, disk(&[attribute(id, value, 45, raw)]));
    // Lowest and highest ever stand above the present one.
    assert_eq!(at(194, 60, 0x0040_0014_0028), [""; 0]);
    assert_eq!(at(190, 45, 55), ["DiskOverheating"]);
    // Its own limit has slack, too: one step back is not cool.
    assert_eq!(at(190, 46, 54), ["DiskOverheating"]);
    assert_eq!(at(190, 50, 50), ["DiskOverheating"]);
    assert_eq!(at(190, 51, 49), [""; 0]);
    assert_eq!(at(190, 46, 54), [""; 0]);
    assert_eq!(at(194, 60, 70), ["DiskOverheating"]);
    assert_eq!(at(194, 60, 66), ["DiskOverheating"]);
    assert_eq!(at(194, 60, 64), [""; 0]);
    // No sensor reports these.
    for absurd in [0, 126, 0x80] {
        assert_eq!(at(194, 60, absurd), [""; 0], "{absurd}");
    }
}

#[test]
fn disks_that_do_not_turn_may_be_hotter() {
    let mut bench = Bench::new();
    let at = |celsius| AtaReading { is_solid_state: true, ..disk(&[attribute(194, 60, 0, celsius)]) };
    let found: Vec<_> = [79, 80, 75, 74, 79].map(at).map(|reading| state(&mut bench, reading).len()).to_vec();
    assert_eq!(found, [0, 1, 1, 0, 0]);
}

#[test]
fn a_disk_without_smart_is_healthy_by_what_is_known() {
    let mut bench = Bench::new();
    for smart in [Smart::Off, Smart::Unsupported] {
        assert_eq!(state(&mut bench, AtaReading { smart, ..AtaReading::default() }), [""; 0]);
    }
    assert_eq!(state(&mut bench, AtaReading { smart: Smart::On, ..AtaReading::default() }), [""; 0]);
}

#[test]
fn garbage_is_unknown_and_denial_is_reported() {
    let mut bench = Bench::new();
    let garbage = AtaReading { attributes: Part::Unreadable("checksum".to_owned()), ..disk(&[]) };
    assert_eq!(state(&mut bench, garbage), ["? DeviceUnreadable"]);
    let denied = AtaReading { attributes: Part::Denied("CAP_SYS_RAWIO".to_owned()), ..disk(&[]) };
    assert_eq!(state(&mut bench, denied), ["? PermissionDenied"]);
}

#[test]
fn a_sleeping_disk_keeps_what_it_had_even_over_a_restart() {
    let mut bench = Bench::new();
    assert_eq!(reasons(&bench.one("sda", Health::Asleep)), [""; 0]);
    let failing = AtaReading { failing: Part::Read(true), ..disk(&[]) };
    assert_eq!(state(&mut bench, failing), ["SmartPrefail"]);
    assert_eq!(reasons(&bench.one("sda", Health::Asleep)), ["SmartPrefail"]);
    bench.restart();
    assert_eq!(reasons(&bench.one("sda", Health::Asleep)), ["SmartPrefail"]);
    assert_eq!(state(&mut bench, disk(&[attribute(5, 100, 36, 0)])), [""; 0]);
    assert_eq!(reasons(&bench.one("sda", Health::Asleep)), [""; 0]);
}

#[test]
fn the_hours_of_a_self_test_wrap_at_sixteen_bits() {
    let test = |at_hours| {
        let test = SelfTest { passed: false, at_hours, result: "reading failed at sector 9".to_owned() };
        let hours = attribute(9, 100, 0, 0x7700_0001_0005);
        AtaReading { self_test: Part::Read(Some(test)), ..disk(&[hours]) }
    };
    // Running for 65,541 h; hour 65,530 was eleven hours ago.
    assert_eq!(state(&mut Bench::new(), test(65_530)), ["SelfTestFailed"]);
    assert_eq!(state(&mut Bench::new(), test(30_000)), [""; 0]);
}

#[test]
fn a_part_that_cannot_be_read_ends_no_fault_that_it_carried() {
    let mut bench = Bench::new();
    let mut with = |raw, change: fn(&mut AtaReading)| {
        let mut reading = disk(&[attribute(197, 100, 10, raw)]);
        change(&mut reading);
        state(&mut bench, reading)
    };
    assert_eq!(with(0, |_| {}), [""; 0]);
    let both = ["SmartPrefail", "PendingSectorsGrowing"];
    assert_eq!(with(8, |reading| reading.failing = Part::Read(true)), both);
    let other_way_round = ["PendingSectorsGrowing", "SmartPrefail"];
    assert_eq!(with(8, |reading| reading.failing = Part::Unreadable("timeout".to_owned())), other_way_round);
    let lost = |reading: &mut AtaReading| {
        reading.failing = Part::Read(true);
        reading.attributes = Part::Unreadable("checksum".to_owned());
    };
    assert_eq!(with(8, lost), both);
    assert_eq!(with(8, |reading| reading.thresholds = Part::Unreadable("checksum".to_owned())), other_way_round);
    assert_eq!(with(8, |_| {}), ["PendingSectorsGrowing"]);
}
