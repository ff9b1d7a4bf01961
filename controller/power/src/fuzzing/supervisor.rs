//! A supervisor's report, as it comes through the pipe: from a process that may be ended at any byte of it.

use crate::runner::{NoReport, read_report};

/// A report is read whole or is lost: what is cut is never one, and what was read is the same written again.
pub fn supervisor(input: &[u8]) {
    let report = match read_report(input) {
        Ok(report) => report,
        Err(NoReport::Lost(why)) => return assert!(!why.is_empty()),
        Err(error @ NoReport::NotStarted(_)) => panic!("it was started: {error}"),
    };
    let written = serde_json::to_string(&report).expect("a report is JSON");
    assert_eq!(read_report(written.as_bytes()).ok(), Some(report));
    let whole = input.trim_ascii_end().len();
    for cut in [whole - 1, whole / 2, 0] {
        assert!(read_report(&input[..cut]).is_err(), "cut at {cut}");
    }
}
