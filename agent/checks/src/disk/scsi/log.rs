//! SCSI log pages, by SPC-4 7.3 and SBC-4 6.4: a head of four bytes, then parameters of their own lengths.

use serde::{Deserialize, Serialize};

use crate::disk::{
    page::{self, PageError, big},
    reading::SelfTest,
};

/// A page that is what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    bytes: Vec<u8>,
}

/// What the disk expects of itself: an additional sense code, 5Dh being "failure prediction threshold exceeded".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicted {
    pub code: u8,
    pub qualifier: u8,
}

/// Now, and the highest at which the disk may run for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temperature {
    pub celsius: Option<i16>,
    pub limit_celsius: Option<i16>,
}

impl LogPage {
    pub fn parse(code: u8, bytes: &[u8]) -> Result<Self, PageError> {
        const PAGE: &str = "log page";
        let head = bytes.first_chunk::<4>().ok_or(PageError::Short { page: PAGE, length: bytes.len() })?;
        // Bit 6 means that there are subpages, bit 7 that the page can be saved.
        if head[0] & 0x3f != code {
            return Err(PageError::Absurd { page: PAGE, what: "that it is page", value: head[0].into() });
        }
        let rest = bytes.get(4..).unwrap_or_default();
        let length = usize::from(u16::from_be_bytes([head[2], head[3]])).min(rest.len());
        let bytes = rest.get(..length).unwrap_or_default().to_vec();
        Ok(Self { bytes })
    }

    /// Of page 00h: the codes of all pages.
    #[must_use]
    pub fn supported(&self) -> &[u8] {
        &self.bytes
    }

    /// Of page 2Fh; `None` if there is nothing predicted and nothing to read.
    #[must_use]
    pub fn predicted(&self) -> Option<Predicted> {
        match self.parameter(0)? {
            [code, qualifier, ..] => Some(Predicted { code: *code, qualifier: *qualifier }),
            _ => None,
        }
    }

    /// Of page 0Dh. FFh is "not available".
    #[must_use]
    pub fn temperature(&self) -> Option<Temperature> {
        let degrees = |code| {
            let celsius = *self.parameter(code)?.get(1)?;
            if celsius == 0xff { None } else { page::celsius(celsius.into()) }
        };
        // A limit of 0 is one that is not set.
        let limit_celsius = degrees(1).filter(|limit| *limit > 0);
        Some(Temperature { celsius: degrees(0), limit_celsius })
    }

    /// Of pages 02h, 03h and 05h: parameter 6.
    #[must_use]
    pub fn uncorrected_errors(&self) -> Option<u64> {
        let bytes = self.parameter(6)?;
        // All ff is a counter that is not maintained.
        (!bytes.is_empty() && bytes.iter().any(|byte| *byte != 0xff)).then(|| big(bytes))
    }

    /// Of page 11h: how much of its rated life a solid-state disk has used.
    #[must_use]
    pub fn used_percent(&self) -> Option<u8> {
        self.parameter(1)?.get(3).copied()
    }

    /// Of page 10h: the newest of twenty that was neither aborted nor is still running.
    #[must_use]
    pub fn self_test(&self) -> Option<SelfTest> {
        self.parameters().find_map(|(_, entry)| self_test(entry))
    }

    fn parameter(&self, code: u16) -> Option<&[u8]> {
        self.parameters().find(|(found, _)| *found == code).map(|(_, bytes)| bytes)
    }

    /// Each with its code; what is cut off is left out.
    fn parameters(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let mut bytes = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (head, rest) = bytes.split_first_chunk::<4>()?;
            let (parameter, rest) = rest.split_at_checked(head[3].into())?;
            bytes = rest;
            Some((u16::from_be_bytes([head[0], head[1]]), parameter))
        })
    }
}

fn self_test(entry: &[u8]) -> Option<SelfTest> {
    let entry = entry.first_chunk::<16>()?;
    // An entry of zeros is none: a default test that passed in the first hour leaves no other trace.
    if entry.iter().all(|byte| *byte == 0) {
        return None;
    }
    let at_hours = u16::from_be_bytes([entry[2], entry[3]]).into();
    let ended = |passed, result: &str| Some(SelfTest { passed, at_hours, result: result.to_owned() });
    match entry[0] & 0x0f {
        0 => ended(true, "passed"),
        3 => ended(false, "an unknown error ended the test"),
        4..=7 => ended(false, "a segment failed"),
        _ => None,
    }
}

/// How many defects there are, by the head of READ DEFECT DATA (12).
pub fn grown_defects(header: &[u8]) -> Result<u64, PageError> {
    const PAGE: &str = "defect list";
    let header = header.first_chunk::<8>().ok_or(PageError::Short { page: PAGE, length: header.len() })?;
    // The disk may answer in another format than asked; the answer names it.
    let bytes_each = match header[1] & 0x07 {
        0 => 4,
        3..=5 => 8,
        format => return Err(PageError::Absurd { page: PAGE, what: "format", value: format.into() }),
    };
    Ok(big(&header[4..8]) / bytes_each)
}

#[cfg(test)]
pub(crate) mod tests;
