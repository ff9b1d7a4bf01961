//! Journals as boots leave them, written by systemd-journal-remote, and the judgement on entries alone.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use super::*;

const REMOTE: &str = "/lib/systemd/systemd-journal-remote";
const BOOT: &str = "0123456789abcdef0123456789abcdef";

fn entry(id: &str, unit: &str) -> Entry {
    Entry { message_id: id.to_owned(), unit: unit.to_owned(), is_systemd: true, ..Entry::default() }
}

/// Oldest first, as people read.
fn shutdown(entries: &[Entry]) -> bool {
    let mut entries = entries.to_vec();
    entries.reverse();
    judge(&entries).unwrap().shutdown
}

#[test]
fn a_shutdown_is_known_by_each_of_its_signs() {
    let later = entry("", "");
    assert!(shutdown(&[entry(STARTED, "reboot.target"), later.clone()]));
    assert!(shutdown(&[entry(STOPPED, "multi-user.target"), later.clone()]));
    assert!(shutdown(&[entry(SHUTDOWN, ""), later]));
    let journald = Entry { message_id: JOURNAL_STOPPED.to_owned(), is_journald: true, ..Entry::default() };
    assert!(shutdown(&[journald]));
}

#[test]
fn an_end_in_the_middle_is_no_shutdown() {
    assert!(!shutdown(&[entry(STARTED, "multi-user.target"), entry(STOPPED, "cron.service")]));
    // From rescue mode and back.
    assert!(!shutdown(&[entry(STOPPED, "multi-user.target"), entry(STARTED, "multi-user.target"), entry("", "")]));
    let restarted = Entry { message_id: JOURNAL_STOPPED.to_owned(), is_journald: true, ..Entry::default() };
    assert!(!shutdown(&[restarted, entry("", "")]), "journald was only restarted");
    assert_eq!(judge(&[]), None);
}

#[test]
fn only_late_complaints_count() {
    let entry = |secs: i64, text: &str| Entry {
        time: Timestamp::from_second(secs).unwrap(),
        complaint: Some(text.to_owned()),
        ..Entry::default()
    };
    let newest_first: Vec<Entry> =
        [1000, 900, 800, 750, 100].into_iter().map(|secs| entry(secs, &secs.to_string())).collect();
    assert_eq!(judge(&newest_first).unwrap().kernel, ["800", "900", "1000"]);
    assert_eq!(judge(&newest_first[3..]).unwrap().kernel, ["750"]);
}

#[test]
fn no_other_process_speaks_of_a_shutdown() {
    let forged = Entry { is_systemd: false, ..entry(STARTED, "reboot.target") };
    assert!(!shutdown(&[forged]));
}

fn export(second: u64, boot: &str, fields: &[(&str, &str)]) -> String {
    let realtime = 1_763_592_000_000_000 + second * 1_000_000;
    let mut text = format!("__REALTIME_TIMESTAMP={realtime}\n__MONOTONIC_TIMESTAMP={second}000000\n_BOOT_ID={boot}\n");
    fields.iter().for_each(|(name, value)| text += &format!("{name}={value}\n"));
    text + "\n"
}

fn written(file: &Path, entries: &str) {
    let mut remote = Command::new(REMOTE)
        .arg(format!("--output={}", file.display()))
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    remote.stdin.take().unwrap().write_all(entries.as_bytes()).unwrap();
    assert!(remote.wait().unwrap().success());
}

#[test]
fn the_end_of_one_boot_is_read_from_a_journal_of_several() {
    if !Path::new(REMOTE).exists() || JournalLibrary::load(JournalLibrary::NAME).is_err() {
        let _ = writeln!(std::io::stderr(), "SKIP: needs libsystemd and the package systemd-journal-remote");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let later = "fedcba9876543210fedcba9876543210";
    let text = [
        export(1, BOOT, &[("_TRANSPORT", "kernel"), ("PRIORITY", "3"), ("MESSAGE", "nvme0: controller is down")]),
        export(2, BOOT, &[("_TRANSPORT", "kernel"), ("PRIORITY", "6"), ("MESSAGE", "eth0: link up")]),
        export(3, BOOT, &[("_PID", "77"), ("MESSAGE_ID", STARTED), ("UNIT", "reboot.target"), ("MESSAGE", "forged")]),
        export(60, later, &[("_PID", "1"), ("MESSAGE_ID", STARTED), ("UNIT", "reboot.target"), ("MESSAGE", "bye")]),
    ];
    written(&dir.path().join("system.journal"), &text.concat());
    let ask = |boot: &str| {
        let directory = Some(dir.path().to_owned());
        let boot = BootId::parse(boot).unwrap();
        end_of(&Question { directory, boot, library: JournalLibrary::NAME.to_owned() }).unwrap()
    };
    let end = ask(BOOT).unwrap();
    assert_eq!((end.last.as_second(), end.shutdown), (1_763_592_003, false));
    assert_eq!(end.kernel, ["nvme0: controller is down"]);
    assert!(ask(later).unwrap().shutdown);
    assert_eq!(ask("00000000000000000000000000000001"), None);
}
