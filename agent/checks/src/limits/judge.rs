//! Judges limits: receives rounds and saves what a verdict needs later. Each part answers by itself, so that one that
//! hangs hides nothing of the others.

mod certificates;
mod gauge;
mod leaks;
mod levels;
mod pod_zombies;
mod pods;
mod reboots;
mod reported;
mod taints;
mod tasks;
mod trend;

use std::collections::BTreeMap;

use crate::probe::{
    Answer, DeviceEvent, Findings, Judge, Now, PollError, ReadError, Round, Verdict, debounce::DebounceTimes, unknown,
};
use nodewell_model::{Hardware, SubjectKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{
    gauge::{Gauges, Signs, subject_key},
    leaks::Leaks,
    levels::Rates,
    pods::Pods,
    reboots::Reboots,
    taints::Taints,
    tasks::{TaskProblems, Tasks},
};
use super::reading::{CGROUPS, CgroupsReading, FILES, FilesReading, KERNEL, KernelReading, TASKS, TasksReading};
use crate::{limits::LimitsSettings, pod_names::PodNames};

/// What is unknown of a kernel that never reported anything.
const KERNELS: [&str; 4] = ["ResourceExhausted", "MemoryPressureHigh", "CpuPressureHigh", "IoPressureHigh"];

/// Judges; pure.
#[derive(Debug, Default)]
pub struct LimitsJudge {
    settings: LimitsSettings,
    pod_names: PodNames,
    boot_id: String,
    rates: Rates,
    kernel: Gauges,
    cgroups: Gauges,
    leaks: Leaks,
    tasks: Tasks,
    pods: Pods,
    taints: Taints,
    reboots: Reboots,
    controllers: BTreeMap<String, bool>,
    files: FilesReading,
    /// By part.
    poll_errors: BTreeMap<String, PollError>,
    listing: Option<PollError>,
    /// As it was last saved.
    last_saved: Value,
}

/// What outlives a restart.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SavedLimits {
    boot_id: String,
    kernel: Signs,
    cgroups: Signs,
    leaks: Leaks,
    tasks: TaskProblems,
    pods: Pods,
    taints: Taints,
    reboots: Reboots,
}

impl LimitsJudge {
    #[must_use]
    pub fn new(settings: LimitsSettings, pod_names: PodNames) -> Self {
        Self { settings, pod_names, ..Self::default() }
    }

    /// What is remembered of another boot is over, but for what is about the node.
    fn enter_boot(&mut self, boot_id: &str) {
        if self.boot_id == boot_id {
            return;
        }
        boot_id.clone_into(&mut self.boot_id);
        (self.kernel, self.cgroups, self.tasks, self.rates) = Default::default();
        self.leaks.clear();
        self.pods.clear();
        self.taints.enter_boot();
    }

    fn answer(&mut self, part: &str, answer: Answer, now: &Now) -> Result<Vec<DeviceEvent>, PollError> {
        match part {
            KERNEL => Ok(self.take_kernel(&answer?.parse()?, now)),
            TASKS => Ok(self.take_tasks(answer?.parse()?, now)),
            CGROUPS => Ok(self.take_cgroups(answer?.parse()?, now)),
            FILES => Ok(self.take_files(answer?.parse()?, now)),
            _ => Ok(Vec::new()),
        }
    }

    fn take_kernel(&mut self, reading: &KernelReading, now: &Now) -> Vec<DeviceEvent> {
        let measures = levels::of_kernel(reading, now.boottime, &mut self.rates, &self.settings);
        self.kernel.take(measures, now.boottime, self.times());
        if self.settings.leaks {
            self.leaks.take_kernel(reading, now.boottime);
        }
        reading.taints.and_then(|bits| self.taints.take(bits, now.wall)).into_iter().collect()
    }

    fn take_tasks(&mut self, reading: TasksReading, now: &Now) -> Vec<DeviceEvent> {
        let Some(scan) = reading.scan else { return Vec::new() };
        if self.settings.leaks {
            self.leaks.take_daemons(&scan.daemons, now.boottime);
        }
        self.tasks.take(&scan, &self.settings, &self.pod_names, now)
    }

    fn take_cgroups(&mut self, reading: CgroupsReading, now: &Now) -> Vec<DeviceEvent> {
        let measures = levels::of_cgroups(&reading, &self.settings);
        self.cgroups.take(measures, now.boottime, self.times());
        let events = self.pods.take(&reading.pods, self.settings.oom_kills_per_hour, &self.pod_names, now);
        self.controllers = reading.controllers;
        events
    }

