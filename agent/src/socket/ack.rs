//! `POST /v1/ack` and `/v1/unack`: a person calls problems that are there false positives. The gate has let it in.

use nodewell_ledger::Rejection as LedgerRejection;
use nodewell_model::{
    Ack, MuteKey,
    ack::AckRequest,
    mute::{TakeBackRequest, WHY_LIMIT_BYTES},
};

use super::{
    Api,
    answer::{Answer, Rejection},
    mute::{done, has_room, not_done, person, stuck, whole_key, word},
};
use crate::{
    runtime::clock,
    shared_state::{Affected, Command},
};

/// Calls problems false positives for `who`, who may do so.
pub(super) async fn ack(api: &Api, request: AckRequest, who: &str) -> Result<Answer, Rejection> {
    has_room(api)?;
    let AckRequest { reason, condition, subject, why, by } = request;
    let key = whole_key(MuteKey { reason, condition, subject })?;
    let why = word("why", &why, WHY_LIMIT_BYTES)?;
    let ack = Ack { at: clock::now().wall, by: person(by, who)?, why };
    answer(api, api.shared_state.ask(|done| Command::Ack { key, ack, done }).await).await
}

/// Takes that back for `who`, who may do so.
pub(super) async fn unack(api: &Api, request: TakeBackRequest, who: &str) -> Result<Answer, Rejection> {
    let by = person(request.by.clone(), who)?;
    let key = whole_key(request.into())?;
    answer(api, api.shared_state.ask(|done| Command::Unack { key, by, done }).await).await
}

async fn answer(api: &Api, outcome: Option<Result<Affected, LedgerRejection>>) -> Result<Answer, Rejection> {
    match outcome {
        Some(Ok(affected)) => Ok(done(api, affected).await),
        Some(Err(refused)) => Err(not_done(api, &refused)),
        None => Err(stuck()),
    }
}
