//! The daemons that report: they come with their first report, and leave by a last report or by a day of silence.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use nodewell_faults::message;
use nodewell_model::{Name, Status, view::DaemonState};

use super::{
    super::{Ledger, Sender},
    Evidence, ReportHeader,
};
use crate::{
    Now, OnStale,
    claim::Claimant,
    daemon::Daemon,
    events::Ending,
    reporter::{DEPARTED_LIMIT, FORGOTTEN_AFTER, Ids, Linger, Reporter},
    timers::Due,
};

/// A daemon's name in the ledger: a client cannot report for a daemon of another user or unit.
pub(super) fn name(source: &str, principal: &str) -> Arc<str> {
    Arc::from(format!("{source}@{principal}"))
}

/// Whose daemon that is; `None` for a monitor of our own.
pub(super) fn principal(name: &str) -> Option<&str> {
    name.split_once('@').map(|(_, principal)| principal)
}

impl Daemon {
    /// Whether nothing is lost with it.
    pub(super) fn claims_nothing(&self) -> bool {
        self.reporter.as_ref().is_none_or(|reporter| reporter.held.is_empty())
    }

    /// Whether nothing is left of it: it promised no further report, and has reported nothing that lasts.
    fn is_done(&self) -> bool {
        self.ttl.is_none() && self.watches.is_empty() && self.reporter.is_some() && self.claims_nothing()
    }

    /// It has stopped: how long its conditions stay.
    pub(in crate::ledger) fn lingers(&self) -> Option<Linger> {
        self.reporter.as_ref()?.lingers
    }

    /// It reports: what it watches from now on, and what of it is still to come if it was started again. Returns
    /// whether that is news.
    fn take_watches(&mut self, status: &Status) -> bool {
        let types = || status.conditions.iter().map(|condition| &condition.condition);
        let Some(reporter) = self.reporter.as_mut() else { return self.watch(types(), status.full) };
        if let Some(stopped) = reporter.lingers {
            reporter.unreported.came_back(&self.watches, stopped.until);
        }
        let reported = reporter.unreported.reported(types(), status.full);
        self.watch(types(), status.full) || reported
    }

    /// Whether `condition` is Unknown for its sake, and nothing says that it will report it again: it is silent, has
    /// not come since the boot, or promises no report.
    fn leaves_unknown(&self, condition: &Name) -> bool {
        let is_expected = self.state == DaemonState::Running && self.ttl.is_some();
        self.reporter.is_some() && self.watches(condition) && !self.sees(condition) && !is_expected
    }

    /// Returns whether nothing is left of it.
    fn stop_watching(&mut self, condition: &Name) -> bool {
        self.watches.remove(condition);
        if let Some(reporter) = self.reporter.as_mut() {
            reporter.unsure.retain(|unsure| unsure.subject.condition != *condition);
            reporter.unreported.retain(&self.watches);
        }
        self.watches.is_empty() && self.claims_nothing()
    }

    /// Whether it makes room for another one.
    pub(super) fn may_be_forgotten(&self) -> bool {
        let is_expected = self.state == DaemonState::Running && self.ttl.is_some() && self.lingers().is_none();
        !is_expected && self.reporter.is_some() && self.claims_nothing()
    }
}

impl Ledger {
    pub(super) fn reporter(&self, name: &str) -> Option<&Reporter> {
        self.daemons.get(name)?.reporter.as_deref()
    }

    pub(super) fn reporter_mut(&mut self, name: &str) -> Option<&mut Reporter> {
        self.daemons.get_mut(name)?.reporter.as_deref_mut()
    }

    /// Whether a report with this id was taken already.
    pub(super) fn knows(&self, name: &str, id: &str) -> bool {
        let here = self.reporter(name).map(|reporter| &reporter.ids);
        let gone = || self.departed.iter().find(|(departed, _)| **departed == *name).map(|(_, ids)| ids);
        here.or_else(gone).is_some_and(|ids| ids.contains(id))
    }

    /// The daemon reported: it runs, until its ttl is over. Returns whether conditions have to be looked at again.
    pub(super) fn hear(&mut self, header: &ReportHeader<'_>, status: &Status, sender: &Sender) -> bool {
        self.enrol(&header.daemon, header.now);
        let Some(daemon) = self.daemons.get_mut(&header.daemon) else { return false };
        // A report without a ttl, by hand for instance, does not take back the daemon's own.
        let (ttl, before) = (status.ttl().or(daemon.ttl), daemon.deadline);
        let returned = daemon.heard();
        let to_come_before = daemon.unreported_due();
        let watches = daemon.take_watches(status);
        let to_come = daemon.unreported_due();
        let other_ttl = std::mem::replace(&mut daemon.ttl, ttl) != ttl;
        daemon.deadline = ttl.map(|ttl| header.now.after(ttl));
        let (deadline, mut other_rights, mut stopped, mut other_extent) = (daemon.deadline, false, false, false);
        if let Some(reporter) = daemon.reporter.as_mut() {
            let rights = (sender.on_stale, sender.may_use_reserve);
            other_rights = (reporter.on_stale, reporter.may_use_reserve) != rights;
            (reporter.on_stale, reporter.may_use_reserve) = rights;
            stopped = reporter.lingers.take().is_some();
            other_extent = reporter.note_full(status.full, stopped);
            header.id.into_iter().for_each(|id| reporter.ids.remember(id));
        }
        self.timers.reset(Due::Daemon(Arc::clone(&header.daemon)), before, deadline);
        self.timers.reset(Due::Unreported(Arc::clone(&header.daemon)), to_come_before, to_come);
        if other_ttl || stopped || other_extent {
            self.changed();
        }
        if other_ttl || stopped || other_extent || returned || watches || other_rights {
            self.dirty.daemon(&header.daemon);
        }
        returned || watches
    }

