//! Judges CPUs: those that went offline, packages that are too hot, revisions of microcode that differ.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_faults::message;
use nodewell_model::{Hardware, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    list::CpuSet,
    reading::{ALL, CpuReading, Microcode},
    throttle::{CALM_FOR, HOT_FOR, Throttle},
};
use crate::{
    cpu::CpuSettings,
    probe::{
        Answer, Fault, Findings, Judge, Now, PollError, ReadError, RecoveryEvidence, Round, State, Verdict,
        clock::Moment, unknown,
    },
};

const CONDITION: &str = "CpuUnhealthy";
/// An operator switches CPUs, or loads microcode, one CPU after the other: what two rounds show has stayed.
const ROUNDS: u32 = 2;

/// Judges in the check process.
#[derive(Debug)]
pub struct CpuJudge {
    boot: Boot,
    moment: Option<Moment>,
    last_poll: Option<LastPoll>,
    last: CpuReading,
    /// For how many rounds in a row each was seen offline that had been online.
    missing: BTreeMap<u32, u32>,
    /// For how many rounds in a row the revisions differed.
    mismatched: u32,
    /// By package.
    throttles: BTreeMap<u32, Throttle>,
    last_saved: Option<Boot>,
}

/// The saved state, of this boot alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Boot {
    /// Seen online.
    seen: CpuSet,
    /// Those of them that share a core with one of a lower number.
    siblings: CpuSet,
    /// What was reported, so that a restart takes nothing back.
    offline: CpuSet,
    /// Once reported; they are named, healthy or not, as long as this boot lasts.
    reported: CpuSet,
    mismatched: bool,
    throttled: BTreeSet<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedCpu {
    moment: Moment,
    boot: Boot,
}

/// How the last reading went.
#[derive(Debug, Clone)]
enum LastPoll {
    Read,
    Unknown(State),
}

impl CpuJudge {
    #[must_use]
    pub fn new(_settings: CpuSettings) -> Self {
        Self {
            boot: Boot::default(),
            moment: None,
            last_poll: None,
            last: CpuReading::default(),
            missing: BTreeMap::new(),
            mismatched: 0,
            throttles: BTreeMap::new(),
            last_saved: None,
        }
    }

    fn go_on(&mut self, now: &Now) {
        if self.moment.as_ref().is_some_and(|moment| moment.step_to(now).new_boot) {
            self.boot = Boot::default();
            (self.mismatched, self.missing, self.throttles) = Default::default();
        }
        self.moment = Some(now.into());
    }

    fn take(&mut self, answer: Answer, now: &Now) {
        let parsed = answer.and_then(|reading| reading.parse::<CpuReading>());
        match parsed {
            Ok(reading) => self.read(reading, now),
            Err(error) => self.take_error(&error),
        }
    }

    fn take_error(&mut self, error: &PollError) {
        self.last_poll = match error {
            PollError::Read(ReadError::Gone { .. }) => None,
            error => Some(LastPoll::Unknown(unknown(error))),
        };
    }

    fn read(&mut self, reading: CpuReading, now: &Now) {
        self.last_poll = Some(LastPoll::Read);
        self.count_missing(&reading);
        self.compare_microcode(&reading.microcode);
        self.measure_heat(&reading, now);
        self.last = reading;
    }

    /// A CPU that is not plugged in any more was taken out, and siblings go when multithreading is switched off.
    fn count_missing(&mut self, reading: &CpuReading) {
        self.boot.siblings.0.extend(&reading.siblings.0);
        self.boot.seen.0.extend(&reading.online.0);
        self.boot.seen.0.retain(|cpu| reading.present.0.contains(cpu));
        let (boot, missing) = (&mut self.boot, &mut self.missing);
        let wanted = |cpu: &u32| !(reading.siblings_off && boot.siblings.0.contains(cpu));
        let gone: BTreeSet<_> = boot.seen.0.difference(&reading.online.0).copied().filter(wanted).collect();
        missing.retain(|cpu, _| gone.contains(cpu));
        gone.iter().for_each(|cpu| *missing.entry(*cpu).or_insert(0) += 1);
        let stays =
            |cpu: &u32| boot.offline.0.contains(cpu) || missing.get(cpu).is_some_and(|rounds| *rounds >= ROUNDS);
        boot.offline = CpuSet(gone.into_iter().filter(stays).collect());
        boot.reported.0.extend(&boot.offline.0);
        boot.reported.0.retain(|cpu| reading.present.0.contains(cpu));
    }

    fn compare_microcode(&mut self, microcode: &[Microcode]) {
        self.mismatched = if differing(microcode).is_empty() { 0 } else { self.mismatched.saturating_add(1) };
        self.boot.mismatched = self.mismatched >= ROUNDS || self.boot.mismatched && self.mismatched > 0;
    }

    fn measure_heat(&mut self, reading: &CpuReading, now: &Now) {
        let packages: BTreeSet<_> = reading.throttling.iter().map(|reading| reading.package).collect();
        self.throttles.retain(|package, _| packages.contains(package));
        for reading in &reading.throttling {
            self.throttles.entry(reading.package).or_default().take(now.boottime, reading);
        }
        let throttled = self.throttles.iter().filter(|(_, throttle)| throttle.is_throttled);
        self.boot.throttled = throttled.map(|(package, _)| *package).collect();
    }

