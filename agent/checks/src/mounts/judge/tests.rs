//! One machine's mounts over some rounds.

use std::time::Duration;

use crate::probe::{Fault, NoAnswer, Now, RawReading};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

mod servers;

const GIB: u64 = 1 << 30;

struct Node {
    judge: MountsJudge,
    rows: Vec<Row>,
    answers: BTreeMap<String, Result<Value, PollError>>,
    round: u64,
    boot: &'static str,
}

fn disk(point: &str, filesystem: &str, name: &str) -> Row {
    Row {
        point: point.to_owned(),
        number: "8:1".to_owned(),
        filesystem: filesystem.to_owned(),
        source: format!("/dev/{name}"),
        kind: FilesystemKind::Disk,
        asked: point.to_owned(),
        name: Some(name.to_owned()),
        is_volume: false,
        is_read_only: false,
        is_cut_off: false,
        wants_writes: false,
        errors: None,
    }
}

fn remote(point: &str, kind: FilesystemKind, source: &str, asked: &str) -> Row {
    let is_volume = super::kind::is_volume(point);
    let row = disk(point, if kind == FilesystemKind::Fuse { "fuse.x" } else { "nfs4" }, "");
    Row { kind, source: source.to_owned(), asked: asked.to_owned(), name: None, is_volume, ..row }
}

fn usage(used_gib: u64, left_gib: u64) -> StatfsResult {
    let (used_bytes, left_bytes) = (used_gib * GIB, left_gib * GIB);
    StatfsResult::Usage(Usage { used_bytes, left_bytes, inodes: 0, inodes_left: 0 })
}

fn node(rows: Vec<Row>) -> Node {
    let mut node = Node {
        judge: MountsJudge::new(MountsSettings::default()),
        rows: rows.clone(),
        answers: BTreeMap::new(),
        round: 0,
        boot: "one",
    };
    rows.iter().for_each(|row| node.reports(row, usage(10, 90)));
    node
}

fn no_answer(message: &str) -> Result<Value, PollError> {
    Err(PollError::NoAnswer(NoAnswer::asked(Timestamp::UNIX_EPOCH, message.to_owned())))
}

fn not_asked(why: &str) -> Result<Value, PollError> {
    Err(PollError::NoAnswer(NoAnswer::not_asked(Timestamp::UNIX_EPOCH, why)))
}

impl Node {
    fn reports(&mut self, row: &Row, result: StatfsResult) {
        let Ok(reading) = self.answers.entry(row.asked.clone()).or_insert(Ok(json!({}))) else { panic!() };
        reading[&row.point] = serde_json::to_value(result).unwrap();
    }

    fn is(&mut self, asked: &str, answer: Result<Value, PollError>) {
        self.answers.insert(asked.to_owned(), answer);
    }

    fn judge(&mut self, listed: Result<Vec<String>, PollError>, answers: Vec<(String, Answer)>) -> Vec<Verdict> {
        self.round += 1;
        let boottime = Duration::from_secs(60 * self.round);
        let now = Now { wall: Timestamp::UNIX_EPOCH, boottime, boot_id: self.boot.to_owned() };
        self.judge.judge(Round { now, listed, answers }).verdicts
    }

    fn verdicts(&mut self) -> Vec<Verdict> {
        let table = (TABLE.to_owned(), Ok(RawReading::of(&self.rows).unwrap()));
        let answers = self.answers.iter().map(|(asked, answer)| (asked.clone(), answer.clone().map(RawReading::from)));
        let answers = std::iter::once(table).chain(answers).collect();
        self.judge(Ok(self.answers.keys().cloned().collect()), answers)
    }

    /// Condition, reason and subject of what is wrong or unknown.
    fn reported(&mut self) -> Vec<(String, String, String)> {
        reported(&self.verdicts())
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = MountsJudge::new(MountsSettings::default());
        self.judge.load(saved.unwrap());
    }
}

