//! The one way for user space to be taken for the kernel: a record that the agent was asked to expect, once, by its
//! nonce.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use memchr::memmem;

/// What an injected record's text begins with.
pub const INJECTION_MARK: &str = "nodewell-inject ";
/// More than a person asks for at once; an older one gives way.
const PENDING_LIMIT: usize = 16;

/// The nonces that are awaited. Cheap to clone; all clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Expectations(Arc<Mutex<VecDeque<Expectation>>>);

#[derive(Debug)]
struct Expectation {
    nonce: String,
    expires: Duration,
}

impl Expectations {
    /// Awaits one record marked with `nonce` until `expires` (`CLOCK_BOOTTIME`).
    pub fn expect(&self, nonce: String, expires: Duration) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() >= PENDING_LIMIT {
            pending.pop_front();
        }
        pending.push_back(Expectation { nonce, expires });
    }

    /// The text behind `nodewell-inject NONCE: `, if that nonce is awaited at `now`; it is not awaited again.
    pub(crate) fn redeem<'a>(&self, text: &'a [u8], now: Duration) -> Option<&'a [u8]> {
        let marked = text.strip_prefix(INJECTION_MARK.as_bytes())?;
        let end = memmem::find(marked, b": ")?;
        let (nonce, message) = (&marked[..end], &marked[end + 2..]);
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|expected| expected.expires > now);
        let found = pending.iter().position(|expected| expected.nonce.as_bytes() == nonce)?;
        pending.remove(found);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn an_expected_nonce_is_good_once() {
        let expectations = Expectations::default();
        expectations.expect("n1".into(), SOON);
        let text = b"nodewell-inject n1: Oops: 0000 [#1]";
        assert_eq!(expectations.redeem(text, Duration::ZERO), Some(&b"Oops: 0000 [#1]"[..]));
        assert_eq!(expectations.redeem(text, Duration::ZERO), None);
    }

    #[test]
    fn a_late_or_unknown_nonce_is_nothing() {
        let expectations = Expectations::default();
        expectations.expect("n1".into(), SOON);
        for text in
            ["nodewell-inject n2: x", "nodewell-inject n1", "nodewell-inject : x", "x nodewell-inject n1: x", ""]
        {
            assert_eq!(expectations.redeem(text.as_bytes(), Duration::ZERO), None, "{text}");
        }
        assert_eq!(expectations.redeem(b"nodewell-inject n1: x", SOON), None);
    }

    #[test]
    fn the_list_is_bounded() {
        let expectations = Expectations::default();
        (0..100).for_each(|n| expectations.expect(n.to_string(), SOON));
        assert_eq!(expectations.redeem(b"nodewell-inject 0: x", Duration::ZERO), None);
        assert!(expectations.redeem(b"nodewell-inject 99: x", Duration::ZERO).is_some());
    }
}
