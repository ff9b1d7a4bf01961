//! Chips from a tree of files to verdicts.

use std::{fs, time::Duration};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{SensorsJudge, SensorsReader, SensorsSettings, reading::ALL};
use crate::probe::{Findings, Judge, NoAnswer, Now, PollError, ReadError, Reader, Roots, Round, State};

const FAN: &str = "fan1 of nct6798 nct6775.656";
const VRM: &str = "temp2 of nct6798 nct6775.656";

/// A machine with one chip, and a minute between two looks.
struct Machine {
    root: TempDir,
    judge: SensorsJudge,
    settings: SensorsSettings,
    now: Now,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let now = Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(1000), boot_id: "one".to_owned() };
        let machine = Self { root, judge: SensorsJudge::default(), settings: SensorsSettings::default(), now };
        let chip = machine.root.path().join("devices/platform/nct6775.656");
        fs::create_dir_all(chip.join("hwmon/hwmon2")).unwrap();
        fs::create_dir_all(machine.root.path().join("class/hwmon")).unwrap();
        std::os::unix::fs::symlink(&chip, chip.join("hwmon/hwmon2/device")).unwrap();
        std::os::unix::fs::symlink(chip.join("hwmon/hwmon2"), machine.root.path().join("class/hwmon/hwmon2")).unwrap();
        machine.set("name", "nct6798");
        machine.set("fan1_input", "1200");
        machine.set("pwm1", "128");
        machine.set("temp2_input", "41000");
        machine.set("temp2_crit", "115000");
        machine
    }

    fn set(&self, attribute: &str, value: &str) {
        let folder = self.root.path().join("devices/platform/nct6775.656/hwmon/hwmon2");
        fs::write(folder.join(attribute), format!("{value}\n")).unwrap();
    }

    fn unset(&self, attribute: &str) {
        fs::remove_file(self.root.path().join("class/hwmon/hwmon2").join(attribute)).unwrap();
    }

    fn round(&mut self) -> Round {
        let passed = Duration::from_secs(60);
        (self.now.wall, self.now.boottime) = (self.now.wall + passed, self.now.boottime + passed);
        let roots = Roots { sys: self.root.path().to_owned(), ..Roots::default() };
        let mut reader = SensorsReader::new(roots, &self.settings);
        let listed = reader.list().map_err(PollError::Read);
        let answers =
            listed.iter().flatten().map(|device| (device.clone(), reader.read(device).map_err(PollError::Read)));
        Round { now: self.now.clone(), answers: answers.collect(), listed }
    }

    fn looks(&mut self, rounds: usize) -> Findings {
        let mut findings = Findings::default();
        for _ in 0..rounds {
            let round = self.round();
            findings = self.judge.judge(round);
        }
        findings
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = SensorsJudge::default();
        saved.into_iter().for_each(|saved| self.judge.load(saved));
    }
}

fn state<'a>(findings: &'a Findings, subject: &str) -> Option<&'a State> {
    findings.verdicts.iter().find(|verdict| verdict.subject == subject).map(|verdict| &verdict.state)
}

fn reason(findings: &Findings, subject: &str) -> String {
    match state(findings, subject) {
        None => "absent".to_owned(),
        Some(State::Healthy { .. }) => "healthy".to_owned(),
        Some(State::Unknown { reason, .. }) => format!("unknown: {reason}"),
        Some(State::Faulty(faults)) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
    }
}

#[test]
fn a_board_that_is_well_is_well() {
    let findings = Machine::new().looks(3);
    assert_eq!([reason(&findings, FAN), reason(&findings, VRM)], ["healthy", "healthy"]);
    assert_eq!((findings.hardware[0].total, findings.hardware[0].states.len()), (2, 0));
}

