//! Judges the way out: receives rounds, and saves of this boot what a verdict needs later.

mod bond;
mod dns;
mod errors;
mod link;
mod route;
mod tunnel;

use std::collections::BTreeMap;

use crate::probe::{
    Answer, DeviceEvent, Fault, Findings, Judge, Now, PollError, ReadError, Round, State, Verdict, unknown,
};
use glob::Pattern;
use nodewell_message::MessageArgs;
use nodewell_model::{Hardware, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{bond::Bond, dns::Dns, link::Link, route::DefaultRoutes, tunnel::Tunnel};
use super::{DNS, LINKS, reading::LinksReading};
use crate::{duration_text::duration, network::NetworkSettings};

/// The subject of the routes.
const DEFAULT_ROUTE: &str = "default-route";

/// Judges in the check process.
#[derive(Debug)]
pub struct NetworkJudge {
    settings: NetworkSettings,
    ignored: Vec<Pattern>,
    history: NetworkHistory,
    /// As it was last saved.
    last_saved: Value,
    /// Why there is no reading of the links.
    poll_error: Option<PollError>,
}

/// What outlives a restart, of this boot alone.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct NetworkHistory {
    boot_id: String,
    routes: DefaultRoutes,
    links: BTreeMap<String, Link>,
    bonds: BTreeMap<String, Bond>,
    tunnels: BTreeMap<String, Tunnel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<Dns>,
}

impl NetworkJudge {
    #[must_use]
    pub fn new(settings: NetworkSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|glob| Pattern::new(glob).ok()).collect();
        Self { settings, ignored, history: NetworkHistory::default(), last_saved: Value::Null, poll_error: None }
    }

    fn take(&mut self, round: Round) -> Vec<DeviceEvent> {
        self.history.enter_boot(&round.now.boot_id);
        match round.listed {
            Ok(listed) => {
                self.history.dns = self.history.dns.take().filter(|_| listed.iter().any(|device| device == DNS))
            }
            // It has nothing to do with names, nor with the servers that answer them.
            Err(error) => {
                self.poll_error = Some(error);
                return Vec::new();
            }
        }
        let mut events = Vec::new();
        for (device, answer) in round.answers {
            match device.as_str() {
                LINKS => events.extend(self.take_links(answer, &round.now)),
                DNS => self.take_names(answer),
                _ => {}
            }
        }
        events
    }

    fn take_links(&mut self, answer: Answer, now: &Now) -> Vec<DeviceEvent> {
        match answer.and_then(|reading| reading.parse::<LinksReading>()) {
            Ok(reading) => {
                self.poll_error = None;
                self.read(reading, now)
            }
            Err(error) => {
                self.poll_error = Some(error);
                Vec::new()
            }
        }
    }

    fn read(&mut self, mut reading: LinksReading, now: &Now) -> Vec<DeviceEvent> {
        let (history, settings, ignored) = (&mut self.history, &self.settings, &self.ignored);
        let (time, for_duration) = (now.boottime, settings.for_duration);
        let is_judged = |name: &String| !ignored.iter().any(|glob| glob.matches(name));
        if settings.default_route {
            history.routes.take(std::mem::take(&mut reading.routes), time, for_duration);
        }
        stay(&mut history.bonds, &reading.bonds, is_judged);
        for (name, bond) in &mut history.bonds {
            let Some(is) = reading.bonds.get(name) else { continue };
            bond.take(is, &reading.interfaces, time, for_duration);
        }
        stay(&mut history.tunnels, &reading.tunnels, is_judged);
        for (name, tunnel) in &mut history.tunnels {
            let Some(is) = reading.tunnels.remove(name) else { continue };
            tunnel.take(is, time, for_duration);
        }
        stay(&mut history.links, &reading.interfaces, is_judged);
        let mut events = Vec::new();
        for (name, link) in &mut history.links {
            let Some(is) = reading.interfaces.remove(name) else { continue };
            events.extend(link.take(is, time, settings).map(|missed| overrun(name, missed, now)));
        }
        events
    }

    fn take_names(&mut self, answer: Answer) {
        let failures = self.settings.dns_failures;
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => self.history.dns.get_or_insert_default().take(reading, failures),
            Err(PollError::NoAnswer(_)) => self.history.dns.get_or_insert_default().take_no_answer(failures),
            // Nothing to ask, or no permission to ask: nothing is known of it.
            Err(PollError::Read(_)) => self.history.dns = None,
        }
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let history = &self.history;
        let settings = &self.settings;
        let route = history
            .routes
            .is_known()
            .then(|| self.of_links(DEFAULT_ROUTE, self.route_faults(), || history.routes.healthy()));
        let failures = settings.dns_failures;
        let dns = history
            .dns
            .as_ref()
            .map(|dns| verdict(DNS, state(dns.fault(failures).into_iter().collect(), || dns.healthy(failures))));
        let bonds = history
            .bonds
            .iter()
            .map(|(name, bond)| self.of_links(name, self.bond_faults(name, bond), || bond.healthy()));
        let tunnels = history.tunnels.iter();
        let tunnels = tunnels
            .map(|(name, tunnel)| self.of_links(name, tunnel.fault().into_iter().collect(), || tunnel.healthy()));
        let links = history.links.iter().filter(|(name, link)| link.matters() && !history.bonds.contains_key(*name));
        let links = links.map(|(name, link)| self.of_links(name, link.faults(settings), || link.healthy()));
        route.into_iter().chain(dns).chain(bonds).chain(tunnels).chain(links).collect()
    }

    fn route_faults(&self) -> Vec<Fault> {
        self.history.routes.lost().into_iter().collect()
    }

    /// A bond without carrier is down, not degraded.
    fn bond_faults(&self, name: &str, bond: &Bond) -> Vec<Fault> {
        let link = self.history.links.get(name);
        let degraded = bond.fault().filter(|_| !link.is_some_and(Link::is_down));
        degraded.into_iter().chain(link.map(|link| link.faults(&self.settings)).unwrap_or_default()).collect()
    }

    fn of_links(&self, subject: &str, faults: Vec<Fault>, healthy: impl Fn() -> State) -> Verdict {
        let state = self.poll_error.as_ref().map_or_else(|| state(faults, healthy), unknown);
        verdict(subject, state)
    }

    /// The interfaces that are in use; none: no line.
    fn hardware(&self) -> Vec<Hardware> {
        let used: Vec<_> = self.history.links.values().filter(|link| link.matters()).collect();
        let total = count(used.len());
        if total == 0 {
            return Vec::new();
        }
        let state_name = |link: &&&Link| match &self.poll_error {
            Some(_) => "not answering",
            None if link.is_down() => "down",
            None => "failing",
        };
        let is_unhealthy = |link: &&&Link| self.poll_error.is_some() || !link.faults(&self.settings).is_empty();
        let mut states = BTreeMap::new();
        used.iter().filter(is_unhealthy).for_each(|link| *states.entry(state_name(&link).to_owned()).or_default() += 1);
        vec![Hardware { class: "network interfaces".to_owned(), total, states, ..Hardware::default() }]
    }

    fn is_absent(&self) -> bool {
        matches!(&self.poll_error, Some(PollError::Read(ReadError::Gone { .. })))
    }
}

