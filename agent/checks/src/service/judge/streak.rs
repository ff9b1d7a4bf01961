//! When some answers in a row change what is reported. Pure.

use nodewell_model::text;

use crate::service::{assessment::ServiceState, service_probe::ProbeTiming};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Up,
    Down,
    Unknown,
}

/// What holds, and what may hold soon.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Streak {
    state: Option<ServiceState>,
    candidate: Option<Class>,
    count: u32,
    /// It was down and has not been healthy since: one good answer is not enough.
    owes: bool,
}

impl ServiceState {
    fn class(&self) -> Class {
        match self {
            Self::Up { .. } => Class::Up,
            Self::Down(_) => Class::Down,
            Self::Stopped { .. } | Self::Unknown { .. } => Class::Unknown,
        }
    }

    /// Whether people would read something new.
    fn is_news_after(&self, before: &Self) -> bool {
        let differ = |one: &str, other: &str| one != other && !text::differ_in_figures_only(one, other);
        match (before, self) {
            (Self::Up { message: one }, Self::Up { message: other }) => differ(one, other),
            (Self::Stopped { unit: one }, Self::Stopped { unit: other }) => one != other,
            (Self::Down(one), Self::Down(other)) => one.reason != other.reason || differ(&one.message, &other.message),
            (Self::Unknown { reason: one, message }, Self::Unknown { reason: other, message: later }) => {
                one != other || differ(message, later)
            }
            _ => true,
        }
    }
}

impl Streak {
    /// One that an earlier run left down, or healthy.
    pub(super) fn load(owes: bool) -> Self {
        Self { owes, ..Self::default() }
    }

    pub(super) fn state(&self) -> Option<&ServiceState> {
        self.state.as_ref()
    }

    pub(super) fn owes(&self) -> bool {
        self.owes
    }

    /// Whether the next answers may change what is reported.
    pub(super) fn is_open(&self) -> bool {
        self.count > 0
    }

    /// Adds one answer; returns whether what is reported changed.
    pub(super) fn take(&mut self, next: ServiceState, timing: &ProbeTiming) -> bool {
        let class = next.class();
        if let Some(state) = self.state.as_mut().filter(|state| state.class() == class) {
            (self.candidate, self.count) = (None, 0);
            let is_news = next.is_news_after(state);
            if is_news {
                *state = next;
            }
            return is_news;
        }
        self.count = if self.goes_on(class) { self.count + 1 } else { 1 };
        self.candidate = Some(class);
        if self.count < self.needed(class, timing) {
            return false;
        }
        self.owes = class == Class::Down || (self.owes && class != Class::Up);
        *self = Self { state: Some(next), candidate: None, count: 0, owes: self.owes };
        true
    }

    /// After good answers every bad one counts, whatever its kind.
    fn goes_on(&self, class: Class) -> bool {
        let was_healthy = !matches!(
            self.state,
            Some(ServiceState::Down(_) | ServiceState::Stopped { .. } | ServiceState::Unknown { .. })
        );
        match self.candidate {
            Some(before) if was_healthy => (before == Class::Up) == (class == Class::Up),
            Some(before) => before == class,
            None => false,
        }
    }

    fn needed(&self, class: Class, timing: &ProbeTiming) -> u32 {
        match class {
            Class::Up if !self.owes => 1,
            Class::Up => timing.successes,
            Class::Down | Class::Unknown => timing.failures,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::probe::Fault;

    use super::*;

    fn up() -> ServiceState {
        ServiceState::Up { message: "answers within 1 ms".to_owned() }
    }

    fn down() -> ServiceState {
        ServiceState::Down(Fault::of("ServiceUnhealthy", &[("error", &"no answer within 5 s"), ("limit", &3)]))
    }

    fn unknown() -> ServiceState {
        ServiceState::Stopped { unit: "kubelet.service".to_owned() }
    }

    fn changes(streak: &mut Streak, all: &[ServiceState]) -> Vec<bool> {
        all.iter().map(|one| streak.take(one.clone(), &ProbeTiming::default())).collect()
    }

    #[test]
    fn three_bad_answers_begin_it_and_two_good_ones_end_it() {
        let mut streak = Streak::default();
        assert_eq!(
            changes(&mut streak, &[up(), down(), down(), up(), down(), down()]),
            [true, false, false, false, false, false]
        );
        assert!(streak.is_open());
        assert_eq!(changes(&mut streak, &[down()]), [true]);
        assert_eq!(changes(&mut streak, &[up(), down(), up(), up()]), [false, false, false, true]);
        assert_eq!(streak.state(), Some(&up()));
        assert!(!streak.is_open() && !streak.owes());
    }

    #[test]
    fn bad_answers_of_several_kinds_count_together() {
        let mut streak = Streak::default();
        assert_eq!(changes(&mut streak, &[up(), down(), unknown(), down()]), [true, false, false, true]);
        assert_eq!(changes(&mut streak, &[unknown(), down(), unknown(), unknown()]), [false; 4]);
        assert_eq!(changes(&mut streak, &[unknown(), up(), up()]), [true, false, true], "it still was down");
    }

    #[test]
    fn after_a_restart_one_good_answer_is_not_enough_if_it_was_down() {
        assert_eq!(changes(&mut Streak::load(true), &[up(), up()]), [false, true]);
        assert_eq!(changes(&mut Streak::load(false), &[up()]), [true]);
    }

    #[test]
    fn another_figure_is_no_news_and_another_message_is() {
        let message = |message: &str| ServiceState::Up { message: message.to_owned() };
        let mut streak = Streak::default();
        let all = [message("answers within 1 ms"), message("answers within 10 ms"), message("inactive")];
        assert_eq!(changes(&mut streak, &all), [true, false, true]);
    }
}
