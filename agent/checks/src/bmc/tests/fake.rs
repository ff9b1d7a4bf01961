//! A BMC that is made up: a log, sensors, and answers that a test puts in place of its own.

use std::collections::{BTreeMap, VecDeque};

use nodewell_sys::ipmi::Command;

use crate::bmc::{
    commands::{FIRST, LAST},
    event::RawRecord,
    transport::Transport,
};

pub(super) const INFO: u8 = 0x40;
pub(super) const RESERVE: u8 = 0x42;
pub(super) const ENTRY: u8 = 0x43;
pub(super) const SENSOR: u8 = 0x2d;
pub(super) const SDR_INFO: u8 = 0x20;
pub(super) const SDR_RESERVE: u8 = 0x22;
pub(super) const SDR: u8 = 0x23;
/// The highest id; ids begin with 1 again after it.
pub(super) const HIGHEST: u16 = 0xfffe;
/// 2026-01-01.
pub(super) const NEW_YEAR: u32 = 0x6955_b900;

/// An event: type of sensor, its number, direction and type of the event, event data 1.
pub(super) type Event = (u8, u8, u8, u8);

pub(super) const ASSERTED: u8 = 0x6f;
pub(super) const DEASSERTED: u8 = 0xef;
/// Power supply 1 has failed, and has not any more.
pub(super) const FAILS: Event = (0x08, 0x61, ASSERTED, 0x01);
pub(super) const MENDED: Event = (0x08, 0x61, DEASSERTED, 0x01);
/// Only an Event.
pub(super) const ECC: Event = (0x0c, 0x10, ASSERTED, 0x01);

#[derive(Debug, Default)]
pub(super) struct FakeBmc {
    pub(super) records: Vec<RawRecord>,
    pub(super) erased: u32,
    pub(super) free_bytes: u16,
    pub(super) is_overflow: bool,
    /// What sensors answer after their completion code.
    pub(super) sensors: BTreeMap<u8, Vec<u8>>,
    /// Answers in place of its own, to the commands with these numbers, each once and in this order.
    pub(super) script: VecDeque<(u8, Result<Vec<u8>, String>)>,
    /// It gives no entry without the reservation that it gave out.
    pub(super) wants_reservation: bool,
    /// The numbers of all commands that came.
    pub(super) asked: Vec<u8>,
    /// How many bytes of an entry it gives at most; 0: any number.
    pub(super) most_bytes: u8,
    /// What follows its last entry.
    pub(super) after_last: u16,
    /// The records of its sensors, by their ids; none: it has no repository of them.
    pub(super) sdr: Vec<(u16, Vec<u8>)>,
    /// When these were changed.
    pub(super) sdr_changed: u32,
    /// What it gave out last.
    sdr_reservation: u16,
    /// To the command with this number, from 1, it gives no answer.
    pub(super) silent_at: Option<usize>,
}

impl FakeBmc {
    pub(super) fn new(events: &[Event]) -> Self {
        let mut bmc = Self { erased: NEW_YEAR, free_bytes: 8000, after_last: LAST, ..Self::default() };
        events.iter().for_each(|event| bmc.add(*event));
        bmc
    }

    pub(super) fn add(&mut self, event: Event) {
        let id = self.records.last().map_or(1, |last| match u16::from_le_bytes([last[0], last[1]]) {
            HIGHEST => 1,
            id => id + 1,
        });
        self.records.push(record(id, NEW_YEAR + u32::from(id), event));
    }

    /// With one answer in place of its own.
    pub(super) fn answers(&mut self, number: u8, answer: &[u8]) {
        self.script.push_back((number, Ok(answer.to_vec())));
    }

