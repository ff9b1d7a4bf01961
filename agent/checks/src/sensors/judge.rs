//! Judges fans and temperatures: a fan that turned and stands still, what a chip reports that it did not report before, what
//! is above its critical limit.

use std::{collections::BTreeMap, time::Duration};

use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reading::{ALL, Fan, SensorsReading, Temperature};
use crate::probe::{
    Answer, Fault, Findings, Judge, Now, PollError, ReadError, Round, State,
    boot_history::BootHistory,
    debounce::{Debounce, DebounceTimes},
    flapping::{self, FlappingSign},
    unknown,
};

const CONDITION: &str = "CoolingUnhealthy";
/// A fan that starts takes seconds, and one look in the wrong moment is none.
const TIMES: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(60), keep_firing_for: Duration::from_secs(300) };
/// Limits outside of this, in thousandths of a degree Celsius, are registers that were never set.
const LIKELY: std::ops::RangeInclusive<i64> = 30_000..=150_000;

/// Judges in the check process.
#[derive(Debug, Default)]
pub struct SensorsJudge {
    history: BootHistory<Sensors>,
    /// How each was at the last look; nothing before the first.
    last: BTreeMap<String, State>,
}

/// The saved state, of this boot alone: where a fan was moved to another plug, a boot lies in between.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sensors {
    sensors: BTreeMap<String, Sensor>,
}

/// One sensor. What a chip shows from the first look on may be a plug without a fan, a wire that ends nowhere, or a limit that
/// was never set: a fault is a change.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sensor {
    has_answered: bool,
    /// A fan was seen to turn, for as long as it takes to believe that it stands.
    turned: Debounce,
    /// The chip was seen without an alarm.
    was_quiet: bool,
    /// It was seen below its limit.
    was_below: bool,
    stopped: FlappingSign,
    alarm: FlappingSign,
    hot: FlappingSign,
}

/// A fan that was seen to turn has done so for the whole boot.
const FOR_EVER: DebounceTimes = DebounceTimes { keep_firing_for: Duration::MAX, ..TIMES };

impl Sensor {
    fn fan(&mut self, fan: &Fan, now: Duration) -> Option<State> {
        let Some(rpm) = fan.rpm else { return self.unreadable() };
        self.has_answered = true;
        let turned = self.turned.observe(rpm > 0, now, FOR_EVER);
        let alarm = self.is_alarm(fan.alarm.filter(|_| !fan.is_off), now);
        let is_stopped = self.stopped.observe(rpm == 0 && !fan.is_off && turned, now, TIMES);
        let (name, times) = (fan.label.as_deref().unwrap_or("it"), flapping::OFTEN);
        let again: MessageArgs<'_> = &[("fan", &name), ("times", &times)];
        let fault = match (is_stopped, alarm) {
            (true, _) if rpm > 0 && self.stopped.is_flapping(now) => Fault::of("FanStopped/flapping", again),
            (true, _) => Fault::of("FanStopped", &[("fan", &name)]),
            (_, true) if self.alarm.is_flapping(now) => Fault::of("FanAlarm/flapping", again),
            (_, true) => Fault::of("FanAlarm", &[("fan", &name), ("rpm", &rpm)]),
            _ => return Some(State::healthy("CoolingUnhealthy/healthy-fan", &[])),
        };
        Some(State::Faulty(vec![fault]))
    }

    fn temperature(&mut self, one: &Temperature, now: Duration) -> Option<State> {
        let Some(value) = one.value else { return self.unreadable() };
        let limit = one.critical.filter(|limit| LIKELY.contains(limit));
        if limit.is_none() && one.alarm.is_none() {
            return None;
        }
        self.has_answered = true;
        let is_above = limit.is_some_and(|limit| value >= limit);
        self.was_below |= !is_above;
        let alarm = self.is_alarm(one.alarm, now);
        let is_hot = self.hot.observe(is_above && self.was_below, now, TIMES);
        let (name, value, times) = (one.label.as_deref().unwrap_or("it"), celsius(value), flapping::OFTEN);
        let fault = match limit.map(celsius) {
            Some(limit) if is_hot && !is_above && self.hot.is_flapping(now) => {
                Fault::of("TemperatureCritical/flapping", &[("sensor", &name), ("times", &times), ("limit", &limit)])
            }
            Some(limit) if is_hot => {
                Fault::of("TemperatureCritical", &[("sensor", &name), ("value", &value), ("limit", &limit)])
            }
            _ if alarm && self.alarm.is_flapping(now) => {
                Fault::of("TemperatureCritical/alarm-flapping", &[("sensor", &name), ("times", &times)])
            }
            _ if alarm => Fault::of("TemperatureCritical/alarm", &[("sensor", &name), ("value", &value)]),
            _ => return Some(State::healthy("CoolingUnhealthy/healthy-temperature", &[])),
        };
        Some(State::Faulty(vec![fault]))
    }

    fn is_alarm(&mut self, alarm: Option<bool>, now: Duration) -> bool {
        self.was_quiet |= alarm == Some(false);
        self.alarm.observe(alarm == Some(true) && self.was_quiet, now, TIMES)
    }

    /// One that never answered is none.
    fn unreadable(&self) -> Option<State> {
        let message = "its chip does not answer for it".to_owned();
        self.has_answered.then(|| unknown(&PollError::Read(ReadError::Failed { message })))
    }
}

impl SensorsJudge {
    fn take(&mut self, answer: Answer, now: &Now) {
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => self.read(&reading, now.boottime),
            Err(error) => self.take_error(&error),
        }
    }

    /// What is not there any more is not judged: its driver was unloaded. What was seen of it stays until the next boot.
    fn take_error(&mut self, error: &PollError) {
        if matches!(error, PollError::Read(ReadError::Gone { .. })) {
            self.last.clear();
        }
        self.last.values_mut().for_each(|state| *state = unknown(error));
    }

    fn read(&mut self, reading: &SensorsReading, now: Duration) {
        self.last.clear();
        let mut sensors = std::mem::take(&mut self.history.state.sensors);
        for fan in &reading.fans {
            let state = sensors.entry(fan.subject.clone()).or_default().fan(fan, now);
            self.last.extend(state.map(|state| (fan.subject.clone(), state)));
        }
        for one in &reading.temperatures {
            let state = sensors.entry(one.subject.clone()).or_default().temperature(one, now);
            self.last.extend(state.map(|state| (one.subject.clone(), state)));
        }
        sensors.retain(|subject, sensor| sensor.has_answered || self.last.contains_key(subject));
        self.history.state.sensors = sensors;
    }
}

impl Judge for SensorsJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = round.now.clone();
        if self.history.begin_round(&now) {
            self.last.clear();
        }
        if let Some(answer) = round.answer_of(ALL) {
            self.take(answer, &now);
        }
        Findings::of_class(CONDITION, "fans and temperatures", "faulty", &self.last)
    }

    fn save(&mut self) -> Option<Value> {
        self.history.save()
    }

    fn load(&mut self, saved: Value) {
        self.history.load(saved);
    }
}

fn celsius(thousandths: i64) -> i64 {
    (thousandths + 500).div_euclid(1000)
}
