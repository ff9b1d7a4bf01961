//! The reporter: what it decides, on a paused clock; and what it does, against scripted agents.

mod agrees;
mod crowds;
mod decides;
mod scripted;
mod sets;

use nodewell_ledger::{OnStale, Sender};
use nodewell_model::{Condition, ConditionStatus, Event, Name, Severity};

fn root() -> Sender {
    Sender { principal: "root".into(), on_stale: OnStale::Keep, may_use_reserve: true }
}

fn condition(subject: Option<&str>, status: ConditionStatus) -> Condition {
    Condition {
        condition: Name::fixed("RaidProblem"),
        status,
        transition: "2026-11-21T02:00:00Z".parse().unwrap(),
        reason: Name::fixed("RaidDegraded"),
        message: "lost a disk".to_owned(),
        subject: subject.map(str::to_owned),
        severity: None,
        action: None,
    }
}

fn broken(subject: &str) -> Condition {
    condition(Some(subject), ConditionStatus::True)
}

fn event(severity: Severity, n: u32) -> Event {
    Event {
        severity,
        timestamp: "2026-11-21T02:00:00Z".parse().unwrap(),
        reason: Name::fixed("RaidSeen"),
        message: n.to_string(),
        subject: None,
        seen_by: None,
    }
}
