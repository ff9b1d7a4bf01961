//! What one BMC did with logins, and which of its accounts may be tried.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use nodewell_remediation::time::{Moment, Now};

use super::{Account, Asked, Role, groups::Groups, stamp::Stamp};

/// BMCs that lock after three within five minutes are the strictest that are known; the third is left to people.
pub(super) const BUDGET: usize = 2;
const WINDOW: Duration = Duration::from_secs(330);
/// After the first refusal, the second, and so on; after all further ones the last.
const WAITS: [Duration; 3] = [WINDOW, Duration::from_secs(1800), Duration::from_secs(3600)];

#[derive(Debug, Default)]
pub(super) struct History {
    /// The last ones, whatever the account.
    recent: Vec<Now>,
    /// By account; those that the method has no more are dropped.
    refusals: BTreeMap<u64, RefusedLogin>,
    taken: Option<Taken>,
    /// An agent that was run since may have been refused: it does not report that.
    agent_failed: Option<Now>,
    fingerprint: u32,
    why: String,
}

#[derive(Debug)]
struct RefusedLogin {
    count: usize,
    at: Moment,
}

/// The account that the BMC took last.
#[derive(Debug, Clone, Copy)]
struct Taken {
    login: u64,
    role: Role,
}

impl History {
    /// Another process asked it before: what it wrote counts for one window, for a kubelet could have written it too.
    pub(super) fn of_condition(asked: &Asked<'_>, now: Now) -> Self {
        let Some(stamp) = asked.stamp() else { return Self::default() };
        let is_same = stamp.fingerprint == asked.fingerprint;
        let mut history = Self { fingerprint: stamp.fingerprint, ..Self::default() };
        if let Some(previous) = asked.previous.filter(|_| is_same && stamp.takes_previous) {
            history.taken = Some(Taken { login: previous.login, role: Role::Previous });
        }
        if let Some((count, at)) = stamp.refused {
            let at = seen_at(at, now);
            history.recent = vec![at; count.min(BUDGET)];
            // Which of its accounts was refused is not known, so none is tried; another Secret's are.
            let stopped = asked.accounts().filter(|_| is_same && history.taken.is_none());
            history.refusals = stopped.map(|one| (one.login, RefusedLogin { count: 1, at: at.moment })).collect();
            history.why =
                format!("a login was refused at {:.0}, as FenceReady reports; {}", at.wall, asks_again(WINDOW));
        }
        history
    }

    /// A command of a person has had a login refused meanwhile.
    pub(super) fn learn(&mut self, asked: &Asked<'_>, now: Now) {
        let Some((_, at)) = asked.stamp().and_then(|stamp| stamp.refused) else { return };
        let last = self.recent.last().map_or(Timestamp::MIN, |last| last.wall);
        let is_newer = at.duration_since(last.min(at)) > SignedDuration::from_secs(1);
        if is_newer && at.duration_since(now.wall) < SignedDuration::from_mins(1) {
            self.remember(seen_at(at, now));
        }
    }

    pub(super) fn refused(&mut self, asked: &Asked<'_>, account: Account, now: Now, why: &str) {
        self.forget_others(asked);
        // The BMC was changed: the next leader is not to begin with an account that it took before.
        self.taken = self.taken.filter(|taken| taken.login != account.login);
        let agent = self.agent_failed.take();
        agent.into_iter().chain([now]).for_each(|at| self.remember(at));
        let refusal = self.refusals.entry(account.login).or_insert(RefusedLogin { count: 0, at: now.moment });
        *refusal = RefusedLogin { count: refusal.count + 1, at: now.moment };
        self.why = format!("{why}; {}", asks_again(wait(refusal.count)));
        self.fingerprint = asked.fingerprint;
    }

    pub(super) fn taken(&mut self, asked: &Asked<'_>, account: Account, role: Role) {
        self.refusals.remove(&account.login);
        self.taken = Some(Taken { login: account.login, role });
        self.agent_failed = None;
        self.fingerprint = asked.fingerprint;
    }

    pub(super) fn agent_failed(&mut self, now: Now) {
        self.agent_failed = Some(now);
    }

    /// Why none of its accounts may be tried.
    pub(super) fn why(&self) -> &str {
        &self.why
    }

    fn remember(&mut self, at: Now) {
        self.recent.push(at);
        let first = self.recent.len().saturating_sub(BUDGET);
        self.recent.drain(..first);
    }

    pub(super) fn forget_others(&mut self, asked: &Asked<'_>) {
        let there: BTreeSet<u64> = asked.accounts().map(|account| account.login).collect();
        self.refusals.retain(|login, _| there.contains(login));
        self.taken = self.taken.filter(|taken| there.contains(&taken.login));
    }

    pub(super) fn check_budget(&self, budget: usize, now: Now) -> Result<(), String> {
        let lately = self.recent.iter().filter(|at| now.moment.since(at.moment) < WINDOW);
        let count = lately.clone().count();
        if count < budget {
            return Ok(());
        }
        let oldest = lately.rev().nth(budget - 1).map_or(now.wall, |at| at.wall);
        let until = oldest.checked_add(WINDOW).unwrap_or(oldest);
        let logins = if count == 1 { "1 login was".to_owned() } else { format!("{count} logins were") };
        Err(format!("{logins} refused within {} s; not to be locked out it asks again at {until:.0}", WINDOW.as_secs()))
    }

    /// The one that was taken last first.
    pub(super) fn order(&self, asked: &Asked<'_>) -> [Role; 2] {
        let is_previous = self.taken.is_some_and(|taken| asked.previous.is_some_and(|one| one.login == taken.login));
        if is_previous { [Role::Previous, Role::Current] } else { [Role::Current, Role::Previous] }
    }

    pub(super) fn may_try(&self, asked: &Asked<'_>, account: Account, groups: &Groups, now: Moment) -> bool {
        if let Some(refusal) = self.refusals.get(&account.login) {
            return now.since(refusal.at) >= wait(refusal.count);
        }
        let others = self.refusals.values().map(|refusal| now.since(refusal.at)).min();
        let is_known = self.taken.is_some_and(|taken| taken.login == account.login) || groups.is_taken(account.shared);
        is_known || asked.previous.is_none() || others.is_none_or(|since| since >= WINDOW / 2)
    }

    pub(super) fn stamp(&self, method: &str, now: Now) -> Option<Stamp> {
        let recent = || self.recent.iter().filter(|at| now.moment.since(at.moment) < WINDOW);
        let takes_previous = self.taken.is_some_and(|taken| taken.role == Role::Previous);
        let refused = recent().next_back().map(|at| (recent().count(), at.wall));
        let stamp = Stamp { method: method.to_owned(), refused, takes_previous, fingerprint: self.fingerprint };
        (stamp.refused.is_some() || takes_previous).then_some(stamp)
    }
}

/// By this process' clocks, what another one wrote by its own.
fn seen_at(at: Timestamp, now: Now) -> Now {
    let age = Duration::try_from(now.wall.duration_since(at)).unwrap_or_default();
    Now { moment: Moment(now.moment.0.saturating_sub(age)), wall: at.min(now.wall) }
}

fn asks_again(after: Duration) -> String {
    format!("not to be locked out it asks again after {} s, or at once with another Secret", after.as_secs())
}

fn wait(refusals: usize) -> Duration {
    WAITS[refusals.clamp(1, WAITS.len()) - 1]
}
