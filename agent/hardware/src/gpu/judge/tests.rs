mod poll_errors;

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    Fault, NoAnswer, State, Verdict,
    gpu::{Ecc, FabricState, Identity, Mig, Remap, Retired, Vendor},
};

const ONE: &str = "0000:05:00.0";
const TWO: &str = "0000:06:00.0";

/// A machine whose GPUs are as a test wants them.
struct Bench {
    judge: GpuJudge,
    seconds: i64,
    boot: &'static str,
    driver: DriverReading,
    gpus: BTreeMap<&'static str, Answer>,
}

fn healthy(name: &str) -> GpuReading {
    let identity = Identity {
        name: Some("H100".into()),
        uuid: Some(format!("GPU-{name}")),
        serial: Some(format!("serial of {name}")),
    };
    let ecc =
        Some(Ecc { corrected: Some(7), uncorrected: Some(0), corrected_ever: Some(9), uncorrected_ever: Some(4) });
    GpuReading { vendor: Vendor::Nvidia, identity, ecc, persistence: Some(true), ..GpuReading::default() }
}

fn answer(reading: &GpuReading) -> Answer {
    Ok(serde_json::to_value(DeviceReading::Gpu(Box::new(reading.clone()))).unwrap())
}

impl Bench {
    fn new(settings: GpuSettings) -> Self {
        let driver = DriverReading { version: Some("580.65.06".into()), module: Some(11), ..DriverReading::default() };
        let gpus = [ONE, TWO].into_iter().map(|name| (name, answer(&healthy(name)))).collect();
        Self { judge: GpuJudge::new(settings), seconds: 1_000_000, boot: "boot", driver, gpus }
    }

    fn now(&self) -> Now {
        let boottime = Duration::from_secs(self.seconds.unsigned_abs());
        Now { wall: self.wall(), boottime, boot_id: self.boot.into() }
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_second(self.seconds).unwrap()
    }

    fn set(&mut self, name: &'static str, change: impl FnOnce(&mut GpuReading)) {
        let mut reading = healthy(name);
        change(&mut reading);
        self.gpus.insert(name, answer(&reading));
    }

    fn round(&mut self) -> Findings {
        self.seconds += 30;
        let driver = DriverReading { read_at: self.wall(), ..self.driver.clone() };
        let mut answers = vec![(DRIVER.to_owned(), Ok(serde_json::to_value(DeviceReading::Driver(driver)).unwrap()))];
        let read_at = json!(self.wall());
        for (name, answer) in &self.gpus {
            let mut answer = answer.clone();
            if let Ok(value) = &mut answer {
                value["read-at"] = read_at.clone();
            }
            answers.push(((*name).to_owned(), answer));
        }
        let listed = answers.iter().map(|(name, _)| name.clone()).collect();
        self.judge.judge(Round { now: self.now(), listed: Ok(listed), answers })
    }

    fn unlisted(&mut self, error: PollError) -> Findings {
        self.seconds += 30;
        self.judge.judge(Round { now: self.now(), listed: Err(error), answers: Vec::new() })
    }

    fn xid(&mut self, name: &str, xid: u64, times: u64) -> Findings {
        self.seconds += 1;
        let news = json!(News { device: name.into(), xid, times });
        self.judge.news(vec![news], &self.now())
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = GpuJudge::new(self.judge.settings.clone());
        self.judge.load(saved.expect("something was learnt"));
    }
}

fn bench() -> Bench {
    Bench::new(GpuSettings::default())
}

fn no_answer() -> PollError {
    PollError::NoAnswer(NoAnswer::asked(Timestamp::UNIX_EPOCH, "no answer within 15 s"))
}

fn states<'a>(findings: &'a Findings, subject: &str, condition: &str) -> Vec<&'a State> {
    let fits = |verdict: &&Verdict| verdict.subject == subject && verdict.condition.as_str() == condition;
    findings.verdicts.iter().filter(fits).map(|verdict| &verdict.state).collect()
}

/// The reasons of a GPU's faults, or `healthy`, `unknown`, `nothing`.
fn reasons(findings: &Findings, subject: &str) -> Vec<String> {
    reasons_of(findings, subject, "GpuUnhealthy")
}