fn reported(verdicts: &[Verdict]) -> Vec<(String, String, String)> {
    let reported = |verdict: &Verdict| {
        let triple = |reason: &dyn std::fmt::Display| {
            (verdict.condition.to_string(), reason.to_string(), verdict.subject.clone())
        };
        match &verdict.state {
            State::Healthy { .. } => Vec::new(),
            State::Faulty(faults) => faults.iter().map(|fault| triple(&fault.reason)).collect(),
            State::Unknown { reason, .. } => vec![triple(reason)],
        }
    };
    verdicts.iter().flat_map(reported).collect()
}

fn is(condition: &str, reason: &str, subject: &str) -> Vec<(String, String, String)> {
    vec![(condition.to_owned(), reason.to_owned(), subject.to_owned())]
}

fn fault(verdicts: &[Verdict], condition: &str) -> Fault {
    let found = verdicts.iter().find(|verdict| verdict.condition.as_str() == condition).unwrap();
    let State::Faulty(faults) = &found.state else { panic!("{found:?}") };
    faults[0].clone()
}

#[test]
fn a_full_filesystem_is_reported_until_it_is_well_below() {
    let row = disk("/data", "ext4", "sda1");
    let mut node = node(vec![row.clone()]);
    assert_eq!(node.reported(), []);
    node.reports(&row, usage(95, 5));
    assert_eq!(node.reported(), is("FilesystemFull", "FilesystemSpaceLow", "/data"));
    node.reports(&row, usage(86, 9));
    node.restart();
    assert_eq!(node.reported(), is("FilesystemFull", "FilesystemSpaceLow", "/data"), "a restart takes nothing back");
    node.reports(&row, usage(80, 20));
    assert_eq!(node.reported(), []);
}

#[test]
fn inodes_of_xfs_go_with_the_space() {
    let row = disk("/data", "xfs", "sda1");
    let mut node = node(vec![row.clone()]);
    let full = |left_gib| Usage { used_bytes: 95 * GIB, left_bytes: left_gib * GIB, inodes: 1_000_000, inodes_left: 0 };
    node.reports(&row, StatfsResult::Usage(full(1)));
    assert_eq!(node.reported(), is("FilesystemFull", "FilesystemSpaceLow", "/data"));
    node.reports(&row, StatfsResult::Usage(full(100)));
    assert_eq!(
        node.reported(),
        is("FilesystemFull", "FilesystemInodesLow", "/data"),
        "its share of the space is used up"
    );
}

#[test]
fn a_read_only_one_needs_no_room() {
    let row = Row { is_read_only: true, ..disk("/images", "ext4", "sdb") };
    let mut node = node(vec![row.clone()]);
    node.reports(&row, usage(100, 0));
    assert_eq!(node.reported(), []);
}

#[test]
fn only_what_should_be_writable_is_missed() {
    let row = || disk("/data", "ext4", "sda1");
    for (row, is_missed, case) in [
        (Row { is_read_only: true, ..row() }, false, "read-only from the beginning"),
        (Row { is_read_only: true, is_cut_off: true, ..row() }, true, "cut off by the kernel"),
        (Row { is_read_only: true, wants_writes: true, ..row() }, true, "the operator wants it writable"),
        (row(), false, "writable"),
    ] {
        assert_eq!(!node(vec![row]).reported().is_empty(), is_missed, "{case}");
    }
}

#[test]
fn what_turned_read_only_is_the_problem_that_the_kernel_log_reports() {
    let mut node = node(vec![disk("/data", "ext4", "sda1")]);
    assert_eq!(node.reported(), []);
    node.restart();
    node.rows[0].is_read_only = true;
    let verdicts = node.verdicts();
    assert_eq!(reported(&verdicts), is("ReadonlyFilesystem", "FilesystemIsReadOnly", "sda1"));
    assert_eq!(fault(&verdicts, "ReadonlyFilesystem").severity.as_str(), "critical");
    node.rows[0].is_read_only = false;
    assert_eq!(node.reported(), []);
    node.rows[0].is_read_only = true;
    node.rows[0].number = "8:17".to_owned();
    assert_eq!(node.reported(), [], "another filesystem, mounted read-only");
    node.rows[0].number = "8:1".to_owned();
    node.boot = "two";
    assert_eq!(node.reported(), [], "another boot, in which it was mounted read-only");
}

