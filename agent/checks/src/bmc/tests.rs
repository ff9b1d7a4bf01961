//! From a BMC that is made up to verdicts and Events.

mod events;
mod fake;
mod flapping;
mod log;
mod names;
mod repository;

use std::{fs, time::Duration};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::{
    BmcJudge, BmcReader, BmcSettings,
    reader::ask,
    reading::{BMC, Question},
    walk::Limits,
};
use crate::probe::{
    Answer, Findings, Judge, NoAnswer, Now, PollError, RawReading, ReadError, Reader, Roots, Round, State,
};
use fake::{ASSERTED, DEASSERTED, ECC, ENTRY, Event, FAILS, FakeBmc, INFO, MENDED, SDR, SDR_INFO, SDR_RESERVE, SENSOR};

const SUPPLY: &str = "power supply sensor 0x61";
/// It gets no power; it predicts its failure.
const LOST: Event = (0x08, 0x61, ASSERTED, 0x03);
const FAILING: Event = (0x08, 0x61, ASSERTED, 0x02);
const FAN_LOW: Event = (0x04, 0x41, 0x01, 0x02);
const FAN_LOW_OVER: Event = (0x04, 0x41, 0x81, 0x02);

/// A node with a BMC, and a minute between two looks.
struct Machine {
    bmc: FakeBmc,
    judge: BmcJudge,
    now: Now,
}

impl Machine {
    fn new(bmc: FakeBmc) -> Self {
        let now = Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(1000), boot_id: "one".to_owned() };
        Self { bmc, judge: BmcJudge::default(), now }
    }

    /// After the first look at a log without these.
    fn with(events: &[Event]) -> Self {
        let mut machine = Self::new(FakeBmc::new(&[ECC]));
        assert!(machine.look().events.is_empty());
        events.iter().for_each(|event| machine.bmc.add(*event));
        machine
    }

    fn answer(&mut self) -> Answer {
        let question: Question = self.judge.cursor().unwrap().parse().unwrap();
        let limits = Limits { entries: 256, is_over: &|| false };
        let reading = ask(&mut self.bmc, question, &limits).and_then(|reading| RawReading::of(&reading));
        reading.map_err(PollError::Read)
    }

    fn look(&mut self) -> Findings {
        let answer = self.answer();
        self.judged(answer)
    }

    fn judged(&mut self, answer: Answer) -> Findings {
        let passed = Duration::from_secs(60);
        (self.now.wall, self.now.boottime) = (self.now.wall + passed, self.now.boottime + passed);
        let answers = vec![(BMC.to_owned(), answer)];
        self.judge.judge(Round { now: self.now.clone(), listed: Ok(vec![BMC.to_owned()]), answers })
    }

    fn looks(&mut self, rounds: usize) -> Findings {
        (1..rounds).for_each(|_| drop(self.look()));
        self.look()
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = BmcJudge::default();
        saved.into_iter().for_each(|saved| self.judge.load(saved));
    }
}

fn reason(findings: &Findings, subject: &str) -> String {
    let verdict = findings.verdicts.iter().find(|verdict| verdict.subject == subject);
    match verdict.map(|verdict| &verdict.state) {
        None => "absent".to_owned(),
        Some(State::Healthy { .. }) => "healthy".to_owned(),
        Some(State::Unknown { reason, .. }) => format!("unknown: {reason}"),
        Some(State::Faulty(faults)) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
    }
}

fn events(findings: &Findings) -> Vec<&str> {
    findings.events.iter().map(|event| event.reason.as_str()).collect()
}

#[test]
fn a_bmc_that_answers_is_well_and_history_is_no_news() {
    let mut machine = Machine::new(FakeBmc::new(&[ECC, FAILS, FAN_LOW]));
    for _ in 0..9 {
        let findings = machine.look();
        assert_eq!((findings.verdicts.len(), reason(&findings, BMC).as_str()), (1, "healthy"));
        assert_eq!((events(&findings), findings.hardware[0].total), (vec![], 1));
    }
}

