//! What is concluded from the evidence on the last boot's end: values in, findings out.

use std::{fmt::Display, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use nodewell_faults::message;
use nodewell_model::{BootId, Finding, FindingKind, Name, Origin, RequiredProof, Severity};

use super::{
    journal::JournalEnd,
    mark::Mark,
    panic::{last_lines, panic_of},
    pstore::{Dump, DumpReason, PstoreDumps},
};

/// The source that these findings name.
pub const SOURCE: &str = "boot-monitor";

/// A stop of the agent so close to the journal's end was part of a shutdown.
const SHUTDOWN_TAKES: SignedDuration = SignedDuration::from_mins(2);
/// Dumps so much older than the last sign of life are of boots before: a person or a tool put them back.
const DUMP_AGE: SignedDuration = SignedDuration::from_hours(24);
/// An agent that starts for the first time so long after the boot reports nothing of the boot before.
const NEWS_FOR: Duration = Duration::from_hours(1);
/// A node that panics over and over, before the agent can start.
const PANICS_LIMIT: usize = 8;
/// Of a dump without a panic.
const LAST_LINES: usize = 3;

/// All there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Of the boot in which the agent ran last; `None` at its first start.
    pub mark: Option<Mark>,
    pub pstore: PstoreDumps,
    /// How the journal of that boot ends, if it has anything of it.
    pub journal: Option<JournalEnd>,
    pub now: Timestamp,
    /// Time since this boot.
    pub up: Duration,
}

