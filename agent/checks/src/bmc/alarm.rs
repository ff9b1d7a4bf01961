//! States of sensors that are faults: each lasts from its assertion in the log to its deassertion, or until the sensor
//! itself shows that it is over.

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    event::{SensorAddress, SensorEvent, SensorState},
    meaning::{Meaning, may_be_meant},
    reading::SensorReading,
};
use crate::probe::{
    debounce::{Debounce, DebounceTimes},
    flapping::{Flapping, OFTEN},
};

/// A machine that is switched on passes through many states for seconds, and a sensor may flap for hours.
const TIMES: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(60), keep_firing_for: Duration::from_secs(300) };
/// More states at once has no machine; more are not noted.
const LIMIT: usize = 256;
/// So many sensors are asked in one look; each takes some 20 ms.
const ASKED: usize = 32;
/// So often a sensor is asked that shows nothing, for a state of history.
const PATIENCE: u8 = 3;

/// All of them, also those that are over: the node knows their sensors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Alarms(Vec<Alarm>);

/// One state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Alarm {
    pub state: SensorState,
    /// Of its assertion, by the BMC's clock.
    pub time: u32,
    is_asserted: bool,
    /// It has lasted since before the first look.
    is_old: bool,
    /// The assertion is news, or the sensor shows it: an assertion that was in the log before the first look may have
    /// ended without an entry.
    is_proven: bool,
    /// It has been reported.
    was_reported: bool,
    sign: Debounce,
    /// When it was asserted, as news.
    #[serde(default, skip_serializing_if = "Flapping::is_nothing")]
    flapping: Flapping,
    /// It holds, or will, because it came often.
    #[serde(skip)]
    is_flapping: bool,
    /// How often it was too short to be reported, in the look that is under way.
    #[serde(skip)]
    brief: usize,
    /// How often its sensor showed nothing while it was not proven.
    unanswered: u8,
    /// It was asserted in the look that is under way.
    #[serde(skip)]
    is_fresh: bool,
}

impl Alarm {
    pub(super) fn holds(&self) -> bool {
        self.sign.holds()
    }

    /// `text`, as it is of this one.
    pub(super) fn shown(&self, text: &str) -> String {
        if self.is_flapping { format!("{text}, again and again") } else { text.to_owned() }
    }
}

impl Alarms {
    /// An event of a state. Returns whether it ended what began in this same look, and is worth an Event: what comes often is
    /// reported as what lasts.
    pub(super) fn note(&mut self, event: &SensorEvent, is_news: bool, now: Duration) -> bool {
        match self.0.iter_mut().find(|alarm| alarm.state == event.state) {
            Some(alarm) if event.is_assertion => {
                alarm.assert(event, is_news, now);
                false
            }
            Some(alarm) => {
                alarm.is_asserted = false;
                let is_brief = std::mem::take(&mut alarm.is_fresh) && is_news;
                alarm.brief += usize::from(is_brief);
                is_brief && alarm.brief <= OFTEN && !alarm.holds() && !alarm.flapping.is_on(now)
            }
            None => {
                if event.is_assertion && self.has_room() {
                    self.0.push(Alarm::of(event, is_news, now));
                }
                false
            }
        }
    }

    fn has_room(&mut self) -> bool {
        if self.0.len() >= LIMIT {
            self.0.retain(|alarm| alarm.is_asserted || alarm.holds());
        }
        self.0.len() < LIMIT
    }

    /// A supply or a drive was taken out, as its event has it: none of its other states outlives that.
    pub(super) fn remove(&mut self, presence: &SensorState) {
        let its = self.0.iter_mut().filter(|alarm| alarm.state.is_of_same_sensor(presence));
        its.for_each(|alarm| (alarm.is_asserted, alarm.flapping) = (false, Flapping::default()));
    }

    /// The log was cleared: a person has seen what was in it. What still lasts, its sensor shows.
    pub(super) fn clear(&mut self) {
        for alarm in &mut self.0 {
            (alarm.is_proven, alarm.unanswered, alarm.flapping) = (false, 0, Flapping::default());
        }
    }