#[test]
fn what_still_lasts_of_history_its_sensor_shows() {
    let mut machine = Machine::new(FakeBmc::new(&[FAILING, FAN_LOW, FAN_LOW_OVER]));
    machine.bmc.shows(0x61, 0b0101);
    machine.bmc.shows(0x41, 0b0010);
    let findings = machine.looks(3);
    assert_eq!((reason(&findings, SUPPLY).as_str(), findings.verdicts.len()), ("PowerSupplyFailing", 2));
    // One that is not shown any more was nothing.
    let mut machine = Machine::new(FakeBmc::new(&[FAILING]));
    machine.bmc.shows(0x61, 0b0001);
    assert_eq!(reason(&machine.looks(3), SUPPLY), "absent");
    machine.bmc.shows(0x61, 0b0101);
    assert_eq!(reason(&machine.looks(3), SUPPLY), "absent", "there is no entry of it");
}

/// One cable for two supplies, a fan that was taken out.
#[test]
fn what_may_be_meant_is_a_fault_where_it_is_a_change() {
    let mut machine = Machine::new(FakeBmc::new(&[LOST, FAILS, FAN_LOW]));
    machine.bmc.shows(0x61, 0b1011);
    machine.bmc.shows(0x41, 0b0010);
    assert_eq!(machine.looks(9).verdicts.len(), 1);
    // Its BMC starts and logs it once more, also into a log that was cleared.
    for is_cleared in [false, true] {
        if is_cleared {
            machine.bmc.clear();
            machine.looks(5);
        }
        machine.restart();
        [LOST, FAILS, FAN_LOW].into_iter().for_each(|event| machine.bmc.add(event));
        assert_eq!(machine.looks(9).verdicts.len(), 1, "{is_cleared}");
    }
    machine.bmc.add((0x08, 0x61, DEASSERTED, 0x03));
    machine.bmc.add(LOST);
    assert_eq!(reason(&machine.looks(2), SUPPLY), "PowerSupplyInputLost");
}

#[test]
fn what_was_taken_out_has_no_fault() {
    const OUT: Event = (0x08, 0x61, DEASSERTED, 0x00);
    const IN: Event = (0x08, 0x61, ASSERTED, 0x00);
    for (written, expected) in [
        (vec![OUT], "healthy"),
        (vec![LOST, OUT], "healthy"),
        (vec![OUT, LOST], "healthy"),
        (vec![OUT, IN], "healthy"),
        (vec![OUT, IN, LOST], "PowerSupplyInputLost"),
        (vec![(0x08, 0x62, DEASSERTED, 0x00)], "PowerSupplyFailed"),
    ] {
        let mut machine = Machine::with(&[FAILS]);
        machine.looks(2);
        machine.bmc.shows(0x61, 0);
        written.iter().for_each(|event| machine.bmc.add(*event));
        assert_eq!(events(&machine.look()), ["PowerSupplyRemoved"]);
        assert_eq!(reason(&machine.looks(9), SUPPLY), expected, "{written:x?}");
    }
}

#[test]
fn a_state_is_judged_once_the_log_was_read_to_its_end() {
    let mut machine = Machine::with(&[FAILS]);
    (0..700).for_each(|_| machine.bmc.add((0xc0, 0x01, ASSERTED, 0x00)));
    machine.bmc.add(MENDED);
    for _ in 0..9 {
        assert_eq!(reason(&machine.look(), SUPPLY), "absent");
    }
}

