//! Judges all ports round by round, and remembers what a verdict needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use glob::Pattern;
use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_model::{Hardware, HwCountersView, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{port::Port, reading::PortReading, recovery::STAYS_SECS, shown_counters::ShownCounters};
use crate::{
    fabric::FabricSettings,
    probe::{
        Answer, DeviceEvent, Findings, Judge, Now, PollError, ReadError, RecoveryEvidence, Round, State, Verdict,
        last_saved::LastSaved, unknown,
    },
};

/// Judges in the check process.
#[derive(Debug)]
pub struct FabricJudge {
    expected: BTreeSet<String>,
    ignored: Vec<Pattern>,
    history: FabricHistory,
    /// As it was last saved.
    last_saved: LastSaved,
    listing: Option<PollError>,
    poll_errors: BTreeMap<String, PollError>,
    shown_counters: ShownCounters,
}

/// What outlives a restart.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FabricHistory {
    boot_id: String,
    ports: BTreeMap<String, Port>,
}

impl FabricJudge {
    #[must_use]
    pub fn new(settings: FabricSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|glob| Pattern::new(glob).ok()).collect();
        let shown_counters = ShownCounters::read_every(settings.interval);
        let expected = settings.expected.into_iter().collect();
        let (history, last_saved) = (FabricHistory::default(), LastSaved::default());
        let (listing, poll_errors) = (None, BTreeMap::new());
        Self { expected, ignored, history, last_saved, listing, poll_errors, shown_counters }
    }

    fn is_ignored(&self, port: &str) -> bool {
        self.ignored.iter().any(|glob| glob.matches(port))
    }

    /// What happened, and what is over.
    fn take(&mut self, round: Round) -> Findings {
        self.history.enter_boot(&round.now.boot_id);
        self.shown_counters.begin_round(round.now.boottime);
        match round.listed {
            Ok(listed) => self.take_list(listed, round.now.boottime),
            Err(error) => {
                self.shown_counters.retain(|_| false);
                self.listing = Some(error);
            }
        }
        let mut findings = Findings::default();
        for (port, answer) in round.answers {
            if !self.is_ignored(&port) {
                self.answer(&port, answer, &round.now, &mut findings);
            }
        }
        findings
    }

    fn take_list(&mut self, listed: Vec<String>, now: Duration) {
        self.listing = None;
        let listed: BTreeSet<String> = listed.into_iter().filter(|port| !self.is_ignored(port)).collect();
        self.shown_counters.retain(|port| listed.contains(port));
        for port in listed.union(&self.expected) {
            self.history.ports.entry(port.clone()).or_default();
        }
        for (name, port) in &mut self.history.ports {
            port.list(listed.contains(name), self.expected.contains(name), now);
        }
        self.history.forget_renamed(&self.expected);
    }

    fn answer(&mut self, name: &str, answer: Answer, now: &Now, findings: &mut Findings) {
        self.poll_errors.remove(name);
        self.shown_counters.retain(|port| port != name);
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => self.read(name, reading, now, findings),
            // It went between the list and the question: the next list shows it.
            Err(PollError::Read(ReadError::Gone { .. })) => {}
            Err(error) => {
                self.poll_errors.insert(name.to_owned(), error);
            }
        }
    }

    fn read(&mut self, name: &str, mut reading: PortReading, now: &Now, findings: &mut Findings) {
        let is_expected = self.expected.contains(name);
        let Some(port) = self.history.ports.get_mut(name) else { return };
        self.shown_counters.take(name, &mut reading);
        let changes = port.take(reading, is_expected, now);
        let full = |counter| DeviceEvent::of("FabricCounterFull", name, &[("counter", &counter)], now.wall);
        findings.events.extend(changes.full.into_iter().map(full));
        let card = port.address().zip(changes.back);
        findings.recoveries.extend(card.map(|(address, since)| recovered(name, address, since)));
    }

    fn account(&self) -> Findings {
        let verdicts = self.history.ports.iter().filter_map(|(name, port)| self.verdict(name, port)).collect();
        Findings { verdicts, hardware: self.hardware(), ..Findings::default() }
    }

    fn verdict(&self, name: &str, port: &Port) -> Option<Verdict> {
        let state = self.state(name, port);
        let is_reported = self.is_reported(port);
        is_reported.then(|| Verdict { condition: Name::fixed("NetworkUnhealthy"), subject: name.to_owned(), state })
    }

    /// Ports that are there, and those that are missed.
    fn is_reported(&self, port: &Port) -> bool {
        port.is_listed() || port.is_missing() || (self.listing.is_some() && port.was_seen())
    }

    fn state(&self, name: &str, port: &Port) -> State {
        let own = self.poll_errors.get(name).filter(|_| port.is_listed());
        let error = self.listing.as_ref().or(own);
        if let Some(error) = error {
            return unknown(error);
        }
        let faults = port.faults();
        if faults.is_empty() { port.healthy() } else { State::Faulty(faults) }
    }

    /// The ports that are used; none: no line.
    fn hardware(&self) -> Vec<Hardware> {
        let counts =
            |name: &String, port: &Port| self.is_reported(port) && (port.is_used() || self.expected.contains(name));
        let used: Vec<_> = self.history.ports.iter().filter(|(name, port)| counts(name, port)).collect();
        let mut states = BTreeMap::new();
        for state_name in used.iter().filter_map(|(name, port)| state_name(&self.state(name, port), port)) {
            *states.entry(state_name.to_owned()).or_default() += 1;
        }
        let total = u32::try_from(used.len()).unwrap_or(u32::MAX);
        if total == 0 {
            Vec::new()
        } else {
            vec![Hardware { class: "fabric ports".to_owned(), total, states, ..Hardware::default() }]
        }
    }

    fn is_absent(&self) -> bool {
        self.expected.is_empty() && matches!(&self.listing, Some(PollError::Read(ReadError::Gone { .. })))
    }
}

