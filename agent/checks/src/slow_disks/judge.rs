//! Judges disks by windows of several readings: which are slow, and which that were are well again.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{Hardware, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    SlowDisksSettings,
    compare::{Figures, Limits, SIBLINGS, compared},
    load::{SAMPLES, Sample, loads},
    reading::{ALL, Model, SlowDisksReading},
    watched::Watched,
};
use crate::probe::{
    Answer, Fault, Findings, Judge, Now, PollError, ReadError, Round, State, Verdict, boot_history::BootHistory,
    unknown,
};

/// Not DiskUnhealthy: what drains a node because a disk of it dies does not drain one because a disk is late.
const CONDITION: &str = "DiskLatencyHigh";
/// More slow ones are not named one by one: an agent takes so many subjects of a check process, and others have some,
/// too.
const NAMED: usize = 64;
/// Two readings that are further apart than so many intervals show no one load: the check was not asked, or its worker
/// hung.
const LATE: u32 = 3;

/// Judges in the check process.
#[derive(Debug)]
pub struct SlowDisksJudge {
    settings: SlowDisksSettings,
    history: BootHistory<WatchedDisks>,
    /// The reading before, and what was done between those before it: the window so far.
    before: Option<SlowDisksReading>,
    samples: Vec<Sample>,
    /// Those of which there are enough, by the last reading: each with its device.
    comparable: BTreeMap<String, String>,
    /// Those of them that were compared since this process began.
    compared: BTreeSet<String>,
    /// Why the counters are not known.
    error: Option<PollError>,
}

/// The saved state, of this boot alone: disks are moved and replaced while a machine is off.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct WatchedDisks {
    /// Those that are slow, or were in one window. By model and serial number: a name may be another disk's tomorrow.
    disks: BTreeMap<String, Watched>,
}

impl SlowDisksJudge {
    #[must_use]
    pub fn new(settings: SlowDisksSettings) -> Self {
        Self {
            settings,
            history: BootHistory::default(),
            before: None,
            samples: Vec::new(),
            comparable: BTreeMap::new(),
            compared: BTreeSet::new(),
            error: None,
        }
    }

    fn take(&mut self, answer: Answer, now: &Now) {
        self.error = None;
        match answer.and_then(|reading| reading.parse::<SlowDisksReading>()) {
            Ok(reading) => self.read(reading, now),
            // No disk at all that could be compared.
            Err(PollError::Read(ReadError::Gone { .. })) => self.find(&SlowDisksReading::default()),
            Err(error) => self.error = Some(error),
        }
    }

    fn read(&mut self, reading: SlowDisksReading, now: &Now) {
        self.find(&reading);
        let Some(before) = &self.before else {
            self.before = Some(reading);
            return;
        };
        let interval = self.settings.interval;
        match reading.at.checked_sub(before.at) {
            // Asked out of turn: the reading after it counts from the one before.
            Some(elapsed) if elapsed < interval / 2 => return,
            Some(elapsed) if elapsed <= interval.saturating_mul(LATE) => {
                self.samples.push(Sample::between(before, &reading));
            }
            _ => self.samples.clear(),
        }
        if self.samples.len() >= SAMPLES {
            self.judge_window(&reading, now);
        }
        self.before = Some(reading);
    }

    /// Forgets disks that are gone: missing for several readings, or with another disk in their place. So it does those
    /// without siblings for as long, whose end nothing would show.
    fn find(&mut self, reading: &SlowDisksReading) {
        let (present, comparable) = (present(reading), comparable(reading));
        let subjects: BTreeSet<&str> = present.values().copied().collect();
        self.history.state.disks.retain(|disk, watched| match present.get(disk) {
            Some(subject) if comparable.contains_key(disk) => {
                watched.found(subject);
                true
            }
            Some(_) => !watched.missed(),
            None => !subjects.contains(watched.subject.as_str()) && !watched.missed(),
        });
        self.compared.retain(|disk| comparable.contains_key(disk));
        self.comparable = comparable;
    }

    /// Judges the window that `reading` ends; a disk that is missing from it is not judged.
    fn judge_window(&mut self, reading: &SlowDisksReading, now: &Now) {
        let (loads, present) = (loads(&std::mem::take(&mut self.samples)), present(reading));
        for (load, outcome) in compared(&loads, Limits::from(&self.settings)) {
            let Some(subject) = present.get(&load.disk) else { continue };
            self.compared.insert(load.disk.clone());
            let watched = self.history.state.disks.entry(load.disk.clone()).or_default();
            watched.observe(outcome, now.boottime.as_secs(), &self.settings);
            watched.found(subject);
        }
        self.history.state.disks.retain(|_, watched| !watched.is_nothing());
    }

