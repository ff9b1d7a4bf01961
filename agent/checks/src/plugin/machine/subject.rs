//! Several tasks on one condition and subject: each reason is a problem of its own, and none hides another.

use nodewell_hardware::{Fault, State};

use super::task::TaskState;

/// What programs print while nothing is wrong changes with every run, and is not worth a report.
const HEALTHY: &str = "its plug-ins find nothing wrong";

/// What they amount to; `None` while some were not heard yet and none is faulty.
pub(super) fn state<'a>(tasks: impl Iterator<Item = &'a TaskState> + Clone) -> Option<State> {
    let faulty: Vec<&TaskState> = tasks.clone().filter(|task| task.fault().is_some()).collect();
    let mystery = tasks.clone().find_map(TaskState::mystery);
    // No task can confirm anything: what was claimed stays, and is shown as unconfirmed.
    let confirmed = faulty.iter().any(|task| task.mystery().is_none());
    if confirmed {
        return Some(State::Faulty(faulty.into_iter().filter_map(fault).collect()));
    }
    if let Some(mystery) = mystery {
        return Some(State::Unknown { reason: mystery.why.clone(), message: mystery.message.clone() });
    }
    tasks.clone().all(TaskState::is_healthy).then(|| State::Healthy { message: HEALTHY.to_owned() })
}

/// Beside a fault that is confirmed, the message of one that is not states so.
fn fault(task: &TaskState) -> Option<Fault> {
    let fault = task.fault()?.clone();
    let message = match task.mystery() {
        Some(mystery) => format!("{} (unconfirmed: {})", fault.message, mystery.message),
        None => fault.message.clone(),
    };
    Some(Fault { message, ..fault })
}
