//! Ports from a tree of files to verdicts.

use std::{fs, time::Duration};

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;

use super::{FibreChannelJudge, FibreChannelReader, FibreChannelSettings, reader::ALL};
use crate::probe::{Findings, Judge, NoAnswer, Now, PollError, ReadError, Reader, Roots, Round, State};

const PORT: &str = "0000:82:00.0";
const NAME: &str = "0x10000090fa942bd1";
/// Of the second port that a test adds.
const OTHER: &str = "0x10000090fa942bd2";

/// A machine with an adapter of one port, and a minute between two looks.
struct Machine {
    root: TempDir,
    judge: FibreChannelJudge,
    settings: FibreChannelSettings,
    now: Now,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let now = Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(1000), boot_id: "one".to_owned() };
        fs::create_dir_all(root.path().join("class/fc_host")).unwrap();
        let settings = FibreChannelSettings::default();
        let machine = Self { root, judge: FibreChannelJudge::default(), settings, now };
        machine.add("devices/pci0000:80/0000:80:02.0/0000:82:00.0/host7", "host7", NAME);
        machine
    }

    fn add(&self, device: &str, host: &str, name: &str) {
        let folder = self.root.path().join(device).join("fc_host").join(host);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(folder, self.root.path().join("class/fc_host").join(host)).unwrap();
        self.set(host, "port_name", name);
        self.set(host, "port_type", "NPort (fabric via point-to-point)");
        self.set(host, "port_state", "Online");
        self.set(host, "speed", "16 Gbit");
    }

    fn set(&self, host: &str, attribute: &str, value: &str) {
        let path = self.root.path().join("class/fc_host").join(host).join(attribute);
        fs::write(path, format!("{value}\n")).unwrap();
    }

    fn state(&self, state: &str) {
        self.set("host7", "port_state", state);
    }

    fn round(&mut self) -> Round {
        let passed = Duration::from_secs(60);
        (self.now.wall, self.now.boottime) = (self.now.wall + passed, self.now.boottime + passed);
        let roots = Roots { sys: self.root.path().to_owned(), ..Roots::default() };
        let mut reader = FibreChannelReader::new(roots, &self.settings);
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
        self.judge = FibreChannelJudge::default();
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

fn message(findings: &Findings) -> String {
    match state(findings, PORT) {
        Some(State::Healthy { message } | State::Unknown { message, .. }) => message.clone(),
        Some(State::Faulty(faults)) => faults[0].message.clone(),
        None => String::new(),
    }
}

#[test]
fn a_port_that_is_online_is_well() {
    let findings = Machine::new().looks(3);
    assert_eq!((reason(&findings, PORT).as_str(), message(&findings).as_str()), ("healthy", "Online at 16 Gbit"));
    assert_eq!(findings.verdicts[0].condition.as_str(), "DiskUnhealthy");
    assert_eq!((findings.hardware[0].total, findings.hardware[0].states.len()), (1, 0));
}

#[test]
fn a_link_that_was_lost_for_a_minute_is_reported_until_it_has_been_there_for_five() {
    let mut machine = Machine::new();
    machine.looks(1);
    machine.state("Linkdown");
    assert_eq!(reason(&machine.looks(1), PORT), "healthy", "one look is none");
    let findings = machine.looks(1);
    assert_eq!(reason(&findings, PORT), "FcPortDown");
    let found = message(&findings);
    assert!(found.starts_with("its link went down, and is Linkdown now") && found.contains(NAME), "{found}");
    assert_eq!(findings.hardware[0].states["down"], 1);
    machine.restart();
    assert_eq!(reason(&machine.looks(1), PORT), "FcPortDown", "a restart takes nothing back");
    machine.state("Online");
    let findings = machine.looks(5);
    assert_eq!(reason(&findings, PORT), "FcPortDown");
    assert!(message(&findings).contains("is Online now"), "{}", message(&findings));
    assert_eq!(reason(&machine.looks(1), PORT), "healthy");
}

#[test]
fn each_state_without_a_link_counts_and_a_persons_test_does_not() {
    for (state, expected) in [
        ("Linkdown", "FcPortDown"),
        ("Offline", "FcPortDown"),
        ("Error", "FcPortDown"),
        ("Bypassed", "FcPortDown"),
        ("Not Present", "FcPortDown"),
        ("Diagnostics", "healthy"),
        ("Loopback", "healthy"),
        ("Unknown", "unknown: DeviceUnreadable"),
        ("", "unknown: DeviceUnreadable"),
    ] {
        let mut machine = Machine::new();
        machine.looks(1);
        machine.state(state);
        assert_eq!(reason(&machine.looks(2), PORT), expected, "{state}");
    }
}

#[test]
fn a_port_that_was_never_online_in_this_boot_is_none() {
    let mut machine = Machine::new();
    machine.state("Linkdown");
    assert_eq!(machine.looks(9), Findings::default(), "a port without a cable");
    assert_eq!(machine.judge.save().unwrap()["ports"], json!({}), "and nothing to remember");
    machine.state("Online");
    machine.looks(1);
    machine.state("Linkdown");
    assert_eq!(reason(&machine.looks(2), PORT), "FcPortDown");
    machine.now.boot_id = "two".to_owned();
    assert_eq!(reason(&machine.looks(9), PORT), "absent", "its cable was taken out while the machine was off");
}

#[test]
fn a_virtual_port_is_left_out_and_a_second_one_has_its_own_name() {
    let mut machine = Machine::new();
    machine.add("devices/pci0000:80/0000:80:02.0/0000:82:00.0/host7/vport-7:0-0/host8", "host8", OTHER);
    machine.set("host8", "port_type", "NPIV VPORT");
    assert_eq!(machine.looks(1).verdicts.len(), 1);
    machine.set("host8", "port_type", "Unknown");
    machine.set("host8", "speed", "unknown");
    let findings = machine.looks(1);
    assert_eq!([reason(&findings, PORT), reason(&findings, OTHER)], ["healthy", "healthy"]);
    machine.add("devices/virtual/net/ctlr_0/host9", "host9", "0x2000001b21a5f3c8");
    assert_eq!(reason(&machine.looks(1), "0x2000001b21a5f3c8"), "healthy", "software on a network card");
}

#[test]
fn what_is_ignored_is_not_looked_at() {
    for pattern in ["0000:82:00.*", "0x1000*", NAME] {
        let mut machine = Machine::new();
        machine.settings.ignore = vec![pattern.to_owned()];
        assert_eq!(machine.looks(1), Findings::default(), "{pattern}");
    }
}

#[test]
fn what_cannot_be_read_is_unknown_and_what_is_gone_is_forgotten() {
    let mut machine = Machine::new();
    machine.looks(1);
    let silent = PollError::NoAnswer(NoAnswer::asked(machine.now.wall, "no answer within 10 s"));
    let garbage = json!({"ports": 7});
    for (answer, expected) in [(Err(silent), "unknown: DeviceNotAnswering"), (Ok(garbage), "unknown: DeviceUnreadable")]
    {
        let round = machine.round();
        let answers = vec![(ALL.to_owned(), answer.map(Into::into))];
        assert_eq!(reason(&machine.judge.judge(Round { answers, ..round }), PORT), expected);
    }
    assert_eq!(reason(&machine.looks(1), PORT), "healthy");
    let listed = Err(PollError::Read(ReadError::Gone { what: "fc_host".to_owned() }));
    let gone = Round { now: machine.now.clone(), listed, answers: Vec::new() };
    assert_eq!(machine.judge.judge(gone), Findings::default());
    for saved in [json!(null), json!({"ports": 7}), json!({"ports": {"x": {"down": 1}}})] {
        machine.judge.load(saved);
    }
    assert_eq!(reason(&machine.looks(1), PORT), "healthy");
}

/// At every other look the link is down: it is one problem, and over an hour after the last time.
#[test]
fn what_comes_and_goes_for_two_hundred_looks_is_one_problem() {
    let mut machine = Machine::new();
    machine.looks(1);
    let mut begun = Vec::new();
    for n in 0..200 {
        machine.state(if n % 2 == 0 { "Linkdown" } else { "Online" });
        let found = reason(&machine.looks(1), PORT);
        if begun.last() != Some(&found) {
            begun.push(found);
        }
    }
    assert_eq!(begun, ["healthy", "FcPortDown"]);
    let found = message(&machine.looks(1));
    assert!(found.starts_with("its link went down 5 times or more within an hour"), "{found}");
    assert_eq!(reason(&machine.looks(80), PORT), "healthy");
}

#[test]
fn what_is_saved_has_this_form() {
    let mut machine = Machine::new();
    machine.looks(1);
    let expected = json!({
        "moment": {"wall": "1970-01-01T00:01:00Z", "boottime_secs": 1060, "boot_id": "one"},
        "ports": {PORT: {"was_online": true, "down": {"holds": false}}},
    });
    let saved = machine.judge.save().unwrap();
    assert_eq!(saved, expected);
    machine.judge = FibreChannelJudge::default();
    machine.judge.load(saved);
    assert_eq!(machine.judge.save(), None, "nothing is written again");
}
