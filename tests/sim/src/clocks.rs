//! The wall clocks of a story: of the hosts of replicas, and of the API server's. Each may be stepped while the story
//! goes on.
//!
//! A story is alone on its thread, so what the clocks show is stored per thread.

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use nodewell_reconcile::clock::Clock;
use tokio::time::Instant;

/// 2026-01-01, the beginning of every story.
const BEGINNING: i64 = 1_767_225_600;
const REPLICAS: usize = 3;

/// Whose clock it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    Replica(usize),
    ApiServer,
}

/// Seconds that each clock is ahead of the time that is true: those of replicas, and the API server's.
type Ahead = [i64; REPLICAS + 1];

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    static AHEAD: Cell<Ahead> = const { Cell::new([0; REPLICAS + 1]) };
}

impl Wall {
    fn index(self) -> usize {
        match self {
            Self::Replica(number) => number.min(REPLICAS - 1),
            Self::ApiServer => REPLICAS,
        }
    }
}

/// A story begins on this thread, with replicas whose clocks are ahead by so many seconds.
pub fn begin(skew: [i64; REPLICAS]) {
    BEGAN.set(Some(Instant::now()));
    let mut ahead = [0; REPLICAS + 1];
    ahead[..REPLICAS].copy_from_slice(&skew);
    AHEAD.set(ahead);
}

/// A clock as its host has it; its moments count from now.
#[must_use]
pub fn clock(wall: Wall) -> Clock {
    Clock::reading(match wall.index() {
        0 => shown::<0>,
        1 => shown::<1>,
        2 => shown::<2>,
        _ => shown::<REPLICAS>,
    })
}

/// From now on this clock shows so many seconds more, or less.
pub fn step(wall: Wall, seconds: i64) {
    let mut ahead = AHEAD.get();
    ahead[wall.index()] += seconds;
    AHEAD.set(ahead);
}

/// What a clock shows that is never stepped.
#[must_use]
pub fn true_time() -> Timestamp {
    let elapsed = BEGAN.get().map(|began| began.elapsed()).unwrap_or_default();
    let began = Timestamp::constant(BEGINNING, 0);
    began.checked_add(elapsed).unwrap_or(Timestamp::MAX)
}

fn shown<const CLOCK: usize>() -> Timestamp {
    true_time().checked_add(SignedDuration::from_secs(AHEAD.get()[CLOCK])).unwrap_or(Timestamp::MAX)
}
