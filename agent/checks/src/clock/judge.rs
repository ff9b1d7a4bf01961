//! Judges the clock: pure, by readings of the worker.

use std::time::Duration;

use crate::probe::{
    Answer, DeviceEvent, Fault, Findings, Judge, Now, PollError, ReadError, Round, State, UnknownReason, Verdict,
    debounce::{Debounce, DebounceTimes},
    last_saved::LastSaved,
    unknown::unknown,
};
use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::Name;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    daemon::TimeDaemon,
    offset::{Mark, deviation},
    reading::{CLOCK, ClockError, ClockReading, SyncStatus},
};
use crate::{clock::ClockSettings, duration_text::duration};

/// The program that synchronises the clock resets the kernel's bound of its error, systemd-timesyncd at least every 34
/// minutes. Without it the bound grows by 1.8 s an hour, to 16 s, its value at boot.
const SYNCED_BELOW_MICROS: i64 = 5_000_000;
/// A slew of half a second takes the time daemon some minutes.
const OFF_FOR: Duration = Duration::from_secs(5 * 60);
/// In the first minutes of the machine its clock is set right: that step is not reported.
const BOOT: Duration = Duration::from_secs(10 * 60);

/// Judges; pure.
#[derive(Debug)]
pub struct ClockJudge {
    settings: ClockSettings,
    history: ClockHistory,
    last_saved: LastSaved,
    last: Option<Result<ClockReading, PollError>>,
}

/// What outlives a restart; of one boot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ClockHistory {
    boot_id: String,
    mark: Option<Mark>,
    /// The clock was synchronised in this boot.
    was_synced: bool,
    lost: Debounce,
    off: Debounce,
    /// A good one, that it counted by in this boot.
    source: Option<String>,
}

impl ClockJudge {
    #[must_use]
    pub fn new(settings: ClockSettings) -> Self {
        Self { settings, history: ClockHistory::default(), last_saved: LastSaved::default(), last: None }
    }

    fn take(&mut self, answer: Answer, now: &Now) -> Vec<DeviceEvent> {
        let read = answer.and_then(|reading| reading.parse::<ClockReading>());
        let event = read.as_ref().ok().and_then(|reading| self.read(reading, now));
        self.last = Some(read);
        event.into_iter().collect()
    }

    fn read(&mut self, reading: &ClockReading, now: &Now) -> Option<DeviceEvent> {
        let error = match &reading.sync {
            SyncStatus::Known(error) => Some(error),
            SyncStatus::Denied(_) => None,
        };
        if let Some(error) = error {
            self.measure(reading, error, now);
        }
        if let Some(source) = reading.source.as_ref().filter(|source| !source.is_slow()) {
            self.history.source = Some(source.current.clone());
        }
        self.step(Mark::new(reading.wall_less_boot_millis, error.map_or(0, |error| error.tai_secs)), now)
    }

    fn measure(&mut self, reading: &ClockReading, error: &ClockError, now: &Now) {
        let (settings, history) = (&self.settings, &mut self.history);
        let is_synced = (0..SYNCED_BELOW_MICROS).contains(&error.max_micros);
        history.was_synced |= is_synced;
        let is_missed = history.was_synced || settings.required || reading.daemon.is_some();
        let lost = DebounceTimes { for_duration: settings.unsynchronised_after, keep_firing_for: Duration::ZERO };
        history.lost.observe(!is_synced && is_missed, now.boottime, lost);
        let limit = if history.off.holds() { settings.offset_clear() } else { settings.offset };
        let off = DebounceTimes { for_duration: OFF_FOR, keep_firing_for: OFF_FOR };
        history.off.observe(is_synced && deviation(error) >= limit, now.boottime, off);
    }

    fn step(&mut self, mark: Mark, now: &Now) -> Option<DeviceEvent> {
        let before = self.history.mark.replace(mark)?;
        let millis = before.stepped_to(mark, self.settings.step).filter(|_| now.boottime >= BOOT)?;
        let direction = if millis < 0 { "back" } else { "forward" };
        let seconds = format!("{:.1}", Duration::from_millis(millis.unsigned_abs()).as_secs_f64());
        let limit = duration(self.settings.step);
        let args: MessageArgs<'_> = &[("seconds", &seconds), ("direction", &direction), ("limit", &limit)];
        Some(DeviceEvent { subject: None, ..DeviceEvent::of("ClockStepped", "", args, now.wall) })
    }

    fn verdict(&self) -> Option<Verdict> {
        let state = match self.last.as_ref()? {
            Err(PollError::Read(ReadError::Gone { .. })) => return None,
            Err(error) => unknown(error),
            Ok(reading) => self.state(reading),
        };
        Some(Verdict { condition: Name::fixed("ClockUnhealthy"), subject: String::new(), state })
    }

    fn state(&self, reading: &ClockReading) -> State {
        let faults = self.faults(reading);
        match &reading.sync {
            _ if !faults.is_empty() => State::Faulty(faults),
            SyncStatus::Denied(error) => State::Unknown {
                reason: UnknownReason::PermissionDenied,
                message: message("PermissionDenied/clock", &[("error", error)]),
            },
            SyncStatus::Known(_) if self.history.was_synced => {
                State::healthy("ClockUnhealthy/healthy", &[("limit", &duration(self.settings.unsynchronised_after))])
            }
            SyncStatus::Known(_) => State::healthy("ClockUnhealthy/healthy-unsynchronised", &[]),
        }
    }

    fn faults(&self, reading: &ClockReading) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.history.lost.holds() {
            faults.push(self.lost(reading.daemon));
        }
        if self.history.off.holds() {
            let (limit, clear) = (duration(self.settings.offset), duration(self.settings.offset_clear()));
            let args: MessageArgs<'_> = &[("limit", &limit), ("time", &duration(OFF_FOR)), ("clear", &clear)];
            faults.push(Fault::of("ClockOffsetHigh", args));
        }
        let source = reading.source.as_ref();
        if let Some((source, lost)) = source.and_then(|now| Some((now, now.lost(self.history.source.as_deref())?))) {
            faults.push(Fault::of("ClockSourceUnstable", &[("source", &source.current), ("lost", &lost)]));
        }
        faults
    }

    fn lost(&self, daemon: TimeDaemon) -> Fault {
        let limit = duration(self.settings.unsynchronised_after);
        let of_daemon: MessageArgs<'_> =
            &[("limit", &limit), ("daemon", &daemon.name()), ("command", &daemon.command())];
        let of_none: MessageArgs<'_> = &[("limit", &limit)];
        match (daemon.is_some(), self.history.was_synced) {
            (true, true) => Fault::of("ClockNotSynchronised/sources-lost", of_daemon),
            (true, false) => Fault::of("ClockNotSynchronised/no-source-found", of_daemon),
            (false, true) => Fault::of("ClockNotSynchronised/stopped", of_none),
            (false, false) => Fault::of("ClockNotSynchronised/never", of_none),
        }
    }
}

impl Judge for ClockJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = &round.now.clone();
        if self.history.boot_id != now.boot_id {
            self.history = ClockHistory { boot_id: now.boot_id.clone(), ..ClockHistory::default() };
        }
        let events = round.answer_of(CLOCK).map(|answer| self.take(answer, now)).unwrap_or_default();
        Findings { verdicts: self.verdict().into_iter().collect(), events, ..Findings::default() }
    }

    fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&self.history)
    }

    fn load(&mut self, saved: Value) {
        let Ok(history) = serde_json::from_value(saved.clone()) else { return };
        (self.history, self.last_saved) = (history, LastSaved::of(saved));
    }
}

#[cfg(test)]
mod tests;
