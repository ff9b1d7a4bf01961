//! Reads what kernels leave in pstore: records cut into parts, put together again in the order in which they were
//! logged.
//!
//! A record's first line is `Panic#2 Part3` (`pstore_dump`): why it was written, which dump of that boot it is, and which
//! part; part 1 has the newest lines. Names carry the backend and an id (`pstore_mkfile`).

mod name;

use std::{cmp::Reverse, collections::BTreeSet};

use jiff::{SignedDuration, Timestamp};
use nodewell_model::problem::stable_hash;

use crate::pstore_collector::{PstoreRecords, gather::RecordFile};

use name::RecordName;

/// Parts of one dump are written one after the other; an EFI variable may take a second.
const SAME_DUMP: SignedDuration = SignedDuration::from_secs(60);
/// All parts together; a part has 1 KiB or more.
const PARTS_LIMIT: usize = 4096;

/// Why a record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DumpReason {
    Panic,
    Oops,
    /// A restart, a halt, or a reason that is not known here.
    Other,
    /// Not a dump: what the console showed, up to its end.
    Console,
}

/// One dump of the kernel's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dump {
    pub reason: DumpReason,
    /// When it was written, where the record has it.
    pub time: Option<Timestamp>,
    pub text: Vec<u8>,
    /// Known again at the next boot: the same text is the same dump.
    pub id: u64,
}

/// Everything that was left, and what of it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PstoreDumps {
    /// Newest first; those without a time at the end.
    pub dumps: Vec<Dump>,
    /// Records that the kernel left compressed, by name.
    pub compressed: Vec<String>,
}

/// One part, with what its name shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    reason: DumpReason,
    count: u32,
    number: u32,
    time: Option<Timestamp>,
    text: Vec<u8>,
}

impl PstoreDumps {
    /// Reads all files of both folders.
    #[must_use]
    pub fn read(records: &PstoreRecords) -> Self {
        let mut parts = Vec::new();
        let mut compressed = Vec::new();
        let live = records.pstore.iter().map(|record_file| (record_file, record_file.written));
        // The time of a file in the archive is that of its move.
        let archived = records.archive.iter().map(|record_file| (record_file, None));
        for (record_file, written) in live.chain(archived) {
            match RecordName::of_path(&record_file.path) {
                name if name.compressed => compressed.push(name.text),
                name => take_parts(record_file, name.time.or(written), &mut parts),
            }
        }
        Self { dumps: put_together(parts), compressed }
    }
}

/// The parts of a file: one of the kernel's own, or several in a `dmesg.txt`.
fn take_parts(record_file: &RecordFile, time: Option<Timestamp>, parts: &mut Vec<Part>) {
    let file = RecordName::of_path(&record_file.path);
    let mut time_of_next = time;
    let mut open: Option<Part> = file.console.then(|| Part::new(Header::none(DumpReason::Console), time));
    for line in record_file.text.split_inclusive(|&byte| byte == b'\n') {
        if let Some(header) = Header::of(line) {
            open.take().into_iter().for_each(|part| add_part(part, parts));
            open = Some(Part::new(header, time_of_next));
        } else if let Some(named) = RecordName::of_line(line) {
            open.take().into_iter().for_each(|part| add_part(part, parts));
            time_of_next = named.time.or(time);
        } else {
            // A record that begins otherwise is of an unknown kind; its text counts.
            open.get_or_insert_with(|| Part::new(Header::none(DumpReason::Other), time_of_next))
                .text
                .extend_from_slice(line);
        }
    }
    open.into_iter().for_each(|part| add_part(part, parts));
}

fn add_part(mut part: Part, parts: &mut Vec<Part>) {
    part.text.truncate(part.text.trim_ascii_end().len());
    if !part.text.is_empty() && parts.len() < PARTS_LIMIT {
        parts.push(part);
    }
}

impl Part {
    fn new(header: Header, time: Option<Timestamp>) -> Self {
        let Header { reason, count, number } = header;
        Self { reason, count, number, time, text: Vec::new() }
    }

    fn continues(&self, other: &Self) -> bool {
        (self.reason, self.count) == (other.reason, other.count)
            && self.number != other.number
            && match (self.time, other.time) {
                (Some(one), Some(other)) => one.duration_since(other).abs() <= SAME_DUMP,
                (None, None) => true,
                _ => false,
            }
    }
}

/// A record's first line: `Oops#1 Part2`.
struct Header {
    reason: DumpReason,
    count: u32,
    number: u32,
}

impl Header {
    /// For a part without a header.
    fn none(reason: DumpReason) -> Self {
        Self { reason, count: 0, number: 0 }
    }

    fn of(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line.trim_ascii_end()).ok().filter(|line| line.len() < 48)?;
        let (reason, rest) = line.split_once('#')?;
        let (count, part) = rest.split_once(" Part")?;
        let reason = match reason {
            "Panic" => DumpReason::Panic,
            "Oops" => DumpReason::Oops,
            // `kmsg_dump_reason_str` and its older names.
            "Emergency" | "Shutdown" | "Restart" | "Halt" | "Poweroff" | "Unknown" => DumpReason::Other,
            _ => return None,
        };
        Some(Self { reason, count: count.parse().ok()?, number: part.parse().ok()? })
    }
}

/// The dumps that `parts` make: each part once, the oldest text of a dump first.
fn put_together(mut parts: Vec<Part>) -> Vec<Dump> {
    let mut seen = BTreeSet::new();
    // A part is in a file of its own and in `dmesg.txt`; the one with a time stays.
    parts.sort_by_key(|part| part.time.is_none());
    parts.retain(|part| seen.insert((part.reason, part.count, part.number, stable_hash(&[&part.text]))));
    parts.sort_by_key(|part| (part.time.is_none(), Reverse(part.time), part.reason, part.count, Reverse(part.number)));
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let fits = |group: &&mut Vec<Part>| {
            group.first().is_some_and(|first| part.continues(first)) && group.iter().all(|other| part.continues(other))
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups.into_iter().map(dump_of).collect()
}

fn dump_of(mut parts: Vec<Part>) -> Dump {
    parts.sort_by_key(|part| Reverse(part.number));
    let reason = parts.first().map_or(DumpReason::Other, |part| part.reason);
    let time = parts.iter().filter_map(|part| part.time).max();
    let texts: Vec<Vec<u8>> = parts.into_iter().map(|part| part.text).collect();
    Dump { reason, time, id: stable_hash(&texts), text: texts.join(&b'\n') }
}

#[cfg(test)]
mod tests;
