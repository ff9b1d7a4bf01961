//! The commands that are sent to the BMC; all of them only read (IPMI 2.0, sections 31 and 35.14); those for
//! records of sensors are in `repository`.

use nodewell_sys::ipmi::Command;

use super::{event::RawRecord, transport::Transport};

const SENSOR: u8 = 0x04;
pub(super) const STORAGE: u8 = 0x0a;
const GET_SENSOR_READING: u8 = 0x2d;
const GET_SEL_INFO: u8 = 0x40;
const RESERVE_SEL: u8 = 0x42;
const GET_SEL_ENTRY: u8 = 0x43;

/// In place of a record's id: the first entry of the log, and the last.
pub(super) const FIRST: u16 = 0x0000;
pub(super) const LAST: u16 = 0xffff;
/// In place of how many bytes of a record are asked for: all.
const WHOLE: u8 = 0xff;
/// As many as a record has.
const RECORD_BYTES: u8 = 16;
/// Of one entry: for a reservation that was lost, for a BMC that wants the number of bytes.
const TRIES: u32 = 3;

/// Completion codes (IPMI 2.0, table 5-2).
pub(super) mod code {
    pub(in crate::bmc) const INVALID_COMMAND: u8 = 0xc1;
    pub(in crate::bmc) const RESERVATION_LOST: u8 = 0xc5;
    pub(in crate::bmc) const LENGTH_EXCEEDED: u8 = 0xc8;
    pub(in crate::bmc) const BYTES_REFUSED: u8 = 0xca;
    pub(super) const NOT_PRESENT: u8 = 0xcb;

    pub(super) fn meaning(code: &u8) -> &'static str {
        match *code {
            0x81 => " (the log is being erased)",
            0xc0 => " (busy)",
            INVALID_COMMAND => " (unknown command)",
            0xc3 => " (timeout)",
            RESERVATION_LOST => " (reservation lost)",
            LENGTH_EXCEEDED => " (length exceeded)",
            BYTES_REFUSED => " (cannot return so many bytes)",
            NOT_PRESENT => " (not present)",
            0xd5 => " (not in this state)",
            0xff => " (unspecified)",
            _ => "",
        }
    }
}

/// Why a command brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("{0}")]
    Transport(String),
    #[error("the BMC refuses {command} with completion code {code:02x}h{}", code::meaning(.code))]
    Refused { command: &'static str, code: u8 },
    #[error("the BMC answers {command} with too few bytes")]
    Short { command: &'static str },
    #[error("the BMC's event log leads in a circle")]
    Endless,
    #[error("the look's time was over")]
    OutOfTime,
}

/// What Get SEL Info brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogInfo {
    pub entries: u16,
    pub free_bytes: u16,
    /// When entries were last erased, by the BMC's clock.
    pub erased: u32,
    /// Events were lost, for there was no room.
    pub is_overflow: bool,
}

pub(super) fn log_info(transport: &mut dyn Transport) -> Result<LogInfo, CommandError> {
    let command = "Get SEL Info";
    let answer = answer(transport, command, Command { netfn: STORAGE, lun: 0, number: GET_SEL_INFO, data: &[] })?;
    let [_version, e0, e1, f0, f1, _, _, _, _, t0, t1, t2, t3, support, ..] = answer[..] else {
        return Err(CommandError::Short { command });
    };
    Ok(LogInfo {
        entries: u16::from_le_bytes([e0, e1]),
        free_bytes: u16::from_le_bytes([f0, f1]),
        erased: u32::from_le_bytes([t0, t1, t2, t3]),
        is_overflow: support & 0x80 != 0,
    })
}

/// The states of a sensor of the BMC's own, a bit each; `None` if it does not show them now.
pub(super) fn sensor_states(transport: &mut dyn Transport, lun: u8, number: u8) -> Result<Option<u16>, CommandError> {
    const SCANS: u8 = 0x40;
    const IS_UNAVAILABLE: u8 = 0x20;
    let command = Command { netfn: SENSOR, lun, number: GET_SENSOR_READING, data: &[number] };
    let answer = match answer(transport, "Get Sensor Reading", command) {
        Err(CommandError::Refused { .. }) => return Ok(None),
        answer => answer?,
    };
    let [_reading, status, low, ref rest @ ..] = answer[..] else { return Ok(None) };
    // The uppermost bit of the second byte is reserved, and reads as 1.
    let high = rest.first().map_or(0, |high| high & 0x7f);
    Ok((status & (SCANS | IS_UNAVAILABLE) == SCANS).then(|| u16::from_le_bytes([low, high])))
}

/// The entries of the log.
pub(super) struct Log<'t> {
    transport: &'t mut dyn Transport,
    /// Asked for only where the BMC wants one.
    reservation: u16,
    bytes: u8,
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogEntry {
    /// The id of the next one; [`LAST`] if there is none.
    pub next: u16,
    /// `None`: it came in part.
    pub record: Option<RawRecord>,
}

impl<'t> Log<'t> {
    pub(super) fn of(transport: &'t mut dyn Transport) -> Self {
        Self { transport, reservation: 0, bytes: WHOLE }
    }

    /// The entry with that id; `None` if there is none.
    pub(super) fn entry(&mut self, id: u16) -> Result<Option<LogEntry>, CommandError> {
        for _ in 1..TRIES {
            match self.ask(id) {
                Err(CommandError::Refused { code: code::RESERVATION_LOST, .. }) => self.reserve()?,
                Err(CommandError::Refused { code: code::BYTES_REFUSED, .. }) => self.bytes = RECORD_BYTES,
                answer => return present(answer),
            }
        }
        present(self.ask(id))
    }

    fn ask(&mut self, id: u16) -> Result<LogEntry, CommandError> {
        let command = "Get SEL Entry";
        let ([r0, r1], [i0, i1]) = (self.reservation.to_le_bytes(), id.to_le_bytes());
        let data = &[r0, r1, i0, i1, 0, self.bytes];
        let answer = answer(self.transport, command, Command { netfn: STORAGE, lun: 0, number: GET_SEL_ENTRY, data })?;
        let [n0, n1, ref record @ ..] = answer[..] else { return Err(CommandError::Short { command }) };
        let record = record.get(..usize::from(RECORD_BYTES)).and_then(|record| record.try_into().ok());
        Ok(LogEntry { next: u16::from_le_bytes([n0, n1]), record })
    }

    /// Another program's clearing or adding takes it away again (IPMI 2.0, section 31.4).
    fn reserve(&mut self) -> Result<(), CommandError> {
        let command = "Reserve SEL";
        let reserve = Command { netfn: STORAGE, lun: 0, number: RESERVE_SEL, data: &[] };
        let answer = answer(self.transport, command, reserve)?;
        let [r0, r1, ..] = answer[..] else { return Err(CommandError::Short { command }) };
        self.reservation = u16::from_le_bytes([r0, r1]);
        Ok(())
    }
}

/// `None` if what was asked for is not there.
pub(super) fn present<T>(answer: Result<T, CommandError>) -> Result<Option<T>, CommandError> {
    match answer {
        Err(CommandError::Refused { code: code::NOT_PRESENT, .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

/// What follows the completion code.
pub(super) fn answer(
    transport: &mut dyn Transport,
    name: &'static str,
    command: Command<'_>,
) -> Result<Vec<u8>, CommandError> {
    let answer = transport.request(&command).map_err(CommandError::Transport)?;
    match answer.split_first() {
        None => Err(CommandError::Short { command: name }),
        Some((0, rest)) => Ok(rest.to_vec()),
        Some((code, _)) => Err(CommandError::Refused { command: name, code: *code }),
    }
}
