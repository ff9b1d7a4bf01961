//! How the connection stands, put together from all lanes for the shared state; logs transitions, not repetitions.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use nodewell_model::view::{ApiserverState, ApiserverView};

use crate::{runtime::clock::Clock, shared_state::SharedState};

/// The independent streams to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Conditions,
    Events,
    Lease,
}

/// The state of all lanes; the shared state shows it.
pub(super) struct Health {
    shared_state: SharedState,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_success: Option<Timestamp>,
    conditions: LaneErrors,
    events: LaneErrors,
    lease: LaneErrors,
    conflicts: String,
    undelivered: u64,
}

/// What is wrong with one lane.
#[derive(Default)]
struct LaneErrors {
    /// Nothing gets through.
    error: Option<String>,
    /// The server answers, and will not take something of what we sent.
    rejection: Option<String>,
}

impl Health {
    pub(super) fn new(shared_state: SharedState, clock: Clock) -> Self {
        let health = Self { shared_state, clock, state: Mutex::default() };
        health.change(|_| ());
        health
    }

    pub(super) fn succeeded(&self, lane: Lane) {
        self.succeeded_but(lane, None);
    }

    /// The server took what we sent, less what it had refused before; the caller has logged that.
    pub(super) fn succeeded_but(&self, lane: Lane, rejection: Option<String>) {
        self.change(|state| {
            state.last_success = Some(self.clock.wall());
            let before = std::mem::replace(state.lane(lane), LaneErrors { error: None, rejection });
            if before.error.is_some() {
                tracing::info!(?lane, "the API server takes what we send again");
            }
        });
    }

    pub(super) fn failed(&self, lane: Lane, message: String) {
        self.change(|state| {
            let error = &mut state.lane(lane).error;
            if error.as_ref() != Some(&message) {
                tracing::warn!(?lane, error = %message, "the API server does not take what we send; will retry");
            }
            *error = Some(message);
        });
    }

    /// The server answers, and will not have it; the caller has logged it.
    pub(super) fn rejected(&self, lane: Lane, message: String) {
        self.change(|state| *state.lane(lane) = LaneErrors { error: None, rejection: Some(message) });
    }

    /// Nothing is to be got through on this lane for now; the caller has logged why.
    pub(super) fn disabled(&self, lane: Lane) {
        self.change(|state| *state.lane(lane) = LaneErrors::default());
    }

    pub(super) fn conflicts(&self, message: String) {
        self.change(|state| state.conflicts = message);
    }

    pub(super) fn undelivered(&self, count: usize) {
        self.change(|state| state.undelivered = count as u64);
    }

    pub(super) fn is_failing(&self) -> bool {
        self.shared_state.view().apiserver.state == ApiserverState::Failing
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let view = state.view();
        drop(state);
        self.shared_state.set_apiserver(view);
    }
}

impl State {
    fn lane(&mut self, lane: Lane) -> &mut LaneErrors {
        match lane {
            Lane::Conditions => &mut self.conditions,
            Lane::Events => &mut self.events,
            Lane::Lease => &mut self.lease,
        }
    }

    fn view(&self) -> ApiserverView {
        let mut parts: Vec<&str> =
            [&self.conditions, &self.events, &self.lease].into_iter().flat_map(LaneErrors::messages).collect();
        let failing = !parts.is_empty();
        let state = match (failing, self.last_success) {
            (true, _) => ApiserverState::Failing,
            (false, None) => ApiserverState::Connecting,
            (false, Some(_)) => ApiserverState::Connected,
        };
        // The lanes usually fail for one reason.
        parts.dedup();
        parts.extend(Some(self.conflicts.as_str()).filter(|text| !text.is_empty()));
        let message = parts.join("; ");
        ApiserverView { state, last_success: self.last_success, message, undelivered: self.undelivered }
    }
}

impl LaneErrors {
    fn messages(&self) -> impl Iterator<Item = &str> {
        [&self.error, &self.rejection].into_iter().flatten().map(String::as_str)
    }
}
