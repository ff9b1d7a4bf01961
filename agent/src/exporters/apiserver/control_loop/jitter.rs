//! Jitter: it spreads the requests of a cluster's nodes over time, and needs no better randomness than that.

use fastrand::Rng;
use nodewell_model::problem::stable_hash;

use crate::runtime::clock;

/// A stream of random numbers, seeded by node name and time.
#[derive(Debug, Clone)]
pub(crate) struct Jitter(Rng);

impl Jitter {
    pub(crate) fn new(node: &str) -> Self {
        Self(Rng::with_seed(stable_hash(&[node.as_bytes(), &clock::boottime().as_nanos().to_le_bytes()])))
    }

    /// A number in 0..1.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.0.f64()
    }
}