    /// A sensor that does not show an assertion any more ends it: a BMC need not log each end. One that shows it proves
    /// it; but a state that the log has deasserted may be shown for long by a sensor that a person has to re-arm.
    pub(super) fn show(&mut self, sensor: &SensorReading) {
        for alarm in self.0.iter_mut().filter(|alarm| alarm.state.address() == Some(sensor.address)) {
            match sensor.states.and_then(|states| alarm.state.is_shown(states)) {
                Some(true) => alarm.is_proven |= alarm.is_asserted && !alarm.is_left_so(),
                Some(false) => alarm.is_asserted = false,
                None if !alarm.is_proven => alarm.unanswered = alarm.unanswered.saturating_add(1),
                None => {}
            }
        }
    }

    /// The look is over, and the log was read to its end: what is asserted now is not taken back by a later entry.
    pub(super) fn settle(&mut self, now: Duration) {
        for alarm in &mut self.0 {
            alarm.is_asserted &= alarm.is_proven || alarm.is_left_so() || alarm.can_be_proven();
            alarm.flapping.forget(now);
            alarm.is_flapping = alarm.flapping.is_on(now);
            let is_there = (alarm.is_asserted && alarm.is_proven) || alarm.is_flapping;
            alarm.was_reported |= alarm.sign.observe(is_there, now, TIMES);
            (alarm.is_fresh, alarm.brief) = (false, 0);
        }
        self.0.retain(|alarm| alarm.is_asserted || alarm.was_reported || !alarm.is_nothing());
    }

    /// Where to ask for what is asserted; last for what is reported in no case.
    pub(super) fn addresses(&self) -> Vec<SensorAddress> {
        let open = self.0.iter().filter(|alarm| alarm.is_asserted);
        let asked: BTreeSet<_> = open.filter_map(|alarm| Some((alarm.is_left_so(), alarm.state.address()?))).collect();
        asked.into_iter().take(ASKED).map(|(_, address)| address).collect()
    }

    /// Those that were reported once, with what they mean.
    pub(super) fn reported(&self) -> impl Iterator<Item = (&Alarm, Fault)> {
        self.0.iter().filter(|alarm| alarm.was_reported).filter_map(|alarm| Some((alarm, Fault::of(&alarm.state)?)))
    }
}

impl Alarm {
    fn of(event: &SensorEvent, is_news: bool, now: Duration) -> Self {
        let mut flapping = Flapping::default();
        if is_news {
            flapping.come(now);
        }
        Self {
            state: event.state,
            time: event.time,
            is_asserted: true,
            is_old: !is_news,
            is_proven: is_news,
            was_reported: false,
            sign: Debounce::default(),
            flapping,
            is_flapping: false,
            brief: 0,
            unanswered: 0,
            is_fresh: true,
        }
    }

    /// A BMC that starts asserts once more what lasts: to what is left so on purpose that changes nothing.
    fn assert(&mut self, event: &SensorEvent, is_news: bool, now: Duration) {
        let was_asserted = std::mem::replace(&mut self.is_asserted, true);
        if is_news && !was_asserted {
            self.flapping.come(now);
        }
        self.is_fresh |= !was_asserted;
        self.is_old = if was_asserted { self.is_old } else { !is_news };
        self.is_proven = (is_news && !self.is_left_so()) || (was_asserted && self.is_proven);
        (self.time, self.unanswered) = (event.time, 0);
    }

    fn is_nothing(&self) -> bool {
        self.sign.is_nothing() && self.flapping.is_nothing()
    }

    /// It is no fault, as far as is known: it has been so since before the first look, and may be meant.
    fn is_left_so(&self) -> bool {
        self.is_old && may_be_meant(&self.state)
    }

    fn can_be_proven(&self) -> bool {
        self.state.address().is_some() && self.unanswered < PATIENCE
    }
}

/// What an alarm is to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub condition: &'static str,
    pub reason: &'static str,
    pub text: &'static str,
}

impl Fault {
    pub(super) fn of(state: &SensorState) -> Option<Self> {
        match Meaning::of(state)? {
            Meaning::Fault { condition, reason, text } => Some(Self { condition, reason, text }),
            Meaning::Happens { .. } | Meaning::Ends { .. } => None,
        }
    }
}
