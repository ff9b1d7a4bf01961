//! How long cases take: the longest are listed at the end, because they are where a test run's time goes.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

const SHOWN: usize = 10;
/// Fewer cases than this are a selection.
const WORTH_A_LIST: usize = 2 * SHOWN;

static TOOK: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// Runs `case` and notes its time, unless it panics.
pub(super) fn timed(name: &str, case: impl FnOnce()) {
    let begun = Instant::now();
    case();
    TOOK.lock().unwrap().push((begun.elapsed(), name.to_owned()));
}

/// A line that lists the longest cases of a run of many.
pub(super) fn line() -> Option<String> {
    let mut took = TOOK.lock().unwrap().clone();
    took.sort_unstable_by(|a, b| b.cmp(a));
    let shown = took.iter().take(SHOWN).map(|(took, name)| format!("{name} {} s", took.as_secs()));
    (took.len() >= WORTH_A_LIST).then(|| format!("longest cases: {}", shown.collect::<Vec<_>>().join(", ")))
}
