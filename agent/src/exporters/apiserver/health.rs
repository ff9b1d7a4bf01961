//! How the connection stands, put together from both lanes for the board; logs transitions, not repetitions.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use nodewell_model::view::{ApiserverState, ApiserverView};

use crate::board::Board;

/// The two independent streams to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Conditions,
    Events,
}

/// The state of both lanes; the board shows it.
pub(super) struct Health {
    board: Board,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_success: Option<Timestamp>,
    conditions_failure: Option<String>,
    events_failure: Option<String>,
    conflicts: String,
    undelivered: u64,
}

impl Health {
    pub(super) fn new(board: Board) -> Self {
        let health = Self { board, state: Mutex::default() };
        health.change(|_| ());
        health
    }

    pub(super) fn succeeded(&self, lane: Lane) {
        self.change(|state| {
            state.last_success = Some(Timestamp::now());
            if state.failure(lane).take().is_some() {
                tracing::info!(?lane, "the API server takes what we send again");
            }
        });
    }

    pub(super) fn failed(&self, lane: Lane, message: String) {
        self.change(|state| {
            let failure = state.failure(lane);
            if failure.as_ref() != Some(&message) {
                tracing::warn!(?lane, error = %message, "the API server does not take what we send; will retry");
            }
            *failure = Some(message);
        });
    }

    pub(super) fn conflicts(&self, message: String) {
        self.change(|state| state.conflicts = message);
    }

    pub(super) fn undelivered(&self, count: usize) {
        self.change(|state| state.undelivered = count as u64);
    }

    pub(super) fn is_failing(&self) -> bool {
        self.board.view().apiserver.state == ApiserverState::Failing
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let view = state.view();
        drop(state);
        self.board.set_apiserver(view);
    }
}

impl State {
    fn failure(&mut self, lane: Lane) -> &mut Option<String> {
        match lane {
            Lane::Conditions => &mut self.conditions_failure,
            Lane::Events => &mut self.events_failure,
        }
    }

    fn view(&self) -> ApiserverView {
        let failing = self.conditions_failure.is_some() || self.events_failure.is_some();
        let state = match (failing, self.last_success) {
            (true, _) => ApiserverState::Failing,
            (false, None) => ApiserverState::Connecting,
            (false, Some(_)) => ApiserverState::Connected,
        };
        // Both lanes usually fail for one reason.
        let mut parts = vec![self.conditions_failure.as_deref(), self.events_failure.as_deref()];
        parts.dedup();
        parts.push(Some(self.conflicts.as_str()).filter(|text| !text.is_empty()));
        let message = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        ApiserverView { state, last_success: self.last_success, message, undelivered: self.undelivered }
    }
}
