//! One service from poll to poll: whether it is on this node, its state, its history. Pure.

use std::{collections::BTreeMap, time::Duration};

use crate::probe::{DeviceEvent, Fault, State, UnknownReason, Verdict};
use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::{Action, Name, Severity, SubjectKey};
use serde::{Deserialize, Serialize};

use super::{Moment, streak::Streak};
use crate::{
    duration_text::duration,
    service::{
        assessment::{Assessment, Context, ServiceState},
        observation::{Observation, UnitStatus},
        restarts::{FREQUENT, Restarts},
        service_probe::{ProbeTiming, ServiceKind, ServiceProbe},
        target::Target,
    },
    systemd::Unit,
};

/// A health endpoint answers within milliseconds: one that takes so long will be late for others soon.
const SLOW: Duration = Duration::from_secs(1);
/// Interfaces and routes of pods, as one subject beside the node's interfaces.
const NETWORK: &str = "container-network";
/// The reason of a service that systemd stopped.
const STOPPED: &str = "ServiceStopped";

pub(super) struct WatchedService {
    pub(super) check: ServiceProbe,
    streak: Streak,
    /// The network that a container runtime reports on.
    network: Streak,
    history: ServiceHistory,
    slow: u32,
    was_looked_at: bool,
    events: Vec<DeviceEvent>,
    latency: Option<Duration>,
}

/// What outlives a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ServiceHistory {
    /// It is on this node, and missed if it goes.
    seen: bool,
    was_down: bool,
    /// Where a runtime was found.
    target: Option<Target>,
    /// The boot that what follows is of.
    boot_id: String,
    network_was_ready: bool,
    network_was_down: bool,
    restarts: BTreeMap<String, Restarts>,
}

impl WatchedService {
    pub(super) fn new(check: ServiceProbe) -> Self {
        let seen = matches!(&check.kind, ServiceKind::Own { is_required: true, .. } | ServiceKind::Configured { .. });
        Self {
            check,
            streak: Streak::default(),
            network: Streak::default(),
            history: ServiceHistory { seen, ..ServiceHistory::default() },
            slow: 0,
            was_looked_at: false,
            events: Vec::new(),
            latency: None,
        }
    }

    pub(super) fn load(&mut self, saved: ServiceHistory) {
        self.streak = Streak::load(saved.was_down);
        self.network = Streak::load(saved.network_was_down);
        self.history = ServiceHistory { seen: self.history.seen || saved.seen, ..saved };
    }

    pub(super) fn history(&self) -> ServiceHistory {
        let (was_down, network_was_down) = (self.streak.owes(), self.network.owes());
        ServiceHistory { was_down, network_was_down, ..self.history.clone() }
    }

    /// Of what was never seen there is nothing to remember.
    pub(super) fn is_worth_saving(&self) -> bool {
        self.history.seen
    }

    /// Where a runtime was found last.
    pub(super) fn last_target(&self) -> Option<Target> {
        self.history.target.clone()
    }

    pub(super) fn latency(&self) -> Option<Duration> {
        self.latency
    }

    /// Whether the next poll should come soon.
    pub(super) fn is_open(&self) -> bool {
        self.streak.is_open() || self.network.is_open()
    }

    pub(super) fn is_seen(&self) -> bool {
        self.history.seen
    }

    /// Whether everything that it has to report is reported.
    pub(super) fn is_decided(&self) -> bool {
        let stands = self.streak.state().is_some() || matches!(self.check.kind, ServiceKind::Restarts(..));
        self.was_looked_at && (!self.history.seen || stands)
    }

    pub(super) fn events(&mut self) -> Vec<DeviceEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn observe(&mut self, observation: &Observation, now: &Moment) {
        self.was_looked_at = true;
        if self.history.boot_id != now.boot_id {
            let (network_was_ready, restarts) = (false, BTreeMap::new());
            self.history =
                ServiceHistory { boot_id: now.boot_id.clone(), network_was_ready, restarts, ..self.history.clone() };
        }
        self.count_restarts(observation, now);
        self.note_endpoint(observation);
        let name = &self.check.name;
        let is_looping = self.history.restarts.get(name).is_some_and(Restarts::is_frequent);
        let (kind, failures) = (&self.check.kind, self.check.timing.failures);
        let context = Context { kind, monotonic: now.monotonic, failures, is_looping };
        let assessment = context.assessment(observation);
        self.take(assessment, now);
    }

    /// A kubelet that never came up is on this node all the same if systemd is to run it.
    fn note_endpoint(&mut self, observation: &Observation) {
        let Observation::Endpoint { target, answer, unit } = observation else { return };
        self.latency = answer.result.is_ok().then_some(answer.latency);
        let is_wanted = self.check.kind == ServiceKind::Kubelet && matches!(unit, UnitStatus::Wanted(_));
        self.history.seen |= answer.result.is_ok() || is_wanted;
        let Ok(up) = &answer.result else { return };
        if self.check.target.is_none() {
            self.history.target = Some(target.clone());
        }
        if let (ServiceKind::Runtime, Some(runtime)) = (&self.check.kind, &up.runtime) {
            self.history.network_was_ready |= runtime.network_not_ready.is_none();
            let state = match &runtime.network_not_ready {
                None => ServiceState::Up { message: message("NetworkUnhealthy/healthy-pods", &[]) },
                Some(error) => {
                    let args: MessageArgs<'_> = &[("name", &runtime.name), ("error", error)];
                    ServiceState::Down(Fault::of("ContainerNetworkNotReady", args))
                }
            };
            self.network.take(state, &self.check.timing);
        }
    }

