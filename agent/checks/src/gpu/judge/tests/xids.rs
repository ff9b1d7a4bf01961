//! Xids that NVML reports.

use super::*;

#[test]
fn an_xid_that_holds_a_condition_is_the_kernel_logs_problem() {
    let mut bench = bench();
    bench.round();
    let findings = bench.xid(ONE, 119, 3);
    assert_eq!(reasons(&findings, ONE), ["GpuXid119GspRpcTimeout"]);
    assert!(findings.events.is_empty());
    assert_eq!(reasons(&bench.round(), ONE), ["GpuXid119GspRpcTimeout"], "a reading does not end it");
    bench.restart();
    assert_eq!(reasons(&bench.round(), ONE), ["GpuXid119GspRpcTimeout"], "nor does a restart");
    bench.boot = "another boot";
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"], "a boot does");
    assert_eq!(reasons_of(&bench.xid(ONE, 74, 1), ONE, "GpuFabricUnhealthy"), ["GpuXid74NvlinkError"]);
}

#[test]
fn an_operators_overrides_hold_for_readings_too() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = "[[xid]]\ncode = 79\ncondition = 'none'\n[[xid]]\ncode = 154\naction = 'reboot'\n\
        [[xid]]\ncode = 13\ncondition = 'GpuUnhealthy'\naction = 'reset-gpu'\nbefore = 575";
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    let mut bench = Bench::new(GpuSettings { xids: Some(file.path().to_owned()), ..GpuSettings::default() });
    bench.set(ONE, |gpu| gpu.access = Access::Lost);
    bench.set(TWO, |gpu| gpu.recovery = Some(1));
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    let needs = fault(&findings, TWO, "GpuXid154RecoveryAction");
    assert_eq!(needs.action, Some(nodewell_model::Action::Reboot));
    // What ends is what the branch of this driver held.
    for (version, is_reported) in [("580.65.06", false), ("570.1", true)] {
        bench.driver.version = Some(version.into());
        bench.set(TWO, |gpu| gpu.recovery = Some(1));
        bench.round();
        bench.set(TWO, |gpu| gpu.recovery = Some(0));
        bench.round();
        assert_eq!(over(&bench.round(), TWO).iter().any(|reason| reason.starts_with("GpuXid13G")), is_reported);
    }
}

#[test]
fn an_xid_and_the_reading_of_the_same_fault_are_one() {
    let mut bench = bench();
    bench.round();
    bench.xid(ONE, 79, 1);
    bench.xid(TWO, 48, 1);
    bench.set(ONE, |gpu| gpu.access = Access::Lost);
    bench.set(TWO, |gpu| gpu.ecc = Some(Ecc { uncorrected: Some(2), ..Ecc::default() }));
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["GpuXid79FallenOffBus"]);
    assert_eq!(reasons(&findings, TWO), ["GpuXid48DoubleBitEcc"]);
}

#[test]
fn a_storm_of_xids_that_hold_nothing_is_reported_once_a_minute_with_its_count() {
    let mut bench = bench();
    bench.round();
    let first = bench.xid(ONE, 31, 1);
    assert_eq!(first.events.len(), 1);
    assert_eq!(first.events[0].reason.as_str(), "GpuXid31MemoryPageFault");
    assert_eq!(reasons(&first, ONE), ["healthy"]);
    for _ in 0..50 {
        assert!(bench.xid(ONE, 31, 1000).events.is_empty());
    }
    bench.seconds += 60;
    let later = bench.xid(ONE, 31, 1);
    assert!(later.events[0].message.contains(", 50001 times: "), "{}", later.events[0].message);
}

#[test]
fn numbers_that_are_no_xids_are_passed_over() {
    let mut bench = bench();
    bench.round();
    for xid in [0, 154, u64::MAX] {
        let findings = bench.xid(ONE, xid, 1);
        assert_eq!(reasons(&findings, ONE), ["healthy"]);
        assert!(findings.events.is_empty(), "{xid}");
    }
    assert_eq!(bench.xid(ONE, 77_777, 1).events[0].reason.as_str(), "GpuXid77777Unlisted");
}

#[test]
fn power_smoothing_that_is_back_ends_its_loss() {
    let mut bench = bench();
    bench.round();
    assert_eq!(reasons(&bench.xid(ONE, 163, 1), ONE), ["GpuXid163PowerSmoothingOff"]);
    assert_eq!(reasons(&bench.xid(ONE, 162, 1), ONE), ["healthy"]);
}
