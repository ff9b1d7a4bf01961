//! A stream of kernel records: cut into frames, taken apart, counted.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::{BootId, Record};

use crate::sources::{
    Gap, Sink, SourceState,
    framer::{FRAME_LIMIT_BYTES, Flush, Framer, Joining},
    kmsg::{
        Expectations,
        intake::Intake,
        parse,
        stamp::{Arrival, ReadTime, Stamper},
    },
};

#[derive(Default)]
struct Count {
    records: usize,
    passed_over: usize,
}

impl Sink for Count {
    fn record(&mut self, record: &Record<'_>) {
        self.records += 1;
        assert!(record.text.len() <= FRAME_LIMIT_BYTES, "undoing escapes only shortens");
        for name in ["SUBSYSTEM", "DEVICE", "PRIORITY", ""] {
            record.fields.field(name);
        }
    }

    fn passed_over(&mut self) {
        self.passed_over += 1;
    }

    fn gap(&mut self, gap: Gap) {
        assert!(gap.lost.is_some_and(|lost| lost > 0));
    }

    fn state(&mut self, _: SourceState) {}

    fn idle(&mut self) {}
}

/// Each frame is a record or is counted as none, however the stream is cut into reads; none is longer than the bound.
pub fn kmsg(input: &[u8]) {
    let chunk = input.first().map_or(1, |byte| usize::from(*byte) + 1);
    let whole = frames(input, input.len().max(1));
    assert_eq!(whole, frames(input, chunk), "read in pieces of {chunk}");
    let mut count = Count::default();
    let mut intake = Intake {
        facilities: vec![0, 1],
        expectations: Expectations::default(),
        boot_id: BootId::default(),
        newest: None,
        known_through: None,
        shows_known: true,
        met_known: false,
        stamper: Stamper::default(),
    };
    let mut known = 0;
    for frame in &whole {
        let arrival = if known == 0 { Arrival::Woke } else { Arrival::Following };
        let reading = ReadTime { wall: Timestamp::UNIX_EPOCH, monotonic: Duration::from_secs(100), arrival };
        known += usize::from(intake.take(frame, reading, &mut count));
        assert!(parse(frame).is_none_or(|record| record.level < 8 && record.text.len() <= frame.len()));
    }
    assert_eq!(count.records + count.passed_over, whole.len());
}

/// The frames of `input`, read in pieces of `chunk` bytes.
fn frames(input: &[u8], chunk: usize) -> Vec<Vec<u8>> {
    let mut framer = Framer::new(Joining::Indented, 0);
    let mut frames = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        let room = framer.room();
        let count = rest.len().min(chunk).min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        framer.filled(count);
        rest = &rest[count..];
        drain(&mut framer, Flush::More, &mut frames);
    }
    drain(&mut framer, Flush::End, &mut frames);
    frames
}

fn drain(framer: &mut Framer, flush: Flush, frames: &mut Vec<Vec<u8>>) {
    while let Some(span) = framer.advance(flush) {
        let frame = framer.frame(span);
        assert!(frame.bytes.len() <= FRAME_LIMIT_BYTES);
        frames.push(frame.bytes.to_vec());
    }
}