    fn slow(&self) -> impl Iterator<Item = (&String, &Watched, &Figures)> {
        self.history.state.disks.iter().filter_map(|(disk, watched)| Some((disk, watched, watched.slow.as_ref()?)))
    }

    fn is_slow(&self, disk: &str) -> bool {
        self.history.state.disks.get(disk).is_some_and(|watched| watched.slow.is_some())
    }

    /// The others are well by what is known: those that have siblings, from the first reading on, so that a restart
    /// leaves no gap.
    fn findings(&self) -> Findings {
        let slow = self.slow().take(NAMED).map(|(disk, watched, figures)| {
            self.verdict(&watched.subject, || State::Faulty(vec![self.fault(disk, figures)]))
        });
        let others = self.comparable.iter().filter(|(disk, _)| !self.is_slow(disk));
        let others =
            others.map(|(_, subject)| self.verdict(subject, || State::healthy("DiskLatencyHigh/healthy", &[])));
        Findings {
            verdicts: slow.chain(others).collect(),
            hardware: self.hardware().into_iter().collect(),
            ..Findings::default()
        }
    }

    fn verdict(&self, subject: &str, known: impl FnOnce() -> State) -> Verdict {
        let state = self.error.as_ref().map_or_else(known, unknown);
        Verdict { condition: Name::fixed(CONDITION), subject: subject.to_owned(), state }
    }

    fn fault(&self, disk: &str, figures: &Figures) -> Fault {
        let key = if figures.is_read { "DiskSlow/reads" } else { "DiskSlow/writes" };
        let (own, siblings) = (shown(figures.await_micros), shown(figures.siblings_micros));
        Fault::of(
            key,
            &[
                ("await", &own),
                ("siblings", &figures.siblings),
                ("usual", &siblings),
                ("factor", &self.settings.factor),
                ("disk", &disk),
            ],
        )
    }

    /// How many have siblings that they can be compared with; none on most machines.
    fn hardware(&self) -> Option<Hardware> {
        let slow: BTreeSet<&String> = self.slow().map(|(disk, ..)| disk).collect();
        let all: BTreeSet<&String> = self.compared.iter().chain(slow.iter().copied()).collect();
        let count = |disks: &BTreeSet<&String>| u32::try_from(disks.len()).unwrap_or(u32::MAX);
        let states = (!slow.is_empty()).then(|| ("slow".to_owned(), count(&slow)));
        let (total, states) = (count(&all), states.into_iter().collect());
        let class = "disks compared".to_owned();
        (total > 0).then_some(Hardware { class, total, states, ..Hardware::default() })
    }
}

impl Judge for SlowDisksJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = round.now.clone();
        if self.history.begin_round(&now) {
            self.compared.clear();
        }
        if let Some(answer) = round.answer_of(ALL) {
            self.take(answer, &now);
        }
        self.findings()
    }

    fn save(&mut self) -> Option<Value> {
        self.history.save()
    }

    fn load(&mut self, saved: Value) {
        self.history.load(saved);
    }
}

/// The disks that are there, each with its first device's subject.
fn present(reading: &SlowDisksReading) -> BTreeMap<String, &str> {
    let mut present: BTreeMap<String, &str> = BTreeMap::new();
    for device in &reading.devices {
        present.entry(device.disk()).or_insert(&device.subject);
    }
    present
}

/// The disks of which there are enough of a kind, each with its first device's subject.
fn comparable(reading: &SlowDisksReading) -> BTreeMap<String, String> {
    let mut kinds: BTreeMap<&Model, BTreeMap<String, &str>> = BTreeMap::new();
    for device in &reading.devices {
        kinds.entry(&device.model).or_default().entry(device.disk()).or_insert(&device.subject);
    }
    let enough = kinds.into_values().filter(|disks| disks.len() > SIBLINGS);
    enough.flatten().map(|(disk, subject)| (disk, subject.to_owned())).collect()
}

/// With one digit where it says something: `0.4 ms`, `31 ms`.
fn shown(micros: u64) -> String {
    match micros {
        0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        _ => format!("{} ms", micros / 1000),
    }
}
