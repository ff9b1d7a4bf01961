use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::{
    disk::{
        nvme::log::{HealthLog, Limits},
        part::Part,
        reading::{Identity, NvmeReading},
    },
    probe::{Fault, NoAnswer, RawReading},
};

mod ata;
mod card;
mod nvme;
mod pools;
mod raid;
mod scsi;

/// A judge and a clock that goes on by itself.
struct Bench {
    judge: DiskJudge,
    now: Now,
}

impl Bench {
    fn new() -> Self {
        let now = Now { wall: start(), boottime: Duration::from_secs(100), boot_id: "boot".to_owned() };
        Self { judge: DiskJudge::new(DiskSettings::default()), now }
    }

    fn round(&mut self, answers: Vec<(&str, Answer)>) -> Findings {
        let listed = answers.iter().map(|(name, _)| (*name).to_owned()).collect();
        self.round_of(Ok(listed), answers)
    }

    fn round_of(&mut self, listed: Result<Vec<String>, PollError>, answers: Vec<(&str, Answer)>) -> Findings {
        self.pass(Duration::from_secs(300));
        let answers = answers.into_iter().map(|(name, answer)| (name.to_owned(), answer)).collect();
        self.judge.judge(Round { now: self.now.clone(), listed, answers })
    }

    fn one(&mut self, name: &str, health: Health) -> State {
        let mut findings = self.round(vec![(name, reading(health))]);
        assert_eq!(findings.verdicts.len(), 1);
        findings.verdicts.remove(0).state
    }

    fn pass(&mut self, time: Duration) {
        self.now.boottime += time;
        self.now.wall += SignedDuration::try_from(time).unwrap();
    }

    /// The check process restarts with what was saved.
    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = DiskJudge::new(DiskSettings::default());
        if let Some(saved) = saved {
            self.judge.load(saved);
        }
    }
}

fn start() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

fn reading(health: Health) -> Answer {
    reading_of("S1", health)
}

fn reading_of(serial: &str, health: Health) -> Answer {
    let identity = Identity { model: "M".to_owned(), serial: serial.to_owned(), firmware: "1".to_owned() };
    Ok(RawReading::of(&DiskReading { asked: start(), identity, health }).unwrap())
}

fn reasons(state: &State) -> Vec<String> {
    match state {
        State::Faulty(faults) => faults.iter().map(|fault: &Fault| fault.reason.to_string()).collect(),
        State::Unknown { reason, .. } => vec![format!("? {reason}")],
        State::Healthy { .. } => Vec::new(),
    }
}

fn healthy_nvme() -> NvmeReading {
    let limits = Limits { warning_celsius: Some(70), critical_celsius: Some(80) };
    let health = HealthLog {
        celsius: Some(35),
        spare_percent: 100,
        spare_threshold_percent: 10,
        used_percent: 3,
        power_on_hours: 5000,
        ..HealthLog::default()
    };
    NvmeReading {
        state: "live".to_owned(),
        health: Part::Read(health),
        limits: Part::Read(limits),
        errors: Part::Read(Vec::new()),
        self_test: Part::Absent,
    }
}

fn nvme_with(change: impl FnOnce(&mut HealthLog)) -> Health {
    let mut reading = healthy_nvme();
    if let Part::Read(health) = &mut reading.health {
        change(health);
    }
    Health::Nvme(reading)
}

fn silent() -> Answer {
    Err(PollError::NoAnswer(NoAnswer::asked(start(), "no answer within 20 s")))
}

#[test]
fn a_silent_disk_is_unknown_and_the_others_go_on() {
    let mut bench = Bench::new();
    let healthy = || reading(nvme_with(|_| {}));
    let findings = bench.round(vec![("nvme0", healthy()), ("nvme1", silent())]);
    assert_eq!(reasons(&findings.verdicts[0].state), [""; 0]);
    assert_eq!(reasons(&findings.verdicts[1].state), ["? DeviceNotAnswering"]);
    let states = BTreeMap::from([("not answering".to_owned(), 1)]);
    assert_eq!(findings.hardware, [Hardware { class: "disks".to_owned(), total: 2, states, ..Hardware::default() }]);
}

#[test]
fn what_was_not_asked_is_as_it_was_and_what_is_gone_is_forgotten() {
    let mut bench = Bench::new();
    bench.one("nvme0", nvme_with(|health| health.warning = 4));
    let unasked = bench.round_of(Ok(vec!["nvme0".to_owned()]), Vec::new());
    assert_eq!(reasons(&unasked.verdicts[0].state), ["NvmeReliabilityDegraded"]);
    let gone = bench.round(vec![("nvme0", Err(PollError::Read(ReadError::Gone { what: "nvme0".to_owned() })))]);
    assert_eq!((gone.verdicts, gone.hardware), (Vec::new(), Vec::new()));
}

#[test]
fn a_disk_that_goes_with_its_problems_is_reported_once() {
    let mut bench = Bench::new();
    let reported = |findings: Findings| -> Vec<String> {
        findings.events.into_iter().map(|event| format!("{} {}", event.subject.unwrap(), event.message)).collect()
    };
    let failing = || reading_of("S1", nvme_with(|health| health.warning = 8));
    let plain = || reading_of("S2", Health::Plain { why: "USB".to_owned() });
    bench.round(vec![("nvme0", failing()), ("nvme1", reading_of("S3", nvme_with(|_| {}))), ("sda", plain())]);
    let gone = reported(bench.round(Vec::new()));
    assert_eq!(gone.len(), 2, "a volume that was healthy goes without an Event: {gone:?}");
    assert!(gone[0].starts_with("nvme0 the disk is gone, its last state was NvmeReadOnly: "), "{gone:?}");
    assert_eq!(
        gone[1],
        "sda the disk is gone, without a known fault; unless it was taken out, see the kernel log, check seat, cable \
         and power"
    );
    assert_eq!(reported(bench.round(Vec::new())), [""; 0]);
    // Between the list and the question.
    bench.one("nvme0", nvme_with(|health| health.warning = 8));
    let went = || Err(PollError::Read(ReadError::Gone { what: "nvme0".to_owned() }));
    assert_eq!(reported(bench.round(vec![("nvme0", went())])).len(), 1);
    assert_eq!(reported(bench.round(vec![("nvme0", went())])), [""; 0]);
}

