//! Numbers of nodes: a count, or a percentage of those that there are (IntOrString in the API).

use std::fmt;

use crate::api::policy::Amount;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountOrPercent {
    Count(u32),
    /// 0 to 100.
    Percent(u32),
}

impl CountOrPercent {
    /// Reads `3`, `"3"` or `"30%"`.
    pub fn read(amount: &Amount) -> Result<Self, String> {
        let text = match amount {
            Amount::Count(count) => return Ok(Self::Count(*count)),
            Amount::Text(text) => text,
        };
        let wrong = || format!("`{text}` is no amount; write a number of nodes or a share as `30%`");
        match text.strip_suffix('%') {
            Some(share) => match digits(share).ok_or_else(wrong)? {
                share @ 0..=100 => Ok(Self::Percent(share)),
                _ => Err(format!("`{text}` is more than all")),
            },
            None => digits(text).map(Self::Count).ok_or_else(wrong),
        }
    }

    /// How many of `total`: a percentage is rounded down, but one that is not 0 is at least one node if there is any.
    #[must_use]
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::Count(count) => count as usize,
            Self::Percent(0) => 0,
            Self::Percent(share) => (total.saturating_mul(share as usize) / 100).max(total.min(1)),
        }
    }
}

/// Digits only: `u32::from_str` would take `+3`.
fn digits(text: &str) -> Option<u32> {
    if text.bytes().all(|letter| letter.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(share) => write!(f, "{share}%"),
        }
    }
}
