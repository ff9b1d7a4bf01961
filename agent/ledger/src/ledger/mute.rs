//! Muting: what people know of and do not act on yet stays a problem and turns no condition.

use std::fmt::Display;

use nodewell_faults::message;
use nodewell_model::{EventRecord, Mute, MuteKey, Name, Origin, ProblemKey, Severity};

use super::{Ledger, Rejection};
use crate::{
    Now,
    condition::Cause,
    mutes::{ConditionMutes, Turned},
};

/// More than a person can mean; they are looked through for every problem that begins.
const MUTES_LIMIT: usize = 256;

impl Ledger {
    /// With what the configuration mutes; that is no news.
    #[must_use]
    pub fn with_mutes(mut self, mutes: Vec<Mute>, now: Now) -> Self {
        self.mutes.configure(mutes);
        self.mutes.look(now);
        self.apply_mutes(now);
        self
    }

    /// Mutes problems for a person, in place of that person's or another's mute of the same; returns how many active
    /// problems that is. A condition that is declared may be muted before anything watches it.
    pub fn mute(&mut self, mute: Mute, now: Now) -> Result<usize, Rejection> {
        self.is_declared(mute.key.condition.as_ref())?;
        let mute = Mute { configured: false, ..mute };
        if self.mutes.own(&mute.key).is_none() && self.mutes.own_count() >= MUTES_LIMIT {
            return Err(Rejection::TooManyMutes(MUTES_LIMIT));
        }
        let key = mute.key.clone();
        self.dirty.mute(&key);
        // Begun again, it is news again: until when and why may be others.
        self.mutes.remove_own(&key);
        self.mutes.insert(mute);
        self.look_at_mutes(now);
        self.apply_mutes(now);
        self.changed();
        Ok(self.count_where(|problem, _| key.covers(problem)))
    }

    /// Takes a person's mute back; returns how many active problems turn their condition again by that, `None` if there
    /// is no such mute.
    pub fn unmute(&mut self, key: &MuteKey, by: &str, now: Now) -> Result<Option<usize>, Rejection> {
        let was_in_force = self.mutes.own_in_force(key).is_some();
        // One that is over goes, too: a clock that is set back does not bring back what was taken back.
        let own = self.mutes.remove_own(key);
        let Some(mute) = own.as_ref().filter(|_| was_in_force) else { return self.not_in_force(key, own.as_ref()) };
        self.dirty.mute(key);
        self.end_of_mute(mute, &message("MuteEnded/figure-taken-back", &[("by", &by)]), now);
        self.look_at_mutes(now);
        self.apply_mutes(now);
        self.changed();
        Ok(Some(self.count_where(|problem, mutes| key.covers(problem) && !mutes.is_muted(problem))))
    }

    /// The answer where no mute of a person was in force; `over` is one that had been.
    fn not_in_force(&self, key: &MuteKey, over: Option<&Mute>) -> Result<Option<usize>, Rejection> {
        match (self.mutes.configured(key), over) {
            (Some(known), _) => Err(Rejection::MutedByConfiguration(known.key.whole(), known.by.clone())),
            (None, Some(over)) => Err(Rejection::MuteIsOver(over.key.whole(), over.until)),
            (None, None) => Ok(None),
        }
    }

    /// What the configuration mutes, after a reload.
    pub fn configure_mutes(&mut self, mutes: Vec<Mute>, now: Now) {
        for gone in self.mutes.configure(mutes) {
            self.end_of_mute(&gone, &message("MuteEnded/figure-unconfigured", &[]), now);
        }
        self.look_at_mutes(now);
        self.apply_mutes(now);
        self.changed();
    }

    /// All mutes that are in force.
    #[must_use]
    pub fn mutes(&self) -> Vec<Mute> {
        self.mutes.in_force().cloned().collect()
    }

    /// One of an earlier run; what was muted meanwhile is newer.
    pub(crate) fn load_mute(&mut self, mute: Mute) {
        self.dirty.mute(&mute.key);
        if self.mutes.own(&mute.key).is_none() {
            self.mutes.insert(Mute { configured: false, ..mute });
        }
    }

    /// After rows were loaded: what goes on is no news, what ended meanwhile is.
    pub(crate) fn resume_mutes(&mut self, loaded: &[MuteKey], now: Now) {
        self.mutes.look(now);
        for key in loaded {
            let over = self.mutes.own(key).filter(|mute| mute.until <= now.wall).cloned();
            over.iter().for_each(|mute| self.time_is_over(mute, now));
        }
        self.apply_mutes(now);
    }

    /// Begins and ends mutes by the clock.
    pub(super) fn look_at_mutes(&mut self, now: Now) {
        let Turned { begun, over } = self.mutes.look(now);
        for mute in &begun {
            self.dirty.mute(&mute.key);
            let origin = self.run.next_origin();
            self.announce(&mute.key, "ProblemMuted", muted("ProblemMuted", mute), origin, now);
        }
        for mute in &over {
            self.time_is_over(mute, now);
        }
        if !begun.is_empty() || !over.is_empty() {
            self.apply_mutes(now);
            self.changed();
        }
    }

    /// A crash may let it end a second time: that is the same end.
    fn time_is_over(&mut self, mute: &Mute, now: Now) {
        self.dirty.mute(&mute.key);
        let text = ended(mute, &message("MuteEnded/figure-over", &[]));
        let origin = Origin::Ended { problem: format!("mute of {}", mute.key.whole()), since: mute.until };
        self.announce(&mute.key, "MuteEnded", text, origin, now);
    }

    fn end_of_mute(&mut self, mute: &Mute, why: &str, now: Now) {
        let origin = self.run.next_origin();
        self.announce(&mute.key, "MuteEnded", ended(mute, why), origin, now);
    }

    /// An Event of what a person said of the problems of `key`.
    pub(super) fn announce(&mut self, key: &MuteKey, reason: &'static str, message: String, origin: Origin, now: Now) {
        let event = EventRecord {
            id: 0,
            origin,
            boot_id: self.run.boot_id,
            severity: Severity::Info,
            time: now.wall,
            last_time: now.wall,
            reason: Name::fixed(reason),
            message,
            subject: key.subject.clone(),
            source: "nodewell".to_owned(),
            pod_uid: None,
            from_peer: false,
            condition: None,
            count: 1,
            test: false,
        };
        self.emit(event);
    }

    /// Gives each condition the mutes that concern it, and derives what changes by that.
    pub(super) fn apply_mutes(&mut self, now: Now) {
        for (name, state) in &mut self.states {
            if state.set_mutes(ConditionMutes::of(&self.mutes, name)) {
                state.refresh(&self.daemons, Cause::Daemon(now.wall));
            }
        }
    }

    fn count_where(&self, counts: impl Fn(&ProblemKey, &ConditionMutes) -> bool) -> usize {
        let of = |state: &crate::condition::ConditionState| {
            state.problems.keys().filter(|problem| counts(problem, &state.mutes)).count()
        };
        self.states.values().map(of).sum()
    }
}

fn ended(mute: &Mute, why: &str) -> String {
    message("MuteEnded", &[("problem", &mute.key), ("why", &why)])
}

/// A message on a mute: what, until when, by whom, and why.
pub(crate) fn muted(key: &str, mute: &Mute) -> String {
    let args: [(&str, &dyn Display); 4] =
        [("problem", &mute.key), ("until", &mute.until), ("by", &mute.by), ("why", &mute.why)];
    message(key, &args)
}
