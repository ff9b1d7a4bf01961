//! What external daemons report: claims for each type and subject, doubts, full and last reports.
//!
//! A report is a set, not a sequence: its faults of one type and subject are all that there are, and what it reports of
//! a type without a subject holds for every subject that it does not name.

mod admit;
mod draft;
mod faults;
mod roster;
mod shares;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use nodewell_model::{
    BootId, Condition, ConditionStatus, Event, Finding, FindingKind, Name, Origin, ProblemKey, RequiredProof, Severity,
    Status, SubjectKey, text, view::DaemonState,
};

use super::{Ledger, ReportRejection, Sender};
use crate::{
    Now,
    claim::Claimant,
    condition::Cause,
    counters::Namer,
    events::Ending,
    reporter::{Extent, Unsure},
};

/// One report on its way into the ledger: its sender, its id and its time.
struct ReportHeader<'a> {
    daemon: Arc<str>,
    id: Option<&'a str>,
    sender: &'a Sender,
    boot_id: Option<BootId>,
    now: Now,
}

impl ReportHeader<'_> {
    fn namer(&self) -> Namer<'_> {
        let Sender { principal, may_use_reserve, .. } = self.sender;
        if *may_use_reserve { Namer::Trusted(principal) } else { Namer::Granted(principal) }
    }

    fn claimant(&self) -> Claimant {
        Claimant { source: Arc::clone(&self.daemon), test: false }
    }

    /// What the daemon says of `time`, as a record's finding: what of, and how bad, is for the caller to add.
    fn finding(&self, reason: &Name, message: &str, time: Timestamp, origin: Origin) -> Finding {
        let time = time.min(self.now.wall);
        Finding {
            source: Arc::clone(&self.daemon),
            kind: FindingKind::Raise,
            condition: None,
            reason: reason.clone(),
            subject: None,
            severity: Severity::Warn,
            message: text::message(message.as_bytes()),
            time,
            last_time: time,
            count: 1,
            origin,
            boot_id: self.boot_id,
            ends_after_quiet: None,
            ends_at_boot: false,
            action: None,
            required_proof: RequiredProof::None,
            test: false,
        }
    }
}

/// Why a claim ends, and since when.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    time: Timestamp,
    text: &'a str,
}

/// A condition of a report, with its index there.
type Entry<'a> = (usize, &'a Condition);

impl Ledger {
    /// Takes a batch of reports of `sender`, all or none. Each is of the daemon `source@principal`, and changes
    /// nothing if its id is one of that daemon's last. The reports must have passed [`Status::check`].
    pub fn report(&mut self, reports: Vec<Status>, sender: &Sender, now: Now) -> Result<(), ReportRejection> {
        let name = |status: &Status| roster::name(&status.source, &sender.principal);
        let names: Vec<Arc<str>> = reports.iter().map(name).collect();
        self.admit(&reports, &names, sender)?;
        for (status, name) in reports.into_iter().zip(names) {
            self.take_report(status, name, sender, now);
        }
        Ok(())
    }

    fn take_report(&mut self, status: Status, daemon: Arc<str>, sender: &Sender, now: Now) {
        let Status { id, events, conditions, last, .. } = &status;
        if id.as_ref().is_some_and(|id| self.knows(&daemon, id)) {
            return;
        }
        let header = ReportHeader { daemon, id: id.as_deref(), sender, boot_id: self.run.boot_id, now };
        let marks = self.dirty.marks;
        let unsettled = self.hear(&header, &status, sender);
        let named = named(&status);
        events.iter().enumerate().for_each(|(n, event)| self.report_event(&header, n, event));
        by_subject(conditions)
            .iter()
            .for_each(|(subject, entries)| self.report_subject(&header, subject, entries, &named));
        self.take_hardware(&header, &status);
        if status.full {
            self.withdraw_unnamed(&header, &named);
        }
        if *last {
            self.sign_off(&header, status.linger());
        } else if !self.release(&header) && unsettled {
            self.refresh_all(now.wall);
        }
        // The id of what lasts must last; a heartbeat is nothing for the disk.
        if self.dirty.marks != marks {
            self.dirty.daemon(&header.daemon);
        }
    }

    fn report_event(&mut self, header: &ReportHeader<'_>, n: usize, event: &Event) {
        if self.is_seen_by_monitor(event) {
            return;
        }
        let origin = self.origin_of(header, "event", n);
        let finding = Finding {
            subject: event.subject.clone(),
            severity: event.severity,
            ..header.finding(&event.reason, &event.message, event.timestamp, origin)
        };
        self.raise(finding, None, header.namer(), header.now);
    }

