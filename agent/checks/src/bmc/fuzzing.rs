//! What reading a BMC's event log and the names of its sensors promises, whatever the BMC answers.

use nodewell_model::text;
use nodewell_sys::ipmi::Command;

use super::{
    event::SensorEvent,
    meaning::Meaning,
    reading::LogRecord,
    repository::{NamesReading, RepositoryCursor, read_names},
    sensor_record::{Head, SensorName},
    transport::Transport,
    walk::{Limits, LogReading, read_log},
};

const ENTRIES: usize = 32;
/// For each entry three tries and as many reservations, for the trail too; a look more for the head of the log.
const REQUESTS: usize = 2 * (ENTRIES + 10) * 8;
/// For each record three tries, of a head and of as many pieces as the longest tail has, and as many reservations; what
/// begins a look.
const NAME_REQUESTS: usize = 2 * (2 + ENTRIES * 3 * (2 + 48 / 8));
/// Sensors that share one record.
const SHARED: usize = 15;

/// Each record by itself, and two looks at a log that gives them.
pub(crate) fn event_log(bytes: &[u8]) {
    let (records, _) = bytes.as_chunks::<16>();
    records.iter().for_each(record);
    let mut answers = Answers { rest: bytes, asked: 0 };
    let limits = Limits { entries: ENTRIES, is_over: &|| false };
    let mut cursor = None;
    for _ in 0..2 {
        let Ok(LogReading { records, cursor: next, .. }) = read_log(&mut answers, cursor, &limits) else { break };
        assert!(records.len() <= ENTRIES);
        records.iter().for_each(|LogRecord { record: entry, .. }| record(entry));
        cursor = Some(next);
    }
    assert!(answers.asked <= REQUESTS, "{} requests", answers.asked);
}

/// One record by itself, and two looks at a repository that gives some.
pub(crate) fn sensor_records(bytes: &[u8]) {
    if let Some(head) = Head::of(bytes) {
        let tail = head.tail().and_then(|tail| bytes.get(tail)).unwrap_or_default();
        named(&head.names(tail), 1);
    }
    let mut answers = Answers { rest: bytes, asked: 0 };
    let limits = Limits { entries: ENTRIES, is_over: &|| false };
    let mut cursor = RepositoryCursor::default();
    for _ in 0..2 {
        let Ok(NamesReading { cursor: next, names }) = read_names(&mut answers, cursor, &limits) else { break };
        named(&names, ENTRIES);
        cursor = next;
    }
    assert!(answers.asked <= NAME_REQUESTS, "{} requests", answers.asked);
}

fn named(names: &[SensorName], records: usize) {
    assert!(names.len() <= SHARED * records);
    for SensorName { name, .. } in names {
        assert!(!name.is_empty() && text::line(name, 48) == *name, "{name:?}");
    }
}

fn record(record: &[u8; 16]) {
    let Some(event) = SensorEvent::of(record) else { return };
    assert!(event.state.event_type < 0x80 && event.state.offset < 0x10);
    let (meaning, subject) = (Meaning::of(&event.state), event.state.subject());
    assert!(!subject.is_empty() && subject.len() < 256);
    let is_fault = matches!(meaning, Some(Meaning::Fault { .. }));
    assert!(!(is_fault && event.state.is_of_software()), "a program holds a condition");
}

/// A length of one byte, and at most 19 bytes: as long as an entry with its completion code.
struct Answers<'a> {
    rest: &'a [u8],
    asked: usize,
}

impl Transport for Answers<'_> {
    fn request(&mut self, _: &Command<'_>) -> Result<Vec<u8>, String> {
        self.asked += 1;
        let (length, rest) = self.rest.split_first().ok_or("no more answers")?;
        let (answer, rest) = rest.split_at(usize::from(length % 20).min(rest.len()));
        self.rest = rest;
        Ok(answer.to_vec())
    }
}
