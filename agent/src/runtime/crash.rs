//! Points at which a test lets the process die as by `kill -9`. Programs that are built for use have none of this in them.

/// Every point, in the order of the data's path.
pub const POINTS: &[&str] = &[
    "store.before-open",
    "store.after-open",
    "store.before-begin",
    "store.in-transaction",
    "store.before-commit",
    "store.after-commit",
    "store.after-report",
    "store.before-aside",
    "store.before-close",
    "exporter.after-read",
    "exporter.before-post",
    "exporter.after-post",
    "exporter.after-put",
];

/// Dies here if the environment asks for it: `NODEWELL_CRASH_AT=name`, or `name:n` for the n-th time it comes by.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    assert!(POINTS.contains(&name), "{name} is not listed as a crash point");
    if armed::counts_down(name) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        // Other threads end at once; this one where the kernel next looks.
        loop {
            std::thread::park();
        }
    }
}

/// Nothing, in a program that is built for use.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn point(_name: &str) {}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    };

    struct Armed {
        name: String,
        left: AtomicU64,
    }

    /// Whether this is the passing that was asked for.
    pub(super) fn counts_down(name: &str) -> bool {
        static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
        let armed = ARMED.get_or_init(|| parse(&std::env::var("NODEWELL_CRASH_AT").ok()?));
        armed.as_ref().is_some_and(|armed| armed.name == name && armed.left.fetch_sub(1, Relaxed) == 1)
    }

    fn parse(text: &str) -> Option<Armed> {
        let (name, passing) = text.split_once(':').unwrap_or((text, "1"));
        Some(Armed { name: name.to_owned(), left: AtomicU64::new(passing.parse().ok()?) })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_point_and_its_count_are_read() {
            for (text, name, passing) in [("a.b", "a.b", 1), ("a.b:3", "a.b", 3)] {
                let armed = parse(text).unwrap();
                assert_eq!((armed.name.as_str(), armed.left.into_inner()), (name, passing));
            }
            assert!(parse("a.b:soon").is_none());
        }
    }
}
