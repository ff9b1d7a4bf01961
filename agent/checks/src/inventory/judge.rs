//! Judges what a boot has against what earlier ones had, and shows it to people.

mod text;

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use nodewell_model::{
    Name,
    inventory::{Acceptance, Component, ComponentClass, ComponentView, InventoryView},
    text::line,
};
use serde_json::Value;

use super::{
    InventorySettings,
    class::{Change, Known, Look},
    history::History,
    reading::{ALL, InventoryReading},
};
use crate::probe::{
    DeviceEvent, Findings, Judge, Now, PollError, ReadError, Round, State, Verdict, last_saved::LastSaved, unknown,
};

const CONDITION: &str = "HardwareMissing";
/// So many Events of one look; a shelf of disks that was added is one piece of news.
const EVENTS_LIMIT: usize = 8;

/// Judges in the check process.
#[derive(Debug, Default)]
pub struct InventoryJudge {
    settle: Duration,
    compares_virtual: bool,
    history: History,
    last: Option<Last>,
    /// For the next findings.
    events: Vec<DeviceEvent>,
    last_saved: LastSaved,
    /// What was saved was of no use.
    was_damaged: bool,
}

/// The last answer of this run.
#[derive(Debug)]
enum Last {
    Read { reading: Box<InventoryReading>, at: Timestamp },
    Failed(PollError),
}

impl InventoryJudge {
    #[must_use]
    pub fn new(settings: &InventorySettings) -> Self {
        Self { settle: settings.settle, compares_virtual: settings.virtual_machines, ..Self::default() }
    }

    fn read(&mut self, reading: InventoryReading, now: &Now) {
        let mut events = Vec::new();
        if self.history.claim(&reading) {
            events.push(DeviceEvent::of("InventoryStartedAgain/other", ALL, &[], now.wall));
        }
        if std::mem::take(&mut self.was_damaged) {
            events.push(DeviceEvent::of("InventoryStartedAgain", ALL, &[], now.wall));
        }
        let compares_all = !reading.is_virtual;
        let compares_amounts = compares_all || self.compares_virtual;
        let is_compared = |class: ComponentClass| if class.is_amount() { compares_amounts } else { compares_all };
        // What is not compared any more, by the settings, is not missed either; what is not read stays as it is.
        self.history.classes.retain(|class, _| is_compared(*class));
        let may_settle = now.boottime >= self.settle;
        let look = Look { boot_id: &now.boot_id, wall: now.wall, may_settle, hidden: &reading.hidden };
        for (class, present) in reading.classes.iter().filter(|(class, _)| is_compared(**class)) {
            let changes = self.history.classes.entry(*class).or_default().look(*class, present, look);
            events.extend(changes.iter().map(|change| text::changed(*class, change, now.wall)));
        }
        self.news(events, now.wall);
        self.last = Some(Last::Read { reading: Box::new(reading), at: now.wall });
    }

    /// The first of them, and how many there were.
    fn news(&mut self, mut events: Vec<DeviceEvent>, wall: Timestamp) {
        let more = events.len().saturating_sub(EVENTS_LIMIT);
        events.truncate(EVENTS_LIMIT);
        self.events.extend(events);
        if more > 0 {
            self.events.push(DeviceEvent::of("HardwareAdded/more", ALL, &[("more", &more)], wall));
        }
    }

    fn take_error(&mut self, error: PollError) {
        self.last = match error {
            // A container, or the kernel of a crash dump: nothing of it is the machine's.
            PollError::Read(ReadError::Gone { .. }) => None,
            error => Some(Last::Failed(error)),
        };
    }

    fn missing(&self) -> impl Iterator<Item = (ComponentClass, &Known)> {
        self.history.classes.iter().flat_map(|(class, state)| state.missing().map(move |known| (*class, known)))
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let whole = |state| verdict(String::new(), state);
        match &self.last {
            None => Vec::new(),
            Some(Last::Failed(error)) => {
                let each = self.missing().map(|(class, known)| verdict(known.component.name(class), unknown(error)));
                each.chain([whole(unknown(error))]).collect()
            }
            // Nothing is compared, as in a virtual machine by the settings.
            Some(Last::Read { .. }) if self.history.classes.is_empty() => Vec::new(),
            Some(Last::Read { reading, .. }) => {
                let each = self.missing().map(|(class, known)| {
                    let fault = text::fault(class, known, amount(reading, class));
                    verdict(known.component.name(class), State::Faulty(vec![fault]))
                });
                each.chain([whole(State::healthy("HardwareMissing/healthy", &[]))]).collect()
            }
        }
    }
}

impl Judge for InventoryJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = round.now.clone();
        match round.answer_of(ALL).map(|answer| answer.and_then(|reading| reading.parse())) {
            Some(Ok(reading)) => self.read(reading, &now),
            Some(Err(error)) => self.take_error(error),
            None => {}
        }
        Findings { verdicts: self.verdicts(), events: std::mem::take(&mut self.events), ..Findings::default() }
    }

    fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&self.history)
    }

    fn load(&mut self, saved: Value) {
        match serde_json::from_value(saved.clone()) {
            Ok(history) => (self.history, self.last_saved) = (history, LastSaved::of(saved)),
            Err(_) => self.was_damaged = true,
        }
    }

    fn inventory_view(&self) -> Option<InventoryView> {
        let Some(Last::Read { reading, at }) = &self.last else { return None };
        let mut components = Vec::new();
        for (class, present) in &reading.classes {
            components.extend(present.iter().map(|component| present_view(*class, component)));
        }
        for (class, known) in self.missing() {
            // Of an amount there is still something, which stands in the list.
            match components.iter_mut().find(|view| class.is_amount() && view.class == class) {
                Some(view) => {
                    (view.missing, view.last_seen) = (true, Some(known.last_seen));
                    view.accepted = Some(known.component.amount);
                }
                None => components.push(missing_view(class, known)),
            }
        }
        let (facts, is_virtual) = (reading.facts.clone(), reading.is_virtual);
        Some(InventoryView { components, facts, read: Some(*at), is_virtual })
    }

    /// Not before the first look of this run: of an amount it has to be known what is accepted.
    fn accept(&mut self, acceptance: &Acceptance) -> bool {
        let Some(Last::Read { reading, .. }) = &self.last else { return false };
        let names: BTreeSet<&str> = acceptance.names.iter().map(String::as_str).collect();
        for (class, state) in &mut self.history.classes {
            let present = reading.classes.get(class).map(Vec::as_slice).unwrap_or_default();
            for name in state.accept(*class, &names, present) {
                let by = line(&acceptance.by, 64);
                self.events.push(DeviceEvent::of("HardwareAccepted", &name, &[("by", &by)], acceptance.time));
            }
        }
        true
    }
}

fn verdict(subject: String, state: State) -> Verdict {
    Verdict { condition: Name::fixed(CONDITION), subject, state }
}

/// What there is now of a class of which only the amount counts.
fn amount(reading: &InventoryReading, class: ComponentClass) -> Option<u64> {
    let present = reading.classes.get(&class).filter(|_| class.is_amount())?;
    present.first().map(|component| component.amount)
}

fn present_view(class: ComponentClass, component: &Component) -> ComponentView {
    let (name, component) = (component.name(class), component.clone());
    ComponentView { class, name, component, missing: false, last_seen: None, accepted: None }
}

fn missing_view(class: ComponentClass, known: &Known) -> ComponentView {
    let view = present_view(class, &known.component);
    ComponentView { missing: true, last_seen: Some(known.last_seen), ..view }
}