fn reasons_of(findings: &Findings, subject: &str, condition: &str) -> Vec<String> {
    let states = states(findings, subject, condition);
    assert!(states.len() <= 1, "one verdict for each condition and subject");
    match states.first() {
        None => vec!["nothing".into()],
        Some(State::Healthy { .. }) => vec!["healthy".into()],
        Some(State::Unknown { reason, .. }) => vec![format!("unknown {reason}")],
        Some(State::Faulty(faults)) => {
            assert!(!faults.is_empty());
            faults.iter().map(|fault| fault.reason.to_string()).collect()
        }
    }
}

fn fault<'a>(findings: &'a Findings, subject: &str, reason: &str) -> &'a Fault {
    let faults =
        findings.verdicts.iter().filter(|verdict| verdict.subject == subject).flat_map(|verdict| {
            match &verdict.state {
                State::Faulty(faults) => faults.as_slice(),
                _ => &[],
            }
        });
    faults.into_iter().find(|fault| fault.reason.as_str() == reason).expect(reason)
}

fn inventory(findings: &Findings) -> String {
    let lines = findings.inventory.iter().map(|line| {
        let states: Vec<_> = line.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        format!("{} {}: {}", line.total, line.class, states.join(", "))
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[test]
fn gpus_that_answer_are_healthy_and_old_counts_report_nothing() {
    let findings = bench().round();
    for subject in [ONE, TWO, DRIVER] {
        assert_eq!(reasons(&findings, subject), ["healthy"]);
    }
    assert_eq!(reasons_of(&findings, ONE, "GpuFabricUnhealthy"), ["nothing"], "it has no fabric");
    assert_eq!(inventory(&findings), "2 GPUs: ");
    assert!(findings.events.is_empty() && findings.recoveries.is_empty());
}

#[test]
fn a_gpu_that_supports_nothing_is_healthy_by_what_is_known() {
    let mut bench = bench();
    bench.gpus.insert(ONE, Ok(json!({"kind": "gpu"})));
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}

#[test]
fn what_a_gpu_reports_of_itself_is_its_fault() {
    type Change = fn(&mut GpuReading);
    let cases: [(&str, Change); 12] = [
        ("GpuXid79FallenOffBus", |gpu| gpu.access = Access::Lost),
        ("GpuXid54AuxiliaryPowerMissing", |gpu| gpu.access = Access::NoPower),
        ("GpuInterruptsLost", |gpu| gpu.access = Access::NoInterrupts),
        ("GpuXid154RecoveryAction", |gpu| gpu.access = Access::ResetRequired),
        ("GpuXid154RecoveryAction", |gpu| gpu.recovery = Some(2)),
        ("GpuEccUncorrectable", |gpu| gpu.ecc = Some(Ecc { uncorrected: Some(1), ..Ecc::default() })),
        ("GpuRowRemapPending", |gpu| gpu.remap = Some(Remap { pending: true, ..Remap::default() })),
        ("GpuRowRemapFailed", |gpu| gpu.remap = Some(Remap { failed: true, ..Remap::default() })),
        ("GpuPageRetirementPending", |gpu| gpu.retired = Some(Retired { pages: None, pending: true })),
        ("GpuPagesRetired", |gpu| gpu.retired = Some(Retired { pages: Some(60), pending: false })),
        ("healthy", |gpu| gpu.retired = Some(Retired { pages: Some(59), pending: false })),
        ("healthy", |gpu| gpu.access = Access::Asleep),
    ];
    for (reason, change) in cases {
        let mut bench = bench();
        bench.round();
        bench.set(ONE, change);
        let findings = bench.round();
        // The one that fell asleep retains what was reported of it; the others change at once.
        assert_eq!(reasons(&findings, ONE), [reason]);
        assert_eq!(reasons(&findings, TWO), ["healthy"]);
        bench.set(ONE, |_| ());
        assert_eq!(reasons(&bench.round(), ONE), ["healthy"], "{reason} is over");
    }
}

#[test]
fn faults_name_the_board_and_an_action() {
    let mut bench = bench();
    bench.round();
    bench.set(ONE, |gpu| {
        gpu.access = Access::Lost;
        gpu.identity = Identity::default();
    });
    let findings = bench.round();
    let lost = fault(&findings, ONE, "GpuXid79FallenOffBus");
    assert_eq!(
        lost.message,
        format!(
            "the GPU has fallen off the bus; drain the node and power-cycle it, inspect the GPU if this happens again \
             (H100, serial serial of {ONE}, GPU-{ONE})"
        )
    );
    assert_eq!(lost.action, Some(nodewell_model::Action::Reboot));
    assert_eq!(inventory(&findings), "2 GPUs: 1 lost");
}

#[test]
fn a_gpu_off_the_list_is_missing_after_two_rounds_and_across_restarts() {
    let mut bench = bench();
    bench.round();
    bench.gpus.remove(TWO);
    assert_eq!(reasons(&bench.round(), TWO), ["healthy"]);
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["GpuMissing"]);
    assert_eq!(inventory(&findings), "2 GPUs: 1 lost");
    bench.restart();
    assert_eq!(reasons(&bench.round(), TWO), ["GpuMissing"], "at once: it was missing already");
    bench.boot = "another boot";
    assert_eq!(reasons(&bench.round(), TWO), ["GpuMissing"]);
    bench.set(TWO, |_| ());
    assert_eq!(reasons(&bench.round(), TWO), ["healthy"]);
}

#[test]
fn a_gpu_that_a_new_run_does_not_find_is_unknown_until_that_is_sure() {
    let mut bench = bench();
    bench.round();
    bench.set(TWO, |gpu| gpu.links = links(&[true]));
    bench.round();
    bench.gpus.remove(TWO);
    bench.restart();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["unknown DeviceUnreadable"], "the last run may have missed it already");
    assert_eq!(reasons_of(&findings, TWO, "GpuFabricUnhealthy"), ["nothing"]);
    assert_eq!(inventory(&findings), "2 GPUs: 1 not found");
    assert_eq!(reasons(&bench.round(), TWO), ["GpuMissing"]);
}

#[test]
fn a_gpu_that_a_new_run_need_not_find_is_not_looked_for() {
    let without_two = |settings: GpuSettings| {
        let mut bench = bench();
        bench.round();
        bench.gpus.remove(TWO);
        bench.judge.settings = settings;
        bench.restart();
        bench
    };
    let mut given = without_two(GpuSettings::default());
    given.driver.elsewhere = vec![TWO.into()];
    assert_eq!(reasons(&given.round(), TWO), ["nothing"], "it has another driver");
    let mut taken_out = without_two(GpuSettings { expected: Some(1), ..GpuSettings::default() });
    for _ in 0..3 {
        assert_eq!(reasons(&taken_out.round(), TWO), ["nothing"], "as many are expected as there are");
    }
}

#[test]
fn while_the_driver_is_silent_it_is_not_known_where_an_unfound_gpu_is() {
    let mut bench = bench();
    bench.round();
    bench.restart();
    for _ in 0..3 {
        bench.seconds += 30;
        let answers = vec![(DRIVER.to_owned(), Err(no_answer())), (ONE.to_owned(), bench.gpus[ONE].clone())];
        let listed = Ok(vec![DRIVER.to_owned(), ONE.to_owned()]);
        let findings = bench.judge.judge(Round { now: bench.now(), listed, answers });
        assert_eq!(reasons(&findings, TWO), ["unknown DeviceNotAnswering"]);
    }
    bench.gpus.remove(TWO);
    bench.driver.elsewhere = vec![TWO.into()];
    assert_eq!(reasons(&bench.round(), TWO), ["nothing"]);
}

#[test]
fn a_board_in_another_slot_is_not_missed_in_its_old_one() {
    let mut bench = bench();
    bench.round();
    let moved = bench.gpus.remove(TWO).unwrap();
    bench.gpus.insert("0000:86:00.0", moved);
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["nothing"]);
    assert_eq!(inventory(&findings), "2 GPUs: ");
}

