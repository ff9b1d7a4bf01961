//! Several tasks on one condition and subject: each reason is a problem of its own, and none hides another.

use crate::probe::{Fault, State, UnknownReason};
use nodewell_faults::message;
use nodewell_message::MessageArgs;

use super::task::TaskState;

/// What they amount to; `None` while some have no result yet and none is faulty.
pub(super) fn state<'a>(tasks: impl Iterator<Item = &'a TaskState> + Clone) -> Option<State> {
    let faulty: Vec<&TaskState> = tasks.clone().filter(|task| task.fault().is_some()).collect();
    let unknown_state = tasks.clone().find_map(TaskState::unknown_state);
    // No task can confirm anything: what was claimed stays, and is shown as unconfirmed.
    let confirmed = faulty.iter().any(|task| task.unknown_state().is_none());
    if confirmed {
        return Some(State::Faulty(faulty.into_iter().filter_map(fault).collect()));
    }
    if let Some(unknown_state) = unknown_state {
        return Some(State::Unknown {
            reason: UnknownReason::Named(unknown_state.why.clone()),
            message: unknown_state.message.clone(),
        });
    }
    // What programs print while nothing is wrong changes with every run, and is not worth a report.
    tasks.clone().all(TaskState::is_healthy).then(|| State::healthy("PluginResult/healthy", &[]))
}

/// Beside a fault that is confirmed, the message of one that is not states so.
fn fault(task: &TaskState) -> Option<Fault> {
    let fault = task.fault()?.clone();
    let message = match task.unknown_state() {
        Some(unknown_state) => {
            let args: MessageArgs<'_> = &[("message", &fault.message), ("error", &unknown_state.message)];
            message("PluginResult/unconfirmed", args)
        }
        None => fault.message.clone(),
    };
    Some(Fault { message, ..fault })
}
