//! Log files that are rotated while they are written. By rename no line is lost. By copy and truncate a line that was
//! cut off before it could be read is reported as lost. No line counts twice.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_tests::{agent::Agent, suite::Suite, tally::Tally, wait::until};

use crate::log_files::reader_of_app_log;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("file_copytruncate")
        .case("renames_under_load_lose_nothing", renames_under_load_lose_nothing)
        .case("what_came_and_went_unseen_is_read", what_came_and_went_unseen_is_read)
        .case("truncations_under_load_lose_nothing_in_silence", truncations_under_load_lose_nothing_in_silence)
        .case("what_was_cut_off_unread_is_reported_as_lost", what_was_cut_off_unread_is_reported_as_lost);
}

/// Fewer than the events that an agent stores.
const LINES: usize = 3000;
const ROTATIONS: usize = 20;
/// Between two lines: some thousand a second.
const PACE: Duration = Duration::from_micros(200);

/// An agent that looks at a change only after this was not notified of it at once.
const LATE: Duration = Duration::from_millis(300);

/// The clock of files is coarse: 10 ms at the slowest.
const TICK: Duration = Duration::from_millis(20);

/// A program that has its log open, and reopens it on request.
struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    fn of(agent: &Agent) -> Self {
        let path = agent.plan().folder().join("app.log");
        Self { file: open(&path), path }
    }

    fn write(&mut self, number: usize) {
        // In one write, as a logger does it: half a line at the moment of a rename is a line.
        let line = format!("{} host app: fault n{number}\n", Timestamp::now());
        self.file.write_all(line.as_bytes()).unwrap();
    }

    fn reopen(&mut self) {
        self.file = open(&self.path);
    }

    fn beside(&self, end: &str) -> PathBuf {
        self.path.with_extension(end)
    }

    /// How long ago the file was changed.
    fn rest(&self) -> Duration {
        self.file.metadata().unwrap().modified().unwrap().elapsed().unwrap_or_default()
    }

    fn copy_and_truncate(&self) {
        fs::copy(&self.path, self.beside("log.1")).unwrap();
        OpenOptions::new().write(true).open(&self.path).unwrap().set_len(0).unwrap();
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}

fn seen(agent: &Agent) -> Tally {
    Tally::of(&agent.events("AppFault"))
}

fn wait_seen(agent: &Agent, number: usize) {
    until(&format!("line {number} is seen"), || seen(agent).has(number).then_some(()));
}

/// How often the agent reported that lines may be lost.
fn confessions(agent: &Agent) -> u64 {
    agent.events("RecordsLost").iter().map(|event| event.count).sum()
}

fn renames_under_load_lose_nothing() {
    let agent = reader_of_app_log(true);
    let mut writer = Writer::of(&agent);
    for number in 0..LINES {
        match number % (LINES / ROTATIONS) {
            60 => fs::rename(&writer.path, writer.beside(&format!("log.{number}"))).unwrap(),
            // The writer reopens its log late, as by logrotate's postrotate.
            10 => writer.reopen(),
            _ => {}
        }
        writer.write(number);
        thread::sleep(PACE);
    }
    wait_seen(&agent, LINES - 1);
    seen(&agent).assert_once_each(0..LINES);
    assert_eq!(confessions(&agent), 0);
}

fn what_came_and_went_unseen_is_read() {
    let agent = reader_of_app_log(true);
    let mut writer = Writer::of(&agent);
    writer.write(0);
    wait_seen(&agent, 0);
    agent.pause();
    for number in 1..5 {
        writer.write(number);
        fs::rename(&writer.path, writer.beside(&format!("log.{number}"))).unwrap();
        writer.reopen();
        // The file system's clock must show two different times for them.
        until("time passes", || (writer.rest() > TICK).then_some(()));
    }
    writer.write(5);
    agent.resume();
    wait_seen(&agent, 5);
    seen(&agent).assert_once_each(0..6);
    assert_eq!(confessions(&agent), 0);
}

fn truncations_under_load_lose_nothing_in_silence() {
    let agent = reader_of_app_log(true);
    let mut writer = Writer::of(&agent);
    for number in 0..LINES {
        writer.write(number);
        if number % (LINES / ROTATIONS) == 50 {
            writer.copy_and_truncate();
        }
        thread::sleep(PACE);
    }
    wait_seen(&agent, LINES - 1);
    let seen = seen(&agent);
    seen.assert_none_doubled();
    // Lines that follow each other went with the same truncation.
    let missing = seen.missing(0..LINES);
    let losses = missing.iter().filter(|number| !missing.contains(&(**number).wrapping_sub(1))).count();
    let confessions = confessions(&agent);
    eprintln!("    {} lines missing in {losses} places, {confessions} gaps reported", missing.len());
    assert!(confessions >= losses as u64, "{confessions} gaps reported; missing {missing:?}");
}

fn what_was_cut_off_unread_is_reported_as_lost() {
    let agent = reader_of_app_log(true);
    let mut writer = Writer::of(&agent);
    (0..3).for_each(|number| writer.write(number));
    wait_seen(&agent, 2);
    agent.pause();
    (3..6).for_each(|number| writer.write(number));
    writer.copy_and_truncate();
    until("it was a while ago", || writer.rest().gt(&LATE).then_some(()));
    agent.resume();
    // Only once it was noticed: a longer file would be another story.
    until("the loss is reported", || (confessions(&agent) == 1).then_some(()));
    writer.write(6);
    wait_seen(&agent, 6);
    seen(&agent).assert_once_each((0..3).chain(6..7));
}
