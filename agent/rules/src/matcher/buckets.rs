//! Which windows share a bucket of the packed searcher.
//!
//! Teddy deals its patterns to eight buckets and finds, for each place in the text, which buckets may begin there by
//! the half-bytes of their windows; what is let through has to be compared. Windows that look alike let through little
//! more than each of them alone, so they are put together.

use super::through::Through;

pub(super) const BUCKETS: usize = 8;
/// What one searcher takes is 128 patterns.
const MEMBERS_LIMIT: u32 = 16;
/// The bytes of a window that the searcher looks at.
pub(super) const BYTES: usize = 4;
/// What one comparison costs, of what it costs to leave the vector loop.
const COMPARISON: f64 = 0.1;

/// The half-bytes, low and high, that a bucket lets through at each place.
#[derive(Clone, Copy, Default)]
pub(super) struct Mask(pub(super) [(u16, u16); BYTES]);

impl Mask {
    pub(super) fn of(window: &[u8]) -> Self {
        let mut mask = Self::default();
        for ((low, high), byte) in mask.0.iter_mut().zip(window) {
            (*low, *high) = (1 << (byte & 15), 1 << (byte >> 4));
        }
        mask
    }

    fn and(mut self, other: &Self) -> Self {
        for ((low, high), (more_low, more_high)) in self.0.iter_mut().zip(&other.0) {
            *low |= more_low;
            *high |= more_high;
        }
        self
    }
}

/// One bucket: what it lets through.
#[derive(Clone, Copy, Default)]
pub(super) struct Bucket {
    mask: Mask,
    members: u32,
    rough: f64,
    cost: f64,
}

impl Bucket {
    /// The bucket with one more window, if there is room.
    pub(super) fn with(&self, window: &Mask, through: &Through) -> Option<Self> {
        let (mask, members) = (self.mask.and(window), self.members + 1);
        let rough = through.rough_share(&mask);
        let cost = (through.ordinary_share(&mask) + rough) * (1.0 + COMPARISON * f64::from(members));
        (members <= MEMBERS_LIMIT).then_some(Self { mask, members, rough, cost })
    }

    /// At least so much more it would cost with one more window: quick to compute.
    pub(super) fn growth(&self, window: &Mask, through: &Through) -> f64 {
        through.rough_share(&self.mask.and(window)) - self.rough
    }

    /// What it costs, for each byte of text, in times of leaving the vector loop.
    pub(super) fn cost(&self) -> f64 {
        self.cost
    }
}

/// The members of all buckets in the order in which they have to be given to the searcher to get there: it deals them
/// in turn. Where a bucket has no more, one that it has is given again; equal windows always go to one bucket.
pub(super) fn dealt(buckets: &[Vec<u32>]) -> Vec<u32> {
    let rounds = buckets.iter().map(Vec::len).max().unwrap_or(0);
    let filler = buckets.iter().flatten().next();
    let in_round =
        |round| buckets.iter().filter_map(move |bucket: &Vec<u32>| bucket.get(round).or(bucket.first()).or(filler));
    (0..rounds).flat_map(in_round).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_comes_to_its_bucket() {
        let buckets = [vec![3], vec![], vec![1, 5, 9], vec![7, 2]];
        let dealt = dealt(&buckets);
        for (bucket, members) in buckets.iter().enumerate() {
            let mut there: Vec<u32> = dealt.iter().copied().skip(bucket).step_by(buckets.len()).collect();
            there.dedup();
            assert!(there.starts_with(members), "{dealt:?}");
        }
        assert_eq!(super::dealt(&[Vec::new(), Vec::new()]), [0_u32; 0]);
    }
}
