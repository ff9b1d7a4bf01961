//! An event for tests of what reads the log.

use nodewell_model::{EventRecord, Name, Origin, Severity};

/// One that a rule of ours has found.
pub(crate) fn event(id: u64) -> EventRecord {
    EventRecord {
        id,
        origin: Origin::Line { number: id },
        boot_id: None,
        severity: Severity::Warn,
        time: jiff::Timestamp::UNIX_EPOCH,
        last_time: jiff::Timestamp::UNIX_EPOCH,
        reason: Name::fixed("IOError"),
        message: String::new(),
        subject: None,
        source: "kernel-monitor".into(),
        pod_uid: None,
        from_peer: false,
        condition: None,
        count: 1,
        test: false,
    }
}

/// One that the daemon `source` has reported; a user's is a peer's.
pub(crate) fn reported(id: u64, source: &str) -> EventRecord {
    EventRecord { source: source.into(), from_peer: source.contains("@uid:"), ..event(id) }
}
