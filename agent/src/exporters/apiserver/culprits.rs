//! Which of several conditions the server refuses, by halves. Nothing is written: each question is a dry run, so the
//! Node never loses a condition for the sake of the search.

use nodewell_model::Name;

use super::{
    answer::{RequestError, Taken},
    object::{self, Draft},
    shared::Shared,
};

/// More questions than this are not asked at once; what they did not find, the next try may.
const QUESTIONS_LIMIT: usize = 64;

/// A condition that is refused even alone, and the server's error for it.
pub(super) type Culprit = (Name, RequestError);

/// The culprits in `draft`, which the server refused as a whole. There is none if the server refuses every draft, or
/// everything but each condition alone.
pub(super) async fn find(shared: &Shared, draft: &Draft) -> Result<Vec<Culprit>, RequestError> {
    if draft.len() < 2 || rejection(ask(shared, &Draft::new()).await)?.is_some() {
        return Ok(Vec::new());
    }
    let mut culprits = Vec::new();
    let mut suspects = halves(draft);
    for _ in 0..QUESTIONS_LIMIT {
        let Some(suspect) = suspects.pop() else { break };
        let Some(error) = rejection(ask(shared, &suspect).await)? else { continue };
        match suspect.first_key_value() {
            Some((name, _)) if suspect.len() == 1 => culprits.push((name.clone(), error)),
            _ => suspects.extend(halves(&suspect)),
        }
    }
    Ok(if culprits.len() < draft.len() { culprits } else { Vec::new() })
}

async fn ask(shared: &Shared, draft: &Draft) -> Result<Taken, RequestError> {
    shared.connection.send(&object::try_conditions(&shared.config.node_name, draft)).await
}

/// An error that is not about the content ends the search.
fn rejection(answer: Result<Taken, RequestError>) -> Result<Option<RequestError>, RequestError> {
    match answer {
        Ok(_) => Ok(None),
        Err(error) if error.is_about_content() => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

fn halves(draft: &Draft) -> Vec<Draft> {
    let mut first = draft.clone();
    let Some(middle) = draft.keys().nth(draft.len() / 2) else { return Vec::new() };
    let second = first.split_off(middle);
    vec![first, second]
}