#[test]
fn only_errors_that_are_counted_now_are_new() {
    for (filesystem, reason) in [("ext4", "Ext4Error"), ("btrfs", "BtrfsError")] {
        let mut node = node(vec![Row { errors: Some(4), ..disk("/data", filesystem, "sda1") }]);
        assert_eq!(node.reported(), [], "from before the last check");
        assert_eq!(node.reported(), []);
        node.rows[0].errors = Some(5);
        assert_eq!(node.reported(), is("DiskUnhealthy", reason, "sda1"));
        assert_eq!(node.reported(), []);
        node.rows[0].errors = None;
        assert_eq!(node.reported(), []);
        node.rows[0].errors = Some(0);
        assert_eq!(node.reported(), [], "it was checked");
    }
}

#[test]
fn an_xfs_that_shut_down_is_known_by_its_answer() {
    let row = disk("/data", "xfs", "sda1");
    let mut node = node(vec![row.clone()]);
    node.reports(&row, StatfsResult::Failed(nix::libc::EIO));
    assert_eq!(node.reported(), is("XfsShutdown", "XfsHasShutdown", "sda1"));
    node.reports(&row, usage(10, 90));
    assert_eq!(node.reported(), []);
}

#[test]
fn a_disk_that_hangs_is_reported_and_what_it_reported_before_is_unknown() {
    let mut node = node(vec![disk("/data", "zfs", "tank")]);
    node.verdicts();
    node.is("/data", no_answer("no answer within 10 s"));
    let hung = [is("FilesystemFull", "DeviceNotAnswering", "/data"), is("MountHung", "MountNotAnswering", "/data")];
    assert_eq!(node.reported(), hung.concat());
}

#[test]
fn without_a_table_everything_that_was_reported_is_unknown() {
    let mut node = node(vec![disk("/data", "ext4", "sda1")]);
    node.rows[0].is_cut_off = true;
    node.verdicts();
    let unknown =
        [is("ReadonlyFilesystem", "DeviceNotAnswering", "sda1"), is("FilesystemFull", "DeviceNotAnswering", "/data")];
    let Err(error) = no_answer("no answer within 10 s") else { panic!() };
    let verdicts = node.judge(Err(error), Vec::new());
    assert_eq!(reported(&verdicts), unknown.concat());
    let garbage = vec![(TABLE.to_owned(), Ok(json!([{"point": 7}]).into()))];
    assert_eq!(node.judge(Ok(Vec::new()), garbage).len(), 2, "garbage is no table");
    assert_eq!(node.reported(), is("ReadonlyFilesystem", "FilesystemIsReadOnly", "sda1"));
}

#[test]
fn what_is_unmounted_is_forgotten() {
    let row = disk("/data", "ext4", "sda1");
    let mut node = node(vec![row.clone()]);
    node.reports(&row, usage(99, 1));
    assert_eq!(node.reported().len(), 1);
    node.rows.clear();
    assert_eq!(node.verdicts(), []);
}

proptest! {
    #[test]
    fn no_answer_is_too_bad(text in r#"[{}\[\]":,a-z_0-9]{0,60}"#, saved in r#"[{}\[\]":,a-z_0-9]{0,60}"#) {
        let mut node = node(vec![disk("/data", "ext4", "sda1")]);
        node.judge.load(serde_json::from_str(&saved).unwrap_or_default());
        node.is("/data", Ok(serde_json::from_str(&text).unwrap_or_default()));
        node.is(TABLE, Ok(serde_json::from_str(&text).unwrap_or_default()));
        node.verdicts();
        prop_assert!(node.judge.save().is_some_and(|saved| saved.is_object()));
    }
}
