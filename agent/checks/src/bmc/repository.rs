//! Walks the BMC's repository of sensor data records (IPMI 2.0, section 33) for what its sensors are called: once, some of
//! them in each look, and again when it was changed.

use std::{collections::BTreeSet, ops::Range};

use nodewell_sys::ipmi::Command;
use serde::{Deserialize, Serialize};

use super::{
    commands::{CommandError, FIRST, LAST, STORAGE, answer, code, present},
    sensor_record::{Head, SensorName},
    transport::Transport,
    walk::Limits,
};

const GET_REPOSITORY_INFO: u8 = 0x20;
const RESERVE_REPOSITORY: u8 = 0x22;
const GET_RECORD: u8 = 0x23;
/// So many bytes of a record most interfaces carry at once; a BMC that refuses gets the second number.
const PIECE_BYTES: [u8; 2] = [16, 8];
/// Of one record: for a reservation that was lost, for a BMC that wants smaller pieces.
const TRIES: u32 = 3;

/// Where the walk is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RepositoryCursor {
    /// When records were last added and last erased, by the BMC's clock: which repository it is. `None`: before the first look.
    changed: Option<[u32; 2]>,
    /// The record to go on with; `None`: all are read.
    next: Option<u16>,
    /// How many were read.
    read: u32,
}

impl RepositoryCursor {
    /// Whether the walk has to go on.
    pub(super) fn is_unfinished(&self) -> bool {
        self.changed.is_none() || self.next.is_some()
    }

    /// Whether this is of another repository than `before`, where that is known.
    pub(super) fn is_another(&self, before: &Self) -> bool {
        before.changed.is_some() && self.changed != before.changed
    }

    /// As it is for the repository that is there now.
    fn of(self, info: &Info) -> Self {
        match self.changed == Some(info.changed) {
            true => self,
            false => Self { changed: Some(info.changed), next: Some(FIRST), read: 0 },
        }
    }
}

/// What a look at the repository brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NamesReading {
    pub cursor: RepositoryCursor,
    pub names: Vec<SensorName>,
}

/// Reads on from `cursor`. An error loses nothing: the next look begins at the same cursor.
pub(super) fn read_names(
    transport: &mut dyn Transport,
    cursor: RepositoryCursor,
    limits: &Limits<'_>,
) -> Result<NamesReading, CommandError> {
    let info = match info(transport) {
        Ok(info) => info,
        // It has none: there is nothing to walk.
        Err(CommandError::Refused { code: code::INVALID_COMMAND, .. }) => {
            let cursor = RepositoryCursor { changed: Some([0; 2]), ..RepositoryCursor::default() };
            return Ok(NamesReading { cursor, names: Vec::new() });
        }
        Err(error) => return Err(error),
    };
    let cursor = cursor.of(&info);
    if cursor.next.is_none() {
        return Ok(NamesReading { cursor, names: Vec::new() });
    }
    match Repository::open(transport, limits) {
        Ok(repository) => repository.walk(cursor, &info),
        Err(CommandError::OutOfTime) => Ok(NamesReading { cursor, names: Vec::new() }),
        Err(error) => Err(error),
    }
}

/// What Get SDR Repository Info brings.
struct Info {
    records: u16,
    changed: [u32; 2],
}

fn info(transport: &mut dyn Transport) -> Result<Info, CommandError> {
    let command = "Get SDR Repository Info";
    let ask = Command { netfn: STORAGE, lun: 0, number: GET_REPOSITORY_INFO, data: &[] };
    let answer = answer(transport, command, ask)?;
    let [_version, c0, c1, _, _, a0, a1, a2, a3, e0, e1, e2, e3, ..] = answer[..] else {
        return Err(CommandError::Short { command });
    };
    let changed = [[a0, a1, a2, a3], [e0, e1, e2, e3]].map(u32::from_le_bytes);
    Ok(Info { records: u16::from_le_bytes([c0, c1]), changed })
}

/// The records.
struct Repository<'t> {
    transport: &'t mut dyn Transport,
    limits: &'t Limits<'t>,
    /// 0: the BMC knows none.
    reservation: u16,
    piece_bytes: u8,
}

/// One record.
struct Record {
    /// The id of the next one; [`LAST`] if there is none.
    next: u16,
    names: Vec<SensorName>,
}

impl<'t> Repository<'t> {
    fn open(transport: &'t mut dyn Transport, limits: &'t Limits<'t>) -> Result<Self, CommandError> {
        let [piece_bytes, _] = PIECE_BYTES;
        let mut repository = Self { transport, limits, reservation: 0, piece_bytes };
        repository.reserve()?;
        Ok(repository)
    }

