//! Judges memory: each module by what EDAC counts, the node's memory as a whole by the kernel's own counts.

mod verdicts;

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    cxl_state::CxlDevices,
    ras::RasEvent,
    reading::{Controller, Errors, MemoryReading, WHOLE, Whole},
    state::{Counting, ModuleState},
    whole::{RoundContext, WholeState},
};
use crate::{
    memory::MemorySettings,
    probe::{Answer, Findings, Judge, Now, PollError, ReadError, Round, State, clock::Moment, unknown},
};

const HOUR_SECS: u64 = 60 * 60;
/// More modules than any machine has; labels that name several at once add to them.
const DETAILS_LIMIT: usize = 1024;

/// Judges in the check process.
#[derive(Debug)]
pub struct MemoryJudge {
    capacity: u32,
    history: MemoryHistory,
    moment: Option<Moment>,
    /// Less than an hour that no bucket has leaked for yet.
    begun_hour: Duration,
    /// By name; those that are listed.
    controllers: BTreeMap<String, ControllerState>,
    whole: Option<LastPoll>,
    /// The newest message of the driver about a module, by label.
    details: BTreeMap<String, String>,
    /// As it was when last asked.
    last_saved: Option<MemoryHistory>,
}

/// The saved state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct MemoryHistory {
    /// By controller and slot, such as `MC0/dimm3`; by controller for what could not be placed.
    modules: BTreeMap<String, ModuleState>,
    cxl: CxlDevices,
    whole: WholeState,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedMemory {
    moment: Moment,
    history: MemoryHistory,
}

/// How the last reading went.
#[derive(Debug, Clone, PartialEq)]
enum LastPoll {
    Read,
    Unknown(State),
}

#[derive(Debug)]
struct ControllerState {
    last_poll: LastPoll,
    counting_secs: Option<u64>,
    /// The slots it showed last.
    slots: Vec<String>,
}

/// What controllers brought in one round.
#[derive(Debug, Default)]
struct Account {
    /// A module that lost data.
    loss: Option<String>,
    whole: Option<Whole>,
}

impl MemoryJudge {
    #[must_use]
    pub fn new(settings: MemorySettings) -> Self {
        Self {
            capacity: settings.corrected_per_day,
            history: MemoryHistory::default(),
            moment: None,
            begun_hour: Duration::ZERO,
            controllers: BTreeMap::new(),
            whole: None,
            details: BTreeMap::new(),
            last_saved: None,
        }
    }

    fn go_on(&mut self, now: &Now) {
        if let Some(step) = self.moment.as_ref().map(|moment| moment.step_to(now)) {
            let elapsed = self.begun_hour + step.elapsed;
            self.begun_hour = Duration::from_secs(elapsed.as_secs() % HOUR_SECS);
            self.leak(usize::try_from(elapsed.as_secs() / HOUR_SECS).unwrap_or(usize::MAX));
            if step.new_boot {
                self.begin_boot();
            }
        }
        self.moment = Some(now.into());
    }

    fn leak(&mut self, hours: usize) {
        if hours > 0 {
            self.history.modules.values_mut().for_each(|module| module.bucket.leak(hours));
            self.history.cxl.leak(hours);
            self.history.whole.bucket.leak(hours);
        }
    }

    fn begin_boot(&mut self) {
        self.history.modules.values_mut().for_each(ModuleState::begin_boot);
        // Those that are still there are seen again; only what wore out is worth remembering of the others.
        self.history.modules.retain(|_, module| !module.is_blank());
        self.history.cxl.begin_boot();
        self.history.whole.begin_boot();
        self.details.clear();
    }

    /// Those that are not listed are gone; what they lost in this boot is remembered.
    fn list(&mut self, listed: &[String]) {
        self.controllers.retain(|name, _| listed.contains(name));
        if !listed.iter().any(|name| name == WHOLE) {
            self.whole = None;
        }
    }

    fn answers(&mut self, answers: Vec<(String, Answer)>) -> Account {
        let mut account = Account::default();
        for (device, answer) in answers {
            match answer.and_then(|reading| reading.parse()) {
                Ok(MemoryReading::Whole(whole)) => self.take_whole(whole, &mut account),
                Ok(MemoryReading::Controller(controller)) => {
                    account.loss = self.take_controller(&device, controller).or(account.loss);
                }
                Err(error) => self.take_error(&device, &error),
            }
        }
        account
    }