impl Judge for NetworkJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let events = self.take(round);
        if self.is_absent() {
            return Findings { events, ..Findings::default() };
        }
        Findings { verdicts: self.verdicts(), events, hardware: self.hardware(), ..Findings::default() }
    }

    fn save(&mut self) -> Option<Value> {
        let history = serde_json::to_value(&self.history).ok()?;
        (history != self.last_saved).then(|| self.last_saved.clone_from(&history)).map(|()| history)
    }

    fn load(&mut self, saved: Value) {
        let Ok(history) = serde_json::from_value::<NetworkHistory>(saved.clone()) else { return };
        (self.history, self.last_saved) = (history, saved);
    }
}

impl NetworkHistory {
    fn enter_boot(&mut self, boot_id: &str) {
        if self.boot_id != boot_id {
            *self = Self { boot_id: boot_id.to_owned(), ..Self::default() };
        }
    }
}

/// Those that are there, and no others, are known: a pod may have taken an interface away.
fn stay<T: Default, R>(
    known: &mut BTreeMap<String, T>,
    read: &BTreeMap<String, R>,
    is_judged: impl Fn(&String) -> bool,
) {
    known.retain(|name, _| read.contains_key(name) && is_judged(name));
    for name in read.keys().filter(|name| is_judged(name)) {
        known.entry(name.clone()).or_default();
    }
}

fn overrun(name: &str, missed: u64, now: &Now) -> DeviceEvent {
    let args: MessageArgs<'_> =
        &[("count", &missed), ("window", &duration(errors::WINDOW.length)), ("limit", &errors::MISSED_LEAST)];
    DeviceEvent::of("InterfaceOverruns", name, args, now.wall)
}

fn state(faults: Vec<Fault>, healthy: impl Fn() -> State) -> State {
    if faults.is_empty() { healthy() } else { State::Faulty(faults) }
}

fn verdict(subject: &str, state: State) -> Verdict {
    Verdict { condition: Name::fixed("NetworkUnhealthy"), subject: subject.to_owned(), state }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
