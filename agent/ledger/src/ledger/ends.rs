//! How problems end: a clear, a quiet time, a person's request, a reload. Never by a restart.

use std::fmt::Display;

use jiff::{SignedDuration, Timestamp};
use nodewell_faults::message;
use nodewell_model::{ConditionStatus, EventRecord, Finding, Name, Origin, ProblemKey, Severity};

use super::{Applied, ClearRequest, Ledger};
use crate::{
    Now,
    claim::{Claim, Claimant, Problem},
    condition::Cause,
    events::Ending,
    timers::Due,
};

impl Ledger {
    /// A clear finding: withdraws only its own source's claims, and a test only tests.
    pub(super) fn take_back(&mut self, finding: &Finding, now: Now) -> Applied {
        let claimant = Claimant::of(finding);
        let state = finding.condition.as_ref().and_then(|condition| self.states.get(condition));
        let keys = state.map(|state| state.keys_of(Some(&finding.reason), finding.subject.as_deref()));
        let ending = Ending {
            time: finding.time.min(now.wall),
            origin: Some(finding.origin.clone()),
            boot_id: finding.boot_id,
            source: finding.source.to_string(),
            from_peer: false,
            evidence: finding.message.clone(),
            test: finding.test,
        };
        let ended = keys.unwrap_or_default().iter().filter(|key| self.withdraw(key, &claimant, &ending)).count();
        Applied::Cleared(ended)
    }

    /// `nodewell clear`, and a client that has looked: withdraws the claims of all sources, tests too. Returns how many
    /// problems ended.
    pub fn clear(&mut self, request: &ClearRequest, now: Now) -> usize {
        let Some(state) = self.states.get(&request.condition) else { return 0 };
        let mut keys = state.keys_of(request.reason.as_ref(), request.subject.as_deref());
        if let Some(id) = &request.id {
            keys.retain(|key| key.id().to_string() == *id);
        }
        if request.if_unchanged_since.is_some() {
            keys.retain(|key| state.problems.get(key).and_then(Problem::version) == request.if_unchanged_since);
        }
        let evidence = request.evidence.clone().unwrap_or_else(|| message("ProblemEnded/ended-cleared", &[]));
        let source = request.peer.as_ref().map_or("nodewell".to_owned(), |peer| format!("nodewell@{peer}"));
        let ending = Ending { from_peer: request.peer.is_some(), ..self.conclusion(&source, evidence, now) };
        keys.iter().filter(|key| self.withdraw_all(key, &ending)).count()
    }

    /// Lets everything end whose time is up.
    pub fn advance(&mut self, now: Now) {
        while let Some((deadline, due)) = self.timers.pop(now.boottime) {
            match due {
                Due::Daemon(name) => self.daemon_is_late(&name, deadline, now),
                Due::Unreported(name) => self.is_believed_no_longer(&name, deadline, now),
                Due::Claim(key, claimant) => self.claim_is_over(&key, &claimant, now.wall_at(deadline), now),
            }
        }
        if self.mutes.next_look().is_some_and(|look| look <= now.boottime) {
            self.look_at_mutes(now);
        }
    }

    fn claim_is_over(&mut self, key: &ProblemKey, claimant: &Claimant, time: Timestamp, now: Now) {
        let quiet = self.held(key, claimant).and_then(|claim| claim.ends_after_quiet);
        let evidence = match quiet.and_then(|quiet| SignedDuration::try_from(quiet).ok()) {
            Some(quiet) if !claimant.test => {
                message("ProblemEnded/ended-quiet", &[("quiet", &format_args!("{quiet:#}"))])
            }
            _ => message("ProblemEnded/ended-test", &[]),
        };
        let ending = Ending { time, ..self.conclusion(&claimant.source, evidence, now) };
        self.withdraw(key, claimant, &ending);
    }

    /// An ending that no record reports.
    pub(crate) fn conclusion(&self, source: &str, evidence: String, now: Now) -> Ending {
        Ending {
            time: now.wall,
            origin: None,
            boot_id: self.run.boot_id,
            source: source.to_owned(),
            from_peer: self.is_peer(source),
            evidence,
            test: false,
        }
    }

