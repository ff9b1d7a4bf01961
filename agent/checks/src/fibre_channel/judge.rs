//! Judges ports: one that was online in this boot, and is not.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reader::{ALL, FibreChannelReading, Port};
use crate::probe::{
    Answer, Fault, Findings, Judge, Now, PollError, ReadError, Round, State,
    boot_history::BootHistory,
    debounce::DebounceTimes,
    flapping::{self, FlappingSign},
    unknown,
};

const CONDITION: &str = "DiskUnhealthy";
/// By then the kernel has taken the paths away (`dev_loss_tmo` is 30 or 60 s, by driver).
const TIMES: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(60), keep_firing_for: Duration::from_secs(300) };
const ONLINE: &str = "Online";
/// A person tests the adapter.
const TESTS: [&str; 2] = ["Diagnostics", "Loopback"];

/// Judges in the check process.
#[derive(Debug, Default)]
pub struct FibreChannelJudge {
    history: BootHistory<Ports>,
    /// How each was at the last look; nothing before the first.
    last: BTreeMap<String, State>,
}

/// The saved state, of this boot alone: a cable may have been taken out while the machine was off.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Ports {
    ports: BTreeMap<String, Seen>,
}

/// What was seen of one port. A port without a cable is never online.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Seen {
    was_online: bool,
    down: FlappingSign,
}

impl Seen {
    /// Nothing of a port that was never online.
    fn judge(&mut self, port: &Port, now: Duration) -> Option<State> {
        let Some(state) = port.state.as_deref() else { return self.unreadable() };
        self.was_online |= state == ONLINE;
        if !self.was_online {
            return None;
        }
        let is_down = state != ONLINE && !TESTS.contains(&state);
        let name = &port.worldwide_name;
        if !self.down.observe(is_down, now, TIMES) {
            let speed = port.speed.as_deref().unwrap_or("a speed that is not known");
            return Some(State::healthy("DiskUnhealthy/healthy-fc-port", &[("state", &state), ("speed", &speed)]));
        }
        let fault = if !is_down && self.down.is_flapping(now) {
            Fault::of("FcPortDown/flapping", &[("times", &flapping::OFTEN), ("name", name)])
        } else {
            Fault::of("FcPortDown", &[("state", &state), ("name", name)])
        };
        Some(State::Faulty(vec![fault]))
    }

    fn unreadable(&self) -> Option<State> {
        let message = "its driver does not know its state".to_owned();
        self.was_online.then(|| unknown(&PollError::Read(ReadError::Failed { message })))
    }
}

impl FibreChannelJudge {
    fn take(&mut self, answer: Answer, now: &Now) {
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => self.read(&reading, now.boottime),
            Err(error) => self.take_error(&error),
        }
    }

    /// Without a port the driver was unloaded, or the adapter has left the bus: what notices that is the PCI Express check.
    fn take_error(&mut self, error: &PollError) {
        if matches!(error, PollError::Read(ReadError::Gone { .. })) {
            self.last.clear();
        }
        self.last.values_mut().for_each(|state| *state = unknown(error));
    }

    fn read(&mut self, reading: &FibreChannelReading, now: Duration) {
        self.last.clear();
        for port in &reading.ports {
            let seen = self.history.state.ports.entry(port.subject.clone()).or_default();
            self.last.extend(seen.judge(port, now).map(|state| (port.subject.clone(), state)));
        }
        // What was never online has nothing to be remembered.
        self.history.state.ports.retain(|_, seen| seen.was_online);
    }
}

impl Judge for FibreChannelJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = round.now.clone();
        if self.history.begin_round(&now) {
            self.last.clear();
        }
        if let Some(answer) = round.answer_of(ALL) {
            self.take(answer, &now);
        }
        Findings::of_class(CONDITION, "Fibre Channel ports", "down", &self.last)
    }

    fn save(&mut self) -> Option<Value> {
        self.history.save()
    }

    fn load(&mut self, saved: Value) {
        self.history.load(saved);
    }
}
