//! What external daemons report: claims for each type and subject, doubts, full accounts, goodbyes.
//!
//! A report is a set, not a sequence: its faults of one type and subject are all that there are, and what it reports of
//! a type without a subject holds for every subject that it does not name.

mod admit;
mod faults;
mod roster;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use nodewell_model::{
    Condition, ConditionStatus, Event, Finding, FindingKind, Guard, Origin, ProblemKey, Status, text,
};

use super::{Ledger, ReportRefusal};
use crate::{
    Now, OnStale,
    claim::Claimant,
    events::Ending,
    page::Cause,
    reporter::{Spot, Unsure},
};

/// One report on its way into the ledger: its sender, its id and its time.
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

/// A condition of a report, with its place there.
type Entry<'a> = (usize, &'a Condition);

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
        by_spot(conditions).iter().for_each(|(spot, said)| self.report_spot(&word, spot, said, &named));
        self.take_inventory(&word, &status);
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

    /// All that the report contains of `spot`: one status, or several faults.
    fn report_spot(&mut self, word: &Word<'_>, spot: &Spot, said: &[Entry<'_>], named: &BTreeSet<Spot>) {
        let [(n, condition), ..] = *said else { return };
        match condition.status {
            ConditionStatus::True => self.report_faults(word, spot, said),
            ConditionStatus::False => {
                let spots = self.spots_meant(word, spot, named);
                spots.iter().for_each(|spot| self.report_false(word, (n, condition), spot));
            }
            ConditionStatus::Unknown => {
                self.take_in_doubts(word, spot, named);
                let mut spots = self.spots_meant(word, spot, named);
                spots.push(spot.clone());
                self.report_unknown(word, condition, spots);
            }
        }
    }

    /// The spots that the daemon reports and `spot` stands for: itself, or every unnamed one of its type.
    fn spots_meant(&self, word: &Word<'_>, spot: &Spot, named: &BTreeSet<Spot>) -> Vec<Spot> {
        let Some(reporter) = self.reporter(&word.daemon) else { return Vec::new() };
        let mut spots = reporter.spots_of(&spot.0);
        spots.retain(|other| other == spot || (spot.1.is_none() && !named.contains(other)));
        spots
    }

    fn report_false(&mut self, word: &Word<'_>, (n, condition): Entry<'_>, spot: &Spot) {
        self.trust_again(word, spot);
        let message = text::message(condition.message.as_bytes());
        for key in self.keys_of(word, spot) {
            self.end_by_report(word, n, &key, (condition.transition, &message));
        }
    }

    /// Withdraws the daemon's own claim, never dated before it began.
    fn end_by_report(&mut self, word: &Word<'_>, n: usize, key: &ProblemKey, (time, evidence): (Timestamp, &str)) {
        let since = self.held(key, &word.claimant()).map(|claim| claim.since);
        let time = since.map_or(time, |since| time.max(since)).min(word.now.wall);
        // Several may end by one entry: each has an origin of its own.
        let part = format!("end of {}", key.reason);
        let origin = word.id.map(|_| self.origin_of(word, &part, n));
        let ending = Ending { time, origin, ..self.conclusion(&word.daemon, evidence, word.now) };
        self.withdraw(key, &word.claimant(), &ending);
    }

    fn keys_of(&self, word: &Word<'_>, spot: &Spot) -> Vec<ProblemKey> {
        self.reporter(&word.daemon).map(|reporter| reporter.keys(spot)).unwrap_or_default()
    }

    /// A doubt about a whole type stands for those about its subjects. A subject with claims keeps its own: it shows
    /// since when they are unconfirmed.
    fn take_in_doubts(&mut self, word: &Word<'_>, whole: &Spot, named: &BTreeSet<Spot>) {
        if whole.1.is_some() {
            return;
        }
        let Some(reporter) = self.reporter_mut(&word.daemon) else { return };
        if reporter.take_in(whole, named) {
            self.dirty.daemon(&word.daemon);
        }
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

    /// The daemon can report the state of `spot` again.
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

    /// Counts stand until there are others; a full report without any takes them back.
    fn take_inventory(&mut self, word: &Word<'_>, status: &Status) {
        let Some(counted) = status.inventory.clone().or_else(|| status.full.then(Vec::new)) else { return };
        let Some(reporter) = self.reporter_mut(&word.daemon) else { return };
        if reporter.inventory != counted {
            reporter.inventory = counted;
            self.dirty.daemon(&word.daemon);
            self.changed();
        }
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
            self.keys_of(word, &spot).iter().for_each(|key| _ = self.withdraw(key, &word.claimant(), &ending));
        }
    }

    /// The same again if the same report comes again, even to another run of the agent.
    fn origin_of(&mut self, word: &Word<'_>, part: &str, n: usize) -> Origin {
        match word.id {
            Some(id) => Origin::Peer { peer: word.daemon.to_string(), report_id: format!("{id} {part} {n}") },
            None => self.run.next_origin(),
        }
    }
}

fn spot_of(condition: &Condition) -> Spot {
    (condition.condition.clone(), condition.subject.clone())
}

fn named(status: &Status) -> BTreeSet<Spot> {
    status.conditions.iter().map(spot_of).collect()
}

/// What a report contains of each spot, by the spot that it names first.
fn by_spot(conditions: &[Condition]) -> Vec<(Spot, Vec<Entry<'_>>)> {
    let mut spots: Vec<(Spot, Vec<Entry<'_>>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (n, condition) in conditions.iter().enumerate() {
        let spot = spot_of(condition);
        let place = *places.entry(spot.clone()).or_insert(spots.len());
        if place == spots.len() {
            spots.push((spot, Vec::new()));
        }
        spots[place].1.push((n, condition));
    }
    spots
}