#[test]
fn an_assertion_lasts_until_its_deassertion() {
    let mut machine = Machine::with(&[FAILS]);
    assert_eq!(reason(&machine.look(), SUPPLY), "absent", "one look is none");
    let findings = machine.look();
    assert_eq!(reason(&findings, SUPPLY), "PowerSupplyFailed");
    assert_eq!((reason(&findings, BMC).as_str(), findings.hardware[0].states["alarmed"]), ("healthy", 1));
    machine.restart();
    assert_eq!(reason(&machine.looks(99), SUPPLY), "PowerSupplyFailed", "and a restart takes nothing back");
    // Another state, and another sensor.
    machine.bmc.add((0x08, 0x61, 0xef, 0x02));
    machine.bmc.add((0x08, 0x62, 0xef, 0x01));
    assert_eq!(reason(&machine.looks(9), SUPPLY), "PowerSupplyFailed");
    machine.bmc.add(MENDED);
    assert_eq!(reason(&machine.looks(5), SUPPLY), "PowerSupplyFailed", "it may flap");
    assert_eq!(reason(&machine.look(), SUPPLY), "healthy");
}

#[test]
fn a_sensor_ends_what_the_log_does_not() {
    let mut machine = Machine::with(&[FAILS]);
    machine.bmc.shows(0x61, 0b0011);
    assert_eq!(reason(&machine.looks(9), SUPPLY), "PowerSupplyFailed");
    // Neither an answer without states nor a refusal is an end.
    for answer in
        [&[0, 0, 0xe0, 0x01, 0x80][..], &[0, 0, 0x80, 0x01, 0x80], &[0, 0, 0xc0, 0x00, 0x80], &[0xcb], &[0, 0]]
    {
        (0..9).for_each(|_| machine.bmc.answers(SENSOR, answer));
        assert_eq!(reason(&machine.looks(9), SUPPLY), "PowerSupplyFailed", "{answer:x?}");
    }
    machine.bmc.shows(0x61, 0b0001);
    assert_eq!(reason(&machine.looks(6), SUPPLY), "healthy");
    // And what the log has deasserted a sensor that waits for a person does not bring back.
    let mut machine = Machine::with(&[FAILS, MENDED]);
    machine.bmc.shows(0x61, 0b0011);
    assert_eq!(reason(&machine.looks(9), SUPPLY), "absent");
}

#[test]
fn a_cleared_log_ends_what_no_sensor_shows() {
    for (states, expected) in [(None, "healthy"), (Some(0b0011), "PowerSupplyFailed")] {
        let mut machine = Machine::with(&[FAILS]);
        states.into_iter().for_each(|states| machine.bmc.shows(0x61, states));
        assert_eq!(reason(&machine.looks(2), SUPPLY), "PowerSupplyFailed");
        machine.bmc.clear();
        assert_eq!(reason(&machine.looks(9), SUPPLY), expected);
    }
}

#[test]
fn what_is_over_between_two_looks_is_an_event_alone() {
    let mut machine = Machine::with(&[FAILS, MENDED, FAN_LOW, FAN_LOW_OVER, FAN_LOW, FAN_LOW_OVER]);
    let findings = machine.look();
    assert_eq!(events(&findings), ["BmcAlarmBrief"; 3]);
    assert_eq!(findings.events[0].subject.as_deref(), Some(SUPPLY));
    assert!(
        findings.events[0].message.starts_with("power supply: it has failed, and over by the next look"),
        "{findings:?}"
    );
    assert_eq!((machine.looks(9).verdicts.len(), events(&machine.look()).len()), (1, 0));
}

#[test]
fn what_happens_is_reported_once_with_its_words() {
    let mut machine =
        Machine::with(&[ECC, (0x23, 0x03, ASSERTED, 0xc1), (0x0c, 0x10, 0xef, 0x01), (0x08, 0x61, 0xef, 0)]);
    machine.bmc.records.last_mut().unwrap()[3..7].fill(0xff);
    machine.bmc.records[2][14] = 0x04;
    let findings = machine.look();
    assert_eq!(events(&findings), ["BmcMemoryUncorrected", "BmcWatchdogExpired", "PowerSupplyRemoved"]);
    let messages: Vec<_> = findings.events.iter().map(|event| event.message.as_str()).collect();
    assert!(messages[0].contains("uncorrectable ECC error, by the BMC's log (2026-01-01 00:00:02, its clock)"));
    assert!(messages[1].contains("its timer ended, hard reset, set by the operating system"), "{messages:?}");
    assert!(messages[2].contains("(an unset time, its clock)"), "{messages:?}");
    assert_eq!(findings.events[0].time, machine.now.wall, "the BMC's clock dates nothing");
    assert_eq!(events(&machine.looks(2)), [""; 0]);
    machine.restart();
    assert_eq!(events(&machine.look()), [""; 0]);
}

