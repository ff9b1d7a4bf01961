//! A condition as people and the API server see it.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_model::{
    ConditionStatus, Name, ProblemKey,
    text::{MESSAGE_LIMIT_BYTES, about, cut, headed, line, shown_subject},
    view::{ConditionView, DaemonState, ProblemView},
};

use crate::{
    claim::Problem,
    condition::ConditionState,
    daemon::{Daemon, gravity},
};

/// Bytes of a condition's message reserved for naming the other subjects.
const OTHERS_LIMIT_BYTES: usize = 320;

/// The same for how many are muted, and how many are false positives.
const QUIET_LIMIT_BYTES: usize = 64;

type Daemons = BTreeMap<Arc<str>, Daemon>;

/// `None` for a condition without problems that no monitor watches.
pub(crate) fn condition(state: &ConditionState, daemons: &Daemons) -> Option<ConditionView> {
    let status = state.transition.status?;
    let problems = problems(state, daemons);
    let holding = problems.iter().take_while(|problem| problem.turns_condition()).count();
    let (holding, quiet) = problems.split_at(holding);
    let quiet = Quiet::of(quiet);
    let (reason, message) = match status {
        ConditionStatus::True => {
            holding.split_first().map(|(worst, others)| (worst.reason.clone(), held(worst, others, quiet)))
        }
        ConditionStatus::Unknown => unseen(state, daemons),
        ConditionStatus::False => only_muted(state, quiet).or_else(|| only_false_positives(state, quiet)),
    }
    .unwrap_or_else(|| (state.spec.healthy_reason.clone(), state.spec.healthy_message.clone()));
    let message = line(&message, MESSAGE_LIMIT_BYTES);
    let transition = state.transition.since.unwrap_or_default();
    Some(ConditionView { condition: state.spec.condition.clone(), status, reason, message, transition, problems })
}

/// Problems that turn no condition.
#[derive(Debug, Clone, Copy)]
struct Quiet {
    muted: usize,
    /// And not muted, too.
    false_positives: usize,
}

impl Quiet {
    fn of(problems: &[ProblemView]) -> Self {
        let muted = problems.iter().filter(|problem| problem.muted_until.is_some()).count();
        Self { muted, false_positives: problems.len() - muted }
    }

    /// What follows a message on other problems.
    fn suffix(self) -> String {
        let muted = if self.muted == 0 { String::new() } else { format!("; {} muted", self.muted) };
        match self.false_positives {
            0 => muted,
            1 => format!("{muted}; 1 false positive"),
            many => format!("{muted}; {many} false positives"),
        }
    }
}

/// What turns the condition first, then the worst, then the oldest, then by name.
fn problems(state: &ConditionState, daemons: &Daemons) -> Vec<ProblemView> {
    let mut held: Vec<_> = state.problems.iter().collect();
    held.sort_by_cached_key(|(key, problem)| {
        (!state.turns(key), std::cmp::Reverse(problem.severity()), problem.since())
    });
    let view = |(key, held)| {
        let muted_until = state.mutes.of_problem(key).map(|mute| mute.until);
        let false_positive = state.acks.get(key).map(|held| held.ack.clone());
        Some(ProblemView { muted_until, false_positive, ..problem(key, held, daemons)? })
    };
    held.into_iter().filter_map(view).collect()
}

fn problem(key: &ProblemKey, problem: &Problem, daemons: &Daemons) -> Option<ProblemView> {
    let spokesman = problem.spokesman()?;
    let seen = problem.version()?;
    let mut claims = problem.shown().map(|(_, claim)| claim);
    Some(ProblemView {
        id: key.id().to_string(),
        reason: key.reason.clone(),
        subject: key.subject.clone(),
        severity: problem.severity(),
        since: problem.since()?,
        last_seen: seen.last_seen,
        count: seen.count,
        message: spokesman.message.clone(),
        source: sources(problem),
        action: spokesman.action.or_else(|| claims.find_map(|claim| claim.action)).map(|a| a.as_str().to_owned()),
        unconfirmed_since: unconfirmed(key, problem, daemons),
        test: problem.is_test(),
        muted_until: None,
        false_positive: None,
    })
}