#[test]
fn a_fan_that_turned_and_stands_still_is_reported_and_over_when_it_turns_for_long() {
    let mut machine = Machine::new();
    machine.set("fan1_label", "CPU Fan");
    machine.looks(2);
    machine.set("fan1_input", "0");
    assert_eq!(reason(&machine.looks(1), FAN), "healthy", "one look is none");
    let findings = machine.looks(1);
    assert_eq!(reason(&findings, FAN), "FanStopped");
    let Some(State::Faulty(faults)) = state(&findings, FAN) else { panic!() };
    assert!(faults[0].message.starts_with("CPU Fan stands still"), "{}", faults[0].message);
    assert_eq!(findings.hardware[0].states["faulty"], 1);
    machine.restart();
    assert_eq!(reason(&machine.looks(1), FAN), "FanStopped", "a restart takes nothing back");
    machine.set("fan1_input", "900");
    assert_eq!(reason(&machine.looks(5), FAN), "FanStopped");
    assert_eq!(reason(&machine.looks(1), FAN), "healthy");
}

#[test]
fn a_fan_that_never_turned_or_is_let_stand_is_none() {
    let mut machine = Machine::new();
    machine.set("fan1_input", "0");
    assert_eq!(reason(&machine.looks(9), FAN), "healthy", "a plug without a fan");
    machine.set("fan1_input", "1");
    machine.looks(1);
    machine.set("fan1_input", "0");
    assert_eq!(reason(&machine.looks(9), FAN), "healthy", "a spike on its wire");
    let mut machine = Machine::new();
    machine.looks(2);
    machine.set("fan1_input", "0");
    machine.set("pwm1", "0");
    assert_eq!(reason(&machine.looks(9), FAN), "healthy");
    machine.set("pwm1_enable", "0");
    assert_eq!(reason(&machine.looks(2), FAN), "FanStopped", "nothing controls it");
    machine.set("pwm1_enable", "2");
    assert_eq!(reason(&machine.looks(6), FAN), "healthy");
    machine.set("pwm1", "80");
    assert_eq!(reason(&machine.looks(2), FAN), "FanStopped");
    machine.now.boot_id = "two".to_owned();
    assert_eq!(reason(&machine.looks(9), FAN), "healthy", "another boot");
}

/// A limit that was never set is broken from the first look on.
#[test]
fn an_alarm_counts_if_the_chip_was_seen_without_it() {
    for (attribute, subject, expected) in [
        ("fan1_alarm", FAN, "FanAlarm"),
        ("fan1_min_alarm", FAN, "FanAlarm"),
        ("fan1_fault", FAN, "FanAlarm"),
        ("temp2_crit_alarm", VRM, "TemperatureCritical"),
        ("temp2_emergency_alarm", VRM, "TemperatureCritical"),
    ] {
        let mut machine = Machine::new();
        machine.set(attribute, "1");
        assert_eq!(reason(&machine.looks(9), subject), "healthy", "{attribute}");
        machine.set(attribute, "EIO");
        machine.looks(1);
        machine.set("pwm1", "0");
        machine.set("fan1_alarm", "0");
        machine.looks(1);
        machine.set("pwm1", "80");
        machine.unset("fan1_alarm");
        machine.set(attribute, "1");
        assert_eq!(reason(&machine.looks(9), subject), "healthy", "{attribute} was not seen without");
        machine.set(attribute, "0");
        machine.looks(1);
        machine.set(attribute, "1");
        assert_eq!(reason(&machine.looks(2), subject), expected, "{attribute}");
        machine.set(attribute, "EIO");
        assert_eq!(reason(&machine.looks(1), subject), "unknown: DeviceUnreadable", "{attribute}");
        machine.set(attribute, "1");
        assert_eq!(reason(&machine.looks(1), subject), expected, "{attribute}");
        machine.set(attribute, "0");
        assert_eq!(reason(&machine.looks(6), subject), "healthy", "{attribute}");
    }
}