#[test]
fn what_is_the_vendors_own_is_counted_and_not_judged() {
    let mut machine = Machine::with(&[ECC, FAILS]);
    machine.bmc.records[1][2] = 0xc0;
    machine.bmc.records[2] = [0xe0; 16];
    machine.bmc.records[2][..2].copy_from_slice(&[3, 0]);
    let findings = machine.looks(3);
    assert_eq!((events(&findings).len(), findings.verdicts.len()), (0, 1));
    let State::Healthy { message } = &findings.verdicts[0].state else { panic!() };
    assert!(message.contains("3 entries in its event log, 2 read so far of kinds"), "{message}");
}

#[test]
fn a_log_that_gets_full_is_an_event_once() {
    let mut machine = Machine::with(&[]);
    let full = |machine: &mut Machine, free_bytes, is_overflow| {
        (machine.bmc.free_bytes, machine.bmc.is_overflow) = (free_bytes, is_overflow);
        let findings = machine.look();
        findings.events.into_iter().map(|event| event.message).collect::<String>()
    };
    machine.bmc.records = (0..90).map(|id| fake::record(id + 1, 0, (0xc0, 1, 0x6f, 0))).collect();
    assert_eq!(full(&mut machine, 176, false), "", "89 %");
    assert!(full(&mut machine, 160, false).starts_with("the BMC's event log is 90 % full (limit 90 %)"));
    assert_eq!(full(&mut machine, 0, false), "");
    assert_eq!(full(&mut machine, 176, false), "");
    assert_eq!(full(&mut machine, 160, false), "", "between both limits it is as it was");
    assert!(full(&mut machine, 0, true).contains("with 90 entries, had no room"));
    machine.restart();
    assert_eq!(full(&mut machine, 0, true), "");
    assert_eq!(full(&mut machine, u16::MAX, false), "", "more room than the field can hold");
    assert!(full(&mut machine, 0, false).contains("100 % full"));
}

#[test]
fn what_is_ignored_is_not_judged() {
    for (pattern, expected) in [(SUPPLY, 1), ("memory sensor *", 2), ("fan*", 2)] {
        let mut machine = Machine::with(&[FAILS, ECC]);
        let ignore = ["[", pattern].map(str::to_owned).to_vec();
        let saved = machine.judge.save().unwrap();
        machine.judge = BmcJudge::new(&BmcSettings { ignore, ..BmcSettings::default() });
        machine.judge.load(saved);
        let happened = machine.look().events.len();
        assert_eq!(machine.looks(3).verdicts.len(), expected, "{pattern}");
        assert_eq!(happened, usize::from(!pattern.starts_with("memory")), "{pattern}");
    }
}

#[test]
fn a_bmc_that_does_not_answer_is_unknown_with_what_was_open() {
    let mut machine = Machine::with(&[FAILS]);
    machine.looks(2);
    for (command, code) in [(INFO, 0xc0), (INFO, 0xd5), (ENTRY, 0xc3)] {
        machine.bmc.answers(command, &[code]);
        let findings = machine.look();
        assert_eq!(reason(&findings, BMC), "unknown: DeviceUnreadable");
        assert_eq!(reason(&findings, SUPPLY), "unknown: DeviceUnreadable");
        assert_eq!(findings.hardware[0].states["not answering"], 1);
    }
    let silent = PollError::NoAnswer(NoAnswer::asked(machine.now.wall, "no answer within 20 s"));
    for (answer, expected) in [
        (Err(silent), "unknown: DeviceNotAnswering"),
        (Ok(json!({"entries": "many"}).into()), "unknown: DeviceUnreadable"),
        (Err(PollError::Read(ReadError::Denied { message: "no".to_owned() })), "unknown: PermissionDenied"),
    ] {
        let findings = machine.judged(answer);
        assert_eq!((reason(&findings, BMC).as_str(), reason(&findings, SUPPLY).as_str()), (expected, expected));
    }
    machine.bmc.add(ECC);
    let findings = machine.look();
    assert_eq!(
        (reason(&findings, SUPPLY).as_str(), events(&findings)),
        ("PowerSupplyFailed", vec!["BmcMemoryUncorrected"])
    );
    machine.bmc.answers(INFO, &[0xc1]);
    assert_eq!(machine.look(), Findings::default(), "without a log there is nothing to judge");
    assert_eq!(reason(&machine.look(), SUPPLY), "PowerSupplyFailed");
}

