//! What external daemons report: claims for each type and subject, doubts, full accounts, goodbyes.
//!
//! A report is a set, not a sequence: what it says of a type without a subject holds for every subject that it does
//! not name.

mod admit;
mod roster;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{
    Condition, ConditionStatus, Event, Finding, FindingKind, Guard, Origin, ProblemKey, Severity, Status, text,
};

use super::{Ledger, ReportRefusal};
use crate::{
    Now, OnStale,
    claim::{Claimant, Lasting, Restated, Restatement},
    events::Ending,
    page::Cause,
    reporter::{FORGOTTEN_AFTER, Spot, Unsure},
    timers::Due,
};

/// One report on its way into the ledger: who says it, under which id, and when.
struct Word<'a> {
    daemon: Arc<str>,
    id: Option<&'a str>,
    now: Now,
}

impl Word<'_> {
    fn claimant(&self) -> Claimant {
        Claimant { source: Arc::clone(&self.daemon), test: false }
    }
}

impl Ledger {
    /// Takes a batch of reports of `principal`, all or none. Each is of the daemon `source@principal`, and changes
    /// nothing if its id is one of that daemon's last. The reports must have passed [`Status::check`].
    pub fn report(
        &mut self,
        reports: Vec<Status>,
        principal: &str,
        on_stale: OnStale,
        now: Now,
    ) -> Result<(), ReportRefusal> {
        let names: Vec<Arc<str>> = reports.iter().map(|status| roster::name(&status.source, principal)).collect();
        self.admit(&reports, &names)?;
        for (status, name) in reports.into_iter().zip(names) {
            self.take_report(status, (name, on_stale), now);
        }
        Ok(())
    }

    fn take_report(&mut self, status: Status, (daemon, on_stale): (Arc<str>, OnStale), now: Now) {
        let Status { id, events, conditions, last, .. } = &status;
        if id.as_ref().is_some_and(|id| self.knows(&daemon, id)) {
            return;
        }
        let word = Word { daemon, id: id.as_deref(), now };
        let marks = self.dirty.marks;
        let unsettled = self.hear(&word, &status, on_stale);
        let named = named(&status);
        events.iter().enumerate().for_each(|(n, event)| self.report_event(&word, n, event));
        conditions.iter().enumerate().for_each(|(n, condition)| self.report_condition(&word, (n, condition), &named));
        if status.full {
            self.withdraw_unnamed(&word, &named);
        }
        if *last {
            self.say_goodbye(&word);
        } else if !self.release(&word) && unsettled {
            self.settle_all(now.wall);
        }
        // The id of what lasts must last; a heartbeat is nothing for the disk.
        if self.dirty.marks != marks {
            self.dirty.daemon(&word.daemon);
        }
    }

    fn report_event(&mut self, word: &Word<'_>, n: usize, event: &Event) {
        let time = event.timestamp.min(word.now.wall);
        let finding = Finding {
            source: Arc::clone(&word.daemon),
            kind: FindingKind::Raise,
            condition: None,
            reason: event.reason.clone(),
            subject: event.subject.clone(),
            severity: event.severity,
            message: text::message(event.message.as_bytes()),
            time,
            last_time: time,
            count: 1,
            origin: self.origin_of(word, "event", n),
            boot_id: self.run.boot_id,
            quiet: None,
            ends_at_boot: false,
            action: None,
            guard: Guard::None,
            test: false,
        };
        self.happened(&finding);
    }

    fn report_condition(&mut self, word: &Word<'_>, (n, condition): (usize, &Condition), named: &BTreeSet<Spot>) {
        let spot = spot_of(condition);
        match condition.status {
            ConditionStatus::True => self.report_true(word, (n, condition), &spot),
            ConditionStatus::False => {
                let spots = self.spots_meant(word, &spot, named);
                spots.iter().for_each(|spot| self.report_false(word, (n, condition), spot));
            }
            ConditionStatus::Unknown => {
                let mut spots = self.spots_meant(word, &spot, named);
                spots.push(spot);
                self.report_unknown(word, condition, spots);
            }
        }
    }

    /// The spots that the daemon speaks of and `spot` stands for: itself, or every unnamed one of its type.
    fn spots_meant(&self, word: &Word<'_>, spot: &Spot, named: &BTreeSet<Spot>) -> Vec<Spot> {
        let Some(reporter) = self.reporter(&word.daemon) else { return Vec::new() };
        let mut spots = reporter.spots_of(&spot.0);
        spots.retain(|other| other == spot || (spot.1.is_none() && !named.contains(other)));
        spots
    }

