//! One check's rounds: when the next one is due, what is asked in it, and what its judge has to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_checks::{
    Check,
    probe::{Answer, Findings, Judge, Now, PollError, ReadError, Round},
};
use nodewell_model::inventory::{Acceptance, InventoryView};
use nodewell_time::Backoff;
use tokio::time::Instant;

use crate::{
    check_process::{
        report::Unreached,
        state_file::{ReportedCondition, SavedState, StateFile},
        worker::{
            client::WorkerClient,
            protocol::{Operation, ReplyBody},
        },
    },
    runtime::{clock, pace},
};

/// More devices of one kind has no machine; the rest of such a list is not asked.
const DEVICES_LIMIT: usize = 4096;
/// A check without a driver and without devices runs so many times less often.
const ABSENT_FACTOR: u32 = 10;
/// One that never answers may cost a tenth of the time: a pause is at most so many deadlines long.
const PAUSE_DEADLINES: u32 = 10;
/// After so many that took their whole deadline a round ends, and what is known by then is reported.
const SILENT_LIMIT: usize = 2;

/// How often a check runs, and how long one device may take to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PollTiming {
    pub(super) interval: Duration,
    pub(super) deadline: Duration,
}

/// One check, from round to round.
pub(super) struct PollLoop {
    pub(super) check: &'static Check,
    timing: PollTiming,
    judge: Box<dyn Judge>,
    state_file: Option<StateFile>,
    pub(super) due: Instant,
    /// The devices of the last list that was received.
    known: Vec<String>,
    /// How many devices the judge counted: some of what is asked is a driver, not a device.
    counted: Option<u32>,
    /// Devices that cost a worker, and are asked less and less often: when each is asked again, and its further pauses.
    resting: BTreeMap<String, (Instant, Backoff)>,
    /// How long each took last; slow ones are asked last.
    took: BTreeMap<String, Duration>,
    /// Devices that do not know the command, each with the generation of the worker that found it.
    unsupported: BTreeMap<String, u64>,
    /// The worker, by its generation, whose list stays as it is.
    fixed_in: Option<u64>,
    has_events: bool,
    /// Until then there is no wait for events: the last one did not return.
    events_paused_until: Instant,
    /// Neither driver nor device.
    pub(super) is_absent: bool,
    /// Whether there was a list in this run, or nothing to list.
    was_listed: bool,
    /// Whether every device was looked at once.
    pub(super) was_judged: bool,
    /// What the last round did not reach.
    pub(super) unreached: Unreached,
}

impl PollLoop {
    /// Due at once.
    pub(super) fn new(
        check: &'static Check,
        timing: PollTiming,
        judge: Box<dyn Judge>,
        state_file: Option<StateFile>,
    ) -> Self {
        Self {
            check,
            timing,
            judge,
            state_file,
            due: Instant::now(),
            known: Vec::new(),
            counted: None,
            resting: BTreeMap::new(),
            took: BTreeMap::new(),
            unsupported: BTreeMap::new(),
            fixed_in: None,
            has_events: false,
            events_paused_until: Instant::now(),
            is_absent: false,
            was_listed: false,
            was_judged: false,
            unreached: Unreached::Nothing,
        }
    }

    /// Loads the state that an earlier run saved; returns what that run reported.
    pub(super) async fn load(&mut self) -> Vec<ReportedCondition> {
        let Some(state_file) = &mut self.state_file else { return Vec::new() };
        let SavedState { judge, reported } = state_file.load().await;
        if let Some(judge) = judge {
            self.judge.load(judge);
        }
        reported
    }

    /// Saves the state, if it changed.
    pub(super) fn save(&mut self, reported: Vec<ReportedCondition>) {
        if let Some(state_file) = &mut self.state_file {
            state_file.save(self.judge.save(), reported);
        }
    }

    /// The counters that its judge shows, and does not judge.
    pub(super) fn hw_counters(&self) -> Option<nodewell_model::HwCountersView> {
        self.judge.hw_counters()
    }

    /// What its judge shows to people.
    pub(super) fn inventory_view(&self) -> Option<InventoryView> {
        self.judge.inventory_view()
    }