fn sources(problem: &Problem) -> String {
    let names: Vec<&str> = problem.shown().map(|(claimant, _)| &*claimant.source).collect();
    cut(&names.join(", "), MESSAGE_LIMIT_BYTES).to_owned()
}

/// When the last of its claimants went silent; `None` while one still reports.
fn unconfirmed(key: &ProblemKey, problem: &Problem, daemons: &Daemons) -> Option<Timestamp> {
    let silence = problem.shown().map(|(claimant, _)| daemons.get(&claimant.source)?.unconfirmed(key));
    silence.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// What holds it, and how many more would if they were not muted or false positives.
fn held(worst: &ProblemView, others: &[ProblemView], quiet: Quiet) -> String {
    let (text, suffix) = (condition_message(worst, others), quiet.suffix());
    if suffix.is_empty() { text } else { format!("{}{suffix}", cut(&text, MESSAGE_LIMIT_BYTES - QUIET_LIMIT_BYTES)) }
}

/// Of a condition that only muted problems would hold: what the longest of these mutes is about.
fn only_muted(state: &ConditionState, quiet: Quiet) -> Option<(Name, String)> {
    let mutes = state.problems.keys().filter_map(|key| state.mutes.of_problem(key));
    let last = mutes.max_by_key(|mute| mute.until)?;
    let text = crate::ledger::muted("ProblemsMuted", last);
    let others = if quiet.muted > 1 { format!("{} problems are muted; ", quiet.muted) } else { String::new() };
    let suffix = Quiet { muted: 0, ..quiet }.suffix();
    let text = cut(&text, MESSAGE_LIMIT_BYTES - QUIET_LIMIT_BYTES - others.len());
    Some((Name::fixed("ProblemsMuted"), format!("{others}{text}{suffix}")))
}

/// The same of one that only false positives would hold: what a person said last.
fn only_false_positives(state: &ConditionState, quiet: Quiet) -> Option<(Name, String)> {
    let (problem, last) = state.acks.iter().max_by_key(|(_, held)| held.ack.at)?;
    let text = crate::ledger::acked(problem, &last.ack);
    let many = quiet.false_positives;
    let others = if many > 1 { format!("{many} problems are false positives; ") } else { String::new() };
    Some((Name::fixed("FalsePositives"), format!("{others}{text}")))
}

/// The worst problem's message, and which other subjects have problems.
fn condition_message(worst: &ProblemView, others: &[ProblemView]) -> String {
    let mut also = String::new();
    for (named, other) in others.iter().enumerate() {
        let label = label(worst, other);
        if also.len() + label.len() > OTHERS_LIMIT_BYTES {
            also.push_str(&format!(" and {} more", others.len() - named));
            break;
        }
        also.push_str(if named == 0 { "; also " } else { ", " });
        also.push_str(&label);
    }
    format!("{}{also}", cut(&about(worst.subject.as_deref(), &worst.message), MESSAGE_LIMIT_BYTES - also.len()))
}

fn label(worst: &ProblemView, other: &ProblemView) -> String {
    match &other.subject {
        Some(subject) if other.reason == worst.reason => shown_subject(subject).to_owned(),
        Some(subject) => format!("{} {}", other.reason, shown_subject(subject)),
        None => other.reason.to_string(),
    }
}

/// Of the daemons that should see and do not, the one in the worst state.
fn unseen(state: &ConditionState, daemons: &Daemons) -> Option<(Name, String)> {
    let blind = |(_, daemon): &(&Arc<str>, &Daemon)| {
        daemon.watches(&state.spec.condition) && !daemon.sees(&state.spec.condition)
    };
    let worst = daemons.iter().filter(blind).min_by_key(|(_, daemon)| std::cmp::Reverse(gravity(daemon.state)))?;
    let (name, daemon) = worst;
    if daemon.state == DaemonState::Running {
        let Some(doubt) = daemon.doubt_of(&state.spec.condition) else {
            let text = message("MonitorStarting/unreported", &[]);
            return Some((Name::fixed("MonitorStarting"), format!("{name}: {text}")));
        };
        return Some((doubt.reason.clone(), headed(name, &doubt.message)));
    }
    Some((daemon.reason()?, format!("{name}: {}", daemon.message())))
}