#[test]
fn another_board_in_the_slot_begins_again() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.links = links(&[true]));
    bench.round();
    bench.xid(ONE, 62, 1);
    bench.set(ONE, |gpu| {
        gpu.identity.uuid = Some("GPU-another".into());
        gpu.links = links(&[false]);
    });
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    assert_eq!(reasons_of(&findings, ONE, "GpuFabricUnhealthy"), ["nothing"]);
}

#[test]
fn a_gpu_that_falls_asleep_keeps_its_faults() {
    let mut bench = bench();
    let pending = Some(Remap { pending: true, ..Remap::default() });
    bench.set(ONE, |gpu| gpu.remap = pending);
    bench.round();
    bench.set(ONE, |gpu| gpu.access = Access::Asleep);
    assert_eq!(reasons(&bench.round(), ONE), ["GpuRowRemapPending"]);
}

#[test]
fn a_gpu_given_to_another_driver_is_not_missing() {
    let mut bench = bench();
    bench.round();
    bench.gpus.remove(TWO);
    bench.driver.elsewhere = vec![TWO.into()];
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["nothing"]);
    assert_eq!(inventory(&findings), "1 GPUs: ");
}

#[test]
fn an_operator_sets_how_many_there_have_to_be() {
    let mut bench = Bench::new(GpuSettings { expected: Some(3), ..GpuSettings::default() });
    assert_eq!(reasons(&bench.round(), DRIVER), ["healthy"]);
    let findings = bench.round();
    assert_eq!(reasons(&findings, DRIVER), ["GpuCountLow"]);
    assert_eq!(
        fault(&findings, DRIVER, "GpuCountLow").message,
        "GPUs that were never seen: 1 (expected 3); compare with lspci -d 10de:, correct `expected` in [gpu] \
         if it is wrong"
    );
    assert_eq!(inventory(&findings), "3 GPUs: 1 lost");

    bench.judge.settings.expected = Some(1);
    bench.gpus.remove(TWO);
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["nothing"]);
    assert_eq!(inventory(&findings), "1 GPUs: ");
}

