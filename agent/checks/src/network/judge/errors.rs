//! Damaged packets by rate, and what a card had no room for.

use std::{collections::BTreeMap, fmt::Display, time::Duration};

use crate::probe::{
    Fault,
    growth::{Growth, Start, Window, rounded},
};
use serde::{Deserialize, Serialize};

use crate::{
    duration_text::duration,
    network::{NetworkSettings, reading::Counters},
};

const MINUTES: u64 = 5;
/// What was counted before the first look is not judged.
pub(super) const WINDOW: Window = Window { length: Duration::from_secs(MINUTES * 60), start: Start::Unknown };

/// A card whose receive ring is full drops what TCP repeats: reported once a part of a hundred is lost, and not for a
/// burst.
pub(super) const MISSED_LEAST: u64 = 1_000;
const MISSED_PER_MILLION: u64 = 10_000;
/// An Event is repeated at most so often.
const REPORT_AGAIN: Duration = Duration::from_secs(3_600);

/// One interface's. Of its growth nothing outlives a restart: packets are counted with every reading.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Errors {
    #[serde(skip)]
    packets: Growth,
    #[serde(skip)]
    errors: Growth,
    #[serde(skip)]
    missed: Growth,
    #[serde(skip)]
    kinds: BTreeMap<String, Growth>,
    /// Since when it has been counted in this run.
    #[serde(skip)]
    since: Option<Duration>,
    raised: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_secs: Option<u64>,
}

impl Errors {
    /// Adds a reading; returns how many packets were missed, if that is to be reported now.
    pub(super) fn take(&mut self, counters: &Counters, now: Duration, settings: &NetworkSettings) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        self.packets.observe(counters.packets, now, WINDOW);
        self.errors.observe(counters.errors, now, WINDOW);
        self.missed.observe(counters.missed, now, WINDOW);
        for (kind, count) in &counters.kinds {
            self.kinds.entry(kind.clone()).or_default().observe(*count, now, WINDOW);
        }
        // After a restart less than the window is known: what was raised stays until all of it is.
        let is_known = now.saturating_sub(since) >= WINDOW.length;
        self.raised = if self.raised { !is_known || self.is_over(settings, 2) } else { self.is_over(settings, 1) };
        self.missed_to_report(now)
    }

    pub(super) fn fault(&self, settings: &NetworkSettings) -> Option<Fault> {
        if !self.raised {
            return None;
        }
        let most =
            self.kinds.iter().max_by_key(|(_, growth)| growth.within()).filter(|(_, growth)| growth.within() > 0);
        let (window, count) = (duration(WINDOW.length), rounded(self.errors.within()));
        let (limit, per_million) = (least(settings), settings.errors_per_million);
        let mut args: Vec<(&str, &dyn Display)> =
            vec![("window", &window), ("limit", &limit), ("per_million", &per_million)];
        if count == 0 {
            return Some(Fault::of("InterfaceErrors/fewer", &args));
        }
        args.push(("count", &count));
        let Some((kind, _)) = most else { return Some(Fault::of("InterfaceErrors", &args)) };
        args.push(("kind", kind));
        Some(Fault::of("InterfaceErrors/kind", &args))
    }

    /// As many as one of `parts` of what is too much.
    fn is_over(&self, settings: &NetworkSettings, parts: u64) -> bool {
        let errors = self.errors.within();
        let least = least(settings) / parts;
        errors >= least.max(1)
            && is_share(errors, self.packets.within(), u64::from(settings.errors_per_million) / parts)
    }

    fn missed_to_report(&mut self, now: Duration) -> Option<u64> {
        let missed = self.missed.within();
        let rests = self
            .reported_secs
            .is_some_and(|reported| (reported..reported + REPORT_AGAIN.as_secs()).contains(&now.as_secs()));
        if rests || missed < MISSED_LEAST || !is_share(missed, self.packets.within(), MISSED_PER_MILLION) {
            return None;
        }
        self.reported_secs = Some(now.as_secs());
        Some(rounded(missed))
    }
}

/// So many within the window are too many.
fn least(settings: &NetworkSettings) -> u64 {
    u64::from(settings.errors_per_minute) * MINUTES
}

/// Whether `part` is as many of a million of all. Damaged packets are not counted among the good ones.
fn is_share(part: u64, others: u64, per_million: u64) -> bool {
    let all = u128::from(part) + u128::from(others);
    u128::from(part) * 1_000_000 >= all * u128::from(per_million)
}
