//! From what is remembered of memory to verdicts, a count of modules, and evidence.

use std::collections::BTreeMap;

use nodewell_model::{Hardware, Name};

use super::{LastPoll, MemoryJudge};
use crate::{
    memory::{cxl_state::CLASS as CXL, reading::WHOLE, state::ModuleState},
    probe::{DeviceEvent, Fault, Findings, Now, State, Verdict},
};

const CONDITION: &str = "MemoryUnhealthy";
/// The reason of a module that lost data.
const UNCORRECTED: &str = "MemoryUncorrectedError";

impl MemoryJudge {
    pub(super) fn findings(&self, now: &Now, device_events: Vec<DeviceEvent>) -> Findings {
        let mut verdicts: Vec<_> =
            self.module_states().into_iter().map(|(label, state)| verdict(label, state)).collect();
        verdicts.extend(self.cxl_states().map(|(subject, state)| verdict(subject, state)));
        verdicts.extend(self.whole.as_ref().map(|last_poll| verdict(WHOLE.to_owned(), self.whole_state(last_poll))));
        let recoveries = self.history.whole.recoveries(now);
        Findings { hardware: hardware(&verdicts), verdicts, events: device_events, recoveries }
    }

    fn whole_state(&self, last_poll: &LastPoll) -> State {
        match last_poll {
            LastPoll::Read => self.history.whole.state(self.capacity),
            LastPoll::Unknown(state) => state.clone(),
        }
    }

    /// Of the devices that reported; what they report comes with the reading of the whole.
    fn cxl_states(&self) -> impl Iterator<Item = (String, State)> {
        let states = self.history.cxl.states(self.capacity);
        states.map(move |(subject, state)| match &self.whole {
            Some(LastPoll::Unknown(unknown)) => (subject, unknown.clone()),
            Some(LastPoll::Read) | None => (subject, state),
        })
    }

    /// The state of each module, by label: the kernel's log does not distinguish modules of the same name either.
    fn module_states(&self) -> BTreeMap<String, State> {
        let mut states = BTreeMap::new();
        for (name, controller) in &self.controllers {
            let modules = controller.slots.iter().filter_map(|slot| self.history.modules.get(slot));
            let unplaced = self.history.modules.get(name);
            let unplaced = unplaced.filter(|module| controller.slots.is_empty() || !module.is_blank());
            for module in modules.chain(unplaced) {
                let state = self.module_state(module, &controller.last_poll);
                states.entry(module.label.clone()).and_modify(|known| merge(known, &state)).or_insert(state);
            }
            if let (LastPoll::Unknown(state), true) = (&controller.last_poll, controller.slots.is_empty()) {
                states.entry(name.clone()).or_insert_with(|| state.clone());
            }
        }
        states.extend(self.remembered_faults(&states));
        states
    }

    /// A driver that was unloaded takes its modules with it, but not what they lost.
    fn remembered_faults(&self, known: &BTreeMap<String, State>) -> Vec<(String, State)> {
        let lossy =
            self.history.modules.values().filter(|module| module.lost > 0 && !known.contains_key(&module.label));
        lossy.map(|module| (module.label.clone(), self.module_state(module, &LastPoll::Read))).collect()
    }

    fn module_state(&self, module: &ModuleState, last_poll: &LastPoll) -> State {
        if let LastPoll::Unknown(state) = last_poll {
            return state.clone();
        }
        let mut faults = Vec::new();
        if module.lost > 0 {
            faults.push(self.loss(module));
        }
        if module.bucket.is_full() {
            faults.push(self.wear(module));
        }
        match faults.is_empty() {
            true => self.healthy(module),
            false => State::Faulty(faults),
        }
    }

    fn loss(&self, module: &ModuleState) -> Fault {
        let errors = &module.lost;
        match self.details.get(&module.label) {
            Some(last) => Fault::of("MemoryUncorrectedError/last", &[("errors", errors), ("last", last)]),
            None => Fault::of(UNCORRECTED, &[("errors", errors)]),
        }
    }

    /// What changes with time alone is not in its message: it would be reported again and again.
    fn wear(&self, module: &ModuleState) -> Fault {
        let (limit, count) = (self.capacity.max(1), module.corrected.unwrap_or(0));
        Fault::of("MemoryCorrectedError", &[("limit", &limit), ("count", &count)])
    }

    fn healthy(&self, module: &ModuleState) -> State {
        let limit = self.capacity.max(1);
        match module.corrected.unwrap_or(0) {
            0 => State::healthy("MemoryUnhealthy/healthy", &[]),
            count => State::healthy("MemoryUnhealthy/healthy-corrected", &[("count", &count), ("limit", &limit)]),
        }
    }
}

fn verdict(subject: String, state: State) -> Verdict {
    Verdict { condition: Name::fixed(CONDITION), subject, state }
}

/// The worse of two: a fault is reported as one, and nothing is healthy beside what is unknown.
fn merge(known: &mut State, other: &State) {
    match (&mut *known, other) {
        (State::Faulty(faults), State::Faulty(others)) => {
            let is_new = |fault: &&Fault| !faults.iter().any(|known| known.reason == fault.reason);
            let new: Vec<_> = others.iter().filter(is_new).cloned().collect();
            faults.extend(new);
        }
        (State::Faulty(_), _) | (_, State::Healthy { .. }) => {}
        _ => *known = other.clone(),
    }
}

/// Of what has a name of its own: neither the whole nor a controller is a module, nor what is known only once it reports.
fn hardware(verdicts: &[Verdict]) -> Vec<Hardware> {
    let is_module = |verdict: &&Verdict| {
        let subject = &verdict.subject;
        subject != WHOLE && !is_controller(subject) && !subject.starts_with(CXL)
    };
    let modules: Vec<_> = verdicts.iter().filter(is_module).collect();
    let mut states = BTreeMap::new();
    for state_name in modules.iter().filter_map(|verdict| state_name(&verdict.state)) {
        *states.entry(state_name.to_owned()).or_insert(0) += 1;
    }
    let total = u32::try_from(modules.len()).unwrap_or(u32::MAX);
    let hardware = Hardware { class: "memory modules".to_owned(), total, states, ..Hardware::default() };
    (total > 0).then_some(hardware).into_iter().collect()
}

/// `MC0`
fn is_controller(subject: &str) -> bool {
    subject
        .strip_prefix("MC")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn state_name(state: &State) -> Option<&'static str> {
    match state {
        State::Healthy { .. } => None,
        State::Faulty(faults) if faults.iter().any(|fault| fault.reason == Name::fixed(UNCORRECTED)) => Some("failing"),
        State::Faulty(_) => Some("degrading"),
        State::Unknown { .. } => Some("not answering"),
    }
}
