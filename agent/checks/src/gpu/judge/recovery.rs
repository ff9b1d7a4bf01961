//! Evidence that a GPU is healthy again: it answers, the driver reports that it needs nothing, or restarted it.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_faults::{codes::Meaning, message};
use nodewell_model::Name;

use super::{
    GpuJudge,
    device::{Evidence, Recovery},
    xids::FALLEN_OFF_BUS,
};
use crate::{
    gpu::{Access, GpuReading},
    probe::{Now, RecoveryEvidence},
};

/// `NVML_GPU_RECOVERY_ACTION_NONE`
const NOTHING: u64 = 0;

/// Problems of the kernel log that this judge does not know of are ended within this time.
const REPORT_EVERY: Duration = Duration::from_secs(600);

/// Evidence of so many problems is given in one account, which some thirty GPUs have; the others' waits for the next.
/// A quarter of what the check process buffers for an agent that is away.
const MOST_AT_ONCE: usize = 1024;

/// What a GPU that answers does not have: off the bus, never started (143, and the text in the kernel log), no answer
/// over PCIe for good (167).
const NOT_ANSWERING: [u32; 3] = [FALLEN_OFF_BUS, 143, 167];
/// The message of problems that end with the driver's start.
const RELOADED: &str = "GpuUnhealthy/ended-reload";
const INIT_FAILED: &str = "GpuInitFailed";

/// A problem that is over.
struct Over {
    /// An Xid's, if it is one.
    code: Option<u32>,
    condition: Name,
    reason: Name,
}

impl GpuJudge {
    /// Two readings in a row end what they contradict, if that was seen before the first.
    pub(super) fn take_recovery(&mut self, name: &str, reading: &GpuReading, now: &Now) {
        let (is_full, recovery) = (self.recoveries.len() >= MOST_AT_ONCE, &mut self.device(name).recovery);
        match reading.access {
            Access::Answers => {}
            Access::Asleep => return,
            _ => return *recovery = Recovery::default(),
        }
        let answers = recovery.answered.replace(reading.read_at);
        let energy = std::mem::replace(&mut recovery.energy_millijoules, reading.energy_millijoules);
        let is_new = energy.zip(reading.energy_millijoules).is_some_and(|(before, now)| now < before);
        let is_content = (reading.recovery == Some(NOTHING)).then_some(reading.read_at);
        let was_content = std::mem::replace(&mut recovery.content, is_content);
        let healthy = was_content.filter(|_| is_content.is_some());
        let Some(answers) = answers else { return };
        if is_new {
            recovery.reported = None;
            self.end(name, answers, self.ended_by_reset(), "GpuUnhealthy/ended-restart");
            return;
        }
        if is_full || recovery.is_reported(healthy.is_some(), now.boottime) {
            return;
        }
        self.end(name, answers, self.contradicted(), "GpuUnhealthy/ended-answers");
        if let Some(healthy) = healthy {
            self.end(name, healthy, self.ended_by_reset(), "GpuUnhealthy/ended-recovered");
        }
    }

    /// A driver that is loaded starts every GPU from the beginning, and reports again what is still wrong.
    pub(super) fn end_by_reload(&mut self, seen_before: Timestamp, switches: &[String]) {
        for name in self.history.names() {
            self.end(&name, seen_before, self.ended_by_reset(), RELOADED);
        }
        // Nothing but SXids is reported of a switch.
        self.recoveries.extend(switches.iter().map(|switch| RecoveryEvidence {
            condition: Name::fixed("GpuFabricUnhealthy"),
            reason: None,
            subject: switch.clone(),
            seen_before,
            evidence: message(RELOADED, &[]),
        }));
        self.history.begin_driver();
    }

    fn end(&mut self, name: &str, seen_before: Timestamp, over: Vec<Over>, key: &str) {
        let is_over = |code: u32| over.iter().any(|over| over.code == Some(code));
        self.history.update(name, |known| known.xids.retain(|code, _| !is_over(*code)));
        self.recoveries.extend(over.into_iter().map(|over| RecoveryEvidence {
            condition: over.condition,
            reason: Some(over.reason),
            subject: name.to_owned(),
            seen_before,
            evidence: message(key, &[]),
        }));
    }

    fn contradicted(&self) -> Vec<Over> {
        let meanings = NOT_ANSWERING.into_iter().filter_map(|code| self.meaning(code));
        let condition = Name::fixed("GpuUnhealthy");
        let by_text = Over { code: None, condition, reason: Name::fixed(INIT_FAILED) };
        meanings.flat_map(|meaning| Over::of(&meaning)).chain([by_text]).collect()
    }

    /// What asks for a reset. What asks for a reboot or for manual work is not over because the driver is content.
    fn ended_by_reset(&self) -> Vec<Over> {
        let by_reset = self.table.codes().all_of(self.branch()).filter(Meaning::wants_reset);
        by_reset.flat_map(|meaning| Over::of(&meaning)).collect()
    }
}

impl Recovery {
    /// Whether that was reported a short time ago; it is reported now if not.
    ///
    /// Evidence that has just come may be older than the last claim of a problem by the time that a claim or a reading
    /// takes on a busy machine: it is reported again when it has held twice as long, and every ten minutes in the end.
    fn is_reported(&mut self, is_healthy: bool, at: Duration) -> bool {
        let reported = self.reported.filter(|reported| reported.is_healthy == is_healthy && at >= reported.last);
        let wait = reported.map(|reported| reported.last.saturating_sub(reported.first).min(REPORT_EVERY));
        let is_reported = reported.zip(wait).is_some_and(|(reported, wait)| at.saturating_sub(reported.last) < wait);
        if !is_reported {
            self.reported =
                Some(Evidence { is_healthy, first: reported.map_or(at, |reported| reported.first), last: at });
        }
        is_reported
    }
}

impl Over {
    fn of(meaning: &Meaning) -> Vec<Self> {
        let over = |condition| Self { code: Some(meaning.code), condition, reason: meaning.reason.clone() };
        meaning.conditions().into_iter().map(over).collect()
    }
}
