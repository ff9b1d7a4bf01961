//! Which of several conditions the server rejects, found by bisection. Nothing is written: each question is a dry run,
//! so the Node never loses a condition for the sake of the search.

use nodewell_model::Name;

use super::object::{self, ApplyPatch};
use crate::exporters::apiserver::{
    connection::{AcceptedAnswer, RequestError},
    control_loop::Shared,
};

/// More questions than this are not asked at once; what they did not find, the next try may.
const QUESTIONS_LIMIT: usize = 64;

/// A condition that is refused even alone, and the server's error for it.
pub(super) struct RejectedCondition {
    pub(super) condition: Name,
    pub(super) error: RequestError,
}

/// The conditions in `patch` that the server rejects, where it rejected `patch` as a whole. There is none if the server
/// rejects every patch, or everything but each condition alone.
pub(super) async fn rejected_conditions(
    shared: &Shared,
    patch: &ApplyPatch,
) -> Result<Vec<RejectedCondition>, RequestError> {
    if patch.len() < 2 || rejection(ask(shared, &ApplyPatch::new()).await)?.is_some() {
        return Ok(Vec::new());
    }
    let mut rejected = Vec::new();
    let mut suspects = halves(patch);
    for _ in 0..QUESTIONS_LIMIT {
        let Some(suspect) = suspects.pop() else { break };
        let Some(error) = rejection(ask(shared, &suspect).await)? else { continue };
        match suspect.first_key_value() {
            Some((name, _)) if suspect.len() == 1 => {
                rejected.push(RejectedCondition { condition: name.clone(), error })
            }
            _ => suspects.extend(halves(&suspect)),
        }
    }
    Ok(if rejected.len() < patch.len() { rejected } else { Vec::new() })
}

async fn ask(shared: &Shared, patch: &ApplyPatch) -> Result<AcceptedAnswer, RequestError> {
    shared.connection.send(&object::try_conditions(&shared.config.node_name, patch)).await
}

/// An error that is not about the content ends the search.
fn rejection(answer: Result<AcceptedAnswer, RequestError>) -> Result<Option<RequestError>, RequestError> {
    match answer {
        Ok(_) => Ok(None),
        Err(error) if error.is_about_content() => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

fn halves(patch: &ApplyPatch) -> Vec<ApplyPatch> {
    let mut first = patch.clone();
    let Some(middle) = patch.keys().nth(patch.len() / 2) else { return Vec::new() };
    let second = first.split_off(middle);
    vec![first, second]
}