#[test]
fn a_temperature_at_a_likely_limit_is_critical() {
    for (value, limit, expected) in [
        ("115000", "115000", "TemperatureCritical"),
        ("114999", "115000", "healthy"),
        ("41000", "0", "absent"),
        ("41000", "-128000", "absent"),
        ("200000", "151000", "absent"),
        ("30000", "30000", "TemperatureCritical"),
    ] {
        let mut machine = Machine::new();
        machine.set("temp2_input", value);
        machine.set("temp2_crit", limit);
        let before = if expected == "absent" { "absent" } else { "healthy" };
        assert_eq!(reason(&machine.looks(9), VRM), before, "a wire that ends nowhere");
        machine.set("temp2_input", "29999");
        machine.looks(1);
        machine.set("temp2_input", value);
        assert_eq!(reason(&machine.looks(1), VRM), before);
        assert_eq!(reason(&machine.looks(1), VRM), expected, "{value} of {limit}");
    }
    let mut machine = Machine::new();
    machine.unset("temp2_crit");
    machine.set("temp2_input", "999000");
    assert_eq!(reason(&machine.looks(3), VRM), "absent", "without a limit nothing is judged");
}

#[test]
fn what_is_ignored_or_has_a_check_of_its_own_is_not_looked_at() {
    for pattern in ["fan1 of nct*", "CPU Fan", "nct6798", "nct6798 nct6775.*"] {
        let mut machine = Machine::new();
        machine.set("fan1_label", "CPU Fan");
        machine.settings.ignore = vec![pattern.to_owned()];
        assert_eq!(reason(&machine.looks(1), FAN), "absent", "{pattern}");
    }
    for chip in ["amdgpu", "nvme", "coretemp", "acpitz"] {
        let mut machine = Machine::new();
        machine.set("name", chip);
        assert_eq!(machine.looks(1), Findings::default(), "{chip}");
    }
}

#[test]
fn what_is_saved_has_this_form() {
    let mut machine = Machine::new();
    machine.looks(1);
    let fan = json!({
        "has_answered": true, "turned": {"holds": false, "contrary_secs": 1060}, "was_quiet": false, "was_below": false,
        "stopped": {"holds": false}, "alarm": {"holds": false}, "hot": {"holds": false},
    });
    let temperature = json!({
        "has_answered": true, "turned": {"holds": false}, "was_quiet": false, "was_below": true,
        "stopped": {"holds": false}, "alarm": {"holds": false}, "hot": {"holds": false},
    });
    let expected = json!({
        "moment": {"wall": "1970-01-01T00:01:00Z", "boottime_secs": 1060, "boot_id": "one"},
        "sensors": {FAN: fan, VRM: temperature},
    });
    let saved = machine.judge.save().unwrap();
    assert_eq!(saved.to_string(), expected.to_string());
    machine.judge = SensorsJudge::default();
    machine.judge.load(saved);
    assert_eq!(machine.judge.save(), None, "nothing is written again");
}

#[test]
fn what_cannot_be_read_is_unknown_and_what_is_gone_is_forgotten() {
    let mut machine = Machine::new();
    machine.looks(1);
    let silent = PollError::NoAnswer(NoAnswer::asked(machine.now.wall, "no answer within 20 s"));
    let garbage: Value = json!({"fans": 7});
    for (answer, expected) in [(Err(silent), "unknown: DeviceNotAnswering"), (Ok(garbage), "unknown: DeviceUnreadable")]
    {
        let round = machine.round();
        let answers = vec![(ALL.to_owned(), answer.map(Into::into))];
        assert_eq!(reason(&machine.judge.judge(Round { answers, ..round }), FAN), expected);
    }
    assert_eq!(reason(&machine.looks(1), FAN), "healthy");
    machine.set("temp2_fault", "1");
    assert_eq!(reason(&machine.looks(1), VRM), "unknown: DeviceUnreadable");
    machine.unset("fan1_input");
    assert_eq!(reason(&machine.looks(1), FAN), "absent");
    let listed = Err(PollError::Read(ReadError::Gone { what: "hwmon".to_owned() }));
    let gone = Round { now: machine.now.clone(), listed, answers: Vec::new() };
    assert_eq!(machine.judge.judge(gone), Findings::default());
    for saved in [json!(null), json!({"sensors": 7}), json!({"sensors": {"x": {"stopped": 1}}})] {
        machine.judge.load(saved);
    }
    assert_eq!(reason(&machine.looks(1), VRM), "unknown: DeviceUnreadable");
}

