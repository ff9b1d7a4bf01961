//! `POST /v1/mute` and `/v1/unmute`: what a person knows of and does not act on yet. The gate has let it in.

use std::time::Duration;

use hyper::StatusCode;
use jiff::Timestamp;
use nodewell_ledger::Rejection as LedgerRejection;
use nodewell_model::{
    Mute, MuteKey,
    mute::{AffectedView, MuteRequest, TakeBackRequest, WHY_LIMIT_BYTES},
    text::{self, SUBJECT_LIMIT_BYTES},
};

use super::{
    Api,
    act::unknown_condition,
    answer::{Answer, Rejection, json},
};
use crate::{
    runtime::clock,
    shared_state::{Affected, Command},
};

/// What is muted for longer is not known of any more, but forgotten.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// As many mutes are named in an error.
const LISTED: usize = 10;

/// Mutes for `who`, who may do so.
pub(super) async fn mute(api: &Api, request: MuteRequest, who: &str) -> Result<Answer, Rejection> {
    has_room(api)?;
    let MuteRequest { reason, condition, subject, until, why, by } = request;
    let key = whole_key(MuteKey { reason, condition, subject })?;
    let why = word("why", &why, WHY_LIMIT_BYTES)?;
    let by = person(by, who)?;
    in_time(until, clock::now().wall)?;
    let mute = Mute { key, until, why, by, configured: false };
    match api.shared_state.ask(|done| Command::Mute { mute, done }).await {
        Some(Ok(affected)) => Ok(done(api, affected).await),
        Some(Err(refused)) => Err(not_done(api, &refused)),
        None => Err(stuck()),
    }
}

/// Takes a mute back for `who`, who may do so.
pub(super) async fn unmute(api: &Api, request: TakeBackRequest, who: &str) -> Result<Answer, Rejection> {
    let by = person(request.by.clone(), who)?;
    let key = whole_key(request.into())?;
    let what = key.whole();
    match api.shared_state.ask(|done| Command::Unmute { key, by, done }).await {
        Some(Ok(Some(affected))) => Ok(done(api, affected).await),
        Some(Ok(None)) => {
            let there = listed(&api.shared_state.view().mutes);
            Err(Rejection::new(StatusCode::NOT_FOUND, format!("{what} is not muted; {there}")))
        }
        Some(Err(refused)) => Err(not_done(api, &refused)),
        None => Err(stuck()),
    }
}

/// What a person says is not to be lost.
pub(super) fn has_room(api: &Api) -> Result<(), Rejection> {
    if api.shared_state.store().is_full() {
        return Err(Rejection::new(StatusCode::SERVICE_UNAVAILABLE, "too much waits to be saved; try again later"));
    }
    Ok(())
}

/// The person behind `who`, if it says so.
pub(super) fn person(by: Option<String>, who: &str) -> Result<String, Rejection> {
    let user = who.split_once(" in ").map_or(who, |(user, _)| user);
    let by = by.map(|by| word("by", &by, WHY_LIMIT_BYTES)).transpose()?.filter(|by| by != user);
    Ok(by.map_or_else(|| who.to_owned(), |by| format!("{by} ({who})")))
}

/// One line, which is shown as it stands.
pub(super) fn word(field: &str, given: &str, limit_bytes: usize) -> Result<String, Rejection> {
    let line = text::line(given, limit_bytes);
    if line.trim().is_empty() || given.len() > limit_bytes {
        let error = format!("field `{field}` takes a text of 1 to {limit_bytes} bytes");
        return Err(Rejection::new(StatusCode::BAD_REQUEST, error));
    }
    Ok(line)
}

/// With a subject as problems have it: another one would be of none.
pub(super) fn whole_key(key: MuteKey) -> Result<MuteKey, Rejection> {
    Ok(MuteKey { subject: key.subject.map(known_subject).transpose()?, ..key })
}

fn known_subject(given: String) -> Result<String, Rejection> {
    if word("subject", &given, SUBJECT_LIMIT_BYTES)? == given {
        return Ok(given);
    }
    Err(Rejection::new(StatusCode::BAD_REQUEST, "field `subject` takes no control or invisible characters"))
}

