//! Events about the agent itself and its parts, which no log reports.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use nodewell_model::{Finding, FindingKind, Name, Origin, RequiredProof, Severity};

use crate::runtime::clock;

/// Two that happen in one moment have different numbers.
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

/// Something that happened now.
pub(crate) fn own_event(source: &str, reason: &'static str, message: String) -> Finding {
    let now = clock::now();
    Finding {
        source: Arc::from(source),
        kind: FindingKind::Raise,
        condition: None,
        reason: Name::fixed(reason),
        subject: None,
        severity: Severity::Warn,
        message,
        time: now.wall,
        last_time: now.wall,
        count: 1,
        origin: Origin::Agent {
            boot_id: clock::boot_id().unwrap_or_default(),
            started_ns: u64::try_from(now.wall.as_nanosecond()).unwrap_or_default(),
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
        },
        boot_id: clock::boot_id(),
        ends_after_quiet: None,
        ends_at_boot: false,
        action: None,
        required_proof: RequiredProof::None,
        test: false,
    }
}
