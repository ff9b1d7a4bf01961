//! The source against journal files that systemd-journal-remote writes, and what it reports where there are none.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::*;
use crate::sources::testing::{Recorded, Running};

mod journald;

const REMOTE: &str = "/lib/systemd/systemd-journal-remote";

fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIP {test}: {reason}");
}

/// Whether this machine can make and read journals.
fn usable(test: &str) -> bool {
    if let Err(error) = JournalLibrary::load(JournalLibrary::NAME) {
        skip(test, &error.to_string());
        return false;
    }
    if !Path::new(REMOTE).exists() {
        skip(test, "needs the package systemd-journal-remote");
        return false;
    }
    true
}

/// One entry in the journal's export format (`systemd.io/JOURNAL_EXPORT_FORMATS`).
fn entry(number: u64, message: &str, extra: &[&str]) -> String {
    let realtime = 1_700_000_000_000_000 + number * 1_000_000;
    let mut text = format!(
        "__REALTIME_TIMESTAMP={realtime}\n__MONOTONIC_TIMESTAMP={}\n_BOOT_ID=0123456789abcdef0123456789abcdef\n",
        number * 1_000_000
    );
    for field in extra {
        text += &format!("{field}\n");
    }
    text + &format!("MESSAGE={message}\n\n")
}

/// A journal that is being written.
struct Writer(Child);

