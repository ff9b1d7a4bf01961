//! What changes something without being a report: ending problems, injecting one. The gate has let it in.

use std::sync::Arc;

use hyper::StatusCode;
use nodewell_model::{
    Name,
    api::{ClearRequest, InjectRequest},
    text,
};

use super::{
    Api,
    answer::{Answer, Rejection, json},
    check_process_units,
};
use crate::shared_state::Command;

/// `POST /v1/clear`; `peer` is who sends it, if by a grant.
pub(super) async fn clear(api: &Api, request: ClearRequest, peer: Option<Arc<str>>) -> Result<Answer, Rejection> {
    known_condition(api, &request.condition)?;
    let ClearRequest { condition, reason, subject, id, evidence, if_unchanged_since } = request;
    let evidence = evidence.map(|evidence| text::message(evidence.as_bytes()));
    let request = nodewell_ledger::ClearRequest { condition, reason, subject, id, evidence, if_unchanged_since, peer };
    // Our own check processes are started again by systemd: while they are silent nothing is known.
    let awaited = check_process_units::is_unit;
    match api.shared_state.ask(|done| Command::Clear { request, awaited, done }).await {
        Some(cleared) => Ok(json(StatusCode::OK, &cleared)),
        None => Err(Rejection::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the ledger does not answer; the agent is stopping or stuck",
        )),
    }
}

/// There is no condition of another type on this node.
pub(super) fn known_condition(api: &Api, condition: &Name) -> Result<(), Rejection> {
    let view = api.shared_state.view();
    if view.conditions.iter().any(|known| known.condition == *condition) {
        return Ok(());
    }
    let known: Vec<&str> = view.conditions.iter().map(|known| known.condition.as_str()).collect();
    let error = format!("there is no condition {condition}; there are: {}", known.join(", "));
    Err(Rejection::new(StatusCode::BAD_REQUEST, error))
}

/// `POST /v1/inject`.
pub(super) fn inject(api: &Api, request: &InjectRequest) -> Result<Answer, Rejection> {
    let answer = api.injector.prepare(request).map_err(|error| Rejection::new(StatusCode::BAD_REQUEST, error))?;
    Ok(json(StatusCode::OK, &answer))
}
