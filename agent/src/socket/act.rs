//! What changes something without being a report: ending problems, injecting one. The gate has let it in.

use std::sync::Arc;

use hyper::StatusCode;
use nodewell_model::{
    Name,
    api::{ClearRequest, ClearedView, ForgetRequest, InjectRequest},
    text,
};

use super::{
    Api,
    answer::{Answer, Rejection, json},
    check_process_units,
};
use crate::{
    shared_state::{Affected, Command},
    store::Ticket,
};

/// `POST /v1/clear`; `peer` is who sends it, if by a grant.
pub(super) async fn clear(api: &Api, request: ClearRequest, peer: Option<Arc<str>>) -> Result<Answer, Rejection> {
    let named = request.condition.clone();
    let ClearRequest { condition, reason, subject, id, evidence, if_unchanged_since } = request;
    let evidence = evidence.map(|evidence| text::message(evidence.as_bytes()));
    let request = nodewell_ledger::ClearRequest { condition, reason, subject, id, evidence, if_unchanged_since, peer };
    // Our own check processes are started again by systemd: while they are silent nothing is known.
    let awaited = check_process_units::is_unit;
    match api.shared_state.ask(|done| Command::Clear { request, awaited, done }).await {
        Some(Some((cleared, ticket))) => Ok(ended(api, cleared, ticket).await),
        Some(None) => Err(unknown_condition(api, &named)),
        None => Err(stuck()),
    }
}

/// `POST /v1/forget` by `who`, who may do so.
pub(super) async fn forget(api: &Api, request: ForgetRequest, who: &str) -> Result<Answer, Rejection> {
    let daemon = request.daemon;
    let ours = daemon.rsplit_once('@').is_none_or(|(_, principal)| check_process_units::is_unit(principal));
    if ours && api.shared_state.view().daemons.iter().any(|known| known.name == daemon) {
        let error = format!(
            "{daemon} is nodewell's own: it reports again as long as it runs; see: systemctl list-units 'nodewell*'"
        );
        return Err(Rejection::new(StatusCode::BAD_REQUEST, error));
    }
    let (name, by) = (daemon.clone(), who.to_owned());
    match api.shared_state.ask(|done| Command::Forget { daemon, by, done }).await {
        Some(Some(Affected { problems, ticket })) => {
            Ok(ended(api, ClearedView { cleared: problems, ..ClearedView::default() }, ticket).await)
        }
        Some(None) => Err(unknown_daemon(api, &name)),
        None => Err(stuck()),
    }
}

/// A crash right after an answer that says so does not bring back what has ended.
async fn ended(api: &Api, view: ClearedView, ticket: Ticket) -> Answer {
    let durable = api.shared_state.store().is_durable(ticket).await;
    let code = if durable { StatusCode::OK } else { StatusCode::ACCEPTED };
    json(code, &ClearedView { durable, ..view })
}

fn unknown_daemon(api: &Api, name: &str) -> Rejection {
    let view = api.shared_state.view();
    let known: Vec<&str> = view.daemons.iter().filter(|one| one.is_external()).map(|one| one.name.as_str()).collect();
    let there = if known.is_empty() { "none reports over the socket".to_owned() } else { known.join(", ") };
    Rejection::new(StatusCode::NOT_FOUND, format!("there is no daemon {name:?}; there are: {there}"))
}

fn stuck() -> Rejection {
    Rejection::new(StatusCode::SERVICE_UNAVAILABLE, "the ledger does not answer; the agent is stopping or stuck")
}

pub(super) fn unknown_condition(api: &Api, condition: &Name) -> Rejection {
    let view = api.shared_state.view();
    let known: Vec<&str> = view.conditions.iter().map(|known| known.condition.as_str()).collect();
    let error = format!("there is no condition {condition}; there are: {}", known.join(", "));
    Rejection::new(StatusCode::BAD_REQUEST, error)
}

/// `POST /v1/inject`.
pub(super) fn inject(api: &Api, request: &InjectRequest) -> Result<Answer, Rejection> {
    let answer = api.injector.prepare(request).map_err(|error| Rejection::new(StatusCode::BAD_REQUEST, error))?;
    Ok(json(StatusCode::OK, &answer))
}
