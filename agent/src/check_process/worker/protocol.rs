//! The protocol between a check process and its worker: a line of JSON each, one request at a time.

use std::io::{self, BufRead};

use nodewell_checks::{
    Check, Settings,
    probe::{RawReading, ReadError, Roots},
};
use serde::{Deserialize, Serialize};

/// Longer lines are no answer: a reading of 64 GPUs, each with all its counters, is a tenth of it.
pub(super) const LINE_LIMIT_BYTES: usize = 1024 * 1024;

/// The first line to a worker: all that it needs to know, so that it reads no configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::check_process) struct WorkerConfig {
    pub(in crate::check_process) roots: Roots,
    pub(in crate::check_process) settings: Settings,
}

/// Every line after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::check_process) struct Request {
    /// The reply has it too: a late reply to an earlier request is not taken for this one's.
    pub(in crate::check_process) id: u64,
    pub(in crate::check_process) check: &'static Check,
    pub(in crate::check_process) operation: Operation,
}

/// Which method of the check's reader the worker calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::check_process) enum Operation {
    List,
    Read {
        device: String,
        /// Where the last reading ended, if the judge saves that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<RawReading>,
    },
    Wait {
        within_millis: u64,
    },
}

/// What the worker sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) id: u64,
    pub(crate) body: ReplyBody,
}

/// The answer to an [`Operation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReplyBody {
    Devices {
        names: Vec<String>,
        /// Whether waiting is worth while.
        has_events: bool,
        /// Whether this worker would list the same as long as it lives.
        #[serde(default)]
        is_fixed: bool,
    },
    Reading(RawReading),
    Events(Vec<RawReading>),
    Error(ReadError),
}

/// The next line of at most [`LINE_LIMIT_BYTES`], without its end; `None` when the other side is gone.
pub(crate) fn read_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let limit = LINE_LIMIT_BYTES as u64;
    let count = io::Read::take(from, limit).read_line(&mut line)?;
    match line.pop() {
        None => Ok(None),
        Some('\n') => Ok(Some(line)),
        Some(_) => Err(io::Error::other(format!("a line without an end in {count} bytes"))),
    }
}
