//! Random numbers for jitter: good enough to spread a cluster's nodes, no more.

use nodewell_model::problem::stable_hash;

use crate::runtime::clock;

/// A SplitMix64 stream, seeded by node name and time.
#[derive(Debug, Clone)]
pub(super) struct Luck(u64);

impl Luck {
    pub(super) fn new(node: &str) -> Self {
        Self(stable_hash(&[node.as_bytes(), &clock::boottime().as_nanos().to_le_bytes()]))
    }

    /// A number in 0..1.
    pub(super) fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // 53 bits fill a double's mantissa.
        #[expect(clippy::cast_precision_loss, reason = "a 53-bit number fits a double exactly")]
        let fraction = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }
}
