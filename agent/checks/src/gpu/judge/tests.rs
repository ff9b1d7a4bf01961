mod fabric;
mod poll_errors;
mod presence;
mod recovery;
mod trends;
mod xids;

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::DeviceFacts;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    gpu::{Ecc, FabricState, Identity, Mig, Remap, Retired, Vendor},
    probe::{Fault, NoAnswer, State, Verdict},
};

const ONE: &str = "0000:05:00.0";
const TWO: &str = "0000:06:00.0";

/// A machine whose GPUs are as a test wants them.
struct Bench {
    judge: GpuJudge,
    seconds: i64,
    boot: &'static str,
    driver: DriverReading,
    gpus: BTreeMap<&'static str, Result<Value, PollError>>,
}

fn healthy(name: &str) -> GpuReading {
    let identity = Identity {
        name: Some("H100".into()),
        uuid: Some(format!("GPU-{name}")),
        serial: Some(format!("serial of {name}")),
        vbios: Some("96.00.61.00.01".into()),
    };
    let ecc =
        Some(Ecc { corrected: Some(7), uncorrected: Some(0), corrected_ever: Some(9), uncorrected_ever: Some(4) });
    GpuReading { vendor: Vendor::Nvidia, identity, ecc, persistence: Some(true), ..GpuReading::default() }
}

fn answer(reading: &GpuReading) -> Result<Value, PollError> {
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
        let mut answers = vec![(DRIVER.to_owned(), Ok(RawReading::of(&DeviceReading::Driver(driver)).unwrap()))];
        let read_at = json!(self.wall());
        for (name, answer) in &self.gpus {
            let read = |reading: &Value| {
                let mut reading = reading.clone();
                reading["read-at"] = read_at.clone();
                reading.into()
            };
            answers.push(((*name).to_owned(), answer.as_ref().map(read).map_err(Clone::clone)));
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
        let events = json!(XidEvent { device: name.into(), xid, times });
        self.judge.events(vec![events.into()], &self.now())
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

fn hardware(findings: &Findings) -> String {
    let lines = findings.hardware.iter().map(|line| {
        let states: Vec<_> = line.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        format!("{} {}: {}", line.total, line.class, states.join(", "))
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// The reasons that are over, of one GPU.
fn over(findings: &Findings, subject: &str) -> Vec<String> {
    let recoveries = findings.recoveries.iter().filter(|recovery| recovery.subject == subject);
    recoveries.filter_map(|recovery| Some(recovery.reason.as_ref()?.to_string())).collect()
}

fn links(up: &[bool]) -> Vec<Option<bool>> {
    up.iter().copied().map(Some).collect()
}

#[test]
fn gpus_that_answer_are_healthy_and_old_counts_report_nothing() {
    let findings = bench().round();
    for subject in [ONE, TWO, DRIVER] {
        assert_eq!(reasons(&findings, subject), ["healthy"]);
    }
    assert_eq!(reasons_of(&findings, ONE, "GpuFabricUnhealthy"), ["nothing"], "it has no fabric");
    assert_eq!(hardware(&findings), "2 GPUs: ");
    assert!(findings.events.is_empty() && findings.recoveries.is_empty());
}

#[test]
fn what_a_gpu_runs_is_shown_while_it_is_there() {
    let mut bench = bench();
    let (model, firmware) = ("H100".to_owned(), "96.00.61.00.01".to_owned());
    let one = DeviceFacts { name: ONE.to_owned(), model, firmware, driver: "nvidia 580.65.06".to_owned() };
    let two = DeviceFacts { name: TWO.to_owned(), ..one.clone() };
    assert_eq!(bench.round().hardware[0].devices, [one.clone(), two]);
    bench.gpus.remove(TWO);
    bench.set(ONE, |gpu| (gpu.access, gpu.identity) = (Access::Lost, Identity::default()));
    bench.round();
    let found = bench.round().hardware[0].devices.clone();
    assert_eq!(found, [one], "what it does not report now it reported before");
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
    assert_eq!(hardware(&findings), "2 GPUs: 1 lost");
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
fn no_answer_is_unknown_and_others_go_on() {
    let mut bench = bench();
    bench.round();
    bench.gpus.insert(ONE, Err(no_answer()));
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["unknown DeviceNotAnswering"]);
    assert_eq!(reasons(&findings, TWO), ["healthy"]);
    assert_eq!(hardware(&findings), "2 GPUs: 1 not answering");
    bench.set(ONE, |_| ());
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);

    let findings = bench.unlisted(no_answer());
    for subject in [ONE, TWO, DRIVER] {
        assert_eq!(reasons(&findings, subject), ["unknown DeviceNotAnswering"]);
    }
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
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
            let round = Round { now: now.clone(), listed, answers: vec![(ONE.to_owned(), Ok(reading.into()))] };
            let findings = [judge.judge(round), judge.events(vec![json!({"device": ONE, "xid": xid, "times": xid}).into()], &now)];
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
