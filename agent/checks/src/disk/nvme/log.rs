//! NVMe's pages, by the base specification 2.0: health log (5.16.1.3), error log (5.16.1.2), device self-test log
//! (5.16.1.7), Identify Controller (5.17.2.1).

use serde::{Deserialize, Serialize};

use crate::disk::{
    page::{self, PageError, little},
    reading::SelfTest,
};

pub const HEALTH_BYTES: usize = 512;
pub const ERROR_BYTES: usize = 64;
pub const SELF_TEST_BYTES: usize = 4 + 20 * RESULT_BYTES;
const RESULT_BYTES: usize = 28;

/// 0 °C is 273 K, as the specification's own examples have it.
const FREEZING_KELVIN: i64 = 273;

/// What the controller reports of its health.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HealthLog {
    /// The critical warning's bits.
    pub warning: u8,
    pub celsius: Option<i16>,
    pub spare_percent: u8,
    pub spare_threshold_percent: u8,
    /// Of the life that the vendor rates; goes on beyond 100, to 255.
    pub used_percent: u8,
    pub power_on_hours: u64,
    /// Unrecovered data integrity errors.
    pub media_errors: u64,
    /// Entries of the error log over the controller's life.
    pub error_entries: u64,
}

/// Bits of [`HealthLog::warning`].
pub mod warning {
    pub const SPARE: u8 = 1 << 0;
    pub const TEMPERATURE: u8 = 1 << 1;
    pub const RELIABILITY: u8 = 1 << 2;
    pub const READ_ONLY: u8 = 1 << 3;
    pub const VOLATILE_BACKUP: u8 = 1 << 4;
    pub const PERSISTENT_MEMORY: u8 = 1 << 5;
}

impl HealthLog {
    pub fn parse(bytes: &[u8]) -> Result<Self, PageError> {
        const PAGE: &str = "health log";
        let page = page::whole::<HEALTH_BYTES>(PAGE, bytes)?;
        let percent = |what, at: usize| match page[at] {
            percent @ 0..=100 => Ok(percent),
            value => Err(PageError::Absurd { page: PAGE, what, value: value.into() }),
        };
        Ok(Self {
            warning: page[0],
            celsius: kelvin(little(&page[1..3])),
            spare_percent: percent("spare", 3)?,
            spare_threshold_percent: percent("spare threshold", 4)?,
            used_percent: page[5],
            power_on_hours: little(&page[128..144]),
            media_errors: little(&page[160..176]),
            error_entries: little(&page[176..192]),
        })
    }
}

/// `None` for 0, which means "not reported", and for what cannot be.
fn kelvin(kelvin: u64) -> Option<i16> {
    page::celsius(i64::try_from(kelvin).ok()? - FREEZING_KELVIN)
}

/// What of Identify Controller matters here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdentifyController {
    pub has_self_test: bool,
    pub error_log_entries: usize,
    pub limits: Limits,
}

/// From which temperature on the controller warns, and is in danger; `None` where it does not report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    pub warning_celsius: Option<i16>,
    pub critical_celsius: Option<i16>,
}

impl IdentifyController {
    pub fn parse(bytes: &[u8]) -> Result<Self, PageError> {
        const SELF_TEST: u64 = 1 << 4;
        let page = page::whole::<4096>("controller's identity", bytes)?;
        Ok(Self {
            has_self_test: little(&page[256..258]) & SELF_TEST != 0,
            // Counted from zero.
            error_log_entries: usize::from(page[262]) + 1,
            limits: Limits {
                warning_celsius: kelvin(little(&page[266..268])),
                critical_celsius: kelvin(little(&page[268..270])),
            },
        })
    }
}

/// One entry of the error log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEntry {
    /// Counts up over the controller's life.
    pub count: u64,
    /// Status code type and status code: `0x281` is an unrecovered read error.
    pub status: u16,
    pub lba: u64,
    pub namespace: u32,
}

/// The entries in use, newest first; an entry whose count is 0 is not.
#[must_use]
pub fn errors(bytes: &[u8]) -> Vec<ErrorEntry> {
    let entries = bytes.chunks_exact(ERROR_BYTES).filter(|entry| !is_blank(entry));
    entries.map(error_entry).filter(|entry| entry.count != 0).collect()
}

fn is_blank(entry: &[u8]) -> bool {
    entry.iter().all(|byte| *byte == 0xff)
}

fn error_entry(entry: &[u8]) -> ErrorEntry {
    // The lowest bit is the phase tag of the queue's entry; eleven bits of status follow it.
    let status = little(&entry[12..14]) >> 1 & 0x7ff;
    ErrorEntry {
        count: little(&entry[0..8]),
        status: u16::try_from(status).unwrap_or_default(),
        lba: little(&entry[16..24]),
        namespace: u32::try_from(little(&entry[24..28])).unwrap_or_default(),
    }
}

impl ErrorEntry {
    /// Whether the device is to blame, not the requester: most entries are commands that it does not know.
    #[must_use]
    pub fn is_the_devices(&self) -> bool {
        // Generic status: data transfer error, internal error.
        const GENERIC: [u16; 2] = [0x004, 0x006];
        // Media and data integrity: write fault, unrecovered read, the three end-to-end checks. Not compare failures, and
        // not what a locked disk (access denied) or a deallocated block answers.
        const MEDIA: std::ops::RangeInclusive<u16> = 0x280..=0x284;
        GENERIC.contains(&self.status) || MEDIA.contains(&self.status)
    }
}

/// The newest self-test that was neither aborted nor cut off; `None` if there is none.
pub fn latest_self_test(bytes: &[u8]) -> Result<Option<SelfTest>, PageError> {
    let page = match page::whole::<SELF_TEST_BYTES>("self-test log", bytes) {
        // What firmware gives that never tested.
        Err(PageError::Blank { byte: 0, .. }) => return Ok(None),
        other => other?,
    };
    Ok(page[4..].chunks_exact(RESULT_BYTES).find_map(self_test))
}

fn self_test(entry: &[u8]) -> Option<SelfTest> {
    let ended =
        |passed, result: &str| Some(SelfTest { passed, at_hours: little(&entry[4..12]), result: result.to_owned() });
    // The upper half is which test it was: short, extended, the vendor's. Entries of zeros are none.
    match (entry[0] >> 4, entry[0] & 0x0f) {
        (0, _) => None,
        (_, 0) => ended(true, "passed"),
        (_, 5) => ended(false, "a fatal error ended the test"),
        (_, 6) => ended(false, "a segment failed"),
        (_, 7) => ended(false, &format!("segment {} failed", entry[1])),
        // 1-4, 8 and 9 are aborted, 15 is an entry that is not in use.
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
