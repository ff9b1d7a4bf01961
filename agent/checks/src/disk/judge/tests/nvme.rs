use super::*;
use crate::disk::{nvme::log::ErrorEntry, reading::SelfTest};

#[test]
fn each_bit_of_the_critical_warning_is_a_fault_and_goes_with_it() {
    let mut bench = Bench::new();
    let expected = [
        (1 << 0, "NvmeSpareLow"),
        (1 << 1, "DiskOverheating"),
        (1 << 2, "NvmeReliabilityDegraded"),
        (1 << 3, "NvmeReadOnly"),
        (1 << 4, "NvmeVolatileBackupFailed"),
        (1 << 5, "NvmePersistentMemoryFailed"),
    ];
    for (bit, reason) in expected {
        assert_eq!(reasons(&bench.one("nvme0", nvme_with(|health| health.warning = bit))), [reason]);
        assert_eq!(reasons(&bench.one("nvme0", nvme_with(|_| {}))), [""; 0]);
    }
    let all = bench.one("nvme0", nvme_with(|health| health.warning = 0x3f));
    assert_eq!(reasons(&all).len(), 6);
}

#[test]
fn bits_that_the_specification_does_not_know_are_no_verdict() {
    let mut bench = Bench::new();
    assert_eq!(reasons(&bench.one("nvme0", nvme_with(|health| health.warning = 0xc0))), [""; 0]);
}

#[test]
fn figures_are_judged_by_the_devices_own_limits() {
    let mut bench = Bench::new();
    let spare = bench.one("nvme0", nvme_with(|health| health.spare_percent = 9));
    assert_eq!(reasons(&spare), ["NvmeSpareLow"]);
    let State::Faulty(faults) = spare else { panic!("{spare:?}") };
    assert_eq!(
        faults[0].message,
        "9 % of the spare blocks are left (limit 10 %); move the data and replace the disk (M, serial number S1)"
    );
    assert_eq!(reasons(&bench.one("nvme0", nvme_with(|health| health.spare_percent = 10))), [""; 0]);
    assert_eq!(reasons(&bench.one("nvme0", nvme_with(|health| health.used_percent = 100))), ["DiskWornOut"]);
    assert_eq!(reasons(&bench.one("nvme0", nvme_with(|health| health.used_percent = 99))), [""; 0]);
}

#[test]
fn a_hot_disk_is_hot_until_it_is_well_below_its_limit() {
    let mut bench = Bench::new();
    let mut at = |celsius, warning| {
        reasons(&bench.one("nvme0", nvme_with(|health| (health.celsius, health.warning) = (Some(celsius), warning))))
    };
    assert_eq!(at(75, 0), [""; 0]);
    assert_eq!(at(80, 0), ["DiskOverheating"]);
    assert_eq!(at(70, 2), ["DiskOverheating"]);
    assert_eq!(at(66, 0), ["DiskOverheating"]);
    assert_eq!(at(64, 0), [""; 0]);
    assert_eq!(at(66, 0), [""; 0]);
}

#[test]
fn old_media_errors_are_no_fault_and_new_ones_are() {
    let mut bench = Bench::new();
    let errors = |errors| nvme_with(|health| health.media_errors = errors);
    assert_eq!(reasons(&bench.one("nvme0", errors(5))), [""; 0]);
    assert_eq!(reasons(&bench.one("nvme0", errors(5))), [""; 0]);
    let State::Faulty(faults) = bench.one("nvme0", errors(6)) else { panic!("not faulty") };
    assert_eq!(faults[0].reason.as_str(), "MediaErrorsGrowing");
    let message = |total| {
        format!(
            "uncorrected errors: {total} (baseline 5); run a self-test or a scrub, replace the disk if more come \
             (M, serial number S1)"
        )
    };
    assert_eq!(faults[0].message, message(6));
    assert_eq!(faults[0].since, Some(start() + SignedDuration::from_secs(900)));
    assert_eq!(reasons(&bench.one("nvme0", errors(6))), ["MediaErrorsGrowing"]);
    // It survives a restart, and a second growth does not start over.
    bench.restart();
    let State::Faulty(faults) = bench.one("nvme0", errors(8)) else { panic!("not faulty") };
    assert_eq!(faults[0].message, message(8));
    assert_eq!(faults[0].since, Some(start() + SignedDuration::from_secs(900)));
}

#[test]
fn a_dead_controller_is_lost_and_a_live_one_is_the_evidence_that_it_is_back() {
    let mut bench = Bench::new();
    let dead = NvmeReading { state: "dead".to_owned(), ..NvmeReading::default() };
    assert_eq!(reasons(&bench.one("nvme0", Health::Nvme(dead))), ["NVMeControllerLost"]);
    let findings = bench.round(vec![("nvme0", reading(nvme_with(|_| {})))]);
    assert_eq!(findings.recoveries.len(), 1);
    let recovery = &findings.recoveries[0];
    assert_eq!((recovery.subject.as_str(), recovery.seen_before), ("nvme0", start()));
    assert_eq!(recovery.reason.as_ref().map(Name::as_str), Some("NVMeControllerLost"));
    let resetting = NvmeReading { state: "resetting".to_owned(), ..NvmeReading::default() };
    assert_eq!(reasons(&bench.one("nvme0", Health::Nvme(resetting))), ["? DeviceNotAnswering"]);
}