    /// Whether it comes by a monitor of ours, too, which runs.
    fn is_seen_by_monitor(&self, event: &Event) -> bool {
        let daemon = event.seen_by.as_deref().and_then(|name| self.daemons.get(name));
        daemon.is_some_and(|daemon| daemon.reporter.is_none() && daemon.state == DaemonState::Running)
    }

    /// All that the report contains of `subject`: one status, or several faults.
    fn report_subject(
        &mut self,
        header: &ReportHeader<'_>,
        subject: &SubjectKey,
        entries: &[Entry<'_>],
        named: &BTreeSet<SubjectKey>,
    ) {
        let [(n, condition), ..] = *entries else { return };
        match condition.status {
            ConditionStatus::True => self.report_faults(header, subject, entries),
            ConditionStatus::False => {
                let subjects = self.covered(header, subject, named);
                subjects.iter().for_each(|subject| self.report_false(header, (n, condition), subject));
            }
            ConditionStatus::Unknown => {
                let extent = self.extent_of(header, subject, named);
                let absorbed = self.absorb_doubts(header, subject, named);
                let others = self.covered(header, subject, named).into_iter().map(|other| (other, Extent::Itself));
                let subjects = others.chain([(subject.clone(), extent)]).collect();
                self.report_unknown(header, condition, subjects);
                // Of those that are left another one may be shown.
                self.resolved(header, subject, absorbed);
            }
        }
    }

    /// The subjects that the daemon reports and `subject` stands for: itself, or every unnamed one of its type.
    fn covered(
        &self,
        header: &ReportHeader<'_>,
        subject: &SubjectKey,
        named: &BTreeSet<SubjectKey>,
    ) -> Vec<SubjectKey> {
        let Some(reporter) = self.reporter(&header.daemon) else { return Vec::new() };
        let mut subjects = reporter.subjects_of(&subject.condition);
        subjects.retain(|other| other == subject || (subject.is_whole() && !named.contains(other)));
        subjects
    }

    fn report_false(&mut self, header: &ReportHeader<'_>, (n, condition): Entry<'_>, subject: &SubjectKey) {
        self.trust_again(header, subject);
        let given = Some(text::message(condition.message.as_bytes())).filter(|given| !given.is_empty());
        let message = given.unwrap_or_else(|| nodewell_faults::message("ProblemEnded/ended-withdrawn", &[]));
        for key in self.keys_of(header, subject) {
            let evidence = Evidence { time: condition.transition, text: &message };
            self.end_by_report(header, n, &key, evidence);
        }
    }

    /// Withdraws the daemon's own claim, never dated before it began.
    fn end_by_report(&mut self, header: &ReportHeader<'_>, n: usize, key: &ProblemKey, evidence: Evidence<'_>) {
        let since = self.held(key, &header.claimant()).map(|claim| claim.since);
        let time = since.map_or(evidence.time, |since| evidence.time.max(since)).min(header.now.wall);
        // Several may end by one entry: each has an origin of its own.
        let part = format!("end of {}", key.reason);
        let origin = header.id.map(|_| self.origin_of(header, &part, n));
        let ending = Ending { time, origin, ..self.conclusion(&header.daemon, evidence.text.to_owned(), header.now) };
        self.withdraw(key, &header.claimant(), &ending);
    }

    fn keys_of(&self, header: &ReportHeader<'_>, subject: &SubjectKey) -> Vec<ProblemKey> {
        self.reporter(&header.daemon).map(|reporter| reporter.keys(subject)).unwrap_or_default()
    }

    /// What an `Unknown` of `subject` is about. One without a subject is about subjects too where there are any: the
    /// daemon reports something of one, in this report or before.
    fn extent_of(&self, header: &ReportHeader<'_>, subject: &SubjectKey, named: &BTreeSet<SubjectKey>) -> Extent {
        let is_one = |other: &SubjectKey| other.condition == subject.condition && !other.is_whole();
        let before = || self.reporter(&header.daemon).is_some_and(|reporter| reporter.subjects().any(is_one));
        let has_subjects = subject.is_whole() && (named.iter().any(is_one) || before());
        if has_subjects { Extent::WithSubjects } else { Extent::Itself }
    }

    /// A doubt about a whole type stands for those about its subjects. A subject with claims keeps its own: it shows
    /// since when they are unconfirmed. Returns whether there were any.
    fn absorb_doubts(&mut self, header: &ReportHeader<'_>, whole: &SubjectKey, named: &BTreeSet<SubjectKey>) -> bool {
        whole.is_whole() && self.reporter_mut(&header.daemon).is_some_and(|reporter| reporter.absorb(whole, named))
    }

    fn report_unknown(
        &mut self,
        header: &ReportHeader<'_>,
        condition: &Condition,
        subjects: Vec<(SubjectKey, Extent)>,
    ) {
        let since = condition.transition.min(header.now.wall);
        let message = text::message(condition.message.as_bytes());
        let Some(reporter) = self.reporter_mut(&header.daemon) else { return };
        let doubt = |(subject, extent)| {
            let (reason, message) = (condition.reason.clone(), message.clone());
            Unsure { subject, extent, since, reason, message }
        };
        let news = subjects.into_iter().map(doubt).filter(|unsure| reporter.doubt(unsure.clone())).count();
        if news > 0 {
            self.dirty.daemon(&header.daemon);
            self.refresh_one(&condition.condition, since);
        }
    }

    /// The daemon can report the state of `subject` again.
    fn trust_again(&mut self, header: &ReportHeader<'_>, subject: &SubjectKey) {
        let resolved = self.reporter_mut(&header.daemon).is_some_and(|reporter| reporter.clear_unsure(subject));
        self.resolved(header, subject, resolved);
    }

    /// The daemon reports a fault of `subject`.
    fn know_of(&mut self, header: &ReportHeader<'_>, subject: &SubjectKey) {
        let resolved = self.reporter_mut(&header.daemon).is_some_and(|reporter| reporter.know_of(subject));
        self.resolved(header, subject, resolved);
    }

    fn resolved(&mut self, header: &ReportHeader<'_>, subject: &SubjectKey, resolved: bool) {
        if resolved {
            self.dirty.daemon(&header.daemon);
            self.refresh_one(&subject.condition, header.now.wall);
        }
    }

    fn refresh_one(&mut self, condition: &Name, time: Timestamp) {
        if let Some(state) = self.states.get_mut(condition) {
            state.refresh(&self.daemons, Cause::Daemon(time));
        }
        self.changed();
    }

    /// Counts stand until there are others; a full report without any takes them back.
    fn take_hardware(&mut self, header: &ReportHeader<'_>, status: &Status) {
        let Some(counted) = status.hardware.clone().or_else(|| status.full.then(Vec::new)) else { return };
        let Some(reporter) = self.reporter_mut(&header.daemon) else { return };
        if reporter.hardware != counted {
            reporter.hardware = counted;
            self.dirty.daemon(&header.daemon);
            self.changed();
        }
    }

    /// What a full report does not name is over. A doubt about a whole type names all its subjects; one that a fault of
    /// the type has left of an earlier report names none.
    fn withdraw_unnamed(&mut self, header: &ReportHeader<'_>, named: &BTreeSet<SubjectKey>) {
        let Some(reporter) = self.reporter(&header.daemon) else { return };
        let left = |unsure: &&Unsure| unsure.extent == Extent::OnlySubjects;
        let left: Vec<SubjectKey> = reporter.unsure.iter().filter(left).map(|unsure| unsure.subject.clone()).collect();
        let doubted = |subject: &SubjectKey| {
            let whole = SubjectKey::whole(subject.condition.clone());
            !left.contains(&whole) && reporter.unsure.iter().any(|unsure| unsure.subject == whole)
        };
        let is_named = |subject: &SubjectKey| {
            named.contains(subject)
                || (doubted(subject) && named.contains(&SubjectKey::whole(subject.condition.clone())))
        };
        let unnamed: Vec<SubjectKey> = reporter.subjects().filter(|subject| !is_named(subject)).cloned().collect();
        left.iter().for_each(|whole| self.trust_again(header, whole));
        let ending =
            self.conclusion(&header.daemon, nodewell_faults::message("ProblemEnded/ended-unnamed", &[]), header.now);
        for subject in unnamed {
            self.trust_again(header, &subject);
            self.keys_of(header, &subject).iter().for_each(|key| _ = self.withdraw(key, &header.claimant(), &ending));
        }
    }

    /// The same again if the same report comes again, even to another run of the agent.
    fn origin_of(&mut self, header: &ReportHeader<'_>, part: &str, n: usize) -> Origin {
        match header.id {
            Some(id) => Origin::Peer { peer: header.daemon.to_string(), report_id: format!("{id} {part} {n}") },
            None => self.run.next_origin(),
        }
    }
}

fn named(status: &Status) -> BTreeSet<SubjectKey> {
    status.conditions.iter().map(Condition::subject_key).collect()
}

/// What a report contains of each subject, by the subject that it names first.
fn by_subject(conditions: &[Condition]) -> Vec<(SubjectKey, Vec<Entry<'_>>)> {
    let mut subjects: Vec<(SubjectKey, Vec<Entry<'_>>)> = Vec::new();
    let mut indices = BTreeMap::new();
    for (n, condition) in conditions.iter().enumerate() {
        let subject = condition.subject_key();
        let index = *indices.entry(subject.clone()).or_insert(subjects.len());
        if index == subjects.len() {
            subjects.push((subject, Vec::new()));
        }
        subjects[index].1.push((n, condition));
    }
    subjects
}
