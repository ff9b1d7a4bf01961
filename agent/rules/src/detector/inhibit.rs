//! Inhibition: the log shows that what a rule finds is meant to happen, such as failures of what is being stopped.

use std::collections::HashMap;

use nodewell_model::{Record, text};

use super::moment::Moment;
use crate::rule::Inhibition;

/// Subjects of one rule that are inhibited at once; those of more are reported.
const SUBJECTS_LIMIT: usize = 1024;

/// What one rule does not report, and since when.
#[derive(Default)]
pub(super) struct Inhibited {
    all: Option<Moment>,
    subjects: HashMap<String, Moment>,
}

impl Inhibited {
    /// What `record` names is not reported from it on. One that names nothing inhibits nothing.
    pub(super) fn begin(&mut self, inhibition: &Inhibition, record: &Record<'_>) {
        let now = Moment::of(record);
        let Some(subject) = named(inhibition, record) else { return };
        if inhibition.all.contains(&subject) {
            self.all = Some(now);
            return;
        }
        self.subjects.retain(|_, since| holds(inhibition, since, &now));
        if self.subjects.len() < SUBJECTS_LIMIT {
            self.subjects.insert(subject, now);
        }
    }

    /// What `record` names is reported again.
    pub(super) fn end(&mut self, inhibition: &Inhibition, record: &Record<'_>) {
        match named(inhibition, record) {
            Some(subject) if inhibition.all.contains(&subject) => *self = Self::default(),
            Some(subject) => {
                self.subjects.remove(&subject);
            }
            None => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_none() && self.subjects.is_empty()
    }

    /// Whether a match of `subject` in `record` is not reported.
    pub(super) fn covers(&self, inhibition: &Inhibition, subject: Option<&str>, record: &Record<'_>) -> bool {
        let now = Moment::of(record);
        let own = subject.and_then(|subject| self.subjects.get(subject));
        self.all.iter().chain(own).any(|since| holds(inhibition, since, &now))
    }
}

fn named(inhibition: &Inhibition, record: &Record<'_>) -> Option<String> {
    record.fields.field(&inhibition.field).map(|name| text::subject(&name)).filter(|name| !name.is_empty())
}

/// A new boot ends what was announced in the one before.
fn holds(inhibition: &Inhibition, since: &Moment, now: &Moment) -> bool {
    now.is_of_the_boot_of(since) && now.is_within(inhibition.window, since)
}
