//! What pages of devices have in common: the ways in which one is not to be believed, numbers, texts.

use std::ops::RangeInclusive;

/// Why a page is no reading. Such a page is never a verdict: bridges, dying controllers and virtual disks return them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("the {page} is {length} bytes long, too short")]
    Short { page: &'static str, length: usize },
    /// Every byte is the same: 00 or ff.
    #[error("every byte of the {page} is {byte:02x}")]
    Blank { page: &'static str, byte: u8 },
    #[error("the checksum of the {page} is wrong")]
    Checksum { page: &'static str },
    #[error("the {page} says {what} {value}, which cannot be")]
    Absurd { page: &'static str, what: &'static str, value: u64 },
}

/// No disk works outside it; a figure outside it comes from a sensor that is not there.
const CELSIUS: RangeInclusive<i64> = -40..=125;

/// The first `N` bytes of a page, unless they are blank.
pub(super) fn whole<'a, const N: usize>(page: &'static str, bytes: &'a [u8]) -> Result<&'a [u8; N], PageError> {
    let whole = bytes.first_chunk::<N>().ok_or(PageError::Short { page, length: bytes.len() })?;
    match whole.first() {
        Some(&byte @ (0 | 0xff)) if whole.iter().all(|other| *other == byte) => Err(PageError::Blank { page, byte }),
        _ => Ok(whole),
    }
}

/// Little endian, as NVMe and ATA have it, of at most 16 bytes; what does not fit is the largest number.
pub(super) fn little(bytes: &[u8]) -> u64 {
    let wide = bytes.iter().rev().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// Big endian, as SCSI has it.
pub(super) fn big(bytes: &[u8]) -> u64 {
    let wide = bytes.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// Degrees that can be.
pub(super) fn celsius(degrees: i64) -> Option<i16> {
    CELSIUS.contains(&degrees).then(|| i16::try_from(degrees).ok()).flatten()
}

/// Printable ASCII without the padding; what is not printable becomes a question mark.
pub(super) fn text(bytes: impl IntoIterator<Item = u8>) -> String {
    let printed = |byte: u8| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' };
    let text: String = bytes.into_iter().filter(|byte| *byte != 0).map(printed).collect();
    text.trim().to_owned()
}