impl Judge for FabricJudge {
    fn judge(&mut self, mut round: Round) -> Findings {
        if matches!(&round.listed, Err(PollError::Read(ReadError::Gone { .. }))) && !self.expected.is_empty() {
            // The driver shows nothing at all, and the operator expects ports.
            round.listed = Ok(Vec::new());
        }
        let Findings { events, recoveries, .. } = self.take(round);
        if self.is_absent() {
            return Findings::default();
        }
        Findings { events, recoveries, ..self.account() }
    }

    fn hw_counters(&self) -> Option<HwCountersView> {
        Some(self.shown_counters.view())
    }

    fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&self.history)
    }

    fn load(&mut self, saved: Value) {
        let Ok(mut history) = serde_json::from_value::<FabricHistory>(saved.clone()) else { return };
        history.ports.retain(|port, _| !self.is_ignored(port));
        (self.history, self.last_saved) = (history, LastSaved::of(saved));
    }
}

impl FabricHistory {
    fn enter_boot(&mut self, boot_id: &str) {
        if self.boot_id == boot_id {
            return;
        }
        boot_id.clone_into(&mut self.boot_id);
        self.ports.retain(|_, port| port.was_seen());
        for port in self.ports.values_mut() {
            *port = port.of_new_boot();
        }
    }

    /// Ports that are there under another name are not missing.
    fn forget_renamed(&mut self, expected: &BTreeSet<String>) {
        let ports = || self.ports.iter().map(|(name, port)| NamedPort { name, port });
        let listed: Vec<_> = ports().filter(|named| named.port.is_listed()).collect();
        let is_renamed =
            |named: &NamedPort<'_>| !named.port.is_listed() && listed.iter().any(|there| is_same(named, there));
        let renamed: Vec<String> = ports().filter(is_renamed).map(|named| named.name.to_owned()).collect();
        self.ports.retain(|name, _| expected.contains(name) || !renamed.contains(name));
    }
}

struct NamedPort<'a> {
    name: &'a str,
    port: &'a Port,
}

/// udev gives cards their names while they are already there. And the driver shows the ports of one card that are bonded
/// (RoCE LAG) as one, `mlx5_bond_0`, and as their own again when the bond is dissolved.
fn is_same(missing: &NamedPort<'_>, there: &NamedPort<'_>) -> bool {
    let is_bond = |name: &str| name.contains("_bond_");
    let is_renamed =
        !missing.port.guid().is_empty() && identity(missing.name, missing.port) == identity(there.name, there.port);
    let is_merged = is_bond(missing.name) != is_bond(there.name);
    is_renamed || (is_merged && card(missing.port).is_some() && card(missing.port) == card(there.port))
}

/// Domain, bus and slot: the ports of a card are its functions.
fn card(port: &Port) -> Option<&str> {
    Some(port.address()?.rsplit_once('.')?.0)
}

/// A port that is up again proves its card: what the kernel log reported of the card before is over.
fn recovered(name: &str, address: &str, since: Timestamp) -> RecoveryEvidence {
    RecoveryEvidence {
        condition: Name::fixed("NetworkUnhealthy"),
        reason: None,
        subject: address.to_owned(),
        seen_before: since,
        evidence: message("NetworkUnhealthy/ended-port", &[("port", &name), ("seconds", &STAYS_SECS)]),
    }
}

/// The card's number and that of its port.
fn identity(name: &str, port: &Port) -> (String, String) {
    let number = name.rsplit_once('/').map_or("", |(_, number)| number);
    (port.guid().to_owned(), number.to_owned())
}

/// For the count.
fn state_name(state: &State, port: &Port) -> Option<&'static str> {
    match state {
        State::Healthy { .. } => None,
        State::Unknown { .. } => Some("not answering"),
        State::Faulty(_) if port.is_missing() => Some("missing"),
        State::Faulty(_) if port.is_down() => Some("down"),
        State::Faulty(_) => Some("failing"),
    }
}

#[cfg(test)]
mod tests;
