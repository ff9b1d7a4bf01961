//! How the journal of an earlier boot ends: with a shutdown, or in the middle of things.
//!
//! Only fields that journald itself sets are believed: `_PID=1` is systemd, `_TRANSPORT=kernel` the kernel.

use std::{path::PathBuf, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use nodewell_model::{BootId, text};
use nodewell_sys::{
    bus_error,
    journal::{Journal, JournalError, JournalLibrary},
};

/// A shutdown logs a hundred units that stop; twice that is enough to find its begin.
const ENTRIES_LIMIT: usize = 400;
/// Of the kernel's last complaints, and how long before the end they may have been logged.
const WORDS_LIMIT: usize = 3;
const WORDS_AGE: SignedDuration = SignedDuration::from_mins(5);

/// systemd.journal-fields(7), sd-messages.h: a unit was started, was stopped; journald stopped; logind shuts down.
const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const STOPPED: &str = "9d1aaa27d60140bd96365438aad20286";
const JOURNAL_STOPPED: &str = "d93fb3c9c24d451a97cea615ce59c00b";
const SHUTDOWN: &str = "98268866d1d54a499c4e98921d93bc40";
/// Started at the end of every shutdown, whatever comes after it.
const END_TARGETS: [&str; 7] = [
    "shutdown.target",
    "final.target",
    "umount.target",
    "reboot.target",
    "poweroff.target",
    "halt.target",
    "kexec.target",
];
/// Stopped in a shutdown and hardly ever else. The journal of a `/var` of its own ends before the targets above.
const BASE_UNITS: [&str; 4] = ["basic.target", "sysinit.target", "multi-user.target", "systemd-journal-flush.service"];

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// `None`: the system's own.
    pub directory: Option<PathBuf>,
    pub boot: BootId,
    /// What the dynamic linker is asked for.
    pub library: String,
}

/// The last entries of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEnd {
    /// When the newest one was taken.
    pub last: Timestamp,
    /// A shutdown had begun.
    pub shutdown: bool,
    /// The kernel's last complaints, oldest first.
    pub kernel: Vec<String>,
}

/// One entry, with what is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Entry {
    time: Timestamp,
    message_id: String,
    unit: String,
    is_systemd: bool,
    is_journald: bool,
    /// What the kernel logged at the level of an error or worse.
    complaint: Option<String>,
}

/// Asks the journal; `None` if it has nothing of that boot.
pub fn end_of(question: &Question) -> Result<Option<JournalEnd>, JournalError> {
    // A disk that dies under the mapped files must not end the process; what is read then is an error.
    let _ = bus_error::guard_this_thread();
    let library = Arc::new(JournalLibrary::load(&question.library)?);
    let mut journal = match &question.directory {
        None => Journal::open(library)?,
        Some(directory) => Journal::open_directory(library, directory)?,
    };
    journal.set_data_threshold(text::MESSAGE_LIMIT_BYTES)?;
    journal.add_match("_BOOT_ID", &question.boot.to_string())?;
    journal.seek_tail()?;
    let mut newest_first = Vec::new();
    while newest_first.len() < ENTRIES_LIMIT && journal.step_back()? {
        newest_first.push(Entry::read(&mut journal)?);
    }
    Ok(judge(&newest_first))
}

fn judge(newest_first: &[Entry]) -> Option<JournalEnd> {
    let last = newest_first.first()?.time;
    let late = newest_first.iter().filter(|entry| last.duration_since(entry.time) <= WORDS_AGE);
    let mut kernel: Vec<String> = late.filter_map(|entry| entry.complaint.clone()).take(WORDS_LIMIT).collect();
    kernel.reverse();
    Some(JournalEnd { last, shutdown: is_shutdown(newest_first), kernel })
}

/// Whether these are the last entries of a shutdown: a sign of one, and no unit of the base started again after it.
fn is_shutdown(newest_first: &[Entry]) -> bool {
    if newest_first.first().is_some_and(|entry| entry.is_journald && entry.message_id == JOURNAL_STOPPED) {
        return true;
    }
    let is_life = |entry: &Entry| entry.did(STARTED, &BASE_UNITS);
    newest_first.iter().take_while(|entry| !is_life(entry)).any(Entry::is_sign_of_shutdown)
}

impl Entry {
    fn read(journal: &mut Journal) -> Result<Self, JournalError> {
        let mut field = |name: &str| -> Result<String, JournalError> {
            Ok(journal.data(name)?.map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default())
        };
        let (message_id, unit, transport) = (field("MESSAGE_ID")?, field("UNIT")?, field("_TRANSPORT")?);
        // logind logs what kind of shutdown it is.
        let is_systemd = field("_PID")? == "1" || field("_SYSTEMD_UNIT")? == "systemd-logind.service";
        let is_journald = transport == "driver";
        let is_complaint = transport == "kernel" && ["0", "1", "2", "3"].contains(&field("PRIORITY")?.as_str());
        let complaint = if is_complaint { Some(text::message(field("MESSAGE")?.as_bytes())) } else { None };
        let usec = i64::try_from(journal.realtime_usec()?).unwrap_or_default();
        let time = Timestamp::from_microsecond(usec).unwrap_or_default();
        Ok(Self { time, message_id, unit, is_systemd, is_journald, complaint })
    }

    fn is_sign_of_shutdown(&self) -> bool {
        (self.is_systemd && self.message_id == SHUTDOWN)
            || self.did(STARTED, &END_TARGETS)
            || self.did(STOPPED, &BASE_UNITS)
    }

    fn did(&self, what: &str, units: &[&str]) -> bool {
        self.is_systemd && self.message_id == what && units.contains(&self.unit.as_str())
    }
}

#[cfg(test)]
mod tests;
