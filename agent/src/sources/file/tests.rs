//! The source against files that are written, rotated and truncated under it.

use std::{fs, io::Write, path::PathBuf};

use nodewell_model::Origin;
use nodewell_rules::rule::TimestampFormat;
use tempfile::TempDir;

use super::*;
use crate::sources::testing::{Recorded, Running};

struct Log {
    dir: TempDir,
    path: PathBuf,
}

impl Log {
    fn new(content: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.log");
        fs::write(&path, content).unwrap();
        Self { dir, path }
    }

    fn append(&self, text: &str) {
        append(&self.path, text);
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self, timestamp: TimestampFormat, start: FileStart, cursors: Vec<FileCursor>) -> Running {
        Running::start(source(&self.path.display().to_string(), timestamp, start, cursors))
    }

    /// Following, at its end.
    fn follow(&self) -> Running {
        let running = self.start(TimestampFormat::None, FileStart::End, vec![]);
        running.until(|seen| seen.running() && seen.idles > 0);
        running
    }
}

fn source(glob: &str, timestamp: TimestampFormat, start: FileStart, cursors: Vec<FileCursor>) -> LogFiles {
    let paths = vec![glob.to_owned()];
    let reader = FileReader { name: "app".into(), paths, timestamp, message: None, skip: vec![] };
    LogFiles::new(FileOptions { reader, start, cursors, go_time: None }).unwrap()
}

