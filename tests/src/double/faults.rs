//! Faults by script, and the log of what was asked.

use std::collections::VecDeque;

use jiff::Timestamp;

/// How a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answered with this code, and with `Retry-After` in seconds where it is set.
    Status { code: u16, retry_after: Option<u64> },
    /// Taken and never answered: a half-open connection, or a server that hangs.
    Hang,
    /// The connection is reset before the request is looked at.
    Reset,
    /// The request is carried out, and the connection is reset before the answer: did it happen?
    LostAnswer,
}

impl Fault {
    /// Answered with this code.
    #[must_use]
    pub fn status(code: u16) -> Self {
        Self::Status { code, retry_after: None }
    }
}

/// One request as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    pub time: Timestamp,
    pub user: String,
    pub verb: String,
    pub path: String,
    pub query: String,
    pub content_type: String,
    /// What it was answered; 0 if it was not.
    pub code: u16,
}

/// What is still to go wrong, in this order.
#[derive(Debug, Default)]
pub(crate) struct Script(VecDeque<(usize, Fault)>);

impl Script {
    pub(crate) fn script(&mut self, times: usize, fault: Fault) {
        self.0.push_back((times, fault));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What happens to the next request. A Lease is renewed whenever it is time: what a case plans for so many requests
    /// is never meant for that.
    pub(crate) fn draw(&mut self, path: &str) -> Option<Fault> {
        let (left, fault) = self.0.front_mut()?;
        let fault = *fault;
        if path.contains("/leases") && *left < usize::MAX / 2 {
            return None;
        }
        *left -= 1;
        if *left == 0 {
            self.0.pop_front();
        }
        Some(fault)
    }
}