impl Writer {
    fn start(file: &Path) -> Self {
        let child = Command::new(REMOTE)
            .arg(format!("--output={}", file.display()))
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn write(&mut self, entries: &str) {
        self.0.stdin.as_mut().unwrap().write_all(entries.as_bytes()).unwrap();
    }

    fn finish(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

fn written(file: &Path, entries: &str) {
    let mut writer = Writer::start(file);
    writer.write(entries);
    writer.finish();
}

fn options(directory: &Path, start: JournalStart) -> JournalOptions {
    JournalOptions { directory: Some(directory.to_owned()), start, ..JournalOptions::default() }
}

fn cursor(seen: &Recorded, text: &str) -> String {
    let record = seen.records.iter().find(|record| record.text == text).unwrap();
    match &record.origin {
        nodewell_model::Origin::Journal { cursor } => cursor.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_absent_library_is_blind_and_named() {
    let options = JournalOptions { library: "libnodewell-absent.so.0".into(), ..JournalOptions::default() };
    let seen = Running::start(Journal::new(options)).until(|seen| seen.idles > 0);
    assert_eq!(seen.blind(), Some("JournalUnavailable"));
    assert!(format!("{:?}", seen.states).contains("libnodewell-absent.so.0"));
}

#[test]
fn a_missing_journal_is_blind_until_it_appears() {
    if !usable("a_missing_journal_is_blind_until_it_appears") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().join("journal");
    let running = Running::start(Journal::new(options(&directory, JournalStart::Head)));
    assert_eq!(running.until(|seen| seen.idles > 0).blind(), Some("JournalMissing"));
    fs::create_dir(&directory).unwrap();
    running.until(|seen| seen.blind() == Some("JournalEmpty"));
    written(&directory.join("system.journal"), &entry(1, "there", &[]));
    let seen = running.until(|seen| seen.running() && !seen.records.is_empty());
    assert_eq!(seen.texts(), ["there"]);
}

#[test]
fn entries_have_their_time_and_fields_and_others_are_passed_over() {
    if !usable("entries_have_their_time_and_fields_and_others_are_passed_over") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let entries = [
        entry(1, "Started kubelet.", &["_PID=1", "SYSLOG_IDENTIFIER=systemd"]),
        entry(2, "kernel line", &["_TRANSPORT=kernel"]),
        entry(3, "our own", &["_SYSTEMD_UNIT=nodewell-disk.service"]),
        entry(4, "claims to be us", &["SYSLOG_IDENTIFIER=nodewelld", "_PID=1"]),
        entry(5, &"x".repeat(200_000), &[]),
        entry(6, "last %s", &[]),
    ];
    written(&dir.path().join("system.journal"), &entries.concat());
    let seen = Running::start(Journal::new(options(dir.path(), JournalStart::Head))).until(|seen| seen.idles > 0);
    let lengths: Vec<usize> = seen.texts().iter().map(|text| text.len()).collect();
    assert_eq!(lengths, [16, 15, FIELD_LIMIT_BYTES, 7]);
    assert_eq!(seen.records[0].time, Timestamp::from_second(1_700_000_001).unwrap());
    assert_eq!(seen.records[0].fields, [("SYSLOG_IDENTIFIER", "systemd".to_owned()), ("_PID", "1".to_owned())]);
    assert_eq!(seen.gaps, []);
}

#[test]
fn an_object_that_a_kubelet_writes_is_read_as_its_text() {
    if !usable("an_object_that_a_kubelet_writes_is_read_as_its_text") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let object = r#"{"ts":1700000000123.4567,"caller":"kubelet/kubelet.go:1431","msg":"Failed","err":"why"}"#;
    let entries = [entry(1, object, &["_PID=812"]), entry(2, r#"{"a":1,"msg":"x"}"#, &[]), entry(3, "last", &[])];
    written(&dir.path().join("system.journal"), &entries.concat());
    let seen = Running::start(Journal::new(options(dir.path(), JournalStart::Head))).until(|seen| seen.idles > 0);
    let text = r#"E1114 22:13:20.123456       0 kubelet.go:1431] "Failed" err="why""#;
    assert_eq!(seen.texts(), [text, r#"{"a":1,"msg":"x"}"#, "last"]);
}

#[test]
fn matches_are_alternatives() {
    if !usable("matches_are_alternatives") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let entries = [entry(1, "a", &["_PID=1"]), entry(2, "b", &["UNIT=x"]), entry(3, "c", &["UNIT=y"])];
    written(&dir.path().join("system.journal"), &entries.concat());
    let mut options = options(dir.path(), JournalStart::Head);
    options.matches = vec![("_PID".into(), "1".into()), ("UNIT".into(), "y".into())];
    let seen = Running::start(Journal::new(options)).until(|seen| seen.idles > 0);
    assert_eq!(seen.texts(), ["a", "c"]);
}

#[test]
fn new_entries_are_followed_through_a_rotation() {
    if !usable("new_entries_are_followed_through_a_rotation") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("system.journal");
    written(&file, &entry(1, "old", &[]));
    let running = Running::start(Journal::new(options(dir.path(), JournalStart::Tail)));
    running.until(|seen| seen.running() && seen.idles > 0);
    written(&file, &entry(2, "new", &[]));
    running.until(|seen| seen.texts() == ["new"]);
    fs::rename(&file, dir.path().join("system@1.journal")).unwrap();
    written(&file, &entry(3, "after rotation", &[]));
    running.until(|seen| seen.texts() == ["new", "after rotation"]);
    fs::remove_file(dir.path().join("system@1.journal")).unwrap();
    written(&file, &entry(4, "after vacuum", &[]));
    let seen = running.until(|seen| seen.texts() == ["new", "after rotation", "after vacuum"]);
    assert_eq!((seen.states, seen.gaps), (vec![SourceState::Running], vec![]));
}

#[test]
fn a_cursor_goes_on_behind_its_entry_and_a_vacuumed_one_is_a_gap() {
    if !usable("a_cursor_goes_on_behind_its_entry_and_a_vacuumed_one_is_a_gap") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("system@1.journal");
    written(&old, &(entry(1, "a", &[]) + &entry(2, "b", &[])));
    written(&dir.path().join("system.journal"), &entry(3, "c", &[]));
    let seen = Running::start(Journal::new(options(dir.path(), JournalStart::Head))).until(|seen| seen.idles > 0);
    let after = JournalStart::After(cursor(&seen, "a"));
    let again = Running::start(Journal::new(options(dir.path(), after.clone()))).until(|seen| seen.idles > 0);
    assert_eq!((again.texts(), again.gaps.len()), (vec!["b", "c"], 0));
    fs::remove_file(old).unwrap();
    let vacuumed = Running::start(Journal::new(options(dir.path(), after))).until(|seen| seen.idles > 0);
    assert_eq!((vacuumed.texts(), vacuumed.gaps.len()), (vec!["c"], 1));
    let nonsense = JournalStart::After("nonsense".into());
    let lost = Running::start(Journal::new(options(dir.path(), nonsense))).until(|seen| seen.idles > 0);
    assert_eq!((lost.texts().len(), lost.gaps.len()), (0, 1));
}

#[test]
fn a_time_is_a_start() {
    if !usable("a_time_is_a_start") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let entries = [entry(1, "before", &[]), entry(5, "at", &[]), entry(6, "after", &[])];
    written(&dir.path().join("system.journal"), &entries.concat());
    let since = JournalStart::Since(Timestamp::from_second(1_700_000_005).unwrap());
    let seen = Running::start(Journal::new(options(dir.path(), since))).until(|seen| seen.idles > 0);
    assert_eq!(seen.texts(), ["at", "after"]);
}

#[test]
fn a_damaged_file_neither_stops_nor_spins() {
    if !usable("a_damaged_file_neither_stops_nor_spins") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("system@1.journal");
    let entries: String = (0..500).map(|n| entry(n, &format!("line {n}"), &["_PID=1"])).collect();
    written(&file, &entries);
    let mut bytes = fs::read(&file).unwrap();
    // Behind the header and the hash tables: into the entries themselves.
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    written(&dir.path().join("system.journal"), &entry(1000, "the neighbour", &[]));
    let running = Running::start(Journal::new(options(dir.path(), JournalStart::Head)));
    let seen = running.until(|seen| seen.texts().contains(&"the neighbour") && seen.idles > 0);
    assert!(seen.running() && seen.idles < 10, "{} idles", seen.idles);
}