    /// Whether `source` reports over the socket by no more than a grant for some types.
    fn is_peer(&self, source: &str) -> bool {
        let reporter = self.daemons.get(source).and_then(|daemon| daemon.reporter.as_ref());
        reporter.is_some_and(|reporter| !reporter.may_use_reserve)
    }

    pub(crate) fn held(&self, key: &ProblemKey, claimant: &Claimant) -> Option<&Claim> {
        self.states.get(&key.condition)?.problems.get(key)?.claims.get(claimant)
    }

    pub(crate) fn withdraw_all(&mut self, key: &ProblemKey, ending: &Ending) -> bool {
        let claims = self.states.get(&key.condition).and_then(|state| state.problems.get(key)).map(|p| &p.claims);
        let claimants: Vec<_> = claims.into_iter().flat_map(|claims| claims.keys().cloned()).collect();
        claimants.iter().filter(|claimant| self.withdraw(key, claimant, ending)).count() > 0
    }

    /// Strikes out one claim; the problem ends with its last. Returns whether it did.
    pub(crate) fn withdraw(&mut self, key: &ProblemKey, claimant: &Claimant, ending: &Ending) -> bool {
        let Some(state) = self.states.get_mut(&key.condition) else { return false };
        let Some(problem) = state.problems.get_mut(key) else { return false };
        let Some(claim) = problem.claims.remove(claimant) else { return false };
        if let Some(reporter) = self.daemons.get_mut(&claimant.source).and_then(|daemon| daemon.reporter.as_mut()) {
            reporter.lost(key);
        }
        let (ended, is_over) = (problem.claims.is_empty(), problem.is_test());
        // A test that is left is no part of what a person called a false positive.
        let is_other_ack = if is_over {
            state.remove_ack(key).is_some()
        } else {
            !claimant.test && state.narrow_ack(key, &claimant.source)
        };
        if is_other_ack {
            self.dirty.ack(key);
        }
        if ended {
            state.close(key);
        }
        state.refresh(&self.daemons, Cause::Record(ending.time));
        self.dirty.claim(key, claimant);
        self.timers.reset(Due::Claim(key.clone(), claimant.clone()), claim.deadline, None);
        self.changed();
        if ended {
            let event = self.end_of(key, claim.since, claimant, ending);
            self.emit(event);
        }
        ended
    }

    fn end_of(&self, key: &ProblemKey, since: Timestamp, claimant: &Claimant, ending: &Ending) -> EventRecord {
        let (reason, message) = self.end_message(key, ending);
        // A crash may let it end a second time: that is the same end.
        let concluded = || Origin::Ended { problem: key.id().to_string(), since };
        EventRecord {
            id: 0,
            origin: ending.origin.clone().unwrap_or_else(concluded),
            boot_id: ending.boot_id,
            severity: Severity::Info,
            time: ending.time,
            last_time: ending.time,
            reason,
            message,
            subject: key.subject.clone(),
            source: ending.source.clone(),
            pod_uid: None,
            from_peer: ending.from_peer,
            condition: Some(key.condition.clone()),
            count: 1,
            test: claimant.test || ending.test,
        }
    }

    /// The condition's healthy reason when it is healthy by this end, `ProblemEnded` when something else is wrong, muted
    /// or not.
    fn end_message(&self, key: &ProblemKey, ending: &Ending) -> (Name, String) {
        let state = self.states.get(&key.condition);
        let healthy =
            state.filter(|state| state.transition.status == Some(ConditionStatus::False) && state.problems.is_empty());
        let reason = healthy.map_or_else(|| Name::fixed("ProblemEnded"), |state| state.spec.healthy_reason.clone());
        let (ended, evidence) =
            (("reason", &key.reason as &dyn Display), ("evidence", &ending.evidence as &dyn Display));
        let message = match &key.subject {
            Some(subject) => message("ProblemEnded/subject", &[ended, ("subject", subject), evidence]),
            None => message("ProblemEnded", &[ended, evidence]),
        };
        (reason, message)
    }
}
