//! Values against two levels each: believed once they have been high for a time, over once they have been low for one.

use std::{collections::BTreeMap, time::Duration};

use crate::probe::{
    Fault, State, Verdict,
    debounce::{Debounce, DebounceTimes},
};
use nodewell_model::{Name, SubjectKey};
use serde::{Deserialize, Serialize};

use crate::limits::Levels;

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    pub(super) key: SubjectKey,
    pub(super) value: f64,
    /// At this or above it is a problem, below the second it is none.
    pub(super) levels: Levels,
    pub(super) fault: Fault,
    /// What it is if it is none.
    pub(super) healthy: State,
}

/// All figures of one part, as they were last read.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    signs: Signs,
    last: Vec<Measure>,
}

/// What is saved of them: by reason and subject, those that are not simply low.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Signs(BTreeMap<String, Debounce>);

impl Gauges {
    pub(super) fn load(signs: Signs) -> Self {
        Self { signs, last: Vec::new() }
    }

    pub(super) fn saved(&self) -> &Signs {
        &self.signs
    }

    /// A figure that is not read any more is forgotten.
    pub(super) fn take(&mut self, measures: Vec<Measure>, now: Duration, times: DebounceTimes) {
        let before = std::mem::take(&mut self.signs.0);
        for measure in &measures {
            let mut sign = before.get(&measure.sign()).cloned().unwrap_or_default();
            let level = if sign.holds() { measure.levels.low } else { measure.levels.high };
            sign.observe(measure.value >= f64::from(level), now, times);
            if !sign.is_nothing() {
                self.signs.0.insert(measure.sign(), sign);
            }
        }
        self.last = measures;
    }

    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        self.last.iter().map(|measure| Verdict::new(measure.key.clone(), self.state(measure))).collect()
    }

    pub(super) fn keys(&self) -> Vec<SubjectKey> {
        self.last.iter().map(|measure| measure.key.clone()).collect()
    }

    fn state(&self, measure: &Measure) -> State {
        match self.signs.0.get(&measure.sign()).is_some_and(Debounce::holds) {
            true => State::Faulty(vec![measure.fault.clone()]),
            false => measure.healthy.clone(),
        }
    }
}

impl Measure {
    fn sign(&self) -> String {
        format!("{} {}", self.fault.reason, self.key.subject.as_deref().unwrap_or_default())
    }
}

/// What a verdict is about; an empty `subject` is the node.
pub(super) fn subject_key(condition: &'static str, subject: impl Into<String>) -> SubjectKey {
    SubjectKey::of(Name::fixed(condition), subject.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIMES: DebounceTimes =
        DebounceTimes { for_duration: Duration::from_secs(120), keep_firing_for: Duration::from_secs(300) };

    fn measure(value: f64) -> Measure {
        Measure {
            key: subject_key("ResourceExhausted", "conntrack"),
            value,
            levels: Levels::new(90, 80),
            fault: Fault::of("ConntrackFull", &[("used", &95), ("max", &100), ("percent", &95), ("limit", &90)]),
            healthy: State::Healthy { message: "room".to_owned() },
        }
    }

    fn replay(readings: &[(u64, f64)]) -> Vec<bool> {
        let mut gauges = Gauges::default();
        let take = |(secs, value): &(u64, f64)| {
            gauges.take(vec![measure(*value)], Duration::from_secs(*secs), TIMES);
            matches!(gauges.verdicts()[0].state, State::Faulty(_))
        };
        readings.iter().map(take).collect()
    }

    #[test]
    fn a_level_is_believed_once_it_lasts_and_until_it_was_low_for_long() {
        let reported =
            replay(&[(0, 95.0), (60, 90.0), (120, 91.0), (180, 85.0), (240, 79.0), (530, 79.0), (540, 10.0)]);
        assert_eq!(reported, [false, false, true, true, true, true, false]);
    }

    #[test]
    fn between_the_levels_nothing_begins() {
        assert_eq!(replay(&[(0, 89.9), (600, 85.0), (1200, 89.9)]), [false; 3]);
    }

    #[test]
    fn what_is_not_read_any_more_is_forgotten() {
        let mut gauges = Gauges::default();
        for secs in [0, 120] {
            gauges.take(vec![measure(95.0)], Duration::from_secs(secs), TIMES);
        }
        gauges.take(Vec::new(), Duration::from_secs(180), TIMES);
        assert!(gauges.verdicts().is_empty());
        gauges.take(vec![measure(95.0)], Duration::from_secs(240), TIMES);
        assert!(matches!(gauges.verdicts()[0].state, State::Healthy { .. }));
    }

    proptest! {
        /// What wavers between the two levels is reported at most once.
        #[test]
        fn it_never_flaps_between_the_levels(values in prop::collection::vec(80.0..100.0_f64, 1..60)) {
            let readings: Vec<_> = (0..).step_by(60).zip(values).collect();
            let reported = replay(&readings);
            prop_assert!(reported.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 1);
        }
    }
}
