//! One report, filled up to what the agent takes in one body.

use std::{collections::VecDeque, time::Duration};

use nodewell_model::{Condition, ConditionStatus, Event, Hardware, Status, text::cut};
use serde::Serialize;

use super::{ReporterSettings, doubts::REPORTED_LIMIT, states::Changed};

/// What a body may have; the agent takes 64 KiB.
pub(super) const BODY_LIMIT_BYTES: usize = 60 * 1024;
/// The agent takes no more in one report.
const EVENTS_LIMIT: usize = 64;
/// When everything does not fit, messages are the first to give.
const SHORT_MESSAGE_BYTES: usize = 64;

/// A report in the making.
pub(super) struct Composer {
    report: Status,
    bytes: usize,
}

impl Composer {
    pub(super) fn new(settings: &ReporterSettings, id: String) -> Self {
        let report = Status {
            source: settings.source.clone(),
            ttl_secs: Some(settings.ttl.as_secs().max(1)),
            id: Some(id),
            ..Status::default()
        };
        let bytes = size(&report) + 64;
        Self { report, bytes }
    }

    pub(super) fn add_hardware(&mut self, hardware: Option<Vec<Hardware>>) {
        self.bytes += hardware.as_ref().map_or(0, |hardware| size(hardware) + 16);
        self.report.hardware = hardware;
    }

    /// Takes as many as fit, all of one subject or none; gives back the others. With short messages, if whole ones are
    /// too much.
    pub(super) fn add_all(&mut self, mut changed: Changed) -> Changed {
        if self.bytes + changed.values().map(|group| size_of_all(group)).sum::<usize>() > BODY_LIMIT_BYTES {
            let shorten = |one: &mut Condition| one.message = cut(&one.message, SHORT_MESSAGE_BYTES).to_owned();
            changed.values_mut().flatten().for_each(shorten);
        }
        // What is wrong goes first, what is unknown next: of what does not fit, that is the least harm.
        let mut left = Changed::new();
        for status in [ConditionStatus::True, ConditionStatus::Unknown, ConditionStatus::False] {
            let these = changed.extract_if(.., |_, group| group.iter().any(|one| one.status == status)).collect();
            left.extend(self.add_some(these));
        }
        left
    }

    fn add_some(&mut self, mut changed: Changed) -> Changed {
        while let Some(entry) = changed.first_entry() {
            let bytes = size_of_all(entry.get());
            let is_too_much = self.bytes + bytes > BODY_LIMIT_BYTES
                || self.report.conditions.len() + entry.get().len() > REPORTED_LIMIT;
            if is_too_much && !self.is_empty() {
                break;
            }
            self.bytes += bytes;
            self.report.conditions.extend(entry.remove());
        }
        changed
    }

    /// Takes as many as fit, oldest first.
    pub(super) fn add_events(&mut self, events: &mut VecDeque<Event>) {
        while let Some(event) = events.front() {
            let bytes = size(event) + 1;
            // One that fits into no report at all goes all the same: the agent's answer informs the owner.
            let fits = self.bytes + bytes <= BODY_LIMIT_BYTES || self.is_empty();
            if !fits || self.report.events.len() == EVENTS_LIMIT {
                break;
            }
            self.bytes += bytes;
            self.report.events.extend(events.pop_front());
        }
    }

    pub(super) fn report(self, full: bool) -> Status {
        Status { full, ..self.report }
    }

    pub(super) fn last_report(self, linger: Duration) -> Status {
        let linger = linger.as_secs();
        Status { last: true, linger_secs: (linger > 0).then_some(linger), ..self.report }
    }

    fn is_empty(&self) -> bool {
        self.report.events.is_empty() && self.report.conditions.is_empty()
    }
}

fn size_of_all(conditions: &[Condition]) -> usize {
    conditions.iter().map(|one| size(one) + 1).sum()
}

/// With the shortest message that it may have to do with.
pub(super) fn short_size(condition: &Condition) -> usize {
    size(condition) + cut(&condition.message, SHORT_MESSAGE_BYTES).len() + 1 - condition.message.len()
}

fn size(value: &impl Serialize) -> usize {
    // Our types have string keys and finite numbers only: they always serialise.
    serde_json::to_vec(value).map_or(0, |json| json.len())
}