/// What is muted, as far as an answer has room for it.
fn listed(mutes: &[Mute]) -> String {
    let named: Vec<String> = mutes.iter().take(LISTED).map(|mute| mute.key.whole()).collect();
    match mutes.len() {
        0 => "nothing is".to_owned(),
        count if count > LISTED => format!("muted: {} and {} more", named.join(", "), count - LISTED),
        _ => format!("muted: {}", named.join(", ")),
    }
}

fn in_time(until: Timestamp, now: Timestamp) -> Result<(), Rejection> {
    let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    let error = match left {
        Duration::ZERO => format!("field `until`: {until} is over; this node's clock is at {now:.0}"),
        left if left > LONGEST => {
            format!("field `until`: a mute ends within 366 days, so that it is thought of again; {until} is later")
        }
        _ => return Ok(()),
    };
    Err(Rejection::new(StatusCode::BAD_REQUEST, error))
}

pub(super) async fn done(api: &Api, Affected { problems, ticket }: Affected) -> Answer {
    let durable = api.shared_state.store().is_durable(ticket).await;
    let code = if durable { StatusCode::OK } else { StatusCode::ACCEPTED };
    json(code, &AffectedView { problems, durable })
}

/// What the ledger says to a person.
pub(super) fn not_done(api: &Api, refused: &LedgerRejection) -> Rejection {
    match refused {
        LedgerRejection::UnknownCondition(condition) => unknown_condition(api, condition),
        _ => Rejection::new(code_of(refused), refused.to_string()),
    }
}

fn code_of(refused: &LedgerRejection) -> StatusCode {
    match refused {
        LedgerRejection::NoSuchProblem(_) | LedgerRejection::NotAcked(_) => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    }
}

pub(super) fn stuck() -> Rejection {
    Rejection::new(StatusCode::SERVICE_UNAVAILABLE, "the ledger does not answer; the agent is stopping or stuck")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mute_ends_in_the_future_and_within_a_year() {
        let now: Timestamp = "2026-11-28T12:00:00.5Z".parse().unwrap();
        let error = |until: &str| in_time(until.parse().unwrap(), now).unwrap_err().error;
        assert!(in_time("2026-11-28T12:00:01Z".parse().unwrap(), now).is_ok());
        assert!(in_time("2027-11-29T00:00:00Z".parse().unwrap(), now).is_ok());
        let over = error("2026-11-28T12:00:00Z");
        assert_eq!(over, "field `until`: 2026-11-28T12:00:00Z is over; this node's clock is at 2026-11-28T12:00:00Z");
        assert!(error("2027-12-01T00:00:00Z").contains("within 366 days"));
    }

    #[test]
    fn words_are_short_and_of_one_line() {
        assert_eq!(word("why", "on\norder", 20).unwrap(), "on order");
        for given in ["", "  ", "\u{200b}", &"x".repeat(21)] {
            assert!(word("why", given, 20).is_err(), "{given:?}");
        }
        assert_eq!(known_subject("sda".to_owned()).unwrap(), "sda");
        assert!(known_subject("sd\u{1b}a".to_owned()).is_err(), "no problem has such a subject");
        assert_eq!(person(Some("alice".to_owned()), "root").unwrap(), "alice (root)");
        assert_eq!(person(Some("root".to_owned()), "root").unwrap(), "root");
        let who = "root in backup.service";
        assert_eq!(person(Some("alice".to_owned()), who).unwrap(), "alice (root in backup.service)");
        assert_eq!(person(Some("root".to_owned()), who).unwrap(), who);
        assert_eq!(person(None, who).unwrap(), who);
    }

    #[test]
    fn what_is_not_there_is_not_found_and_the_rest_is_in_the_way() {
        let what = || "IOError on sda".to_owned();
        assert_eq!(code_of(&LedgerRejection::NoSuchProblem(what())), StatusCode::NOT_FOUND);
        assert_eq!(code_of(&LedgerRejection::NotAcked(what())), StatusCode::NOT_FOUND);
        assert_eq!(code_of(&LedgerRejection::AckedAlready(what())), StatusCode::CONFLICT);
        assert_eq!(code_of(&LedgerRejection::OnlyTests(what())), StatusCode::CONFLICT);
    }
}