    /// Adds a daemon, if it is not there yet.
    fn enrol(&mut self, name: &Arc<str>, now: Now) {
        if self.daemons.contains_key(name) {
            return;
        }
        self.make_room(name, now);
        let ids = self.take_departed(name);
        let reporter = Reporter { ids, ..Reporter::default() };
        self.daemons.insert(Arc::clone(name), Daemon::external(reporter));
    }

    fn make_room(&mut self, name: &str, now: Now) {
        let ours = |other: &str| principal(other) == principal(name);
        let external = self.daemons.iter().filter(|(_, daemon)| daemon.reporter.is_some());
        let of_one = external.clone().filter(|(other, _)| ours(other)).count();
        if of_one >= self.limits.daemons_of_one {
            self.forget_one(ours, now);
        } else if external.count() >= self.limits.external_daemons || self.daemons.len() >= self.limits.daemons {
            self.forget_one(|_| true, now);
        }
    }

    /// Of those that claim nothing, the one that has been silent for longest.
    fn forget_one(&mut self, of: impl Fn(&str) -> bool, now: Now) {
        let silent = self.daemons.iter().filter(|(name, daemon)| of(name) && daemon.may_be_forgotten());
        let longest = silent.min_by_key(|(_, daemon)| daemon.silent_since).map(|(name, _)| Arc::clone(name));
        longest.iter().for_each(|name| self.forget(name, now));
    }

    pub(super) fn forget(&mut self, name: &Arc<str>, now: Now) {
        let silence = SignedDuration::try_from(FORGOTTEN_AFTER).unwrap_or_default();
        let evidence = message("ProblemEnded/ended-silent", &[("silence", &format_args!("{silence:#}"))]);
        let ending = self.conclusion(name, evidence, now);
        self.dismiss(name, &ending, now);
    }

    /// A person waits no longer for daemons that leave `condition` Unknown and may never come again, but for those of
    /// an `awaited` user or unit. One that comes again has to name the condition. Returns who they are.
    pub fn give_up(&mut self, condition: &Name, awaited: impl Fn(&str) -> bool, now: Now) -> Vec<String> {
        let is_awaited = |name: &str| principal(name).is_some_and(&awaited);
        let gone = self.daemons.iter().filter(|(name, daemon)| daemon.leaves_unknown(condition) && !is_awaited(name));
        let gone: Vec<Arc<str>> = gone.map(|(name, _)| Arc::clone(name)).collect();
        for name in &gone {
            let Some(daemon) = self.daemons.get_mut(name) else { continue };
            let before = daemon.unreported_due();
            let is_done = daemon.stop_watching(condition);
            let after = daemon.unreported_due();
            self.timers.reset(Due::Unreported(Arc::clone(name)), before, after);
            self.dirty.daemon(name);
            if is_done {
                self.leave(name, now);
            }
        }
        if !gone.is_empty() {
            self.refresh_all(now.wall);
        }
        gone.iter().map(ToString::to_string).collect()
    }

    /// Daemons of others than `ours` that have promised another report on `condition`, whose time is not over yet.
    #[must_use]
    pub fn awaited(&self, condition: &Name, ours: impl Fn(&str) -> bool) -> Vec<String> {
        let is_other = |name: &str| principal(name).is_some_and(|principal| !ours(principal));
        let is_awaited = |daemon: &Daemon| {
            let promises = daemon.state == DaemonState::Running && daemon.ttl.is_some() && daemon.lingers().is_none();
            promises && daemon.reporter.is_some() && daemon.watches(condition)
        };
        let all = self.daemons.iter().filter(|(name, daemon)| is_other(name) && is_awaited(daemon));
        all.map(|(name, _)| name.to_string()).collect()
    }

    /// A person says that the daemon of another user or unit will not come again: it is forgotten, and what it claims ends.
    /// Returns how many problems ended; `None` if there is none of that name.
    pub fn forget_daemon(&mut self, name: &str, by: &str, now: Now) -> Option<usize> {
        let (name, daemon) = self.daemons.get_key_value(name)?;
        daemon.reporter.as_ref()?;
        let name = Arc::clone(name);
        let ending = self.conclusion(&name, message("ProblemEnded/ended-forgotten", &[("by", &by)]), now);
        Some(self.depart(&name, &ending, now))
    }

