//! Problems that end because nothing repeats them, by the log's own clock: no line shows that, but a later one's time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{Finding, FindingKind, Name, Severity};

use super::{ProblemType, ReplayFinding, ReplayKind};
use crate::duration;

/// Problems watched at once; of a log that raises more, the rest does not end so.
const LIMIT: usize = 65_536;

/// Condition, reason and subject.
type Key = (Name, Name, Option<String>);

#[derive(Debug, Default)]
pub(super) struct Quiet {
    raised: HashMap<Key, Raised>,
    /// Before this nothing is over.
    next: Option<Timestamp>,
}

#[derive(Debug)]
struct Raised {
    /// When its quiet will have been long enough.
    ends: Timestamp,
    quiet: Duration,
    /// The log has the time of day.
    is_dated: bool,
    source: Arc<str>,
    severity: Severity,
}

impl Quiet {
    /// Takes note of a finding of a log that has the time of day, or has not.
    pub(super) fn note(&mut self, finding: &Finding, is_dated: bool) {
        let Some(condition) = &finding.condition else { return };
        let key = (condition.clone(), finding.reason.clone(), finding.subject.clone());
        let quiet = finding.ends_after_quiet.filter(|_| finding.kind == FindingKind::Raise);
        let ends = quiet.and_then(|quiet| Some((quiet, finding.last_time.checked_add(quiet).ok()?)));
        match (ends, &finding.subject) {
            (Some((quiet, ends)), _) if self.raised.len() < LIMIT || self.raised.contains_key(&key) => {
                self.next = Some(self.next.map_or(ends, |next| next.min(ends)));
                let (source, severity) = (Arc::clone(&finding.source), finding.severity);
                self.raised.insert(key, Raised { ends, quiet, is_dated, source, severity });
            }
            (None, None) if finding.kind == FindingKind::Clear => {
                self.raised.retain(|(other, reason, _), _| (other, reason) != (condition, &finding.reason));
            }
            _ => drop(self.raised.remove(&key)),
        }
    }

    /// Those that are over by `now`, the first one first; line `line` shows that time has passed.
    pub(super) fn over(&mut self, now: Timestamp, line: u64) -> Vec<ReplayFinding> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let mut over: Vec<_> = self.raised.extract_if(|_, raised| raised.ends <= now).collect();
        self.next = self.raised.values().map(|raised| raised.ends).min();
        over.sort_by(|(a, raised), (b, other)| (raised.ends, a).cmp(&(other.ends, b)));
        over.into_iter().map(|(key, raised)| raised.ended(key, line)).collect()
    }

    /// A new boot, with a clock of its own.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Raised {
    fn ended(self, (condition, reason, subject): Key, line: u64) -> ReplayFinding {
        ReplayFinding {
            line,
            time: self.is_dated.then_some(self.ends),
            source: self.source,
            lasting: ProblemType::Permanent,
            condition: Some(condition),
            reason,
            severity: self.severity,
            subject,
            message: format!("nothing has repeated it for {}", duration::shown(self.quiet)),
            kind: ReplayKind::Clear,
        }
    }
}
