//! What metrics show: counters that only grow, and a gauge for each reason of a condition.

use std::{collections::BTreeMap, sync::Arc};

use nodewell_model::Name;

use crate::{Limits, Share};

/// Node Problem Detector's two metrics, and our own losses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// `problem_counter`: how many records reported it, for each reason, events and conditions alike.
    pub raised: BTreeMap<Name, u64>,
    /// How many problems people called false positives, by condition and reason.
    pub false_positives: BTreeMap<(Name, Name), u64>,
    /// How often a condition was True by nothing else.
    pub false_conditions: BTreeMap<Name, u64>,
    /// `problem_gauge`: every reason that has held a condition since it was loaded.
    pub gauges: Vec<Gauge>,
    /// Events that no exporter took in time.
    pub events_dropped: u64,
}

/// One `problem_gauge{type, reason}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    pub condition: Name,
    pub reason: Name,
    pub active: bool,
}

/// Who has a reason counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Namer<'a> {
    /// A monitor of ours: its reasons are those of rules, as many as these have.
    Ours,
    /// A sender that may use the reserve, by its user or unit: a check process, and root.
    Trusted(&'a Arc<str>),
    /// Any other sender, by its user or unit: it may name whatever it likes.
    Granted(&'a Arc<str>),
}

impl Namer<'_> {
    pub(crate) fn is_peer(self) -> bool {
        matches!(self, Self::Granted(_))
    }
}

/// How many records reported each reason. Names from outside cannot grow it, nor keep those of rules and of the
/// catalogue out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) by_reason: BTreeMap<Name, u64>,
    /// How many reasons each user or unit has brought in this run.
    named_by: BTreeMap<Arc<str>, usize>,
}

impl Totals {
    /// Counts a reason; one that gets no counter of its own shares one with all such. Returns whose counter it was.
    pub(crate) fn count(&mut self, reason: &Name, records: u64, namer: Namer<'_>, limits: &Limits) -> Name {
        let name = if self.has_place(reason, namer, limits) { reason.clone() } else { Name::fixed("Others") };
        let total = self.by_reason.entry(name.clone()).or_default();
        *total = total.saturating_add(records);
        name
    }

    fn has_place(&mut self, reason: &Name, namer: Namer<'_>, limits: &Limits) -> bool {
        let Share { of_one, of_granted } = limits.counted_reasons;
        let all = self.by_reason.len();
        // The catalogue is looked into last: it is read by that, and until then takes no memory.
        let is_known = || nodewell_faults::reason::named(reason.as_str()).is_some();
        self.by_reason.contains_key(reason)
            || match namer {
                Namer::Ours => true,
                // Root's names leave each check process some.
                Namer::Trusted(principal) => {
                    // What earlier runs counted is there still: a share of its own ends as well.
                    let (open, last) = (of_granted.saturating_mul(2), of_granted.saturating_mul(4));
                    self.take(principal, |named| all < open || (named < of_one && all < last)) || is_known()
                }
                Namer::Granted(principal) => {
                    self.take(principal, |named| named < of_one && all < of_granted) || is_known()
                }
            }
    }

    /// One more name for `principal`, if it may have it beside so many.
    fn take(&mut self, principal: &Arc<str>, may: impl FnOnce(usize) -> bool) -> bool {
        let named = self.named_by.entry(Arc::clone(principal)).or_default();
        let has_place = may(*named);
        *named += usize::from(has_place);
        has_place
    }
}