    /// As `ipmitool sel clear` does.
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.erased += 3600;
    }

    /// It shows these states.
    pub(super) fn shows(&mut self, number: u8, states: u16) {
        let [low, high] = states.to_le_bytes();
        self.sensors.insert(number, vec![0, 0xc0, low, high | 0x80]);
    }

    fn info(&self) -> Vec<u8> {
        let entries = u16::try_from(self.records.len()).unwrap();
        let mut answer = vec![0, 0x51];
        answer.extend(entries.to_le_bytes());
        answer.extend(self.free_bytes.to_le_bytes());
        answer.extend(NEW_YEAR.to_le_bytes());
        answer.extend(self.erased.to_le_bytes());
        answer.push(if self.is_overflow { 0x8e } else { 0x0e });
        answer
    }

    fn entry(&self, data: &[u8]) -> Vec<u8> {
        let [r0, r1, i0, i1, offset, bytes] = data else { panic!("{data:?}") };
        if self.wants_reservation && [*r0, *r1] != [7, 0] {
            return vec![0xc5];
        }
        if self.most_bytes != 0 && *bytes > self.most_bytes {
            return vec![0xca];
        }
        assert!(*offset == 0 && [16, 0xff].contains(bytes));
        let found = match u16::from_le_bytes([*i0, *i1]) {
            FIRST => Some(0),
            LAST => self.records.len().checked_sub(1),
            id => self.records.iter().position(|record| record[..2] == id.to_le_bytes()),
        };
        let Some((record, n)) = found.and_then(|n| Some((self.records.get(n)?, n))) else { return vec![0xcb] };
        let next = self.records.get(n + 1).map_or(self.after_last.to_le_bytes(), |next| [next[0], next[1]]);
        [&[0_u8][..], &next, record].concat()
    }
}

/// The repository.
impl FakeBmc {
    fn repository_info(&self) -> Vec<u8> {
        let mut answer = vec![0, 0x51];
        answer.extend(u16::try_from(self.sdr.len()).unwrap().to_le_bytes());
        answer.extend([0xff, 0xff]);
        answer.extend(self.sdr_changed.to_le_bytes());
        answer.extend(NEW_YEAR.to_le_bytes());
        answer.push(0x2f);
        answer
    }

    fn reserve_repository(&mut self) -> Vec<u8> {
        self.sdr_reservation += 1;
        [&[0_u8][..], &self.sdr_reservation.to_le_bytes()].concat()
    }

    /// Some bytes of a record; those behind the first ones under a reservation alone.
    fn sensor_record(&self, data: &[u8]) -> Vec<u8> {
        let [r0, r1, i0, i1, offset, bytes] = *data else { panic!("{data:?}") };
        if offset != 0 && u16::from_le_bytes([r0, r1]) != self.sdr_reservation {
            return vec![0xc5];
        }
        if self.most_bytes != 0 && bytes > self.most_bytes {
            return vec![0xca];
        }
        let found = match u16::from_le_bytes([i0, i1]) {
            FIRST => Some(0),
            id => self.sdr.iter().position(|(known, _)| *known == id),
        };
        let Some((_, record)) = found.and_then(|n| self.sdr.get(n)) else { return vec![0xcb] };
        let Some(rest) = record.get(usize::from(offset)..) else { return vec![0xc9] };
        let next = found.and_then(|n| self.sdr.get(n + 1)).map_or(self.after_last, |(id, _)| *id);
        [&[0_u8][..], &next.to_le_bytes(), &rest[..rest.len().min(usize::from(bytes))]].concat()
    }
}

impl Transport for FakeBmc {
    fn request(&mut self, command: &Command<'_>) -> Result<Vec<u8>, String> {
        assert_eq!(command.netfn, if command.number == SENSOR { 0x04 } else { 0x0a });
        self.asked.push(command.number);
        if self.silent_at == Some(self.asked.len()) {
            return Err("no answer within 5 s".to_owned());
        }
        if self.script.front().is_some_and(|(number, _)| *number == command.number) {
            return self.script.pop_front().unwrap().1;
        }
        Ok(match command.number {
            INFO => self.info(),
            RESERVE => vec![0, 7, 0],
            ENTRY => self.entry(command.data),
            SDR_INFO | SDR_RESERVE | SDR if self.sdr.is_empty() => vec![0xc1],
            SDR_INFO => self.repository_info(),
            SDR_RESERVE => self.reserve_repository(),
            SDR => self.sensor_record(command.data),
            SENSOR => self.sensors.get(&command.data[0]).map_or(vec![0xcb], |states| [&[0][..], &states[..]].concat()),
            _ => panic!("{command:?}"),
        })
    }
}

/// A record of the BMC's own.
pub(super) fn record(id: u16, time: u32, (sensor_type, number, kind, data): Event) -> RawRecord {
    let ([i0, i1], [t0, t1, t2, t3]) = (id.to_le_bytes(), time.to_le_bytes());
    [i0, i1, 0x02, t0, t1, t2, t3, 0x20, 0, 0x04, sensor_type, number, kind, data, 0xff, 0xff]
}