    /// Whether it is the one of hardware over boots.
    pub(super) fn has_inventory(&self) -> bool {
        *self.check == nodewell_checks::inventory::CHECK
    }

    /// Whether there is anything to show, as of the last look.
    pub(super) fn shows_inventory(&self) -> bool {
        self.has_inventory() && self.was_judged
    }

    /// Gives its judge what a person accepts; returns whether it could take that.
    pub(super) fn accept(&mut self, acceptance: &Acceptance) -> bool {
        self.judge.accept(acceptance)
    }

    /// Everything is asked again as soon as possible.
    pub(super) fn poll_now(&mut self) {
        (self.due, self.events_paused_until) = (Instant::now(), Instant::now());
        self.resting.clear();
    }

    /// Asks every device; `None` if it had to stop on the way.
    pub(super) async fn round(
        &mut self,
        worker_client: &mut WorkerClient,
        stop: impl Fn() -> bool,
    ) -> Option<Findings> {
        let began = Instant::now();
        let listed = self.list(worker_client).await;
        // A worker that starts during a release ends without an answer, which is no device's fault.
        if stop() {
            return None;
        }
        self.unreached = Unreached::Nothing;
        let answers = match &listed {
            Ok(devices) => self.ask_all(worker_client, devices.clone(), stop).await?,
            Err(PollError::NoAnswer(no_answer)) => {
                // The state of the devices that were there is unknown.
                self.known.iter().map(|device| (device.clone(), Err(PollError::NoAnswer(no_answer.clone())))).collect()
            }
            Err(PollError::Read(_)) => Vec::new(),
        };
        self.note_time(began.elapsed(), answers.len());
        self.note_list(&listed);
        self.plan(began);
        let findings = self.judge.judge(Round { now: now(), listed, answers });
        let totals = findings.hardware.iter().map(|class| class.total);
        self.counted = (totals.len() > 0).then(|| totals.sum());
        Some(findings)
    }