    fn count_restarts(&mut self, observation: &Observation, now: &Moment) {
        let units: &[Unit] = match observation {
            Observation::Units(Ok(units)) => units,
            Observation::Unit(Ok(Some(unit))) => std::slice::from_ref(unit),
            _ => return,
        };
        self.history.seen |= !units.is_empty();
        for unit in units {
            let Some(count) = unit.restarts else { continue };
            let name = if matches!(observation, Observation::Unit(_)) { &self.check.name } else { &unit.name };
            self.history.restarts.entry(name.clone()).or_default().observe(count, now.monotonic);
        }
        if let Observation::Units(Ok(units)) = observation {
            // One that is gone restarts no more.
            self.history.restarts.retain(|name, _| units.iter().any(|unit| unit.name == *name));
        }
    }

    fn take(&mut self, assessment: Assessment, now: &Moment) {
        let timing = self.check.timing;
        let state = match assessment {
            Assessment::Pending => return,
            Assessment::Absent => return self.forget(),
            _ if !self.history.seen => return,
            Assessment::Seen(state) => state,
        };
        if matches!(state, ServiceState::Up { .. }) {
            self.note_slow(&timing, now);
        }
        let stopped = if let ServiceState::Stopped { unit } = &state { Some(unit.clone()) } else { None };
        if let (true, Some(unit)) = (self.streak.take(state, &timing), stopped) {
            self.events.push(DeviceEvent::of(STOPPED, &self.check.name, &[("unit", &unit)], now.wall));
        }
    }

    /// A unit that is not installed any more, or a machine without systemd.
    fn forget(&mut self) {
        let is_expected =
            matches!(&self.check.kind, ServiceKind::Own { is_required: true, .. } | ServiceKind::Configured { .. });
        self.history.seen = is_expected;
        self.streak = Streak::default();
    }

    /// A unit has no latency, and is never slow.
    fn note_slow(&mut self, timing: &ProbeTiming, now: &Moment) {
        let latency = self.latency.unwrap_or_default();
        let limit = SLOW.min(timing.timeout / 2);
        self.slow = if latency >= limit { self.slow.saturating_add(1) } else { 0 };
        if self.slow == timing.failures {
            let (latency, limit) = (latency.as_millis(), limit.as_millis());
            let args: MessageArgs<'_> = &[("latency", &latency), ("count", &self.slow), ("limit", &limit)];
            self.events.push(DeviceEvent::of("ServiceSlow", &self.check.name, args, now.wall));
        }
    }

    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        if let ServiceKind::Restarts(condition, _) = self.check.kind {
            return self.frequent(condition).into_iter().collect();
        }
        let own = self.streak.state().map(|state| verdict(self.subject_key(), state));
        let network = self.network.state().filter(|_| self.history.network_was_ready);
        let key = SubjectKey::new(Name::fixed("NetworkUnhealthy"), Some(NETWORK.to_owned()));
        own.into_iter().chain(network.map(|state| verdict(key, state))).collect()
    }

    fn subject_key(&self) -> SubjectKey {
        match &self.check.kind {
            ServiceKind::Kubelet => SubjectKey::whole(Name::fixed("KubeletUnhealthy")),
            ServiceKind::KubeProxy => SubjectKey::whole(Name::fixed("KubeProxyUnhealthy")),
            ServiceKind::Runtime | ServiceKind::Docker => SubjectKey::whole(Name::fixed("ContainerRuntimeUnhealthy")),
            ServiceKind::Restarts(condition, _) => SubjectKey::whole(Name::fixed(condition)),
            ServiceKind::Own { condition, .. } => SubjectKey::of(condition.clone(), self.check.name.clone()),
            ServiceKind::Configured { condition, subject, .. } => SubjectKey::of(condition.clone(), subject.clone()),
        }
    }

    /// The same condition and reason as the rule on the journal: one problem, claimed twice.
    fn frequent(&self, condition: &'static str) -> Option<Verdict> {
        if !self.history.seen {
            return None;
        }
        let looping = self.history.restarts.iter().find(|(_, restarts)| restarts.is_frequent());
        let (limit, window) = (FREQUENT.0, duration(FREQUENT.1));
        let state = match looping {
            None => {
                let args: MessageArgs<'_> = &[("limit", &limit), ("window", &window)];
                State::Healthy { message: message(&format!("{condition}/healthy"), args) }
            }
            Some((unit, _)) => {
                let args: MessageArgs<'_> = &[("unit", unit), ("limit", &limit), ("window", &window)];
                let action = Action::CheckConfiguration;
                State::Faulty(vec![Fault::of_rule(condition, Severity::Error, action, args)])
            }
        };
        Some(Verdict { condition: Name::fixed(condition), subject: String::new(), state })
    }
}

fn verdict(key: SubjectKey, state: &ServiceState) -> Verdict {
    let unknown = |reason, message| State::Unknown { reason: UnknownReason::Named(reason), message };
    let state = match state.clone() {
        ServiceState::Up { message } => State::Healthy { message },
        ServiceState::Down(fault) => State::Faulty(vec![fault]),
        ServiceState::Stopped { unit } => unknown(Name::fixed(STOPPED), message(STOPPED, &[("unit", &unit)])),
        ServiceState::Unknown { reason, message } => unknown(reason, message),
    };
    Verdict::new(key, state)
}
