//! Judges fans and temperatures: a fan that turned and stands still, what a chip reports that it did not report before, what
//! is above its critical limit.

use std::{collections::BTreeMap, time::Duration};

use nodewell_model::{Inventory, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reading::{ALL, Fan, SensorsReading, Temperature};
use crate::probe::{
    Answer, Fault, Findings, Judge, Now, PollError, ReadError, Round, State, Verdict,
    clock::Moment,
    debounce::{Debounce, DebounceTimes},
    last_saved::LastSaved,
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
    history: History,
    /// How each was at the last look; nothing before the first.
    last: BTreeMap<String, State>,
    last_saved: LastSaved,
}

/// The saved state, of this boot alone: where a fan was moved to another plug, a boot lies in between.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct History {
    moment: Option<Moment>,
    sensors: BTreeMap<String, Sensor>,
}

/// One sensor. What a chip shows from the first look on may be a plug without a fan or a limit that was never set.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sensor {
    /// A fan was seen to turn.
    turned: bool,
    /// The chip was seen without an alarm.
    was_quiet: bool,
    stopped: Debounce,
    alarm: Debounce,
    hot: Debounce,
}

impl Sensor {
    fn fan(&mut self, fan: &Fan, now: Duration) -> State {
        self.turned |= fan.rpm.is_some_and(|rpm| rpm > 0);
        let stands = fan.rpm == Some(0) && !fan.is_off && self.turned;
        let alarm = self.is_alarm(fan.alarm && !fan.is_off, now);
        let name = fan.label.as_deref().unwrap_or("it");
        match fan.rpm {
            _ if self.stopped.observe(stands, now, TIMES) => {
                State::Faulty(vec![Fault::of("FanStopped", &[("fan", &name)])])
            }
            Some(rpm) if alarm => State::Faulty(vec![Fault::of("FanAlarm", &[("fan", &name), ("rpm", &rpm)])]),
            Some(_) => State::healthy("CoolingUnhealthy/healthy-fan", &[]),
            None => unreadable(),
        }
    }

    fn temperature(&mut self, one: &Temperature, now: Duration) -> State {
        let limit = one.critical.filter(|limit| LIKELY.contains(limit));
        let is_above = one.value.zip(limit).is_some_and(|(value, limit)| value >= limit);
        let alarm = self.is_alarm(one.alarm, now);
        let is_hot = self.hot.observe(is_above, now, TIMES);
        let name = one.label.as_deref().unwrap_or("it");
        match (one.value.map(celsius), limit.map(celsius)) {
            (Some(value), Some(limit)) if is_hot => State::Faulty(vec![Fault::of(
                "TemperatureCritical",
                &[("sensor", &name), ("value", &value), ("limit", &limit)],
            )]),
            (Some(value), _) if alarm => {
                State::Faulty(vec![Fault::of("TemperatureCritical/alarm", &[("sensor", &name), ("value", &value)])])
            }
            (Some(_), _) => State::healthy("CoolingUnhealthy/healthy-temperature", &[]),
            (None, _) => unreadable(),
        }
    }

    fn is_alarm(&mut self, alarm: bool, now: Duration) -> bool {
        self.was_quiet |= !alarm;
        self.alarm.observe(alarm && self.was_quiet, now, TIMES)
    }
}

impl SensorsJudge {
    fn go_on(&mut self, now: &Now) {
        if self.history.moment.as_ref().is_some_and(|moment| moment.step_to(now).new_boot) {
            (self.history, self.last) = Default::default();
        }
        self.history.moment = Some(now.into());
    }

    fn take(&mut self, answer: Answer, now: &Now) {
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => self.read(&reading, now.boottime),
            Err(error) => self.take_error(&error),
        }
    }

    /// What is not there any more is forgotten: its driver was unloaded.
    fn take_error(&mut self, error: &PollError) {
        if matches!(error, PollError::Read(ReadError::Gone { .. })) {
            self.last.clear();
            self.history.sensors.clear();
        }
        self.last.values_mut().for_each(|state| *state = unknown(error));
    }

    fn read(&mut self, reading: &SensorsReading, now: Duration) {
        let mut known = std::mem::take(&mut self.history.sensors);
        self.last.clear();
        let fans = reading.fans.iter().map(|fan| (&fan.subject, Looked::Fan(fan)));
        let temperatures = reading.temperatures.iter().filter(|one| one.critical.is_some() || one.alarm);
        for (subject, looked) in fans.chain(temperatures.map(|one| (&one.subject, Looked::Temperature(one)))) {
            let mut sensor = known.remove(subject).unwrap_or_default();
            let state = match looked {
                Looked::Fan(fan) => sensor.fan(fan, now),
                Looked::Temperature(one) => sensor.temperature(one, now),
            };
            self.last.insert(subject.clone(), state);
            self.history.sensors.insert(subject.clone(), sensor);
        }
    }

    fn findings(&self) -> Findings {
        let condition = || Name::fixed(CONDITION);
        let verdict = |(subject, state): (&String, &State)| Verdict {
            condition: condition(),
            subject: subject.clone(),
            state: state.clone(),
        };
        let inventory = (!self.last.is_empty()).then(|| self.inventory());
        Findings {
            verdicts: self.last.iter().map(verdict).collect(),
            inventory: inventory.into_iter().collect(),
            ..Findings::default()
        }
    }

    fn inventory(&self) -> Inventory {
        let mut states: BTreeMap<String, u32> = BTreeMap::new();
        for state in self.last.values() {
            let word = match state {
                State::Healthy { .. } => continue,
                State::Faulty(_) => "faulty",
                State::Unknown { .. } => "not answering",
            };
            *states.entry(word.to_owned()).or_default() += 1;
        }
        let total = u32::try_from(self.last.len()).unwrap_or(u32::MAX);
        Inventory { class: "fans and temperatures".to_owned(), total, states, informational: false }
    }
}

enum Looked<'a> {
    Fan(&'a Fan),
    Temperature(&'a Temperature),
}

impl Judge for SensorsJudge {
    fn judge(&mut self, round: Round) -> Findings {
        self.go_on(&round.now);
        if let Err(error) = &round.listed {
            self.take_error(error);
        }
        let answer = round.answers.into_iter().find(|(device, _)| device == ALL);
        if let Some((_, answer)) = answer {
            self.take(answer, &round.now);
        }
        self.findings()
    }

    /// Without the moment: it moves on in each round, and the next one saves it with what changed.
    fn save(&mut self) -> Option<Value> {
        let changed = self.last_saved.if_changed(&self.history.sensors);
        changed.and_then(|_| serde_json::to_value(&self.history).ok())
    }

    fn load(&mut self, saved: Value) {
        let Ok(history) = serde_json::from_value(saved) else { return };
        self.history = history;
    }
}

fn celsius(thousandths: i64) -> i64 {
    (thousandths + 500).div_euclid(1000)
}

fn unreadable() -> State {
    unknown(&PollError::Read(ReadError::Failed { message: "its chip does not answer for it".to_owned() }))
}