    /// From the first question to the last answer: what a deadline or an interval has to leave room for.
    fn note_time(&self, took: Duration, devices: usize) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(check = self.check.name, devices, micros, "a round is over");
    }

    fn note_list(&mut self, listed: &Result<Vec<String>, PollError>) {
        self.is_absent = matches!(listed, Err(PollError::Read(ReadError::Gone { .. })));
        match listed {
            Err(error) if !self.is_absent && !self.was_listed => self.unreached = Unreached::Everything(error.clone()),
            _ => self.was_listed = true,
        }
        self.was_judged |= self.unreached == Unreached::Nothing;
    }

    /// What devices reported by themselves within `pause`.
    pub(super) async fn listen(&mut self, worker_client: &mut WorkerClient, pause: Duration) -> Option<Findings> {
        let operation = Operation::Wait { within_millis: u64::try_from(pause.as_millis()).unwrap_or_default() };
        match worker_client.request(self.check, operation, pause + self.timing.deadline).await.into() {
            Ok(ReplyBody::Events(events)) if events.is_empty() => None,
            Ok(ReplyBody::Events(events)) => Some(self.judge.events(events, &now())),
            // A round shows which device it is.
            _ => {
                self.events_paused_until = Instant::now() + self.timing.deadline * PAUSE_DEADLINES;
                self.due = Instant::now();
                None
            }
        }
    }

    /// Whether waiting for what devices report by themselves is worth while.
    pub(super) fn listens(&self) -> bool {
        self.has_events && self.events_paused_until <= Instant::now()
    }

    async fn list(&mut self, worker_client: &mut WorkerClient) -> Result<Vec<String>, PollError> {
        if worker_client.has_worker() && self.fixed_in == Some(worker_client.worker_generation()) {
            return Ok(self.known.clone());
        }
        let answer: Result<ReplyBody, PollError> =
            worker_client.request(self.check, Operation::List, self.timing.deadline).await.into();
        (self.has_events, self.fixed_in) = (false, None);
        if let ReplyBody::Devices { names, has_events, is_fixed } = answer? {
            self.has_events = has_events;
            self.fixed_in = is_fixed.then(|| worker_client.worker_generation());
            self.known = distinct(names);
        }
        Ok(self.known.clone())
    }

    async fn ask_all(
        &mut self,
        worker_client: &mut WorkerClient,
        mut devices: Vec<String>,
        stop: impl Fn() -> bool,
    ) -> Option<Vec<(String, Answer)>> {
        self.resting.retain(|device, _| devices.contains(device));
        self.took.retain(|device, _| devices.contains(device));
        self.unsupported.retain(|device, _| devices.contains(device));
        devices.sort_by_key(|device| self.took.get(device).copied().unwrap_or_default());
        let (mut answers, mut silent) = (Vec::new(), 0);
        for device in devices {
            if stop() {
                return None;
            }
            if !self.is_asked(&device, worker_client.worker_generation()) {
                continue;
            }
            if silent >= SILENT_LIMIT {
                self.unreached = Unreached::Rest;
                break;
            }
            let answer = self.read(worker_client, &device).await;
            // One whose worker is stuck is not asked, and costs nothing.
            let timed_out = self.took.get(&device).is_some_and(|took| *took >= self.timing.deadline);
            silent += usize::from(timed_out && matches!(answer, Err(PollError::NoAnswer(_))));
            answers.push((device, answer));
        }
        Some(answers)
    }

    fn is_asked(&self, device: &str, worker: u64) -> bool {
        let rests = self.resting.get(device).is_some_and(|(again, _)| *again > Instant::now());
        !rests && self.unsupported.get(device) != Some(&worker)
    }

    async fn read(&mut self, worker_client: &mut WorkerClient, device: &str) -> Answer {
        let began = Instant::now();
        let operation = Operation::Read { device: device.to_owned(), cursor: self.judge.cursor() };
        let outcome = worker_client.request(self.check, operation, self.timing.deadline).await;
        let is_lost = outcome.is_lost();
        self.took.insert(device.to_owned(), began.elapsed());
        let answer = match Result::<ReplyBody, PollError>::from(outcome) {
            Ok(ReplyBody::Reading(reading)) => Ok(reading),
            Ok(_) => Err(PollError::Read(ReadError::Failed { message: "no reading".to_owned() })),
            Err(error) => Err(error),
        };
        if is_lost {
            self.wait_for(device);
        } else {
            self.resting.remove(device);
        }
        if matches!(answer, Err(PollError::Read(ReadError::Unsupported { .. }))) {
            self.unsupported.insert(device.to_owned(), worker_client.worker_generation());
        }
        answer
    }

    /// Each time that it costs a worker, twice as long.
    fn wait_for(&mut self, device: &str) {
        let deadline = self.timing.deadline;
        let pauses = || Backoff::new(deadline * 2, deadline * PAUSE_DEADLINES);
        let mut pauses = self.resting.remove(device).map_or_else(pauses, |(_, pauses)| pauses);
        self.resting.insert(device.to_owned(), (Instant::now() + pauses.pause(), pauses));
    }

    /// The next round, together with others. What a round did not reach is asked at once, while the silent ones rest.
    fn plan(&mut self, began: Instant) {
        let interval = if self.is_absent { self.timing.interval * ABSENT_FACTOR } else { self.timing.interval };
        let next = if self.unreached == Unreached::Rest { began } else { pace::due(began, interval) };
        self.due = next.max(Instant::now());
    }

    pub(super) fn summary(&self) -> Option<String> {
        let name = self.check.name;
        if self.is_absent {
            Some(format!("{name}: none"))
        } else {
            self.counted.map(|count| format!("{name}: {count}"))
        }
    }
}

/// Each once, and not more than there can be.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| !name.is_empty() && seen.insert(name.clone())).take(DEVICES_LIMIT).collect()
}

fn now() -> Now {
    let now = clock::now();
    let boot_id = clock::boot_id().map(|id| id.to_string()).unwrap_or_default();
    Now { wall: now.wall, boottime: now.boottime, boot_id }
}

#[cfg(test)]
mod tests;