    fn report_true(&mut self, word: &Word<'_>, (n, condition): (usize, &Condition), spot: &Spot) {
        self.trust_again(word, spot);
        let before = self.reporter(&word.daemon).and_then(|reporter| reporter.key(spot));
        let key = ProblemKey { condition: spot.0.clone(), reason: condition.reason.clone(), subject: spot.1.clone() };
        if before.as_ref() == Some(&key) {
            return self.restate(word, condition, &key);
        }
        self.claim_reported(word, (n, condition), &key);
        // The new one first: the condition stays True in between.
        if let Some(old) = before {
            let evidence = format!("{} took its place", condition.reason);
            let ending = self.ending(word, n, (condition.transition, &evidence));
            self.withdraw(&old, &word.claimant(), &ending);
        }
    }

    fn claim_reported(&mut self, word: &Word<'_>, (n, condition): (usize, &Condition), key: &ProblemKey) {
        let Some(page) = self.pages.get_mut(&key.condition) else { return };
        // Admitted before: this only makes room for the reason.
        if page.admit(key, &word.claimant(), &self.limits).is_err() {
            return;
        }
        let finding = Finding {
            source: Arc::clone(&word.daemon),
            kind: FindingKind::Raise,
            condition: Some(key.condition.clone()),
            reason: key.reason.clone(),
            subject: key.subject.clone(),
            severity: condition.severity.unwrap_or(Severity::Warn),
            message: text::message(condition.message.as_bytes()),
            time: condition.transition.min(word.now.wall),
            last_time: word.now.wall,
            count: 1,
            origin: self.origin_of(word, "condition", n),
            boot_id: self.run.boot_id,
            quiet: None,
            ends_at_boot: false,
            action: condition.action,
            guard: Guard::None,
            test: false,
        };
        self.count(&finding);
        let start = self.claim(finding, Lasting::Open, key.clone(), word.now);
        self.note_claim(word, condition.transition, key);
        start.into_iter().for_each(|event| self.emit(event));
    }

    fn note_claim(&mut self, word: &Word<'_>, transition: Timestamp, key: &ProblemKey) {
        let problem = self.pages.get_mut(&key.condition).and_then(|page| page.problems.get_mut(key));
        if let Some(claim) = problem.and_then(|problem| problem.claims.get_mut(&word.claimant())) {
            claim.transition = Some(transition);
        }
        if let Some(reporter) = self.reporter_mut(&word.daemon) {
            reporter.held.insert((key.condition.clone(), key.subject.clone()), key.reason.clone());
        }
    }

    fn restate(&mut self, word: &Word<'_>, condition: &Condition, key: &ProblemKey) {
        let Some(page) = self.pages.get_mut(&key.condition) else { return };
        let problem = page.problems.get_mut(key);
        let Some(claim) = problem.and_then(|problem| problem.claims.get_mut(&word.claimant())) else { return };
        let said = Restated {
            transition: condition.transition,
            severity: condition.severity.unwrap_or(Severity::Warn),
            action: condition.action,
            message: text::message(condition.message.as_bytes()),
        };
        let before = claim.count;
        let came = claim.restate(said, word.now);
        if came == Restatement::Nothing {
            return;
        }
        let again = claim.count - before;
        page.settle(&self.daemons, Cause::Record(condition.transition.min(word.now.wall)));
        if again > 0 {
            self.count_reason(&key.reason, again);
        }
        if came == Restatement::News {
            self.dirty.claim(key, &word.claimant());
        }
        self.changed();
    }

    fn report_false(&mut self, word: &Word<'_>, (n, condition): (usize, &Condition), spot: &Spot) {
        self.trust_again(word, spot);
        let Some(key) = self.reporter(&word.daemon).and_then(|reporter| reporter.key(spot)) else { return };
        let since = self.held(&key, &word.claimant()).map(|claim| claim.since);
        let time = since.map_or(condition.transition, |since| condition.transition.max(since));
        let message = text::message(condition.message.as_bytes());
        let ending = self.ending(word, n, (time, &message));
        self.withdraw(&key, &word.claimant(), &ending);
    }

    fn report_unknown(&mut self, word: &Word<'_>, condition: &Condition, spots: Vec<Spot>) {
        let since = condition.transition.min(word.now.wall);
        let message = text::message(condition.message.as_bytes());
        let Some(reporter) = self.reporter_mut(&word.daemon) else { return };
        let doubt = |spot| Unsure { spot, since, reason: condition.reason.clone(), message: message.clone() };
        let news = spots.into_iter().filter(|spot| reporter.doubt(doubt(spot.clone()))).count();
        if news > 0 {
            self.dirty.daemon(&word.daemon);
            self.settle_one(&condition.condition, since);
        }
    }

