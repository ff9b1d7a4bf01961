//! What every peer may read: views of the shared state, as JSON.

use hyper::StatusCode;
use nodewell_model::{
    Condition, ConditionStatus,
    api::{ConditionProblem, HealthView},
    view::{ConditionView, DaemonState, DaemonView, EventView, NodeView, ProblemView, RefusedView},
};

use super::{
    Injector,
    answer::{Answer, Rejection, json, stream},
    follow::Follower,
};
use crate::{
    inventory::{InventoryFiles, with_gpus},
    shared_state::EventLog,
};

/// Events in one answer, unless the request names a number.
const DEFAULT_EVENTS: usize = 1000;

/// `GET /v1/status`: the whole account, with what only the socket knows.
pub(super) fn whole(view: &NodeView, refused: Vec<RefusedView>) -> Answer {
    if refused.is_empty() {
        return json(StatusCode::OK, view);
    }
    json(StatusCode::OK, &NodeView { refused, ..view.clone() })
}

/// `GET /v1/conditions`: the problem report interface's own shape; the subject is the worst problem's.
pub(super) fn conditions(view: &NodeView) -> Answer {
    let conditions: Vec<Condition> = view.conditions.iter().map(|view| condition(view)).collect();
    json(StatusCode::OK, &conditions)
}

fn condition(view: &ConditionView) -> Condition {
    Condition {
        condition: view.condition.clone(),
        status: view.status,
        transition: view.transition,
        reason: view.reason.clone(),
        message: view.message.clone(),
        subject: worst(view).and_then(|worst| worst.subject.clone()),
        severity: None,
        action: None,
    }
}

/// Where only muted problems and false positives are left the condition is about none of them.
fn worst(view: &ConditionView) -> Option<&ProblemView> {
    view.problems.first().filter(|_| view.status != ConditionStatus::False)
}

/// `GET /v1/problems`: every active problem with its condition, and how a look at the host may end it.
pub(super) fn problems(view: &NodeView, rules: &dyn Injector) -> Answer {
    let of = |condition: &ConditionView, problem: &ProblemView| ConditionProblem {
        condition: condition.condition.clone(),
        problem: problem.clone(),
        check: is_ours(problem).then(|| rules.check_of(&problem.reason)).flatten().map(str::to_owned),
    };
    let of_all = view.conditions.iter().flat_map(|one| one.problems.iter().map(move |problem| of(one, problem)));
    json(StatusCode::OK, &of_all.collect::<Vec<_>>())
}

/// Whether one of our own monitors claims it: only those report by rules. An external daemon (`NAME@WHO`) that watches
/// by itself withdraws its reports itself.
fn is_ours(problem: &ProblemView) -> bool {
    problem.source.split(", ").any(|source| !source.contains('@'))
}

/// `GET /v1/inventory`: as the check process showed it last, from a file in memory, with what is known of GPUs; empty before
/// its first look, and where it has no hardware of its own to look at.
pub(super) fn inventory(files: Option<&InventoryFiles>, view: &NodeView) -> Answer {
    let shown = files.and_then(InventoryFiles::shown).unwrap_or_default();
    json(StatusCode::OK, &with_gpus(shown, &view.hardware))
}

/// `GET /healthz`: 503 while one of our own monitors has ended or hangs. One that cannot see reports that itself: that
/// is a fact about the host, which restarting us does not mend, and is listed as degraded.
pub(super) fn health(view: &NodeView) -> Answer {
    answer(view, Vec::new(), |daemon| matches!(daemon.state, DaemonState::Dead | DaemonState::Stale))
}

/// `GET /readyz`: the same, and 503 until every one of them was heard of once.
pub(super) fn readiness(view: &NodeView) -> Answer {
    let empty = view.daemons.is_empty() && view.conditions.is_empty();
    let unheard = empty.then(|| "the ledger has not given its first account yet".to_owned());
    answer(view, unheard.into_iter().collect(), |daemon| {
        matches!(daemon.state, DaemonState::Starting | DaemonState::Dead | DaemonState::Stale)
    })
}

/// An external daemon does not count: it is not ours to wait for.
fn answer(view: &NodeView, mut waiting: Vec<String>, counts: impl Fn(&DaemonView) -> bool) -> Answer {
    let (bad, degraded): (Vec<_>, Vec<_>) = (view.daemons.iter())
        .filter(|daemon| daemon.state != DaemonState::Running)
        .partition(|daemon| !daemon.is_external() && counts(daemon));
    waiting.extend(bad.into_iter().map(describe));
    let health = HealthView { ok: waiting.is_empty(), waiting, degraded: degraded.into_iter().map(describe).collect() };
    json(if health.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &health)
}

fn describe(daemon: &DaemonView) -> String {
    let state = match daemon.state {
        DaemonState::Starting => "has not reported yet",
        DaemonState::Running => "runs",
        DaemonState::Blind => "cannot see",
        DaemonState::Stale => "has gone silent",
        DaemonState::Dead => "ended",
    };
    let why = [&daemon.reason, &daemon.message].into_iter().filter(|part| !part.is_empty());
    why.fold(format!("{} {state}", daemon.name), |text, part| format!("{text}: {part}"))
}

/// The query of `GET /v1/events`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EventsQuery {
    follow: bool,
    after: Option<u64>,
    limit: Option<usize>,
}

impl EventsQuery {
    pub(super) fn parse(query: &str) -> Result<Self, Rejection> {
        let mut parsed = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, "true"));
            match key {
                "follow" => parsed.follow = value.parse().map_err(|_| bad(key, value, "true or false"))?,
                "after" => parsed.after = Some(value.parse().map_err(|_| bad(key, value, "an event's id"))?),
                "limit" => parsed.limit = Some(value.parse().map_err(|_| bad(key, value, "a number of events"))?),
                other => return Err(unknown(other)),
            }
        }
        Ok(parsed)
    }
}

fn bad(key: &str, value: &str, takes: &str) -> Rejection {
    Rejection::new(StatusCode::BAD_REQUEST, format!("parameter `{key}` takes {takes}, not {value:?}"))
}

fn unknown(key: &str) -> Rejection {
    let error = format!("unknown parameter {key:?}; there are `follow`, `after` and `limit`");
    Rejection::new(StatusCode::BAD_REQUEST, error)
}

/// `GET /v1/events`, newest last. With `after`: the first `limit` events beyond that id; without: the newest `limit`.
/// With `follow` the answer goes on with every new event; then `limit` is how many old ones come first (none).
/// An `after` beyond the newest id was given by an agent before this one: it counts as 0.
pub(super) fn events(log: &EventLog, query: &EventsQuery) -> Answer {
    let last = log.last_id();
    let after = query.after.map(|after| if after > last { 0 } else { after });
    if query.follow {
        let newest = query.limit.map_or(last, |limit| log.before_newest(limit));
        return stream(Follower::new(log.clone(), after.unwrap_or(newest)));
    }
    let limit = query.limit.unwrap_or(DEFAULT_EVENTS);
    let records = log.since(after.unwrap_or_else(|| log.before_newest(limit)), limit);
    json(StatusCode::OK, &records.iter().map(|record| record.view()).collect::<Vec<EventView>>())
}
