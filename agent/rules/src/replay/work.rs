//! What a replay searches, counted for its tests: a time shows no square before it is a long one.

use std::cell::Cell;

thread_local! {
    static SEARCHED: Cell<usize> = const { Cell::new(0) };
}

/// So many bytes more were searched for where a line or a part of it begins.
pub(super) fn searched(bytes: usize) {
    SEARCHED.set(SEARCHED.get() + bytes);
}

/// The bytes that `run` has searched.
pub(super) fn of(run: impl FnOnce()) -> usize {
    SEARCHED.set(0);
    run();
    SEARCHED.get()
}