#[test]
fn a_machine_without_disks_publishes_nothing() {
    let mut bench = Bench::new();
    bench.one("nvme0", nvme_with(|_| {}));
    let gone = PollError::Read(ReadError::Gone { what: "disks".to_owned() });
    assert_eq!(bench.round_of(Err(gone), Vec::new()), Findings::default());
}

#[test]
fn without_a_list_all_is_unknown_and_nothing_is_forgotten() {
    let no_answer = PollError::NoAnswer(NoAnswer::asked(start(), String::new()));
    let denied = PollError::Read(ReadError::Denied { message: "/sys".to_owned() });
    let failed = PollError::Read(ReadError::Failed { message: "its worker ended".to_owned() });
    let reasons_of =
        [(no_answer, "? DeviceNotAnswering"), (denied, "? PermissionDenied"), (failed, "? DeviceUnreadable")];
    for (error, expected) in reasons_of {
        let mut bench = Bench::new();
        bench.one("nvme0", nvme_with(|health| health.warning = 8));
        let findings = bench.round_of(Err(error), Vec::new());
        assert_eq!(reasons(&findings.verdicts[0].state), [expected]);
        assert_eq!(reasons(&bench.one("nvme0", nvme_with(|health| health.warning = 8))), ["NvmeReadOnly"]);
    }
}

#[test]
fn readings_of_another_version_and_refusals_are_unknown() {
    let mut bench = Bench::new();
    let strange = Ok(serde_json::json!({"health": {"kind": "tape"}}).into());
    let denied = Err(PollError::Read(ReadError::Denied { message: "nvme1: CAP_SYS_ADMIN".to_owned() }));
    let findings = bench.round(vec![("nvme0", strange), ("nvme1", denied)]);
    let found: Vec<_> = findings.verdicts.iter().flat_map(|verdict| reasons(&verdict.state)).collect();
    assert_eq!(found, ["? DeviceUnreadable", "? PermissionDenied"]);
}

#[test]
fn what_is_saved_is_returned_only_when_it_changed() {
    let mut bench = Bench::new();
    bench.one("nvme0", nvme_with(|_| {}));
    assert!(bench.judge.save().is_some());
    bench.one("nvme0", nvme_with(|health| health.celsius = Some(36)));
    assert_eq!(bench.judge.save(), None);
    bench.one("nvme0", nvme_with(|health| health.media_errors = 1));
    assert!(bench.judge.save().is_some());
}

#[test]
fn what_an_unknown_version_saved_is_forgotten() {
    let mut bench = Bench::new();
    for saved in [Value::Null, serde_json::json!({"version": 2, "disks": {}}), serde_json::json!({"disks": [1]})] {
        bench.judge.load(saved);
        assert_eq!(reasons(&bench.one("nvme0", nvme_with(|_| {}))), [""; 0]);
    }
}

/// After a way back from a version that has more: errors of before must not be taken for old ones.
#[test]
fn what_a_later_version_saved_is_taken_as_far_as_it_is_known() {
    let mut bench = Bench::new();
    let errors = |count| nvme_with(|health| health.media_errors = count);
    bench.one("nvme0", errors(0));
    assert_eq!(reasons(&bench.one("nvme0", errors(9))), ["MediaErrorsGrowing"]);
    let mut saved = bench.judge.save().unwrap();
    let disk = &mut saved["disks"]["S1"];
    disk["signs"] = serde_json::json!({"of-a-later-version": {"holds": true}});
    disk["counters"]["of-a-later-version"] = serde_json::json!({"base": 1, "last": 2});
    saved["disks"]["S2"] = serde_json::json!({"card": 7});
    bench.judge = DiskJudge::new(DiskSettings::default());
    bench.judge.load(saved);
    assert_eq!(reasons(&bench.one("nvme0", errors(9))), ["MediaErrorsGrowing"]);
}

#[test]
fn a_disk_is_known_by_its_serial_number_not_by_its_slot() {
    let mut bench = Bench::new();
    let errors = |count| nvme_with(|health| health.media_errors = count);
    bench.round(vec![("nvme0", reading_of("A", errors(0))), ("nvme1", reading_of("B", errors(40)))]);
    // Their names swap with the next boot.
    bench.restart();
    let findings = bench.round(vec![("nvme0", reading_of("B", errors(40))), ("nvme1", reading_of("A", errors(0)))]);
    assert!(findings.verdicts.iter().all(|verdict| reasons(&verdict.state).is_empty()), "{findings:?}");
}

#[test]
fn two_disks_that_give_the_same_serial_number_are_two() {
    let mut bench = Bench::new();
    let errors = |count| reading_of("SAME", nvme_with(|health| health.media_errors = count));
    for _ in 0..4 {
        let findings = bench.round(vec![("nvme0", errors(0)), ("nvme1", errors(7))]);
        assert!(findings.verdicts.iter().all(|verdict| reasons(&verdict.state).is_empty()), "{findings:?}");
    }
}
