//! Signs that come and go: one that came often of late is there, though it lasts at no time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::debounce::{Debounce, DebounceTimes};

/// So often within an hour a sign has to come.
pub const OFTEN: usize = 5;
const WINDOW: Duration = Duration::from_secs(60 * 60);

/// When one sign came, on the clock that counts from boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flapping {
    /// At most [`OFTEN`], the newest at the end.
    came_secs: Vec<u64>,
}

impl Flapping {
    /// It came, and had not been there. However often that was in one look, it counts once: the look may be at a log of days.
    pub fn come(&mut self, now: Duration) {
        if self.came_secs.last() == Some(&now.as_secs()) {
            return;
        }
        self.came_secs.push(now.as_secs());
        let surplus = self.came_secs.len().saturating_sub(OFTEN);
        self.came_secs.drain(..surplus);
    }

    /// Whether it came often within the last hour.
    #[must_use]
    pub fn is_on(&self, now: Duration) -> bool {
        self.came_secs.iter().filter(|came| is_of_late(**came, now)).count() >= OFTEN
    }

    /// Forgets what is older.
    pub fn forget(&mut self, now: Duration) {
        self.came_secs.retain(|came| is_of_late(*came, now));
    }

    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.came_secs.is_empty()
    }
}

/// What lies ahead of now is of another boot.
fn is_of_late(came_secs: u64, now: Duration) -> bool {
    let oldest = now.as_secs().saturating_sub(WINDOW.as_secs());
    (oldest..=now.as_secs()).contains(&came_secs)
}

/// A sign that is believed once it has lasted, or has come often.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlappingSign {
    #[serde(flatten)]
    debounce: Debounce,
    #[serde(default, skip_serializing_if = "Flapping::is_nothing")]
    flapping: Flapping,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_present: bool,
}

impl FlappingSign {
    /// Adds a reading, and returns whether the sign is to be believed.
    pub fn observe(&mut self, present: bool, now: Duration, times: DebounceTimes) -> bool {
        if present && !self.was_present {
            self.flapping.come(now);
        }
        self.was_present = present;
        self.flapping.forget(now);
        self.debounce.observe(present || self.is_flapping(now), now, times)
    }

    #[must_use]
    pub fn is_flapping(&self, now: Duration) -> bool {
        self.flapping.is_on(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: DebounceTimes =
        DebounceTimes { for_duration: Duration::from_secs(60), keep_firing_for: Duration::from_secs(300) };

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn came_at(moments: &[u64]) -> Flapping {
        let mut flapping = Flapping::default();
        moments.iter().for_each(|moment| flapping.come(secs(*moment)));
        flapping
    }

    #[test]
    fn what_came_often_within_an_hour_flaps_and_what_is_older_does_not_count() {
        let flapping = came_at(&[0, 10, 20, 30, 3600]);
        assert!(flapping.is_on(secs(3600)) && !flapping.is_on(secs(3601)));
        assert!(!came_at(&[1, 2, 3, 4]).is_on(secs(5)));
        assert!(!came_at(&[7; 100]).is_on(secs(7)), "in one look");
        assert!(!came_at(&[100, 200, 300, 400, 500]).is_on(secs(450)), "of another boot");
        assert_eq!(came_at(&(0..100).collect::<Vec<_>>()), came_at(&[95, 96, 97, 98, 99]));
        let mut old = came_at(&[1, 2, 9000]);
        old.forget(secs(9000));
        assert_eq!((old.is_nothing(), &old), (false, &came_at(&[9000])));
        old.forget(secs(20));
        assert!(old.is_nothing());
    }

    /// How often a sign that is there at every other look, a minute apart, begins and ends to be believed.
    #[test]
    fn five_hundred_alternating_looks_are_one_sign() {
        let mut sign = FlappingSign::default();
        let believed: Vec<bool> =
            (0..500_u64).map(|n| sign.observe(n.is_multiple_of(2), secs(60 * n), TIMES)).collect();
        assert_eq!(believed.iter().position(|believed| *believed), Some(9));
        assert!(believed[9..].iter().all(|believed| *believed));
        let after: Vec<bool> = (500..570_u64).map(|n| sign.observe(false, secs(60 * n), TIMES)).collect();
        let over = after.iter().position(|believed| !believed).unwrap();
        assert!((50..60).contains(&over) && after[over..].iter().all(|believed| !believed), "{over}");
    }

    #[test]
    fn what_comes_now_and_then_is_none() {
        let mut sign = FlappingSign::default();
        assert!((0..500_u64).all(|n| !sign.observe(n.is_multiple_of(20), secs(60 * n), TIMES)));
        assert!((501..520_u64).any(|n| sign.observe(true, secs(60 * n), TIMES)), "and one that lasts is one");
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let mut sign = FlappingSign::default();
        for n in 0..9_u64 {
            sign.observe(n.is_multiple_of(2), secs(60 * n), TIMES);
        }
        let saved = serde_json::to_string(&sign).unwrap();
        assert_eq!(serde_json::from_str::<FlappingSign>(&saved).unwrap(), sign, "{saved}");
        assert_eq!(serde_json::to_string(&FlappingSign::default()).unwrap(), r#"{"holds":false}"#);
    }
}
