//! The forms that saved logs come in.

use super::{dmesg, kmsg, syslog};
use crate::json_log;

/// So many lines show the form.
const LINES: usize = 50;

/// How a log was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Found out from the first lines.
    Auto,
    /// Raw records of `/dev/kmsg`.
    Kmsg,
    /// What `dmesg` prints, in any of its styles, or a serial console shows.
    Dmesg,
    /// `/var/log/syslog`, `kern.log`, `messages`, `journalctl` as text, `audit.log`.
    Syslog,
    /// `journalctl -o json`.
    JournalJson,
}

impl Format {
    /// This format; for `Auto` the one that most of the first lines suggest, if any does.
    pub(super) fn or_detect(self, beginning: &[u8]) -> Option<Self> {
        if self != Self::Auto {
            return Some(self);
        }
        let lines = || first_lines(beginning).map(|(_, line)| line.trim_ascii());
        // Beside lines that only a journal has, those that `dmesg` prints as well show nothing.
        let is_journal = lines().any(syslog::has_seconds);
        let counted = lines().filter(|line| !is_journal || !syslog::has_seconds_and_process(line));
        let seen: Vec<Self> = counted.filter_map(recognise).collect();
        let count = |format: Self| seen.iter().filter(|other| **other == format).count();
        // The first of those that most lines have: a console may show lines of other programs.
        seen.iter().copied().reduce(|best, format| if count(format) > count(best) { format } else { best })
    }

    /// Whether the first lines do not speak against it. Any line may be what `dmesg -t` prints, or of a log file that a rule
    /// reads.
    pub(super) fn is_shown_by(self, beginning: &[u8]) -> bool {
        match self {
            Self::Kmsg | Self::JournalJson => first_lines(beginning).any(|(_, line)| recognise(line) == Some(self)),
            Self::Auto | Self::Dmesg | Self::Syslog => true,
        }
    }

    /// What has to be seen beside the rules' windows.
    pub(super) fn own_windows(self) -> &'static [&'static [u8]] {
        match self {
            // The banner of a boot.
            Self::Kmsg | Self::Dmesg => &[b"Linux version"],
            // A message that is not UTF-8 is written as an array of numbers, where no window can be seen. Of the text
            // that an object stands for some are not in the object.
            Self::JournalJson => &[b"E\":[", b"E\": [", b"E\" : [", json_log::MARK_IN_STRING],
            Self::Syslog => &[json_log::MARK],
            Self::Auto => &[],
        }
    }
}

/// Whether most of the first lines begin as the kernel's do in a journal from which time and host were cut. Among lines of
/// another form it would be any program's that begins so.
pub(super) fn are_labelled(beginning: &[u8]) -> bool {
    let (mut labelled, mut all) = (0, 0);
    for (_, line) in first_lines(beginning) {
        all += 1;
        labelled += usize::from(line.starts_with(dmesg::LABEL));
    }
    labelled * 2 > all
}

/// The first lines that are not blank, with their numbers.
pub(super) fn first_lines(beginning: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = (1_u64..).zip(beginning.split(|byte| *byte == b'\n'));
    lines.filter(|(_, line)| !line.trim_ascii().is_empty()).take(LINES)
}

/// The format of a log that has such a line.
pub(super) fn recognise(line: &[u8]) -> Option<Format> {
    let line = line.trim_ascii();
    if (line.starts_with(b"{\"") || line.starts_with(b"{ \"")) && is_of_journal(line) {
        Some(Format::JournalJson)
    } else if kmsg::is_record(line) {
        Some(Format::Kmsg)
    } else if dmesg::has_prefix(line) && !syslog::has_seconds(line) {
        Some(Format::Dmesg)
    } else if syslog::has_seconds(line) || syslog::has_time(line) {
        Some(Format::Syslog)
    } else {
        None
    }
}

/// Other programs log JSON too.
fn is_of_journal(object: &[u8]) -> bool {
    ["\"__REALTIME_TIMESTAMP\"", "\"MESSAGE\""]
        .iter()
        .any(|name| memchr::memmem::find(object, name.as_bytes()).is_some())
}