    fn walk(mut self, mut cursor: RepositoryCursor, info: &Info) -> Result<NamesReading, CommandError> {
        let longest = 2 * u32::from(info.records) + u32::try_from(self.limits.entries).unwrap_or(u32::MAX / 4);
        let (mut names, mut asked) = (Vec::new(), BTreeSet::new());
        while let Some(id) = cursor.next
            && asked.len() < self.limits.entries
            && !(self.limits.is_over)()
        {
            // A walk that comes to a record once more, or has no end, has been everywhere.
            if !asked.insert(id) || cursor.read > longest {
                cursor.next = None;
                break;
            }
            match self.record(id) {
                Ok(Some(record)) => {
                    names.extend(record.names);
                    cursor.next = (![FIRST, LAST].contains(&record.next)).then_some(record.next);
                    cursor.read += 1;
                }
                Ok(None) => cursor.next = None,
                Err(error) if asked.len() == 1 && error != CommandError::OutOfTime => return Err(error),
                // The next look goes on from what was read.
                Err(_) => break,
            }
        }
        Ok(NamesReading { cursor, names })
    }

    /// The record with that id; `None` if there is none.
    fn record(&mut self, id: u16) -> Result<Option<Record>, CommandError> {
        let [_, small] = PIECE_BYTES;
        for _ in 1..TRIES {
            match self.ask(id) {
                Err(CommandError::Refused { code: code::RESERVATION_LOST, .. }) => self.reserve()?,
                Err(CommandError::Refused { code, .. }) if is_of_size(code) => self.piece_bytes = small,
                answer => return present(answer),
            }
        }
        present(self.ask(id))
    }

    fn ask(&mut self, id: u16) -> Result<Record, CommandError> {
        let (next, head) = self.piece(id, 0, Head::BYTES)?;
        let nameless = Record { next, names: Vec::new() };
        let Some((head, tail)) = Head::of(&head).and_then(|head| Some((head, head.tail()?))) else {
            return Ok(nameless);
        };
        match self.range(id, tail) {
            Ok(tail) => Ok(Record { next, names: head.names(&tail) }),
            // What follows this one is known all the same.
            Err(CommandError::Refused { code, .. }) if code != code::RESERVATION_LOST && !is_of_size(code) => {
                Ok(nameless)
            }
            Err(error) => Err(error),
        }
    }

    /// These bytes of a record; fewer, where it ends before.
    fn range(&mut self, id: u16, range: Range<usize>) -> Result<Vec<u8>, CommandError> {
        let mut bytes = Vec::new();
        while let Ok(offset) = u8::try_from(range.start + bytes.len())
            && bytes.len() < range.len()
        {
            let left = u8::try_from(range.len() - bytes.len()).unwrap_or(u8::MAX);
            let count = left.min(self.piece_bytes);
            let (_, piece) = self.piece(id, offset, count)?;
            let is_last = piece.len() < usize::from(count);
            bytes.extend(piece);
            if is_last {
                break;
            }
        }
        Ok(bytes)
    }

    /// The id of the next record, and some bytes of this one.
    fn piece(&mut self, id: u16, offset: u8, count: u8) -> Result<(u16, Vec<u8>), CommandError> {
        self.in_time()?;
        let command = "Get SDR";
        let ([r0, r1], [i0, i1]) = (self.reservation.to_le_bytes(), id.to_le_bytes());
        let data = &[r0, r1, i0, i1, offset, count];
        let answer = answer(self.transport, command, Command { netfn: STORAGE, lun: 0, number: GET_RECORD, data })?;
        let [n0, n1, ref bytes @ ..] = answer[..] else { return Err(CommandError::Short { command }) };
        let bytes = &bytes[..bytes.len().min(usize::from(count))];
        Ok((u16::from_le_bytes([n0, n1]), bytes.to_vec()))
    }

    /// Parts of a record are given under a reservation; it is lost when the repository changes, or another program reserves.
    fn reserve(&mut self) -> Result<(), CommandError> {
        self.in_time()?;
        let command = "Reserve SDR Repository";
        let reserve = Command { netfn: STORAGE, lun: 0, number: RESERVE_REPOSITORY, data: &[] };
        let answer = match answer(self.transport, command, reserve) {
            Err(CommandError::Refused { code: code::INVALID_COMMAND, .. }) => return Ok(()),
            answer => answer?,
        };
        let [r0, r1, ..] = answer[..] else { return Err(CommandError::Short { command }) };
        self.reservation = u16::from_le_bytes([r0, r1]);
        Ok(())
    }

    /// A BMC may take seconds for each command.
    fn in_time(&self) -> Result<(), CommandError> {
        if (self.limits.is_over)() { Err(CommandError::OutOfTime) } else { Ok(()) }
    }
}

/// It cannot give so many bytes at once.
fn is_of_size(code: u8) -> bool {
    [code::BYTES_REFUSED, code::LENGTH_EXCEEDED].contains(&code)
}