impl Evidence {
    /// The Events to report, in the order in which things happened.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut panics: Vec<&Dump> =
            self.news().filter(|dump| dump.reason == DumpReason::Panic || has_panic(dump)).collect();
        // A dump shows the panic better than a console does.
        if panics.iter().any(|dump| dump.reason != DumpReason::Console) {
            panics.retain(|dump| dump.reason != DumpReason::Console);
        }
        panics.truncate(PANICS_LIMIT);
        let reported = panics.iter().rev().map(|dump| self.panic(dump));
        let newest = panics.first().copied();
        let unexpected = self.mark.as_ref().filter(|mark| self.was_unexpected(mark, newest.is_some()));
        reported.chain(unexpected.map(|mark| self.unexpected(mark, newest))).collect()
    }

    /// When this boot began.
    fn began(&self) -> Timestamp {
        SignedDuration::try_from(self.up).ok().and_then(|up| self.now.checked_sub(up).ok()).unwrap_or(self.now)
    }

    /// The dumps that were not judged yet.
    fn news(&self) -> impl Iterator<Item = &Dump> {
        let since = self.mark.as_ref().map_or(self.began(), |mark| mark.alive).saturating_sub(DUMP_AGE);
        let since = since.unwrap_or_default();
        self.pstore.dumps.iter().filter(move |dump| match &self.mark {
            Some(mark) => !mark.knows(dump.id) && dump.time.is_none_or(|time| time >= since),
            None => self.up < NEWS_FOR && dump.time.is_some_and(|time| time >= since),
        })
    }

    /// The journal knows best; without it a stop that was asked for is no surprise.
    fn was_unexpected(&self, mark: &Mark, panicked: bool) -> bool {
        let stopped_by = |end: &JournalEnd| mark.stopped && end.last.duration_since(mark.alive) <= SHUTDOWN_TAKES;
        match &self.journal {
            Some(end) => !end.shutdown && !stopped_by(end),
            None => !mark.stopped || panicked,
        }
    }

    fn panic(&self, dump: &Dump) -> Finding {
        let time = dump.time.unwrap_or(self.began()).min(self.now);
        let boot_id = self.mark.as_ref().map(|mark| mark.boot_id);
        let origin = Origin::Agent { boot_id: boot_id.unwrap_or_default(), started_ns: dump.id, sequence: 0 };
        let message = match panic_of(&dump.text) {
            Some(panic) => message("KernelPanic", &[("panic", &panic)]),
            None => message("KernelPanic/no-line", &[("lines", &last_of(dump))]),
        };
        finding(BootFinding { reason: "KernelPanic", severity: Severity::Critical, message, time, origin, boot_id })
    }

    fn unexpected(&self, mark: &Mark, panic: Option<&Dump>) -> Finding {
        let (seen, by) = self.last_sign(mark);
        // A clock that was set in between does not make it come back before it went.
        let began = self.began().max(seen);
        let (seen, back) = (format!("{seen:.0}"), format!("{began:.0}"));
        let panic = panic.map(panic_text);
        let lines = self.last_kernel_messages();
        let records = Some(self.pstore.compressed.join(", ")).filter(|records| !records.is_empty());
        let mut args: Vec<(&str, &dyn Display)> = vec![("seen", &seen), ("by", &by), ("back", &back)];
        args.extend(records.as_ref().map(|records| ("records", records as &dyn Display)));
        let is_compressed = records.is_some();
        let key = match (&panic, &lines) {
            (Some(panic), _) => {
                args.push(("panic", panic));
                if is_compressed { "UnexpectedReboot/panic-compressed" } else { "UnexpectedReboot/panic" }
            }
            (None, Some(lines)) => {
                args.push(("lines", lines));
                if is_compressed { "UnexpectedReboot/log-compressed" } else { "UnexpectedReboot/log" }
            }
            (None, None) if is_compressed => "UnexpectedReboot/compressed",
            (None, None) => "UnexpectedReboot",
        };
        let message = message(key, &args);
        let origin = Origin::Agent { boot_id: mark.boot_id, started_ns: 0, sequence: 1 };
        let (time, boot_id) = (began, Some(mark.boot_id));
        finding(BootFinding { reason: "UnexpectedReboot", severity: Severity::Error, message, time, origin, boot_id })
    }

    /// The newest sign of life, and its source.
    fn last_sign(&self, mark: &Mark) -> (Timestamp, &'static str) {
        let own = (mark.alive, "the agent's own note, written once an hour");
        let journal = self.journal.as_ref().map(|end| (end.last, "the journal's last entry"));
        let dump = self.news().filter_map(|dump| dump.time).max().map(|time| (time, "the last kernel messages"));
        let signs = [Some(own), journal, dump].into_iter().flatten();
        signs.filter(|(time, _)| *time <= self.now).max_by_key(|(time, _)| *time).unwrap_or(own)
    }

    /// What the kernel logged before it fell silent, where it left no panic.
    fn last_kernel_messages(&self) -> Option<String> {
        let left =
            self.news().filter(|dump| dump.reason != DumpReason::Other).map(|dump| last_lines(&dump.text, LAST_LINES));
        let logged = self.journal.iter().map(|end| end.kernel.clone());
        let lines = left.chain(logged).find(|lines| !lines.is_empty())?;
        Some(lines.join(" | "))
    }
}

fn has_panic(dump: &Dump) -> bool {
    panic_of(&dump.text).is_some()
}

/// The panic as the dump shows it. One whose line is cut off is a panic all the same, because the record's header names
/// it.
fn panic_text(dump: &Dump) -> String {
    panic_of(&dump.text).map_or_else(
        || message("UnexpectedReboot/figure-no-line", &[("lines", &last_of(dump))]),
        |panic| panic.to_string(),
    )
}

fn last_of(dump: &Dump) -> String {
    last_lines(&dump.text, LAST_LINES).join(" | ")
}

/// What is particular to one finding on the previous boot.
struct BootFinding {
    reason: &'static str,
    severity: Severity,
    message: String,
    time: Timestamp,
    origin: Origin,
    boot_id: Option<BootId>,
}

fn finding(of: BootFinding) -> Finding {
    let BootFinding { reason, severity, message, time, origin, boot_id } = of;
    Finding {
        source: Arc::from(SOURCE),
        kind: FindingKind::Raise,
        condition: None,
        reason: Name::fixed(reason),
        subject: None,
        severity,
        message,
        time,
        last_time: time,
        count: 1,
        origin,
        boot_id,
        ends_after_quiet: None,
        ends_at_boot: false,
        action: None,
        required_proof: RequiredProof::None,
        test: false,
    }
}

#[cfg(test)]
mod tests;
