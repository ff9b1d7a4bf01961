//! One entry of the journal as a record: its text is copied, or made of the object that stands for it; its other fields
//! are looked up when a rule asks.

use std::{borrow::Cow, cell::RefCell, time::Duration};

use jiff::Timestamp;
use nodewell_model::{BootId, Origin, Record, RecordFields};
use nodewell_rules::json_log;
use nodewell_sys::journal::{Journal, JournalError};

use crate::sources::Sink;

/// More of a field than this is cut: a rule's line is far shorter.
pub(crate) const FIELD_LIMIT_BYTES: usize = 64 * 1024;

/// Our own units and programs begin so; their lines are never a source.
const OWN_UNITS: &[u8] = b"nodewell";
const OWN_IDENTIFIER: &[u8] = b"nodewelld";

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It went to the sink; its cursor.
    Passed(String),
    /// It is another source's, or our own.
    PassedOver,
}

/// Looks fields up in the entry that the journal stands at.
struct EntryFields<'a>(RefCell<&'a mut Journal>);

impl RecordFields for EntryFields<'_> {
    fn field(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let mut journal = self.0.try_borrow_mut().ok()?;
        let value = journal.data(name).ok()??;
        Some(Cow::Owned(cut(value).to_vec()))
    }
}

/// Hands the current entry to `sink`, unless it is not for us. `text` is a buffer that is used again and again.
pub(crate) fn take(journal: &mut Journal, text: &mut Vec<u8>, sink: &mut dyn Sink) -> Result<Taken, JournalError> {
    pass(journal, text, &mut |record| sink.record(record))
}

/// The same for an entry that an earlier run has judged.
pub(crate) fn show(journal: &mut Journal, text: &mut Vec<u8>, sink: &mut dyn Sink) -> Result<Taken, JournalError> {
    pass(journal, text, &mut |record| sink.known(record))
}

fn pass(journal: &mut Journal, text: &mut Vec<u8>, to: &mut dyn FnMut(&Record<'_>)) -> Result<Taken, JournalError> {
    if is_kernels(journal)? || is_our_own(journal)? {
        return Ok(Taken::PassedOver);
    }
    text.clear();
    text.extend_from_slice(cut(journal.data("MESSAGE")?.unwrap_or_default()).trim_ascii_end());
    if let Some(written) = json_log::text_of(text) {
        *text = written;
    }
    let cursor = journal.cursor()?;
    let time = wall_time(journal.realtime_usec()?);
    let (since_boot_usec, boot) = journal.monotonic_usec()?;
    to(&Record {
        time,
        since_boot: Some(Duration::from_micros(since_boot_usec)),
        boot_id: boot_id(boot),
        origin: Origin::Journal { cursor: cursor.clone() },
        text,
        fields: &EntryFields(RefCell::new(journal)),
        test: false,
    });
    Ok(Taken::Passed(cursor))
}

/// The kmsg source reads these, with their sequence numbers.
fn is_kernels(journal: &mut Journal) -> Result<bool, JournalError> {
    Ok(journal.data("_TRANSPORT")?.is_some_and(|transport| transport == b"kernel"))
}

fn is_our_own(journal: &mut Journal) -> Result<bool, JournalError> {
    let unit = journal.data("_SYSTEMD_UNIT")?;
    if unit.is_some_and(|unit| unit.starts_with(OWN_UNITS) && unit.ends_with(b".service")) {
        return Ok(true);
    }
    if journal.data("SYSLOG_IDENTIFIER")? != Some(OWN_IDENTIFIER) {
        return Ok(false);
    }
    // Any process can claim the identifier alone; our process id comes from the kernel.
    let own = std::process::id().to_string();
    Ok(journal.data("_PID")?.is_some_and(|pid| pid == own.as_bytes()))
}

/// Never after now: a clock that was set back leaves entries from the future.
fn wall_time(since_epoch_usec: u64) -> Timestamp {
    let now = Timestamp::now();
    let stamped = i64::try_from(since_epoch_usec).ok().and_then(|usec| Timestamp::from_microsecond(usec).ok());
    stamped.map_or(now, |stamped| stamped.min(now))
}

fn boot_id(bytes: [u8; 16]) -> Option<BootId> {
    BootId::parse(&format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn cut(value: &[u8]) -> &[u8] {
    &value[..value.len().min(FIELD_LIMIT_BYTES)]
}
