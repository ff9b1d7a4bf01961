//! The state of the connection for the shared state (`nodewell status`), from the errors of all control loops; logs
//! transitions, not repetitions.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use nodewell_model::view::{ApiserverState, ApiserverView};

use crate::{runtime::clock::Clock, shared_state::SharedState};

/// The independent control loops of the exporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlLoop {
    Conditions,
    Events,
    Lease,
}

/// The state of all loops; the shared state shows it.
pub(crate) struct Health {
    shared_state: SharedState,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_success: Option<Timestamp>,
    conditions: LoopErrors,
    events: LoopErrors,
    lease: LoopErrors,
    conflicts: String,
    undelivered: u64,
}

/// What is wrong with one loop.
#[derive(Default)]
struct LoopErrors {
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

    pub(crate) fn succeeded(&self, control_loop: ControlLoop) {
        self.succeeded_but(control_loop, None);
    }

    /// The server took what we sent, less what it had refused before; the caller has logged that.
    pub(crate) fn succeeded_but(&self, control_loop: ControlLoop, rejection: Option<String>) {
        self.change(|state| {
            state.last_success = Some(self.clock.wall());
            let before = std::mem::replace(state.control_loop(control_loop), LoopErrors { error: None, rejection });
            if before.error.is_some() {
                tracing::info!(?control_loop, "the API server takes what we send again");
            }
        });
    }

    pub(crate) fn failed(&self, control_loop: ControlLoop, message: String) {
        self.change(|state| {
            let error = &mut state.control_loop(control_loop).error;
            if error.as_ref() != Some(&message) {
                tracing::warn!(?control_loop, error = %message, "the API server does not take what we send; will retry");
            }
            *error = Some(message);
        });
    }

    /// The server answers, and refuses what was sent; the caller has logged it.
    pub(crate) fn rejected(&self, control_loop: ControlLoop, message: String) {
        self.change(|state| *state.control_loop(control_loop) = LoopErrors { error: None, rejection: Some(message) });
    }

    /// The loop sends nothing for now, and has no error; the caller has logged why.
    pub(crate) fn disabled(&self, control_loop: ControlLoop) {
        self.change(|state| *state.control_loop(control_loop) = LoopErrors::default());
    }

    pub(crate) fn conflicts(&self, message: String) {
        self.change(|state| state.conflicts = message);
    }

    pub(crate) fn undelivered(&self, count: usize) {
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
    fn control_loop(&mut self, control_loop: ControlLoop) -> &mut LoopErrors {
        match control_loop {
            ControlLoop::Conditions => &mut self.conditions,
            ControlLoop::Events => &mut self.events,
            ControlLoop::Lease => &mut self.lease,
        }
    }

    fn view(&self) -> ApiserverView {
        let mut parts: Vec<&str> =
            [&self.conditions, &self.events, &self.lease].into_iter().flat_map(LoopErrors::messages).collect();
        let failing = !parts.is_empty();
        let state = match (failing, self.last_success) {
            (true, _) => ApiserverState::Failing,
            (false, None) => ApiserverState::Connecting,
            (false, Some(_)) => ApiserverState::Connected,
        };
        // The loops usually fail for one reason.
        parts.dedup();
        parts.extend(Some(self.conflicts.as_str()).filter(|text| !text.is_empty()));
        let message = parts.join("; ");
        ApiserverView { state, last_success: self.last_success, message, undelivered: self.undelivered }
    }
}

impl LoopErrors {
    fn messages(&self) -> impl Iterator<Item = &str> {
        [&self.error, &self.rejection].into_iter().flatten().map(String::as_str)
    }
}
