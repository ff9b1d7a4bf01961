//! `maxNodesUnhealthy`: a number of nodes, or a share of them.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maximum {
    Nodes(u64),
    /// 0 to 100.
    Percent(u8),
}

impl Maximum {
    /// `7`, or `7%` with up to three digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = text.strip_suffix('%').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("{text:?} is neither a number of nodes nor a percentage such as 10%"));
        }
        let number: u64 = digits.parse().map_err(|_| format!("{text} is out of range"))?;
        match text.ends_with('%') {
            false => Ok(Self::Nodes(number)),
            true if number > 100 => Err(format!("{text} is more than 100%")),
            true if digits.len() > 3 => Err(format!("{text:?} has more than three digits")),
            true => Ok(Self::Percent(number as u8)),
        }
    }

    /// Whether so many of `total` may be unhealthy. Shares are rounded up: 10 of 73 are 14 %. Of no nodes at all none may.
    #[must_use]
    pub fn allows(self, unhealthy: usize, total: usize) -> bool {
        match self {
            Self::Nodes(most) => unhealthy as u64 <= most,
            Self::Percent(_) if total == 0 => false,
            Self::Percent(most) => (unhealthy as u128 * 100).div_ceil(total as u128) <= u128::from(most),
        }
    }

    /// It lets every node be unhealthy, so it protects nothing.
    pub(super) fn is_no_limit(self) -> bool {
        self == Self::Percent(100)
    }
}

impl fmt::Display for Maximum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(most) => write!(f, "{most}"),
            Self::Percent(most) => write!(f, "{most}%"),
        }
    }
}
