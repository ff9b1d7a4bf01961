//! Evidence that problems are over.

use super::*;

#[test]
fn the_drivers_word_that_nothing_is_needed_ends_what_a_reset_ends() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.recovery = Some(0));
    bench.round();
    // Reported now and then, for problems that only the kernel log knows.
    let first = over(&bench.round(), ONE);
    assert!(first.contains(&"GpuXid119GspRpcTimeout".to_owned()), "{first:?}");

    bench.xid(ONE, 119, 1);
    bench.xid(ONE, 54, 1);
    let seen = bench.wall();
    bench.set(ONE, |gpu| gpu.recovery = Some(1));
    let held = ["GpuXid54AuxiliaryPowerMissing", "GpuXid119GspRpcTimeout", "GpuXid154RecoveryAction"];
    assert_eq!(reasons(&bench.round(), ONE), held);
    bench.set(ONE, |gpu| gpu.recovery = Some(0));
    let once = bench.round();
    assert!(!over(&once, ONE).contains(&held[1].to_owned()), "once may be a reading that was under way");
    let healthy_since = bench.wall();
    let twice = bench.round();
    let evidence =
        |recovery: &&RecoveryEvidence| recovery.reason.as_ref().is_some_and(|reason| reason.as_str() == held[1]);
    assert_eq!(twice.recoveries.iter().find(evidence).unwrap().seen_before, healthy_since);
    assert!(healthy_since > seen);
    assert!(!over(&twice, ONE).contains(&held[0].to_owned()), "what wants hands is not over");
    assert_eq!(reasons(&bench.round(), ONE), [held[0]]);
}

#[test]
fn evidence_is_as_new_as_the_last_but_one_reading() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.recovery = Some(0));
    let rounds: Vec<_> = (0..30).map(|_| (bench.wall(), bench.round())).collect();
    let reported: Vec<_> = rounds.iter().filter(|(_, findings)| !over(findings, ONE).is_empty()).collect();
    // The 2nd, 3rd, 4th, 6th, 10th and 18th round.
    assert_eq!(reported.len(), 6);
    for (last_but_one, findings) in reported {
        assert!(findings.recoveries.iter().all(|recovery| recovery.seen_before == *last_but_one));
    }
}

#[test]
fn a_claim_that_is_newer_than_the_first_evidence_is_ended_by_the_next() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.recovery = Some(1));
    bench.round();
    bench.xid(ONE, 119, 1);
    bench.set(ONE, |gpu| gpu.recovery = Some(0));
    bench.round();
    // The reading began before the agent wrote the claim down.
    let claimed = bench.wall() + Duration::from_secs(2);
    let is_evidence = |recovery: &&RecoveryEvidence| {
        recovery.reason.as_ref().is_some_and(|reason| reason.as_str().contains("Xid119"))
    };
    let seen_before = |findings: &Findings| {
        findings.recoveries.iter().find(is_evidence).map(|recovery| recovery.seen_before).unwrap()
    };
    assert!(seen_before(&bench.round()) < claimed);
    assert!(seen_before(&bench.round()) > claimed);
}

#[test]
fn a_program_that_fails_in_a_loop_keeps_no_evidence_away() {
    let mut bench = bench();
    bench.xid(ONE, 79, 1);
    for _ in 0..2 {
        bench.round();
        bench.xid(ONE, 31, 1000);
    }
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}

#[test]
fn evidence_that_holds_is_reported_every_ten_minutes() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.recovery = Some(0));
    let reported = (0..500).filter(|_| !over(&bench.round(), ONE).is_empty()).count();
    // 500 rounds are 250 minutes.
    assert!((24..35).contains(&reported), "{reported}");
}

#[test]
fn a_gpu_that_comes_back_is_reported_at_once() {
    let mut bench = bench();
    bench.round();
    assert!(!bench.round().recoveries.is_empty());
    bench.set(ONE, |gpu| gpu.access = Access::Lost);
    assert!(over(&bench.round(), ONE).is_empty());
    bench.set(ONE, |_| ());
    assert!(over(&bench.round(), ONE).is_empty());
    assert!(!over(&bench.round(), ONE).is_empty());
}

#[test]
fn a_gpu_that_answers_is_on_the_bus_whatever_the_driver_knows() {
    let mut bench = bench();
    for xid in [79, 167, 62] {
        bench.xid(ONE, xid, 1);
    }
    assert!(over(&bench.round(), ONE).is_empty());
    let contradicted = ["GpuXid79FallenOffBus", "GpuXid143GpuInitFailed", "GpuXid167PcieFatalTimeout", "GpuInitFailed"];
    assert_eq!(over(&bench.round(), ONE), contradicted);
    assert_eq!(reasons(&bench.round(), ONE), ["GpuXid62MicrocontrollerHalt"], "no reset was reported");
}

#[test]
fn evidence_of_many_gpus_comes_in_pieces() {
    let names: Vec<&'static str> = (0..64).map(|bus| &*format!("0000:{bus:02x}:00.0").leak()).collect();
    let mut bench = bench();
    bench.gpus.clear();
    for name in &names {
        bench.set(name, |gpu| gpu.recovery = Some(0));
    }
    let mut left = names.clone();
    for _ in 0..12 {
        let findings = bench.round();
        // What the check process buffers for an agent that is away.
        assert!(findings.recoveries.len() < 1100);
        left.retain(|name| over(&findings, name).is_empty());
    }
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_gpu_that_was_restarted_is_over_its_xids_whatever_else_the_driver_knows() {
    let mut bench = bench();
    let used = |energy| move |gpu: &mut GpuReading| gpu.energy_millijoules = Some(energy);
    bench.set(ONE, used(5_000_000));
    bench.round();
    bench.xid(ONE, 62, 1);
    bench.set(ONE, used(5_000_001));
    bench.round();
    let last = bench.wall();
    assert_eq!(reasons(&bench.round(), ONE), ["GpuXid62MicrocontrollerHalt"]);
    bench.set(ONE, used(9_000));
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    assert!(findings.recoveries.iter().all(|recovery| recovery.seen_before > last));
}

#[test]
fn a_driver_loaded_again_ends_xids_that_came_before() {
    let mut bench = bench();
    bench.round();
    bench.xid(ONE, 62, 1);
    bench.round();
    let last_seen = bench.wall();
    bench.driver.module = Some(12);
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    assert!(!findings.recoveries.is_empty());
    assert!(findings.recoveries.iter().all(|recovery| recovery.seen_before == last_seen));
}

#[test]
fn a_driver_loaded_again_ends_what_was_reported_of_switches() {
    let mut bench = bench();
    bench.driver.switches = vec!["0000:c3:00.0".into()];
    bench.round();
    let last_seen = bench.wall();
    bench.driver.module = Some(12);
    let findings = bench.round();
    let [recovery] =
        findings.recoveries.iter().filter(|recovery| recovery.subject == "0000:c3:00.0").collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", findings.recoveries)
    };
    assert_eq!((recovery.condition.as_str(), &recovery.reason), ("GpuFabricUnhealthy", &None));
    assert_eq!(recovery.seen_before, last_seen);
}

#[test]
fn a_driver_loaded_again_mends_no_cable() {
    let mut bench = bench();
    bench.round();
    let held =
        ["GpuXid54AuxiliaryPowerMissing", "GpuXid163PowerSmoothingOff", "GpuXid168ReducedMemory", "GpuXid173C2cFatal"];
    for xid in [54, 163, 168, 173] {
        bench.xid(ONE, xid, 1);
    }
    bench.driver.module = Some(12);
    assert_eq!(reasons(&bench.round(), ONE), held);
    bench.boot = "another boot";
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}