    fn take_whole(&mut self, whole: Whole, account: &mut Account) {
        self.whole = Some(LastPoll::Read);
        for event in &whole.events {
            if let RasEvent::Memory(event) = event
                && self.details.len() < DETAILS_LIMIT
            {
                self.details.insert(event.label.clone(), format!("{} at {:#x}", event.what, event.address));
            }
        }
        account.whole = Some(whole);
    }

    /// Returns the name of a module that lost data.
    fn take_controller(&mut self, name: &str, controller: Controller) -> Option<String> {
        let before = self.controllers.get(name).and_then(|known| known.counting_secs);
        let restarted = before.zip(controller.counting_secs).map(|(before, now)| now < before);
        let counting = Counting { capacity: self.capacity, secs: controller.counting_secs, restarted };
        let slots: Vec<_> = controller.modules.iter().map(|module| format!("{name}/{}", module.slot)).collect();
        let unplaced = (name.to_owned(), name.to_owned(), controller.unplaced);
        let labels = controller.modules.into_iter().zip(&slots).map(|(module, slot)| {
            let label = if module.label.is_empty() { slot.clone() } else { module.label };
            (slot.clone(), label, module.errors)
        });
        let mut loss = None;
        for (slot, label, errors) in labels.chain([unplaced]) {
            loss = self.take_module(slot, label, errors, counting).or(loss);
        }
        let state = ControllerState { last_poll: LastPoll::Read, counting_secs: counting.secs, slots };
        self.controllers.insert(name.to_owned(), state);
        loss
    }

    fn take_module(&mut self, slot: String, label: String, errors: Errors, counting: Counting) -> Option<String> {
        let module = self.history.modules.entry(slot).or_default();
        // Labels name slots, not modules, and are often given after the boot: another one is the same module.
        module.label = label;
        (module.count(errors, counting) > 0).then(|| module.label.clone())
    }

    fn take_error(&mut self, device: &str, error: &PollError) {
        let last_poll = match error {
            PollError::Read(ReadError::Gone { .. }) => {
                self.controllers.remove(device);
                return;
            }
            error => LastPoll::Unknown(unknown(error)),
        };
        match (device, self.controllers.get_mut(device)) {
            (WHOLE, _) => self.whole = Some(last_poll),
            (_, Some(known)) => known.last_poll = last_poll,
            (_, None) => {
                let state = ControllerState { last_poll, counting_secs: None, slots: self.remembered_slots(device) };
                self.controllers.insert(device.to_owned(), state);
            }
        }
    }

    fn remembered_slots(&self, controller: &str) -> Vec<String> {
        let slots = self.history.modules.keys();
        slots.filter(|slot| slot.split_once('/').is_some_and(|(name, _)| name == controller)).cloned().collect()
    }

    fn has_modules(&self) -> bool {
        self.controllers.values().any(|controller| !controller.slots.is_empty())
    }
}

impl Judge for MemoryJudge {
    fn judge(&mut self, round: Round) -> Findings {
        self.go_on(&round.now);
        match &round.listed {
            Ok(listed) => self.list(listed),
            Err(PollError::Read(ReadError::Gone { .. })) => return Findings::default(),
            Err(error) => {
                let known: Vec<_> = self.controllers.keys().cloned().chain([WHOLE.to_owned()]).collect();
                known.iter().for_each(|device| self.take_error(device, error));
            }
        }
        let account = self.answers(round.answers);
        let trace_events = account.whole.as_ref().map(|whole| whole.events.as_slice()).unwrap_or_default();
        let cxl = self.history.cxl.take(trace_events, self.capacity, round.now.wall);
        let loss = account.loss.or(cxl.loss);
        let (loss, has_modules) = (loss.as_deref(), self.has_modules());
        let context = RoundContext { now: &round.now, loss, has_modules, capacity: self.capacity };
        let mut device_events = self.history.whole.take(account.whole.as_ref(), context);
        device_events.extend(cxl.events);
        self.findings(&round.now, device_events)
    }

    fn save(&mut self) -> Option<Value> {
        let moment = self.moment.clone()?;
        let MemoryHistory { modules, cxl, whole } = &self.history;
        let history = MemoryHistory { modules: modules.clone(), cxl: cxl.clone(), whole: whole.saved() };
        if self.last_saved.as_ref() == Some(&history) {
            return None;
        }
        self.last_saved = Some(history.clone());
        serde_json::to_value(SavedMemory { moment, history }).ok()
    }

    fn load(&mut self, saved: Value) {
        if let Ok(SavedMemory { moment, history }) = serde_json::from_value(saved) {
            self.last_saved = Some(history.clone());
            (self.moment, self.history) = (Some(moment), history);
        }
    }
}
