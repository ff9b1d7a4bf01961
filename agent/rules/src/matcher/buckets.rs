//! Which windows share a bucket of the packed searcher.
//!
//! Teddy deals patterns to sixteen buckets in turn and tells, for each place in the text, which buckets may begin there
//! by the half-bytes of their windows. Windows that look alike let through little more than each of them alone, so they
//! are put together.

use super::frequency;

const BUCKETS: usize = 16;
/// The bytes of a window that the searcher looks at.
const BYTES: usize = 4;

/// The half-bytes, low and high, that a bucket lets through at each place.
#[derive(Clone, Copy, Default)]
struct Mask([(u16, u16); BYTES]);

impl Mask {
    fn with(mut self, window: &[u8]) -> Self {
        for ((low, high), byte) in self.0.iter_mut().zip(window) {
            *low |= 1 << (byte & 15);
            *high |= 1 << (byte >> 4);
        }
        self
    }

    /// The share of places in ordinary text that it lets through.
    fn lets_through(&self, shares: &Shares) -> f64 {
        self.0.iter().filter(|(low, _)| *low != 0).map(|(low, high)| shares.of(*low, *high)).product()
    }
}

/// For each high half of a printable byte, and for each set of lower or upper low halves, their share of ordinary text:
/// so that rules are loaded quickly.
struct Shares([[[f64; 256]; 2]; 8]);

impl Shares {
    fn new() -> Box<Self> {
        let mut shares = Box::new(Self([[[0.0; 256]; 2]; 8]));
        for (high, halves) in (0_u8..).zip(&mut shares.0).skip(2) {
            for (upper, sums) in (0_u8..).zip(halves) {
                for set in 1..256_usize {
                    let byte = high << 4 | upper << 3 | set.trailing_zeros() as u8;
                    sums[set] = sums[set & (set - 1)] + frequency::expected_byte(byte);
                }
            }
        }
        shares
    }

    fn of(&self, low: u16, high: u16) -> f64 {
        let [lower, upper] = low.to_le_bytes().map(usize::from);
        let highs = self.0.iter().enumerate().filter(|(half, _)| high & (1 << half) != 0);
        highs.map(|(_, halves)| halves[0][lower] + halves[1][upper]).sum()
    }
}

/// `ids` in an order that puts windows which look alike into the same bucket.
pub(super) fn arrange(windows: &[Vec<u8>], ids: &[u32]) -> Vec<u32> {
    let (shares, mut left) = (Shares::new(), ids.to_vec());
    let mut buckets: Vec<Vec<u32>> = Vec::new();
    for bucket in 0..BUCKETS {
        let size = (ids.len() + BUCKETS - 1 - bucket) / BUCKETS;
        buckets.push(take_alike(windows, &mut left, size, &shares));
    }
    let rounds = ids.len().div_ceil(BUCKETS);
    (0..rounds).flat_map(|round| buckets.iter().filter_map(move |bucket| bucket.get(round).copied())).collect()
}

/// Takes `size` windows out of `left`: the one that lets most through, and those that add least to it.
fn take_alike(windows: &[Vec<u8>], left: &mut Vec<u32>, size: usize, shares: &Shares) -> Vec<u32> {
    let (mut mask, mut taken) = (Mask::default(), Vec::new());
    while taken.len() < size {
        let cost = |id: &u32| mask.with(&windows[*id as usize]).lets_through(shares);
        let costs = left.iter().map(cost).enumerate();
        let next = if taken.is_empty() {
            costs.max_by(|(_, a), (_, b)| a.total_cmp(b))
        } else {
            costs.min_by(|(_, a), (_, b)| a.total_cmp(b))
        };
        let Some((at, _)) = next else { break };
        let id = left.remove(at);
        mask = mask.with(&windows[id as usize]);
        taken.push(id);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much all buckets let through, if the windows are dealt in this order.
    fn let_through(windows: &[Vec<u8>], order: &[u32]) -> f64 {
        let shares = Shares::new();
        let bucket = |first: usize| order.iter().skip(first).step_by(BUCKETS);
        let mask = |first| bucket(first).fold(Mask::default(), |mask, id| mask.with(&windows[*id as usize]));
        (0..BUCKETS).map(|first| mask(first).lets_through(&shares)).sum()
    }

    #[test]
    fn a_share_is_that_of_all_bytes_whose_halves_pass() {
        let shares = Shares::new();
        for (low, high) in [(0, 0), (1, 1 << 2), (0xffff, 0xffff), (0x8421, 0x00f0), (0x8000, 0x0080)] {
            let passes = |byte: &u8| low & (1_u16 << (byte & 15)) != 0 && high & (1_u16 << (byte >> 4)) != 0;
            let all: f64 = (b' '..=0x7f).filter(passes).map(frequency::expected_byte).sum();
            assert!((shares.of(low, high) - all).abs() < 1e-9, "{low:x} {high:x}");
        }
    }

    #[test]
    fn every_window_stays_and_the_buckets_let_less_through() {
        let words = "EXT4 NULL Oops BUG: WARN LOCK Usag HDOG ull, jour XFS BTRF ror, I/O own; nvme Emas comm link Disk \
                     ing, serv [Har very EDAC AER: ity= old, gfau nval Kern ILED Down lx5_ NVRM hung layf FOUN herm";
        let windows: Vec<Vec<u8>> = words.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        let ids: Vec<u32> = (0..).take(windows.len()).collect();
        let arranged = arrange(&windows, &ids);
        let mut sorted = arranged.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ids);
        assert!(let_through(&windows, &arranged) < 0.7 * let_through(&windows, &ids));
    }
}
