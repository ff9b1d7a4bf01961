//! What is so on the main thread alone, where the usual harness runs no test.

use std::{fs, hint::black_box};

use nodewell_sys::memory::trim_stack;

const DEEP_BYTES: usize = 256 << 10;

fn main() {
    what_is_below_is_given_back_and_what_callers_have_stays();
}

fn what_is_below_is_given_back_and_what_callers_have_stays() {
    let kept = black_box([7_u8; 64 << 10]);
    go_deep();
    let before = resident_bytes();
    trim_stack().expect("the kernel gives back a part of a stack that is not locked");
    let after = resident_bytes();
    assert!(after + DEEP_BYTES / 2 < before, "{after} of {before} bytes of the stack are in memory");
    assert!(black_box(&kept).iter().all(|byte| *byte == 7), "a caller's variable is lost");
}

/// As a start does.
#[inline(never)]
fn go_deep() {
    let mut deep = black_box([1_u8; DEEP_BYTES]);
    black_box(&mut deep);
}

/// How much of the main thread's stack is in memory.
fn resident_bytes() -> usize {
    let smaps = fs::read_to_string("/proc/self/smaps").expect("the kernel shows our own memory");
    let mut lines = smaps.lines().skip_while(|line| !line.ends_with("[stack]"));
    let kib = |line: &str| line.strip_prefix("Rss:")?.split_ascii_whitespace().next()?.parse::<usize>().ok();
    lines.find_map(kib).expect("a figure of the stack's") << 10
}
