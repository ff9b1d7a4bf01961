//! How much of ordinary log is let through: the measure by which windows are put together.

use super::{
    buckets::{BYTES, Mask},
    frequency::{self, ORDINARY},
};

/// A bit for each place in the ordinary lines.
type Places = [u64; WORDS];
const WORDS: usize = ORDINARY.len().div_ceil(64);

/// What is known of ordinary log: how common each byte is, and some lines of it.
pub(super) struct Through {
    /// For each high half of a printable byte, and for each set of lower or upper low halves, their share.
    shares: [[[f64; 256]; 2]; 8],
    /// For each byte of a window and each half-byte, low and high, the places where a window with it may begin.
    low: [[Places; 16]; BYTES],
    high: [[Places; 16]; BYTES],
}

impl Through {
    pub(super) fn new() -> Box<Self> {
        let none = [[[0; WORDS]; 16]; BYTES];
        let mut through = Box::new(Self { shares: [[[0.0; 256]; 2]; 8], low: none, high: none });
        through.fill_shares();
        through.fill_places();
        through
    }

    fn fill_shares(&mut self) {
        for (high, halves) in (0_u8..).zip(&mut self.shares).skip(2) {
            for (upper, sums) in (0_u8..).zip(halves) {
                for set in 1..256_usize {
                    let byte = high << 4 | upper << 3 | set.trailing_zeros() as u8;
                    sums[set] = sums[set & (set - 1)] + frequency::expected_byte(byte);
                }
            }
        }
    }

    fn fill_places(&mut self) {
        for (at, window) in ORDINARY.as_bytes().windows(BYTES).enumerate() {
            for (nth, byte) in window.iter().enumerate() {
                self.low[nth][usize::from(byte & 15)][at / 64] |= 1 << (at % 64);
                self.high[nth][usize::from(byte >> 4)][at / 64] |= 1 << (at % 64);
            }
        }
    }

    /// The share of places in the ordinary lines that `mask` lets through.
    pub(super) fn ordinary_share(&self, mask: &Mask) -> f64 {
        let mut through = [u64::MAX; WORDS];
        for (nth, (low, high)) in mask.0.iter().enumerate() {
            let (low, high) = (any(&self.low[nth], *low), any(&self.high[nth], *high));
            for ((through, low), high) in through.iter_mut().zip(low).zip(high) {
                *through &= low & high;
            }
            if through.iter().all(|word| *word == 0) {
                return 0.0;
            }
        }
        let places: u32 = through.iter().map(|word| word.count_ones()).sum();
        f64::from(places) / ORDINARY.len() as f64
    }

    /// The share that it lets through if bytes come independently: other lines differ.
    pub(super) fn rough_share(&self, mask: &Mask) -> f64 {
        mask.0.iter().map(|(low, high)| self.of(*low, *high)).product()
    }

    fn of(&self, low: u16, high: u16) -> f64 {
        let [lower, upper] = low.to_le_bytes().map(usize::from);
        let (mut high, mut sum) = (high & 0xff, 0.0);
        while high != 0 {
            let halves = &self.shares[high.trailing_zeros() as usize];
            sum += halves[0][lower] + halves[1][upper];
            high &= high - 1;
        }
        sum
    }
}

/// The places of all half-bytes in `set`.
fn any(places: &[Places; 16], mut set: u16) -> Places {
    let mut all = [0; WORDS];
    while set != 0 {
        let of_one = &places[set.trailing_zeros() as usize];
        all.iter_mut().zip(of_one).for_each(|(all, one)| *all |= one);
        set &= set - 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_that_of_all_bytes_whose_halves_pass() {
        let through = Through::new();
        for (low, high) in [(0, 0), (1, 1 << 2), (0xffff, 0xffff), (0x8421, 0x00f0), (0x8000, 0x0080)] {
            let passes = |byte: &u8| low & (1_u16 << (byte & 15)) != 0 && high & (1_u16 << (byte >> 4)) != 0;
            let all: f64 = (b' '..=0x7f).filter(passes).map(frequency::expected_byte).sum();
            assert!((through.of(low, high) - all).abs() < 1e-9, "{low:x} {high:x}");
        }
    }

    #[test]
    fn what_ordinary_lines_hold_is_let_through() {
        let through = Through::new();
        let places = |window: &[u8]| {
            let mask = Mask::of(window);
            (through.ordinary_share(&mask) * ORDINARY.len() as f64).round() as usize
        };
        let held = |window: &str| ORDINARY.as_bytes().windows(4).filter(|place| *place == window.as_bytes()).count();
        for window in ["ACPI", "link", "memo", "ZQXJ"] {
            assert_eq!(places(window.as_bytes()), held(window), "{window}");
        }
    }
}