/// At every other look a fan stands and a sensor is at its limit: each is one problem, and over an hour after the last time.
#[test]
fn what_comes_and_goes_for_five_hundred_looks_is_one_problem() {
    let mut machine = Machine::new();
    machine.looks(2);
    let mut begun = Vec::new();
    for n in 0..500 {
        let is_bad = n % 2 == 0;
        machine.set("fan1_input", if is_bad { "0" } else { "1200" });
        machine.set("temp2_input", if is_bad { "118000" } else { "90000" });
        let findings = machine.looks(1);
        assert!(findings.events.is_empty() && findings.recoveries.is_empty());
        let reasons = [reason(&findings, FAN), reason(&findings, VRM)];
        if begun.last() != Some(&reasons) {
            begun.push(reasons);
        }
        if n == 250 {
            machine.restart();
        }
    }
    assert_eq!(begun, [["healthy", "healthy"], ["FanStopped", "TemperatureCritical"]]);
    let findings = machine.looks(1);
    let message = |subject| match state(&findings, subject) {
        Some(State::Faulty(faults)) => faults[0].message.as_str(),
        other => panic!("{other:?}"),
    };
    assert!(message(FAN).starts_with("it stood still 5 times or more within an hour"), "{}", message(FAN));
    assert!(message(VRM).starts_with("it came to its critical limit of 115 °C 5 times or more"), "{}", message(VRM));
    assert_eq!(reason(&machine.looks(40), FAN), "FanStopped");
    let findings = machine.looks(40);
    assert_eq!([reason(&findings, FAN), reason(&findings, VRM)], ["healthy", "healthy"]);
}

#[test]
fn an_alarm_that_comes_and_goes_is_reported_as_that() {
    let mut machine = Machine::new();
    for n in 0..12 {
        machine.set("fan1_alarm", if n % 2 == 0 { "0" } else { "1" });
        machine.set("temp2_crit_alarm", if n % 2 == 0 { "0" } else { "1" });
        machine.looks(1);
    }
    let findings = machine.looks(1);
    for (subject, expected) in [(FAN, "FanAlarm"), (VRM, "TemperatureCritical")] {
        let Some(State::Faulty(faults)) = state(&findings, subject) else { panic!("{findings:?}") };
        assert_eq!(faults[0].reason.as_str(), expected);
        assert!(
            faults[0].message.contains("reported a") && faults[0].message.contains("5 times or more"),
            "{faults:?}"
        );
    }
}

proptest! {
    /// Whatever chips show, each sensor has one verdict, and nothing panics.
    #[test]
    fn whatever_chips_show_the_account_is_sound(values in prop::collection::vec(("[-0-9a-z]{0,24}", "[-0-9]{0,24}", any::<bool>()), 1..12)) {
        let mut machine = Machine::new();
        for (one, other, restarts) in values {
            for (attribute, value) in
                [("fan1_input", &one), ("temp2_input", &other), ("temp2_crit", &one), ("fan1_alarm", &other), ("pwm1", &one)]
            {
                machine.set(attribute, value);
            }
            if restarts {
                machine.restart();
            }
            let findings = machine.looks(1);
            let mut subjects: Vec<_> = findings.verdicts.iter().map(|verdict| &verdict.subject).collect();
            let total = subjects.len();
            subjects.dedup();
            prop_assert_eq!((subjects.len(), findings.hardware.first().map_or(0, |class| class.total as usize)), (total, total));
        }
    }
}