    fn findings(&self, now: &Now) -> Findings {
        match &self.last_poll {
            None => Findings::default(),
            Some(LastPoll::Read) => {
                let verdicts = std::iter::once(verdict(ALL.to_owned(), self.all())).chain(self.each()).collect();
                Findings {
                    verdicts,
                    hardware: vec![self.hardware()],
                    recoveries: self.recoveries(now),
                    ..Findings::default()
                }
            }
            Some(LastPoll::Unknown(state)) => {
                let reported = self.boot.reported.0.iter().map(|cpu| verdict(format!("CPU {cpu}"), state.clone()));
                let verdicts = std::iter::once(verdict(ALL.to_owned(), state.clone())).chain(reported).collect();
                Findings { verdicts, hardware: self.last_hardware().into_iter().collect(), ..Findings::default() }
            }
        }
    }

    /// What is wrong with no CPU in particular.
    fn all(&self) -> State {
        let mut faults = Vec::new();
        if !self.boot.throttled.is_empty() {
            faults.push(self.throttling());
        }
        if self.boot.mismatched {
            let revisions = differing(&self.last.microcode).join(" and ");
            faults.push(Fault::of("MicrocodeMismatch", &[("revisions", &revisions)]));
        }
        match faults.is_empty() {
            true => State::healthy("CpuUnhealthy/healthy", &[]),
            false => State::Faulty(faults),
        }
    }

    fn throttling(&self) -> Fault {
        let packages: Vec<_> = self.boot.throttled.iter().map(|package| format!("package {package}")).collect();
        let (packages, minutes) = (packages.join(", "), HOT_FOR.as_secs() / 60);
        Fault::of("CpuThermalThrottle", &[("packages", &packages), ("minutes", &minutes)])
    }

    fn each(&self) -> impl Iterator<Item = Verdict> + '_ {
        self.boot.reported.0.iter().map(|cpu| {
            let state = match self.boot.offline.0.contains(cpu) {
                true => State::Faulty(vec![Fault::of("CpuOffline", &[("cpu", cpu)])]),
                false => State::healthy("CpuUnhealthy/healthy-cpu", &[]),
            };
            verdict(format!("CPU {cpu}"), state)
        })
    }

    /// The kernel's log claims heat, too. It reports when each CPU has cooled down, but not when the last one has.
    fn recoveries(&self, now: &Now) -> Vec<RecoveryEvidence> {
        let calm = self.throttles.values().filter_map(Throttle::calm).min();
        // For as long again: what is over is not reported for ever.
        let Some(calm) = calm.filter(|calm| (CALM_FOR..2 * CALM_FOR).contains(calm)) else { return Vec::new() };
        let recovery = |reason| RecoveryEvidence {
            condition: Name::fixed(CONDITION),
            reason: Some(Name::fixed(reason)),
            subject: ALL.to_owned(),
            seen_before: now.wall.checked_sub(CALM_FOR).unwrap_or(now.wall),
            evidence: message("CpuUnhealthy/ended-cool", &[("minutes", &(calm.as_secs() / 60))]),
        };
        vec![recovery("CpuThermalThrottle")]
    }

    /// CPUs that were counted are there, however they are.
    fn last_hardware(&self) -> Option<Hardware> {
        let hardware = self.hardware();
        let states = BTreeMap::from([("not answering".to_owned(), hardware.total)]);
        (hardware.total > 0 && !self.last.online.0.is_empty()).then_some(Hardware { states, ..hardware })
    }

    fn hardware(&self) -> Hardware {
        let offline = count(self.boot.offline.0.len());
        let hot = self.boot.throttled.iter().filter_map(|package| self.throttles.get(package)).map(Throttle::cpus);
        let online = count(self.last.online.0.len());
        let states = [("offline", offline), ("throttled", hot.sum::<u32>().min(online))];
        let states = states.into_iter().filter(|(_, count)| *count > 0);
        let states = states.map(|(word, count)| (word.to_owned(), count)).collect();
        Hardware { class: "CPUs".to_owned(), total: online + offline, states, ..Hardware::default() }
    }
}

impl Judge for CpuJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = round.now.clone();
        self.go_on(&now);
        if let Some(answer) = round.answer_of(ALL) {
            self.take(answer, &now);
        }
        self.findings(&now)
    }

    fn save(&mut self) -> Option<Value> {
        let moment = self.moment.clone()?;
        if self.last_saved.as_ref() == Some(&self.boot) {
            return None;
        }
        self.last_saved = Some(self.boot.clone());
        serde_json::to_value(SavedCpu { moment, boot: self.boot.clone() }).ok()
    }

    fn load(&mut self, saved: Value) {
        let Ok(SavedCpu { moment, boot }) = serde_json::from_value(saved) else { return };
        self.throttles = boot.throttled.iter().map(|package| (*package, Throttle::remembered())).collect();
        (self.moment, self.last_saved, self.boot) = (Some(moment), Some(boot.clone()), boot);
    }
}

/// A sentence for each kind of CPU that runs several revisions.
fn differing(microcode: &[Microcode]) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<&Microcode>> = BTreeMap::new();
    microcode.iter().for_each(|entry| kinds.entry(&entry.kind).or_default().push(entry));
    let several = kinds.into_values().filter(|entries| entries.len() > 1);
    several.map(|entries| entries.into_iter().map(part).collect::<Vec<_>>().join(", ")).collect()
}

fn part(entry: &Microcode) -> String {
    format!("revision {} on CPUs {}", entry.revision, entry.cpus)
}

fn verdict(subject: String, state: State) -> Verdict {
    Verdict { condition: Name::fixed(CONDITION), subject, state }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
