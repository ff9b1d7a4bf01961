//! What becomes of one raw record: its number is checked for gaps, its facility for forgery, and it is stamped.

use std::time::Duration;

use nodewell_model::{BootId, Origin, Record};

use super::{
    expect::Expectations,
    parse::{KmsgRecord, parse},
    stamp::{ReadTime, Stamper},
};
use crate::sources::{Gap, Sink};

/// What user space may have written under its own name; `nodewell inject` does.
const FACILITY_USER: u32 = 1;

/// Whether an earlier run has judged a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    Known,
    New,
}

pub(crate) struct Intake {
    pub(crate) facilities: Vec<u32>,
    pub(crate) expectations: Expectations,
    pub(crate) boot_id: BootId,
    /// The newest record that is known already.
    pub(crate) newest: Option<u64>,
    /// Reading began before records that are known: up to this number they are only shown.
    pub(crate) known_through: Option<u64>,
    /// The sink has not seen them either: they show what comes before what is new.
    pub(crate) shows_known: bool,
    /// The last of them was there: this is the log that they are from.
    pub(crate) met_known: bool,
    pub(crate) stamper: Stamper,
}

impl Intake {
    /// Goes on behind a record of this boot; the cursor of another boot is ignored.
    pub(crate) fn resume_after(&mut self, boot_id: BootId, sequence: u64) {
        if boot_id == self.boot_id {
            (self.newest, self.known_through) = (Some(sequence), Some(sequence));
        }
    }

    /// Nothing of this log is known.
    pub(crate) fn forget_known(&mut self) {
        (self.newest, self.known_through) = (None, None);
    }

    /// Judges one record; true if it was one.
    pub(crate) fn take(&mut self, raw: &[u8], read_at: ReadTime, sink: &mut dyn Sink) -> bool {
        let Some(record) = parse(raw) else {
            sink.passed_over();
            return false;
        };
        if let Some(known) = self.known_through.filter(|known| record.sequence <= *known) {
            self.met_known |= record.sequence == known;
            if self.shows_known {
                self.pass(&record, read_at, Past::Known, sink);
            }
            return true;
        }
        self.known_through = None;
        self.note_gap(record.sequence, read_at, sink);
        self.newest = Some(record.sequence);
        self.pass(&record, read_at, Past::New, sink);
        true
    }

    /// Every record has a number, whatever its facility: what is missing between two was lost.
    fn note_gap(&self, sequence: u64, read_at: ReadTime, sink: &mut dyn Sink) {
        // A lower number than before is another ring (a saved log of two boots), not a loss.
        let expected = self.newest.and_then(|newest| newest.checked_add(1));
        let Some(lost) = expected.and_then(|expected| sequence.checked_sub(expected)).filter(|lost| *lost > 0) else {
            return;
        };
        sink.gap(Gap::of("RecordsLost/kernel-log", &[("lost", &lost)], Some(lost), read_at.wall));
    }

    fn pass(&mut self, record: &KmsgRecord<'_>, read_at: ReadTime, past: Past, sink: &mut dyn Sink) {
        // From any writer: a record that woke us shows how far the kernel's clock is off.
        let time = self.stamper.stamp(read_at, record.since_boot);
        let injected = if past == Past::New { self.injected(record) } else { None };
        if injected.is_none() && !self.facilities.contains(&record.facility) {
            if past == Past::New {
                sink.passed_over();
            }
            return;
        }
        let record = Record {
            time,
            since_boot: Some(record.since_boot),
            boot_id: Some(self.boot_id),
            origin: Origin::Kmsg { boot_id: self.boot_id, sequence: record.sequence },
            text: injected.unwrap_or(&record.text),
            fields: &record.fields,
            test: injected.is_some(),
        };
        match past {
            Past::New => sink.record(&record),
            Past::Known => sink.known(&record),
        }
    }

    /// The text of a record that the agent was asked to expect.
    fn injected<'r>(&self, record: &'r KmsgRecord<'_>) -> Option<&'r [u8]> {
        if record.facility != FACILITY_USER {
            return None;
        }
        self.expectations.redeem(&record.text, now())
    }
}

fn now() -> Duration {
    crate::runtime::clock::boottime()
}
