//! What several readings show together.

use super::*;

#[test]
fn amds_counters_count_by_growth_and_hold_for_an_hour() {
    let mut bench = bench();
    let counters = |uncorrected| {
        move |gpu: &mut GpuReading| {
            gpu.vendor = Vendor::Amd;
            gpu.ecc = Some(Ecc { corrected: Some(0), uncorrected: Some(uncorrected), ..Ecc::default() });
        }
    };
    bench.set(ONE, counters(3));
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
    bench.set(ONE, counters(4));
    assert_eq!(reasons(&bench.round(), ONE), ["AmdGpuUncorrectedError"]);
    bench.seconds += 3600;
    bench.round();
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}

#[test]
fn an_error_that_the_gpu_contained_is_an_event() {
    let mut bench = bench();
    let counted = |count, pending| {
        move |gpu: &mut GpuReading| {
            gpu.ecc = Some(Ecc { uncorrected: Some(count), ..Ecc::default() });
            gpu.remap = Some(Remap { pending, failed: false });
        }
    };
    bench.set(ONE, counted(2, false));
    assert!(bench.round().events.is_empty(), "an old count says nothing");
    bench.set(ONE, counted(5, false));
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    let [reported] = &*findings.events else { panic!("{:?}", findings.events) };
    assert_eq!((reported.reason.as_str(), reported.subject.as_deref()), ("GpuEccContained", Some(ONE)));
    assert!(reported.message.starts_with("3 more uncorrectable memory errors, 5 in all"), "{}", reported.message);
    bench.set(ONE, counted(5, true));
    let findings = bench.round();
    assert!(findings.events.is_empty());
    assert_eq!(reasons(&findings, ONE), ["GpuRowRemapPending"]);
    bench.set(ONE, counted(0, false));
    assert!(bench.round().events.is_empty(), "it was reset");
}

#[test]
fn uncorrectable_errors_that_are_only_counted_for_life_count_by_growth() {
    let mut bench = bench();
    let ever = |count| {
        move |gpu: &mut GpuReading| {
            gpu.ecc = Some(Ecc { uncorrected_ever: Some(count), ..Ecc::default() });
        }
    };
    bench.set(ONE, ever(900));
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
    bench.set(ONE, ever(901));
    assert_eq!(reasons(&bench.round(), ONE), ["GpuEccUncorrectable"]);
    assert_eq!(reasons(&bench.round(), ONE), ["GpuEccUncorrectable"]);
    bench.set(ONE, ever(3));
    bench.boot = "another boot";
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}

#[test]
fn slowdowns_and_corrected_errors_need_time() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.slowdown = Some(0x48));
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
    let last = (0..5).map(|_| bench.round()).last().unwrap();
    assert_eq!(reasons(&last, ONE), ["GpuThermalSlowdown"]);

    let corrected = |count| {
        move |gpu: &mut GpuReading| {
            gpu.ecc = Some(Ecc { corrected: Some(count), uncorrected: Some(0), ..Ecc::default() });
        }
    };
    bench.set(TWO, corrected(4_000_000));
    assert_eq!(reasons(&bench.round(), TWO), ["GpuEccCorrectedGrowing"], "from 7");
}

#[test]
fn a_mode_that_waits_for_a_reset_is_reported_and_persistence_once() {
    let mut bench = bench();
    bench.round();
    bench.set(ONE, |gpu| {
        gpu.mig = Some(Mig { current: 0, pending: 1 });
        gpu.persistence = Some(false);
    });
    let findings = bench.round();
    assert_eq!(findings.events.iter().map(|it| it.reason.as_str()).collect::<Vec<_>>(), ["GpuPersistenceOff"]);
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["GpuMigModePending"]);
    assert!(findings.events.is_empty());
}
