//! The main thread's stack.

use std::{hint::black_box, io, ops::Range};

use super::{drop_pages, named, unneeded::whole_pages};

const STACK: &str = "[stack]";
/// Below our own variables, for what is called from here.
const IN_USE_BYTES: usize = 16 << 10;

/// Gives back what the main thread has used of its stack and is out of by now: a start goes deeper than what follows it.
/// Of other threads' stacks, and of a locked one, nothing goes.
// In a frame of its own: as a part of its caller's, which may be larger than IN_USE_BYTES, it could find the caller's
// other variables below its own.
#[inline(never)]
pub fn trim_stack() -> io::Result<()> {
    let variable = black_box(0_u8);
    let here = (&raw const variable).expose_provenance();
    let Some(stack) = named(STACK)?.filter(|stack| stack.contains(&here)) else { return Ok(()) };
    let unused = unused(&stack, here)?;
    if unused.is_empty() { Ok(()) } else { drop_pages(&unused) }
}

/// What of `stack` its thread is out of, one of whose variables is at `here`. It grows downwards.
fn unused(stack: &Range<usize>, here: usize) -> io::Result<Range<usize>> {
    let in_use = here.saturating_sub(IN_USE_BYTES).max(stack.start);
    whole_pages(&(stack.start..in_use))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_our_own_variables_is_unused() {
        // Page sizes differ between machines: 64 KiB is the largest.
        const PAGES: usize = 64 << 10;
        let stack = 4 * PAGES..12 * PAGES;
        assert_eq!(unused(&stack, 10 * PAGES + IN_USE_BYTES + 1).unwrap(), 4 * PAGES..10 * PAGES);
        assert!(unused(&stack, 4 * PAGES + 1).unwrap().is_empty());
    }

    #[test]
    fn of_another_thread_nothing_goes() {
        let stack = named(STACK).unwrap().unwrap();
        let kept = black_box([7_u8; 64 << 10]);
        assert!(!stack.contains(&kept.as_ptr().expose_provenance()), "a test has a thread of its own");
        trim_stack().unwrap();
        assert!(black_box(&kept).iter().all(|byte| *byte == 7));
    }
}