#[test]
fn no_answer_is_unknown_and_others_go_on() {
    let mut bench = bench();
    bench.round();
    bench.gpus.insert(ONE, Err(no_answer()));
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["unknown DeviceNotAnswering"]);
    assert_eq!(reasons(&findings, TWO), ["healthy"]);
    assert_eq!(inventory(&findings), "2 GPUs: 1 not answering");
    bench.set(ONE, |_| ());
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);

    let findings = bench.unlisted(no_answer());
    for subject in [ONE, TWO, DRIVER] {
        assert_eq!(reasons(&findings, subject), ["unknown DeviceNotAnswering"]);
    }
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}

#[test]
fn without_a_driver_nothing_is_reported_and_with_it_everything_is_back() {
    let mut bench = bench();
    bench.round();
    let gone = || PollError::Read(ReadError::Gone { what: "a GPU's driver".into() });
    for _ in 0..3 {
        assert_eq!(bench.unlisted(gone()), Findings::default());
    }
    assert_eq!(reasons(&bench.round(), TWO), ["healthy"]);
    bench.gpus.insert(ONE, Err(PollError::Read(ReadError::Gone { what: "libnvidia-ml.so.1".into() })));
    assert_eq!(reasons(&bench.round(), ONE), ["nothing"]);
}

#[test]
fn a_driver_and_a_library_that_do_not_fit_are_one_fault() {
    let mut bench = bench();
    bench.driver.mismatch = true;
    for name in [ONE, TWO] {
        bench.gpus.insert(name, Err(PollError::Read(ReadError::Failed { message: "versions".into() })));
    }
    let findings = bench.round();
    assert_eq!(reasons(&findings, DRIVER), ["GpuDriverMismatch"]);
    assert_eq!(reasons(&findings, ONE), ["unknown DeviceUnreadable"]);
}

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

/// The reasons that are over, of one GPU.
fn over(findings: &Findings, subject: &str) -> Vec<String> {
    let recoveries = findings.recoveries.iter().filter(|recovery| recovery.subject == subject);
    recoveries.filter_map(|recovery| Some(recovery.reason.as_ref()?.to_string())).collect()
}

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
    let well_since = bench.wall();
    let twice = bench.round();
    let evidence =
        |recovery: &&RecoveryEvidence| recovery.reason.as_ref().is_some_and(|reason| reason.as_str() == held[1]);
    assert_eq!(twice.recoveries.iter().find(evidence).unwrap().seen_before, well_since);
    assert!(well_since > seen);
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

fn links(up: &[bool]) -> Vec<Option<bool>> {
    up.iter().copied().map(Some).collect()
}

#[test]
fn links_of_unknown_state_are_not_down() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.links = links(&[true, true, true]));
    bench.round();
    bench.set(ONE, |gpu| gpu.links = vec![Some(true), None]);
    bench.round();
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
}

