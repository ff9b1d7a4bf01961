//! What becomes of one raw record: its number is checked for gaps, its facility for forgery, and it is stamped.

use std::time::Duration;

use nodewell_model::{BootId, Origin, Record};

use super::{
    expect::Expectations,
    parse::{KmsgRecord, parse},
    stamp::{Reading, Stamper},
};
use crate::sources::{Gap, Sink};

/// What user space may have written under its own name; `nodewell inject` does.
const FACILITY_USER: u32 = 1;

pub(crate) struct Intake {
    pub(crate) facilities: Vec<u32>,
    pub(crate) expectations: Expectations,
    pub(crate) boot_id: BootId,
    /// The newest record that is known already.
    pub(crate) newest: Option<u64>,
    /// Reading began before records that are known: up to this number they are passed over.
    pub(crate) known_through: Option<u64>,
    pub(crate) stamper: Stamper,
}

impl Intake {
    /// Goes on behind a record of this boot; the cursor of another boot says nothing.
    pub(crate) fn resume_after(&mut self, boot_id: BootId, sequence: u64) {
        if boot_id == self.boot_id {
            (self.newest, self.known_through) = (Some(sequence), Some(sequence));
        }
    }

    /// Judges one record; true if it was one.
    pub(crate) fn take(&mut self, raw: &[u8], reading: Reading, sink: &mut dyn Sink) -> bool {
        let Some(record) = parse(raw) else {
            sink.passed_over();
            return false;
        };
        if self.known_through.is_some_and(|known| record.sequence <= known) {
            return true;
        }
        self.known_through = None;
        self.note_gap(record.sequence, reading, sink);
        self.newest = Some(record.sequence);
        self.pass(&record, reading, sink);
        true
    }

    /// Every record has a number, whatever its facility: what is missing between two was lost.
    fn note_gap(&self, sequence: u64, reading: Reading, sink: &mut dyn Sink) {
        // A lower number than before is another ring (a saved log of two boots), not a loss.
        let expected = self.newest.and_then(|newest| newest.checked_add(1));
        let Some(lost) = expected.and_then(|expected| sequence.checked_sub(expected)).filter(|lost| *lost > 0) else {
            return;
        };
        let message = format!("{lost} kernel log records were overwritten before they could be read");
        sink.gap(Gap { lost: Some(lost), time: reading.wall, message });
    }

    fn pass(&mut self, record: &KmsgRecord<'_>, reading: Reading, sink: &mut dyn Sink) {
        // Whoever wrote it: a record that woke us tells how far the kernel's clock is off.
        let time = self.stamper.stamp(reading, record.since_boot);
        let injected = self.injected(record);
        if injected.is_none() && !self.facilities.contains(&record.facility) {
            return sink.passed_over();
        }
        sink.record(&Record {
            time,
            since_boot: Some(record.since_boot),
            boot_id: Some(self.boot_id),
            origin: Origin::Kmsg { boot_id: self.boot_id, sequence: record.sequence },
            text: injected.unwrap_or(&record.text),
            fields: &record.fields,
            test: injected.is_some(),
        });
    }

    /// The text of a record that the agent was told to expect.
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