fn append(path: &Path, text: &str) {
    File::options().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn cursor(seen: &Recorded, text: &str) -> FileCursor {
    match seen.records.iter().find(|record| record.text == text).unwrap().origin {
        Origin::File { device, inode, offset } => FileCursor { device, inode, offset },
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn only_new_lines_count_and_they_know_where_they_are() {
    let log = Log::new("old 1\nold 2\n");
    let running = log.follow();
    log.append("new 1\nnew 2\n");
    let seen = running.until(|seen| seen.records.len() == 2);
    assert_eq!(seen.texts(), ["new 1", "new 2"]);
    assert_eq!((cursor(&seen, "new 1").offset, cursor(&seen, "new 2").offset), (12, 18));
}

#[test]
fn a_line_that_was_unfinished_at_the_start_is_whole_when_it_ends() {
    let log = Log::new("old\nbegun ");
    let running = log.follow();
    log.append("and ended\n");
    assert_eq!(running.until(|seen| !seen.records.is_empty()).texts(), ["begun and ended"]);
}

#[test]
fn a_last_line_without_a_newline_comes_when_it_is_quiet() {
    let log = Log::new("");
    let running = log.follow();
    log.append("no newline");
    let seen = running.until(|seen| !seen.records.is_empty());
    assert_eq!(seen.texts(), ["no newline"]);
}

#[test]
fn a_renamed_file_is_read_to_its_end_before_the_new_one() {
    let log = Log::new("");
    let running = log.follow();
    log.append("1\n2 unterminated");
    fs::rename(&log.path, log.beside("app.log.1")).unwrap();
    log.append("3\n");
    running.until(|seen| seen.texts() == ["1", "2 unterminated", "3"]);
    // The writer has not been notified yet.
    append(&log.beside("app.log.1"), "4 to the old file\n");
    log.append("5\n");
    let seen = running.until(|seen| seen.records.len() == 5);
    assert_eq!((seen.gaps.len(), seen.states.len()), (0, 1));
}

#[test]
fn a_file_that_is_renamed_within_the_glob_is_not_read_again() {
    let log = Log::new("");
    let glob = format!("{}*", log.path.display());
    let running = Running::start(source(&glob, TimestampFormat::None, FileStart::End, vec![]));
    running.until(|seen| seen.running() && seen.idles > 0);
    log.append("1\n");
    running.until(|seen| seen.texts() == ["1"]);
    fs::rename(&log.path, log.beside("app.log.1")).unwrap();
    log.append("2\n");
    running.until(|seen| seen.texts() == ["1", "2"]);
}

#[test]
fn a_truncated_file_is_read_from_its_beginning() {
    let log = Log::new("");
    let running = log.follow();
    log.append("1\n2 longer than what follows\n");
    running.until(|seen| seen.records.len() == 2);
    File::options().write(true).open(&log.path).unwrap().set_len(0).unwrap();
    log.append("3\n");
    let seen = running.until(|seen| seen.records.len() == 3);
    assert_eq!(seen.texts(), ["1", "2 longer than what follows", "3"]);
}

#[test]
fn a_file_that_was_truncated_and_outgrew_its_old_self_is_a_gap() {
    let log = Log::new("");
    let running = log.follow();
    log.append("1 a\n");
    running.until(|seen| seen.records.len() == 1);
    // One system call, so that the reader sees it only afterwards.
    let late = "2 something else, and longer than before\n";
    std::os::unix::fs::FileExt::write_all_at(&File::options().write(true).open(&log.path).unwrap(), late.as_bytes(), 0)
        .unwrap();
    let seen = running.until(|seen| seen.records.len() == 2);
    assert_eq!((seen.texts()[1], seen.gaps.len()), (late.trim_end(), 1));
    assert_eq!(seen.gaps[0].lost, None);
}

#[test]
fn a_missing_file_is_blind_until_it_is_there_and_then_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("later/app.log");
    let glob = path.display().to_string();
    let running = Running::start(source(&glob, TimestampFormat::None, FileStart::End, vec![]));
    let seen = running.until(|seen| seen.idles > 0);
    assert_eq!(seen.blind(), Some("LogFileMissing"));
    fs::create_dir(path.parent().unwrap()).unwrap();
    append(&path, "first\n");
    let seen = running.until(|seen| seen.running() && !seen.records.is_empty());
    assert_eq!(seen.texts(), ["first"]);
}

#[test]
fn a_megabyte_nuls_and_bad_utf8_lose_no_neighbour() {
    let log = Log::new("");
    let running = log.follow();
    log.append(&format!("before\n{}\n\0\0%s\n", "x".repeat(1 << 20)));
    let mut file = File::options().append(true).open(&log.path).unwrap();
    file.write_all(b"\xff\xfe\nafter\n").unwrap();
    let seen = running.until(|seen| seen.texts().last() == Some(&"after"));
    let lengths: Vec<usize> = seen.texts().iter().map(|text| text.chars().count()).collect();
    assert_eq!(lengths, [6, 64 * 1024, 4, 2, 5]);
}

#[test]
fn a_lookback_reads_old_lines_by_their_time() {
    let log = Log::new("2026-01-01T00:00:00Z old\n2026-01-02T00:00:00Z in time\n  its second line\n");
    let since = FileStart::Since("2026-01-02T00:00:00Z".parse().unwrap());
    let running = log.start(TimestampFormat::Rfc3339, since, vec![]);
    let seen = running.until(|seen| seen.idles > 0);
    assert_eq!(seen.texts(), ["in time", "  its second line"]);
    assert_eq!(seen.records[1].time, seen.records[0].time);
}

#[test]
fn a_cursor_goes_on_behind_its_line_and_new_files_are_read_whole() {
    let log = Log::new("");
    let seen = {
        let running = log.follow();
        log.append("1\n2\n");
        running.until(|seen| seen.records.len() == 2)
    };
    let cursors = vec![cursor(&seen, "1")];
    log.append("3\n");
    let again = log.start(TimestampFormat::None, FileStart::End, cursors.clone()).until(|seen| seen.idles > 0);
    assert_eq!((again.texts(), again.gaps.len()), (vec!["2", "3"], 0));
    fs::rename(&log.path, log.beside("app.log.1")).unwrap();
    log.append("4\n");
    let rotated = log.start(TimestampFormat::None, FileStart::End, cursors.clone()).until(|seen| seen.idles > 0);
    assert_eq!((rotated.texts(), rotated.gaps.len()), (vec!["2", "3", "4"], 0));
    // In another folder: the old file still exists, or the new file could get its inode.
    fs::create_dir(log.beside("away")).unwrap();
    fs::rename(log.beside("app.log.1"), log.beside("away/app.log.1")).unwrap();
    let gone = log.start(TimestampFormat::None, FileStart::End, cursors).until(|seen| seen.idles > 0);
    assert_eq!((gone.texts(), gone.gaps.len()), (vec!["4"], 1));
}

#[test]
fn what_came_and_went_between_two_reads_comes_in_between() {
    let log = Log::new("");
    let seen = {
        let running = log.follow();
        log.append("1\n");
        running.until(|seen| seen.records.len() == 1)
    };
    let cursors = vec![cursor(&seen, "1")];
    fs::write(log.beside("app.log.7"), "long ago\n").unwrap();
    fs::write(log.beside("app.log-debug"), "another log\n").unwrap();
    let generations = ["2\n", "3\n", "4\n", "5\n", "6\n"];
    log.append(generations[0]);
    for (number, text) in (1..).zip(&generations[1..]) {
        fs::rename(&log.path, log.beside(&format!("app.log-{number}"))).unwrap();
        log.append(text);
    }
    // So that order does not hang on the granularity of the file system's clock.
    let names = ["app.log.7", "app.log-1", "app.log-2", "app.log-3", "app.log-4"];
    for (age, name) in (1..).zip(names.iter().rev()) {
        let written = std::time::SystemTime::now() - Duration::from_secs(age);
        File::options().append(true).open(log.beside(name)).unwrap().set_modified(written).unwrap();
    }
    fs::rename(log.beside("app.log-3"), log.beside("app.log-3.gz")).unwrap();
    let again = log.start(TimestampFormat::None, FileStart::End, cursors).until(|seen| seen.records.len() >= 4);
    assert_eq!(again.texts(), ["2", "3", "5", "6"]);
    assert!(again.gaps.len() == 1 && again.gaps[0].message.contains("app.log-3.gz"), "{:?}", again.gaps);
}

#[test]
fn a_file_that_shrank_before_it_was_read_is_a_gap() {
    let log = Log::new("");
    let seen = {
        let running = log.follow();
        log.append("a line\nanother line\n");
        running.until(|seen| seen.records.len() == 2)
    };
    fs::write(&log.path, "new\n").unwrap();
    let cursors = vec![cursor(&seen, "another line")];
    let again = log.start(TimestampFormat::None, FileStart::End, cursors).until(|seen| seen.idles > 0);
    assert_eq!((again.texts(), again.gaps.len()), (vec!["new"], 1));
}

#[test]
fn a_file_that_must_not_be_read_is_blind_until_it_may() {
    use std::os::unix::fs::PermissionsExt;
    if nix::unistd::geteuid().is_root() {
        let test = "a_file_that_must_not_be_read_is_blind_until_it_may";
        let _ = writeln!(std::io::stderr(), "SKIP {test}: root may read everything");
        return;
    }
    let log = Log::new("old\n");
    fs::set_permissions(&log.path, fs::Permissions::from_mode(0o000)).unwrap();
    let running = log.start(TimestampFormat::None, FileStart::End, vec![]);
    assert_eq!(running.until(|seen| seen.idles > 0).blind(), Some("PermissionDenied"));
    fs::set_permissions(&log.path, fs::Permissions::from_mode(0o600)).unwrap();
    // The folder changes, so it is looked at again.
    fs::write(log.beside("other"), "").unwrap();
    running.until(|seen| seen.running());
    log.append("new\n");
    assert_eq!(running.until(|seen| !seen.records.is_empty()).texts(), ["new"]);
}

#[test]
fn a_file_that_answers_with_errors_is_blind() {
    // The kernel answers EIO to a read at address 0 of a process.
    let running = Running::start(source("/proc/self/mem", TimestampFormat::None, FileStart::End, vec![]));
    let seen = running.until(|seen| seen.idles > 0);
    assert_eq!(seen.blind(), Some("LogFileUnreadable"));
}

#[test]
fn errors_in_the_spec_are_reported_before_reading() {
    let reader = FileReader {
        name: "app".into(),
        paths: vec!["/x/[".into()],
        timestamp: TimestampFormat::None,
        message: None,
        skip: vec![],
    };
    let options = FileOptions { reader, start: FileStart::End, cursors: vec![], go_time: None };
    assert!(matches!(LogFiles::new(options), Err(FileError::Glob { .. })));
}