    /// A client that only reports an event, and promises no more, is no daemon.
    pub(super) fn release(&mut self, header: &ReportHeader<'_>) -> bool {
        let done = self.daemons.get(&header.daemon).is_some_and(Daemon::is_done);
        if done {
            self.sign_off(header, None);
        }
        done
    }

    /// A clean stop: what it claims ends. The conditions that it watches go with it, at once or, if it may only be
    /// starting again and reported them healthy, after `linger`.
    pub(super) fn sign_off(&mut self, header: &ReportHeader<'_>, linger: Option<Duration>) {
        match linger.filter(|_| self.leaves_healthy(&header.daemon)) {
            Some(linger) => self.linger(header, linger),
            None => self.leave(&header.daemon, header.now),
        }
    }

    /// Whether it watches anything of which it reported neither a fault nor a doubt; of the rest nothing stays.
    fn leaves_healthy(&mut self, name: &Arc<str>) -> bool {
        let Some(daemon) = self.daemons.get_mut(name) else { return false };
        let reported = daemon.reporter.iter().flat_map(|reporter| reporter.subjects());
        let reported: BTreeSet<Name> = reported.map(|subject| subject.condition.clone()).collect();
        daemon.watches.retain(|condition| !reported.contains(condition));
        let before = daemon.unreported_due();
        if let Some(reporter) = daemon.reporter.as_mut() {
            reporter.unsure.clear();
            reporter.unreported.retain(&daemon.watches);
        }
        self.timers.reset(Due::Unreported(Arc::clone(name)), before, daemon.unreported_due());
        !daemon.watches.is_empty()
    }

    fn linger(&mut self, header: &ReportHeader<'_>, linger: Duration) {
        let text = message("ProblemEnded/ended-stopped", &[]);
        self.end_all_of(&header.daemon, Evidence { time: header.now.wall, text: &text }, header.now);
        let Some(daemon) = self.daemons.get_mut(&header.daemon) else { return };
        let lingers = Linger::new(linger, header.now);
        let before = daemon.deadline.replace(lingers.until);
        let span = SignedDuration::try_from(linger).unwrap_or_default();
        daemon.message = message("MonitorStopped", &[("linger", &format_args!("{span:#}"))]);
        let deadline = daemon.deadline;
        daemon.reporter.iter_mut().for_each(|reporter| reporter.lingers = Some(lingers));
        self.timers.reset(Due::Daemon(Arc::clone(&header.daemon)), before, deadline);
        self.dirty.daemon(&header.daemon);
        self.refresh_all(header.now.wall);
    }

    /// It has stopped, and leaves.
    fn leave(&mut self, name: &Arc<str>, now: Now) {
        let ending = self.conclusion(name, message("ProblemEnded/ended-stopped", &[]), now);
        self.depart(name, &ending, now);
    }

    /// Its ids stay known for a while: the last report itself may come twice.
    fn depart(&mut self, name: &Arc<str>, ending: &Ending, now: Now) -> usize {
        if let Some(reporter) = self.reporter_mut(name) {
            let ids = std::mem::take(&mut reporter.ids);
            // By rows that came late it may be there.
            self.departed.retain(|(departed, _)| departed != name);
            if self.departed.len() == DEPARTED_LIMIT {
                self.departed.pop_front();
            }
            self.departed.push_back((Arc::clone(name), ids));
            self.dirty.departed();
        }
        self.dismiss(name, ending, now)
    }

    fn take_departed(&mut self, name: &str) -> Ids {
        let index = self.departed.iter().position(|(departed, _)| **departed == *name);
        let Some((_, ids)) = index.and_then(|index| self.departed.remove(index)) else { return Ids::default() };
        self.dirty.departed();
        ids
    }

    /// A reporter's deadline has come: it goes silent, or has been silent for a day.
    pub(in crate::ledger) fn reporter_is_late(&mut self, name: &str, deadline: Duration, time: Timestamp, now: Now) {
        let Some((name, daemon)) = self.daemons.get_key_value(name) else { return };
        let (name, silent) = (Arc::clone(name), daemon.silent_since.is_some());
        if daemon.lingers().is_some() {
            return self.leave(&name, now);
        }
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
        self.refresh_all(time);
        if clears {
            let text = message("ProblemEnded/ended-stale", &[]);
            self.end_all_of(&name, Evidence { time, text: &text }, now);
        }
    }

    fn end_all_of(&mut self, name: &Arc<str>, evidence: Evidence<'_>, now: Now) {
        let Some(reporter) = self.reporter(name) else { return };
        let keys = reporter.all_keys();
        let ending = Ending { time: evidence.time, ..self.conclusion(name, evidence.text.to_owned(), now) };
        let claimant = Claimant { source: Arc::clone(name), test: false };
        keys.iter().for_each(|key| _ = self.withdraw(key, &claimant, &ending));
    }
}