#[test]
fn a_sensor_that_hangs_the_bmc_does_not_stop_the_log() {
    let mut machine = Machine::with(&[FAILS]);
    machine.looks(2);
    machine.bmc.add(ECC);
    machine.bmc.script.push_back((SENSOR, Err("no answer within 5 s".to_owned())));
    let findings = machine.look();
    assert_eq!(
        (reason(&findings, SUPPLY).as_str(), events(&findings)),
        ("PowerSupplyFailed", vec!["BmcMemoryUncorrected"])
    );
}

#[test]
fn what_was_saved_by_another_version_is_dropped_whole() {
    let mut machine = Machine::with(&[FAILS]);
    machine.looks(2);
    for saved in [json!(null), json!({"alarms": 7}), json!({"log": {"trail": [[1]]}}), json!({"fill": "half"})] {
        machine.judge.load(saved);
    }
    assert_eq!(reason(&machine.look(), SUPPLY), "PowerSupplyFailed");
}

#[test]
fn the_device_is_found_by_each_of_its_names() {
    let root = tempfile::tempdir().unwrap();
    let roots = || Roots { dev: root.path().to_owned(), ..Roots::default() };
    assert!(matches!(BmcReader::new(roots()).list(), Err(ReadError::Gone { .. })));
    fs::create_dir_all(root.path().join("ipmidev")).unwrap();
    for name in ["ipmidev/0", "ipmi0"] {
        fs::write(root.path().join(name), "").unwrap();
        let mut reader = BmcReader::new(roots());
        assert_eq!(reader.list(), Ok(vec![BMC.to_owned()]));
        let Err(ReadError::Failed { message }) = reader.read(BMC) else { panic!("{name}") };
        assert!(message.contains("Inappropriate ioctl"), "{message}");
        assert!(matches!(reader.read("ipmi7"), Err(ReadError::Gone { .. })));
        fs::remove_file(root.path().join(name)).unwrap();
    }
}

proptest! {
    /// Whatever a BMC answers, nothing panics, each look is bounded, and the account is sound.
    #[test]
    fn whatever_a_bmc_answers_the_account_is_sound(
        answers in prop::collection::vec((0_usize..8, prop::collection::vec(any::<u8>(), 0..24)), 0..60),
        restarts in any::<bool>(),
    ) {
        let mut machine = Machine::with(&[FAILS, FAN_LOW, MENDED]);
        machine.bmc.sdr = names::repository();
        for (n, answer) in answers {
            machine.bmc.answers([INFO, ENTRY, ENTRY, SENSOR, SDR_INFO, SDR_RESERVE, SDR, SDR][n], &answer);
        }
        for _ in 0..20 {
            machine.bmc.asked.clear();
            let findings = machine.look();
            prop_assert!(machine.bmc.asked.len() < 1000);
            let subjects: std::collections::BTreeSet<_> =
                findings.verdicts.iter().map(|verdict| (&verdict.condition, &verdict.subject)).collect();
            prop_assert_eq!(subjects.len(), findings.verdicts.len());
            if restarts {
                machine.restart();
            }
        }
    }
}