    /// The daemon can tell again how `spot` is.
    fn trust_again(&mut self, word: &Word<'_>, spot: &Spot) {
        if self.reporter_mut(&word.daemon).is_some_and(|reporter| reporter.settle(spot)) {
            self.dirty.daemon(&word.daemon);
            self.settle_one(&spot.0, word.now.wall);
        }
    }

    fn settle_one(&mut self, condition: &nodewell_model::Name, time: Timestamp) {
        if let Some(page) = self.pages.get_mut(condition) {
            page.settle(&self.daemons, Cause::Daemon(time));
        }
        self.changed();
    }

    /// What a full report does not name is over. A doubt about a whole type names all its subjects.
    fn withdraw_unnamed(&mut self, word: &Word<'_>, named: &BTreeSet<Spot>) {
        let Some(reporter) = self.reporter(&word.daemon) else { return };
        let doubted = |spot: &Spot| reporter.unsure.iter().any(|unsure| unsure.spot == (spot.0.clone(), None));
        let is_named = |spot: &Spot| named.contains(spot) || (doubted(spot) && named.contains(&(spot.0.clone(), None)));
        let unnamed: Vec<Spot> = reporter.spots().filter(|spot| !is_named(spot)).cloned().collect();
        let ending = self.conclusion(&word.daemon, "its full report does not name it any more", word.now);
        for spot in unnamed {
            self.trust_again(word, &spot);
            if let Some(key) = self.reporter(&word.daemon).and_then(|reporter| reporter.key(&spot)) {
                self.withdraw(&key, &word.claimant(), &ending);
            }
        }
    }

    fn ending(&mut self, word: &Word<'_>, n: usize, (time, evidence): (Timestamp, &str)) -> Ending {
        Ending {
            time: time.min(word.now.wall),
            origin: word.id.map(|_| self.origin_of(word, "condition", n)),
            boot_id: self.run.boot_id,
            source: word.daemon.to_string(),
            evidence: evidence.to_owned(),
            test: false,
        }
    }

    /// The same again if the same report comes again, even to another run of the agent.
    fn origin_of(&mut self, word: &Word<'_>, part: &str, n: usize) -> Origin {
        match word.id {
            Some(id) => Origin::Peer { peer: word.daemon.to_string(), report_id: format!("{id} {part} {n}") },
            None => self.run.next_origin(),
        }
    }

    /// A reporter's deadline has come: it goes silent, or has been silent for a day.
    pub(super) fn reporter_is_late(&mut self, name: &str, (deadline, time): (Duration, Timestamp), now: Now) {
        let Some((name, daemon)) = self.daemons.get_key_value(name) else { return };
        let (name, silent) = (Arc::clone(name), daemon.silent_since.is_some());
        let clears = daemon.reporter.as_ref().is_some_and(|reporter| reporter.on_stale == OnStale::Clear);
        if silent && daemon.claims_nothing() {
            return self.forget(&name, now);
        }
        let next = deadline.saturating_add(FORGOTTEN_AFTER);
        if let Some(daemon) = self.daemons.get_mut(&name) {
            if !silent {
                daemon.go_stale(time);
            }
            daemon.deadline = Some(next);
        }
        self.timers.reset(Due::Daemon(Arc::clone(&name)), None, Some(next));
        if silent {
            return;
        }
        self.dirty.daemon(&name);
        self.settle_all(time);
        if clears {
            self.end_all_of(&name, (time, "its daemon went silent, and its grant says that this ends it"), now);
        }
    }

    fn end_all_of(&mut self, name: &Arc<str>, (time, evidence): (Timestamp, &str), now: Now) {
        let Some(reporter) = self.reporter(name) else { return };
        let keys: Vec<ProblemKey> = reporter.held.keys().filter_map(|spot| reporter.key(spot)).collect();
        let ending = Ending { time, ..self.conclusion(name, evidence, now) };
        let claimant = Claimant { source: Arc::clone(name), test: false };
        keys.iter().for_each(|key| _ = self.withdraw(key, &claimant, &ending));
    }
}

fn spot_of(condition: &Condition) -> Spot {
    (condition.condition.clone(), condition.subject.clone())
}

fn named(status: &Status) -> BTreeSet<Spot> {
    status.conditions.iter().map(spot_of).collect()
}
