//! How common each byte is in kernel logs: what makes one window of a literal rarer than another.

use std::cell::RefCell;

/// Occurrences in 65,536 bytes of message text, never 0. Counted once over 25 raw captures of real kernels (5.10, 6.1
/// and 6.18: whole boots, faults and the quiet between them, 12,000 records); only the order of magnitude matters.
#[rustfmt::skip]
const PER_65536: [u16; 256] = [
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    7995, 2, 15, 15, 1, 1, 1, 49, 270, 272, 21, 53, 344, 427, 421, 258,
    6238, 1172, 884, 369, 474, 317, 421, 226, 424, 293, 1958, 6, 6, 166, 13, 11,
    11, 599, 292, 669, 263, 298, 199, 107, 113, 749, 3, 153, 156, 358, 191, 225,
    724, 87, 404, 458, 267, 169, 54, 53, 99, 20, 3, 273, 37, 273, 1, 619,
    1, 2440, 865, 1569, 1500, 4059, 1892, 784, 452, 2430, 39, 387, 1501, 1237, 1856, 2129,
    1045, 104, 2501, 2126, 2327, 1013, 475, 231, 865, 502, 112, 19, 6, 19, 3, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
];

/// Lines that healthy nodes write all day and at every boot: the ones that fill most of the same captures, and the
/// chatter of container networks, audit and systemd. A window found here selects far more lines than its bytes suggest.
pub(super) const ORDINARY: &str = include_str!("ordinary.txt");
/// Such a window is taken to be in two lines of a hundred.
const ORDINARY_EXPECTED: f64 = 0.02 / 110.0;

/// The expected number of occurrences of `text` for each byte of log: as if bytes came independently, but no rarer than
/// what ordinary lines show.
pub(super) fn expected(text: &[u8]) -> f64 {
    let independent = text.iter().map(|byte| expected_byte(*byte)).product::<f64>();
    independent + if is_ordinary(text) { ORDINARY_EXPECTED } else { 0.0 }
}

thread_local! {
    /// The parts of ordinary lines by their length, in order: while rules are made ready.
    static KNOWN: RefCell<[Vec<u32>; 5]> = const { RefCell::new([const { Vec::new() }; 5]) };
}

/// Rules are ready: what only their windows needed is given back.
pub(super) fn forget() {
    drop(KNOWN.take());
}

/// Whether ordinary lines hold all of `text`, by four bytes at a time. Every pattern asks it of dozens.
fn is_ordinary(text: &[u8]) -> bool {
    let length = text.len().min(4);
    KNOWN.with_borrow_mut(|known| {
        let known = &mut known[length];
        if known.is_empty() {
            known.extend(ORDINARY.as_bytes().windows(length.max(1)).map(number));
            known.sort_unstable();
            known.dedup();
        }
        text.windows(length.max(1)).all(|part| known.binary_search(&number(part)).is_ok())
    })
}

/// At most four bytes as a number.
fn number(part: &[u8]) -> u32 {
    part.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// The share of `byte` in ordinary log.
pub(super) fn expected_byte(byte: u8) -> f64 {
    f64::from(PER_65536[usize::from(byte)]) / 65536.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_boot_prints_is_common_whatever_its_bytes() {
        assert!(expected(b"fs e") < expected(b"EXT4"));
        assert!(expected(b"tnes") < expected(b"link"));
    }

    #[test]
    fn capitals_and_punctuation_are_rarer_than_small_letters_and_digits() {
        assert!(expected(b"EMAC") < expected(b"orme"));
        assert!(expected(b"tain") < expected(b"in"));
    }
}