#[test]
fn an_unreadable_health_log_is_no_verdict_and_no_evidence() {
    let mut bench = Bench::new();
    let unreadable = NvmeReading { health: Part::Unreadable("all ff".to_owned()), ..healthy_nvme() };
    let findings = bench.round(vec![("nvme0", reading(Health::Nvme(unreadable)))]);
    assert_eq!(reasons(&findings.verdicts[0].state), ["? DeviceUnreadable"]);
    assert_eq!(findings.recoveries, []);
    let absent = NvmeReading { health: Part::Absent, ..healthy_nvme() };
    let healthy = State::Healthy { message: "the disk offers no health data".to_owned() };
    assert_eq!(bench.one("nvme0", Health::Nvme(absent)), healthy);
}

#[test]
fn only_new_errors_that_are_the_devices_are_events() {
    let mut bench = Bench::new();
    let mut reported = |counts: &[(u64, u16)]| {
        let entry = |&(count, status): &(u64, u16)| ErrorEntry { count, status, lba: 8, namespace: 1 };
        let errors = Part::Read(counts.iter().map(entry).collect());
        let findings = bench.round(vec![("nvme0", reading(Health::Nvme(NvmeReading { errors, ..healthy_nvme() })))]);
        findings.events.into_iter().map(|event| event.message).collect::<Vec<_>>()
    };
    assert_eq!(reported(&[(3, 0x281)]), [""; 0]);
    assert_eq!(reported(&[(4, 0x002), (3, 0x281)]), [""; 0]);
    let new = reported(&[(6, 0x281), (5, 0x280), (4, 0x002), (3, 0x281)]);
    let message = "2 new errors in the disk's own log, the newest has status 0x281 at block 8 of namespace 1; \
                   replace the disk if I/O errors follow (M, serial number S1)";
    assert_eq!(new, [message]);
    assert_eq!(reported(&[(6, 0x281)]), [""; 0]);
    // The log was restarted: a baseline again.
    assert_eq!(reported(&[(1, 0x281)]), [""; 0]);
    assert_eq!(reported(&[(2, 0x281)]).len(), 1);
}

#[test]
fn an_empty_error_log_of_a_controller_that_has_errors_is_no_new_beginning() {
    let mut bench = Bench::new();
    let mut reported = |entries: u64, count: Option<u64>| {
        let Health::Nvme(healthy) = nvme_with(|health| health.error_entries = entries) else { unreachable!() };
        let entry = |count| ErrorEntry { count, status: 0x281, lba: 8, namespace: 1 };
        let reading_now = NvmeReading { errors: Part::Read(count.map(entry).into_iter().collect()), ..healthy };
        bench.round(vec![("nvme0", reading(Health::Nvme(reading_now)))]).events.len()
    };
    assert_eq!(reported(7, None), 0);
    assert_eq!(reported(7, Some(7)), 0, "the first sight is the baseline");
    assert_eq!(reported(7, None), 0);
    assert_eq!(reported(7, Some(7)), 0, "reported before");
    assert_eq!(reported(8, Some(8)), 1);
}

#[test]
fn a_failed_self_test_is_a_fault_until_one_passes_unless_it_is_ancient() {
    let mut bench = Bench::new();
    let test = |passed, at_hours| {
        let test = SelfTest { passed, at_hours, result: "segment 2 failed".to_owned() };
        Health::Nvme(NvmeReading { self_test: Part::Read(Some(test)), ..healthy_nvme() })
    };
    assert_eq!(reasons(&bench.one("nvme0", test(false, 4_900))), ["SelfTestFailed"]);
    assert_eq!(reasons(&bench.one("nvme0", test(true, 4_950))), [""; 0]);
    // Another disk, with a failure of long ago, and then a new one.
    let mut other = Bench::new();
    assert_eq!(reasons(&other.one("nvme0", test(false, 100))), [""; 0]);
    other.restart();
    assert_eq!(reasons(&other.one("nvme0", test(false, 100))), [""; 0]);
    assert_eq!(reasons(&other.one("nvme0", test(false, 4_999))), ["SelfTestFailed"]);
}

#[test]
fn a_log_that_cannot_be_read_ends_no_fault_that_it_carried() {
    let mut bench = Bench::new();
    let failed = SelfTest { passed: false, at_hours: 4_900, result: "segment 2 failed".to_owned() };
    let with = |self_test, limits, celsius| {
        let Health::Nvme(reading) = nvme_with(|health| health.celsius = Some(celsius)) else { unreachable!() };
        Health::Nvme(NvmeReading { self_test, limits, ..reading })
    };
    let limits = || healthy_nvme().limits;
    let lost = || "status 0x6".to_owned();
    let both = ["DiskOverheating", "SelfTestFailed"];
    assert_eq!(reasons(&bench.one("nvme0", with(Part::Read(Some(failed)), limits(), 80))), both);
    // Identify failed: neither the limits nor whether there is a self-test log are known.
    let blind = || with(Part::Unreadable(lost()), Part::Unreadable(lost()), 68);
    assert_eq!(reasons(&bench.one("nvme0", blind())), both);
    bench.restart();
    assert_eq!(reasons(&bench.one("nvme0", blind())), both);
    assert_eq!(reasons(&bench.one("nvme0", with(Part::Denied(lost()), limits(), 40))), ["SelfTestFailed"]);
    assert_eq!(reasons(&bench.one("nvme0", with(Part::Read(None), limits(), 40))), [""; 0]);
}