    fn take_files(&mut self, reading: FilesReading, now: &Now) -> Vec<DeviceEvent> {
        let reported = self.reboots.take(reading.reboot.as_ref(), now.wall);
        self.files = reading;
        reported.into_iter().collect()
    }

    fn times(&self) -> DebounceTimes {
        DebounceTimes { for_duration: self.settings.for_duration, keep_firing_for: self.settings.keep_firing_for }
    }

    fn verdicts(&self, now: &Now) -> Vec<Verdict> {
        let days = self.settings.certificate_days;
        let files = || certificates::verdicts(&self.files.certificates, days, now.wall);
        let certificates = || certificates::keys(&self.files.certificates);
        let kernel = || self.kernel.keys().into_iter().chain(KERNELS.map(|condition| subject_key(condition, "")));
        let parts = [
            self.of_part(KERNEL, || self.kernel.verdicts(), || kernel().collect()),
            self.of_part(CGROUPS, || self.cgroups.verdicts(), || self.cgroups.keys()),
            self.of_part(TASKS, || self.tasks.verdicts(&self.settings), || self.tasks.keys()),
            self.of_part(FILES, files, certificates),
            if self.settings.leaks { self.leaks.verdicts() } else { Vec::new() },
        ];
        parts.into_iter().flatten().collect()
    }

    fn of_part(
        &self,
        part: &str,
        verdicts: impl FnOnce() -> Vec<Verdict>,
        keys: impl FnOnce() -> Vec<SubjectKey>,
    ) -> Vec<Verdict> {
        match self.listing.as_ref().or(self.poll_errors.get(part)) {
            None => verdicts(),
            Some(error) => keys().into_iter().map(|key| Verdict::new(key, unknown(error))).collect(),
        }
    }

    /// Facts about the host: pods' OOM kills are not counted by version 1, and that is no fault of any device.
    fn hardware(&self) -> Vec<Hardware> {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let first = count(self.controllers.values().filter(|is_second| !**is_second).count());
        let states = [("of version 1".to_owned(), first)].into();
        let total = count(self.controllers.len());
        let controllers = Hardware {
            class: "cgroup controllers".to_owned(),
            total,
            states,
            informational: true,
            ..Hardware::default()
        };
        (first > 0).then_some(controllers).into_iter().chain(self.reboots.hardware()).collect()
    }
}

impl Judge for LimitsJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let Round { now, listed, answers } = round;
        self.enter_boot(&now.boot_id);
        self.listing = listed.err();
        if matches!(&self.listing, Some(PollError::Read(ReadError::Gone { .. }))) {
            return Findings::default();
        }
        let mut events = Vec::new();
        for (part, answer) in answers {
            self.poll_errors.remove(&part);
            match self.answer(&part, answer, &now) {
                Ok(reported) => events.extend(reported),
                Err(error) => {
                    self.poll_errors.insert(part, error);
                }
            }
        }
        Findings { verdicts: self.verdicts(&now), events, hardware: self.hardware(), recoveries: Vec::new() }
    }

    fn save(&mut self) -> Option<Value> {
        let saved = SavedLimits {
            boot_id: self.boot_id.clone(),
            kernel: self.kernel.saved().clone(),
            cgroups: self.cgroups.saved().clone(),
            leaks: self.leaks.saved(),
            tasks: self.tasks.saved().clone(),
            pods: self.pods.saved(),
            taints: self.taints.clone(),
            reboots: self.reboots.clone(),
        };
        let saved = serde_json::to_value(saved).ok()?;
        (saved != self.last_saved).then(|| self.last_saved.clone_from(&saved)).map(|()| saved)
    }

    fn load(&mut self, saved: Value) {
        let Ok(known) = serde_json::from_value::<SavedLimits>(saved.clone()) else { return };
        self.boot_id = known.boot_id;
        self.kernel = Gauges::load(known.kernel);
        self.cgroups = Gauges::load(known.cgroups);
        self.tasks = Tasks::load(known.tasks);
        (self.leaks, self.pods, self.taints, self.reboots) = (known.leaks, known.pods, known.taints, known.reboots);
        self.last_saved = saved;
    }
}

#[cfg(test)]
mod tests;