#[test]
fn links_that_were_up_once_are_missed_and_others_are_not() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.links = links(&[true, true, false]));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
    bench.set(ONE, |gpu| gpu.links = links(&[true, false, false]));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"], "once may be a training");
    let findings = bench.round();
    assert_eq!(reasons_of(&findings, ONE, "GpuFabricUnhealthy"), ["GpuNvlinkDown"]);
    assert_eq!(
        fault(&findings, ONE, "GpuNvlinkDown").message,
        "NVLink 1 of 2 down; see the kernel log for Xid 74 and SXids, reset the GPUs of the fabric"
    );
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    assert_eq!(inventory(&findings), "2 GPUs: 1 failing");
    bench.set(ONE, |gpu| {
        gpu.links = links(&[false, false, false]);
        gpu.mig = Some(Mig { current: 1, pending: 1 });
    });
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"], "multi-instance mode has no links");
}

#[test]
fn a_fabric_has_five_minutes_to_be_ready() {
    let mut bench = bench();
    let fabric = |state, status, health_mask| {
        move |gpu: &mut GpuReading| {
            gpu.fabric = Some(FabricState { state, status, health_mask });
        }
    };
    bench.set(ONE, fabric(2, 0, 0));
    for _ in 0..10 {
        assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
    }
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["GpuFabricNotReady"]);
    bench.set(ONE, fabric(3, 0, 2));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
    bench.set(ONE, fabric(3, 15, 0));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["GpuFabricFailed"]);
    bench.set(ONE, fabric(3, 0, 1));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["GpuFabricDegraded"]);
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

#[test]
fn nothing_is_saved_when_nothing_is_new() {
    let mut bench = bench();
    bench.round();
    assert!(bench.judge.save().is_some());
    for _ in 0..5 {
        bench.round();
        assert_eq!(bench.judge.save(), None);
    }
    bench.xid(ONE, 79, 1);
    assert!(bench.judge.save().is_some());
}

#[test]
fn what_was_saved_and_is_not_understood_is_forgotten() {
    for saved in [json!(null), json!([1, 2]), json!({"gpus": 7}), json!({"boot-id": "x", "more": true})] {
        let mut bench = bench();
        bench.judge.load(saved);
        assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
    }
}

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![Just(json!(0)), Just(json!(u64::MAX)), any::<u64>().prop_map(|number| json!(number)), Just(json!(null))]
}

fn any_reading() -> impl Strategy<Value = Value> {
    let access = prop::sample::select(vec!["answers", "asleep", "lost", "reset-required", "unlisted", "no-power"]);
    let ecc = (any_number(), any_number(), any_number());
    (access, ecc, any_number(), any_number(), prop::collection::vec(any::<Option<bool>>(), 0..40)).prop_map(
        |(access, (one, two, three), slowdown, recovery, links)| {
            json!({"kind": "gpu", "vendor": "NVIDIA", "access": access, "slowdown": slowdown, "recovery": recovery,
                "ecc": {"corrected": one, "uncorrected": two, "uncorrected-ever": three}, "links": links,
                "read-at": "2026-11-21T00:00:00Z"})
        },
    )
}

proptest! {
    #[test]
    fn whatever_comes_the_account_is_sound(
        readings in prop::collection::vec(prop_oneof![4 => any_reading(), 1 => any_number()], 1..20),
        clocks in prop::collection::vec((0_i64..2_000_000_000, 0_u64..10_000_000), 20),
        xids in prop::collection::vec(any_number(), 20),
    ) {
        let mut judge = GpuJudge::new(GpuSettings::default());
        for ((reading, (wall, boottime)), xid) in readings.into_iter().zip(clocks).zip(xids) {
            let wall = Timestamp::from_second(wall).unwrap();
            let now = Now { wall, boottime: Duration::from_secs(boottime), boot_id: (boottime % 3).to_string() };
            let listed = Ok(vec![DRIVER.to_owned(), ONE.to_owned()]);
            let round = Round { now: now.clone(), listed, answers: vec![(ONE.to_owned(), Ok(reading))] };
            let findings = [judge.judge(round), judge.news(vec![json!({"device": ONE, "xid": xid, "times": xid})], &now)];
            for findings in findings {
                let mut keys: Vec<_> =
                    findings.verdicts.iter().map(|verdict| (verdict.condition.clone(), verdict.subject.clone())).collect();
                keys.sort();
                keys.dedup();
                prop_assert_eq!(keys.len(), findings.verdicts.len());
                for verdict in &findings.verdicts {
                    prop_assert!(!matches!(&verdict.state, State::Faulty(faults) if faults.is_empty()));
                }
            }
            let saved = judge.save();
            if let Some(saved) = saved {
                judge.load(saved);
            }
        }
    }
}
