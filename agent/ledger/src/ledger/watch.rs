//! What monitors and daemons report of themselves, and what their silence means.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{
    EventRecord, Name, Severity,
    text::{MESSAGE_LIMIT_BYTES, cut},
    view::DaemonState,
};

use super::{Ledger, Rejection};
use crate::{DaemonReport, Gap, Now, condition::Cause, daemon::Daemon, timers::Due};

impl Ledger {
    /// Records a daemon's report on itself; with a ttl, it has to come again in time.
    pub fn daemon(&mut self, report: DaemonReport, now: Now) -> Result<(), Rejection> {
        let name = Arc::clone(&report.name);
        let before = self.daemons.get(&name);
        if before.is_none() && self.daemons.len() >= self.limits.daemons {
            return Err(Rejection::TooManyDaemons(name));
        }
        let daemon = Daemon::new(report, before, now);
        let judged = before.is_some_and(|before| before.judges_like(&daemon));
        let shown = |one: &Daemon| (one.records, one.lost, one.ttl);
        let counted = before.is_some_and(|before| shown(before) == shown(&daemon));
        let deadline = before.and_then(|before| before.deadline);
        self.timers.reset(Due::Daemon(Arc::clone(&name)), deadline, daemon.deadline);
        self.daemons.insert(name, daemon);
        if !judged {
            self.refresh_all(now.wall);
        } else if !counted {
            self.changed();
        }
        Ok(())
    }

    pub(super) fn daemon_is_late(&mut self, name: &str, deadline: Duration, now: Now) {
        let time = now.wall_at(deadline);
        let Some(daemon) = self.daemons.get_mut(name).filter(|daemon| daemon.state != DaemonState::Dead) else {
            return;
        };
        if daemon.reporter.is_some() {
            return self.reporter_is_late(name, deadline, time, now);
        }
        daemon.go_stale(time);
        self.refresh_all(time);
    }

    /// It was started again, and had time enough to report how things are.
    pub(super) fn is_believed_no_longer(&mut self, name: &str, deadline: Duration, now: Now) {
        let Some((name, _)) = self.daemons.get_key_value(name) else { return };
        let name = Arc::clone(name);
        let Some(reporter) = self.daemons.get_mut(&name).and_then(|daemon| daemon.reporter.as_mut()) else { return };
        reporter.unreported.expire(deadline);
        let next = reporter.unreported.next();
        self.timers.reset(Due::Unreported(Arc::clone(&name)), None, next);
        self.dirty.daemon(&name);
        self.refresh_all(now.wall_at(deadline));
    }

    /// The machine slept: no daemon could report, so each has its whole ttl again.
    pub fn slept(&mut self, now: Now) {
        for daemon in self.daemons.values_mut().filter(|daemon| daemon.state != DaemonState::Dead) {
            // Of one that has stopped nothing is expected.
            let is_awaited = daemon.silent_since.is_none() && daemon.lingers().is_none();
            let expected = daemon.ttl.filter(|_| is_awaited);
            if let Some(ttl) = expected {
                daemon.deadline = Some(now.after(ttl));
            }
        }
        self.timers = self.deadlines();
    }

    /// Records were lost: an event reports it.
    pub fn gap(&mut self, gap: Gap, now: Now) {
        let time = gap.time.min(now.wall);
        let event = EventRecord {
            id: 0,
            origin: gap.origin.unwrap_or_else(|| self.run.next_origin()),
            boot_id: self.run.boot_id,
            severity: Severity::Warn,
            time,
            last_time: time,
            reason: Name::fixed("RecordsLost"),
            message: cut(&gap.message, MESSAGE_LIMIT_BYTES).to_owned(),
            subject: None,
            source: gap.source.to_string(),
            pod_uid: None,
            from_peer: false,
            condition: None,
            count: gap.lost.unwrap_or(1),
            test: false,
        };
        self.emit(event);
    }

    /// After a change of a daemon: whatever it watches or claims may look different.
    pub(crate) fn refresh_all(&mut self, time: Timestamp) {
        for state in self.states.values_mut() {
            state.refresh(&self.daemons, Cause::Daemon(time));
        }
        self.changed();
    }
}
