//! Sense data, by SPC-4 4.5: why a command was refused, what the disk reports, and (SAT-3) an ATA disk's registers.

use std::fmt;

/// What sense data reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    pub key: u8,
    /// The additional sense code.
    pub code: u8,
    /// Its qualifier.
    pub qualifier: u8,
    /// What an ATA disk returned, if it is behind this.
    pub ata: Option<Registers>,
}

/// An ATA disk's registers after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    pub error: u8,
    pub status: u8,
    pub count: u8,
    pub lba_middle: u8,
    pub lba_high: u8,
}

impl Sense {
    /// `None` for what is not sense data, and for sense data of an earlier command.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? & 0x7f {
            0x70 => fixed(bytes),
            0x72 => descriptor(bytes),
            _ => None,
        }
    }

    /// Invalid opcode, invalid field, or an ATA disk's "aborted": it does not know the command.
    pub(super) fn is_unknown_command(&self) -> bool {
        const ILLEGAL_REQUEST: u8 = 0x05;
        const ABORTED_COMMAND: u8 = 0x0b;
        /// ABRT of the ATA error register.
        const ABORTED: u8 = 0x04;
        match self.key {
            ILLEGAL_REQUEST => true,
            ABORTED_COMMAND => self.ata.is_some_and(|registers| registers.error & ABORTED != 0),
            _ => false,
        }
    }

    /// "Unit attention": something happened since, such as a reset; the command was not looked at.
    pub(super) fn is_attention(&self) -> bool {
        self.key == 0x06
    }

    /// No sense or recovered error: the command was carried out.
    pub(super) fn is_no_error(&self) -> bool {
        matches!(self.key, 0x00 | 0x01)
    }

    /// In standby or stopped: its platters do not turn. Idle conditions are left out, they answer without spinning up.
    pub(super) fn is_asleep(&self) -> bool {
        matches!((self.code, self.qualifier), (0x5e, 0x00 | 0x02 | 0x04 | 0x09 | 0x0a) | (0x04, 0x02))
    }
}

/// SPC-4 table 53; the place of the registers is SAT-3 table 150.
fn fixed(bytes: &[u8]) -> Option<Sense> {
    let byte = |at: usize| bytes.get(at).copied();
    let (code, qualifier) = (byte(12).unwrap_or(0), byte(13).unwrap_or(0));
    let registers = || {
        Some(Registers {
            error: byte(3)?,
            status: byte(4)?,
            count: byte(6)?,
            lba_middle: byte(10)?,
            lba_high: byte(11)?,
        })
    };
    let ata = if (code, qualifier) == ATA_INFORMATION { registers() } else { None };
    Some(Sense { key: byte(2)? & 0x0f, code, qualifier, ata })
}

/// "ATA pass-through information available".
const ATA_INFORMATION: (u8, u8) = (0x00, 0x1d);

/// SPC-4 table 28; the descriptor of the registers is SAT-3 table 149.
fn descriptor(bytes: &[u8]) -> Option<Sense> {
    let byte = |at: usize| bytes.get(at).copied();
    let ata = descriptors(bytes.get(8..)?).find_map(|descriptor| match descriptor {
        [0x09, _, _, error, _, count, _, _, _, middle, _, high, _, status, ..] => {
            Some(Registers { error: *error, status: *status, count: *count, lba_middle: *middle, lba_high: *high })
        }
        _ => None,
    });
    Some(Sense { key: byte(1)? & 0x0f, code: byte(2)?, qualifier: byte(3)?, ata })
}

/// Each with its own two bytes of head.
fn descriptors(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = usize::from(*bytes.get(1)?) + 2;
        let (descriptor, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        Some(descriptor)
    })
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sense {:x}/{:02x}/{:02x}", self.key, self.code, self.qualifier)
    }
}

#[cfg(test)]
mod tests;
