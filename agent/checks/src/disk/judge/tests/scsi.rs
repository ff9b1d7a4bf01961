use super::*;
use crate::disk::{
    reading::{ScsiReading, SelfTest},
    scsi::log::{Predicted, Temperature},
};

fn disk() -> ScsiReading {
    let temperature = Temperature { celsius: Some(40), limit_celsius: Some(60) };
    ScsiReading {
        pages: Part::Read(9),
        temperature: Part::Read(temperature),
        uncorrected_errors: Part::Read(3),
        grown_defects: Part::Read(12),
        ..ScsiReading::default()
    }
}

fn state(bench: &mut Bench, reading: ScsiReading) -> Vec<String> {
    reasons(&bench.one("sdb", Health::Scsi(reading)))
}

#[test]
fn a_predicted_failure_counts_by_page_or_by_sense_but_not_as_a_test() {
    let mut bench = Bench::new();
    let code = |code, qualifier| Predicted { code, qualifier };
    let by_page = ScsiReading { predicted: Part::Read(code(0x5d, 0x32)), ..disk() };
    assert_eq!(state(&mut bench, by_page), ["SmartPrefail"]);
    assert_eq!(state(&mut bench, ScsiReading { sense: Some(code(0x5d, 0x00)), ..disk() }), ["SmartPrefail"]);
    assert_eq!(state(&mut bench, ScsiReading { sense: Some(code(0x5d, 0xff)), ..disk() }), [""; 0]);
    assert_eq!(state(&mut bench, ScsiReading { sense: Some(code(0x29, 0x00)), ..disk() }), [""; 0]);
}

#[test]
fn heat_is_by_the_disks_limit_or_sense_data() {
    let mut bench = Bench::new();
    let at = |celsius| {
        let temperature = Temperature { celsius: Some(celsius), limit_celsius: Some(60) };
        ScsiReading { temperature: Part::Read(temperature), ..disk() }
    };
    let found: Vec<_> = [59, 60, 56, 55, 54, 56].map(at).map(|reading| state(&mut bench, reading).len()).to_vec();
    assert_eq!(found, [0, 1, 1, 1, 0, 0]);
    let reports = ScsiReading { sense: Some(Predicted { code: 0x0b, qualifier: 0x01 }), ..disk() };
    assert_eq!(state(&mut bench, reports), ["DiskOverheating"]);
}

#[test]
fn counters_that_grow_are_faults_and_old_ones_are_not() {
    let mut bench = Bench::new();
    assert_eq!(state(&mut bench, disk()), [""; 0]);
    let worse = ScsiReading { uncorrected_errors: Part::Read(4), grown_defects: Part::Read(13), ..disk() };
    assert_eq!(state(&mut bench, worse), ["MediaErrorsGrowing", "ReallocatedSectorsGrowing"]);
    assert_eq!(state(&mut Bench::new(), ScsiReading { used_percent: Part::Read(100), ..disk() }), ["DiskWornOut"]);
}

#[test]
fn a_volume_that_offers_nothing_is_healthy_and_a_garbled_one_unknown() {
    let mut bench = Bench::new();
    let healthy = State::Healthy { message: "the disk offers no health data".to_owned() };
    assert_eq!(bench.one("sdb", Health::Scsi(ScsiReading::default())), healthy);
    let garbled = ScsiReading { pages: Part::Unreadable("every byte is ff".to_owned()), ..ScsiReading::default() };
    assert_eq!(state(&mut bench, garbled), ["? DeviceUnreadable"]);
}

#[test]
fn a_disk_out_of_service_is_a_fault_and_one_held_back_is_unknown() {
    let mut bench = Bench::new();
    let mut with = |state: &str| reasons(&bench.one("sdb", Health::Stopped { state: state.to_owned() }));
    assert_eq!(with("offline"), ["DiskOffline"]);
    assert_eq!(with("transport-offline"), ["DiskOffline"]);
    assert_eq!(with("blocked"), ["? DeviceNotAnswering"]);
}

#[test]
fn a_page_that_cannot_be_read_ends_no_fault_that_it_carried() {
    let mut bench = Bench::new();
    assert_eq!(state(&mut bench, disk()), [""; 0]);
    let predicted = Part::Read(Predicted { code: 0x5d, qualifier: 0x32 });
    let worse = ScsiReading { predicted, uncorrected_errors: Part::Read(4), ..disk() };
    assert_eq!(state(&mut bench, worse), ["SmartPrefail", "MediaErrorsGrowing"]);
    let lost = || "no answer".to_owned();
    let partly = ScsiReading { predicted: Part::Unreadable(lost()), uncorrected_errors: Part::Read(4), ..disk() };
    assert_eq!(state(&mut bench, partly), ["MediaErrorsGrowing", "SmartPrefail"]);
    // Another fault beside pages that cannot be read ends none of them either.
    let sense = Some(Predicted { code: 0x5d, qualifier: 0x10 });
    let blind = ScsiReading { sense, pages: Part::Denied(lost()), ..ScsiReading::default() };
    assert_eq!(state(&mut bench, blind), ["SmartPrefail", "MediaErrorsGrowing"]);
    let counted = ScsiReading { uncorrected_errors: Part::Denied(lost()), ..disk() };
    assert_eq!(state(&mut bench, counted), ["MediaErrorsGrowing"]);
}

#[test]
fn a_failed_self_test_of_unknown_age_is_a_fault_only_if_it_is_new() {
    let test = |at_hours| {
        let failed = SelfTest { passed: false, at_hours, result: "a segment failed".to_owned() };
        ScsiReading { self_test: Part::Read(Some(failed)), ..disk() }
    };
    let mut bench = Bench::new();
    // As long as its log cannot be read nothing of it is known.
    let lost = ScsiReading { self_test: Part::Unreadable("no answer".to_owned()), ..disk() };
    assert_eq!(state(&mut bench, lost), [""; 0]);
    assert_eq!(state(&mut bench, test(900)), [""; 0]);
    bench.restart();
    assert_eq!(state(&mut bench, test(900)), [""; 0]);
    assert_eq!(state(&mut bench, test(950)), ["SelfTestFailed"]);
    assert_eq!(state(&mut bench, test(950)), ["SelfTestFailed"]);
    // The first one of a disk that had none is new.
    let mut other = Bench::new();
    assert_eq!(state(&mut other, ScsiReading { self_test: Part::Read(None), ..disk() }), [""; 0]);
    assert_eq!(state(&mut other, test(900)), ["SelfTestFailed"]);
}
