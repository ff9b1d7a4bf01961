//! What one BMC did with the logins of one method, and which of its accounts may be tried.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use nodewell_remediation::time::{Moment, Now};

use super::{
    Account, Asked, HELD_BACK, Role,
    budget::{How, Recent, Spent, WINDOW},
    groups::Groups,
    stamp::{SpentStamp, Stamp},
};

/// After the first refusal, the second, and so on; after all further ones the last.
const WAITS: [Duration; 3] = [WINDOW, Duration::from_secs(1800), Duration::from_secs(3600)];
/// Stamps have whole seconds.
const ROUNDED: SignedDuration = SignedDuration::from_secs(1);
/// A stamp that is further ahead is not of a host whose clock is right.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct History {
    /// The last ones, whatever the account.
    recent: Recent,
    /// Those that other methods of the node have had at this address, as `FenceReady` reports.
    beside: Recent,
    /// What was refused up to then is known.
    newest: Timestamp,
    /// Stamps of the last window: when, by which clock ever, and of which method.
    learnt: BTreeSet<(Timestamp, String)>,
    /// By account; those that the method has no more are dropped.
    refusals: BTreeMap<u64, RefusedLogin>,
    /// The account that the BMC took last.
    taken: Option<u64>,
    /// An agent that was run since may have been refused: it does not report that.
    agent_failed: Option<Now>,
    configured: Configured,
    why: String,
}

#[derive(Debug)]
struct RefusedLogin {
    count: usize,
    at: Moment,
}

/// What was configured when it was asked last.
#[derive(Debug, Clone, Copy, Default)]
struct Configured {
    fingerprint: u32,
    address: u32,
    current: u64,
    previous: Option<u64>,
}

impl Configured {
    fn role(self, login: u64) -> Option<Role> {
        match login {
            login if login == self.current => Some(Role::Current),
            login if Some(login) == self.previous => Some(Role::Previous),
            _ => None,
        }
    }
}

impl History {
    /// Another process asked it before: what it wrote counts for one window, for a kubelet could have written it too.
    pub(super) fn of_condition(asked: &Asked<'_>, now: Now) -> Self {
        let mut history = Self::default();
        let Some(stamp) = asked.stamp() else {
            history.learn(asked, now);
            return history;
        };
        if stamp.takes_previous && stamp.fingerprint == asked.fingerprint {
            history.taken = asked.previous.map(|previous| previous.login);
        }
        // Whatever the clock of its host was.
        for spent in &stamp.spent {
            history.add(asked, &stamp, *spent, now);
        }
        if let Some(last) = history.recent.within_window(now).next_back() {
            history.why =
                format!("a login was refused at {:.0}, as FenceReady reports; {}", last.at.wall, asks_again(WINDOW));
        }
        history.learn(asked, now);
        history
    }

    /// A command of a person has had a login refused meanwhile, or another method of the node at the same BMC.
    pub(super) fn learn(&mut self, asked: &Asked<'_>, now: Now) {
        let newest = self.newest.checked_add(ROUNDED).unwrap_or(self.newest);
        for stamp in
            asked.stamps().filter(|stamp| stamp.method == asked.method || stamp.address == asked.address_stamp())
        {
            for spent in &stamp.spent {
                let is_known = spent.at <= newest || self.learnt.contains(&(spent.at, stamp.method.clone()));
                if !is_known && spent.at.duration_since(now.wall) < AHEAD {
                    self.add(asked, &stamp, *spent, now);
                }
            }
        }
        // After all of them: what is forgotten before is new again.
        self.forget_old_stamps(now);
    }

    /// It delays by one window at most, and its account too: how often that was refused is not believed.
    fn add(&mut self, asked: &Asked<'_>, stamp: &Stamp, spent: SpentStamp, now: Now) {
        let at = seen_at(spent.at, now);
        self.newest = self.newest.max(at.wall);
        self.learnt.insert((spent.at, stamp.method.clone()));
        let is_own = stamp.method == asked.method;
        let role = spent.role.filter(|_| is_own && stamp.fingerprint == asked.fingerprint);
        let login = role.and_then(|role| asked.account(role)).map(|account| account.login);
        let recent = if is_own { &mut self.recent } else { &mut self.beside };
        recent.remember(Spent { at, login, how: spent.how });
        if let Some(login) = login.filter(|_| spent.how == How::Refused) {
            self.taken = self.taken.filter(|taken| *taken != login);
            self.refusals.entry(login).or_insert(RefusedLogin { count: 1, at: at.moment });
        }
    }

    /// Returns when logins were refused by this: its own, and that of an agent before it.
    pub(super) fn refused(&mut self, asked: &Asked<'_>, account: Account, now: Now, why: &str) -> Vec<Spent> {
        self.configure(asked);
        // The BMC was changed: the next leader is not to begin with an account that it took before.
        self.taken = self.taken.filter(|taken| *taken != account.login);
        let agent = self.agent_failed.take();
        let spent = |at| Spent { at, login: Some(account.login), how: How::Refused };
        let spent: Vec<Spent> = agent.into_iter().chain([now]).map(spent).collect();
        spent.iter().for_each(|one| self.remember(*one));
        let refusal = self.refusals.entry(account.login).or_insert(RefusedLogin { count: 0, at: now.moment });
        *refusal = RefusedLogin { count: refusal.count + 1, at: now.moment };
        self.why = format!("{why}; {}", asks_again(wait(refusal.count)));
        spent
    }

    pub(super) fn unanswered(&mut self, asked: &Asked<'_>, account: Account, now: Now) -> Spent {
        self.configure(asked);
        let spent = Spent { at: now, login: Some(account.login), how: How::Unanswered };
        self.remember(spent);
        spent
    }

    pub(super) fn taken(&mut self, asked: &Asked<'_>, account: Account) {
        self.configure(asked);
        self.refusals.remove(&account.login);
        self.recent.taken(account.login);
        self.beside.taken(account.login);
        self.taken = Some(account.login);
        self.agent_failed = None;
    }

    pub(super) fn agent_failed(&mut self, at: Option<Now>) {
        self.agent_failed = at;
    }

    /// Why none of its accounts may be tried.
    pub(super) fn why(&self) -> &str {
        &self.why
    }

    /// Those that are older than a window are known as everything up to then is.
    fn forget_old_stamps(&mut self, now: Now) {
        let Ok(oldest) = now.wall.checked_sub(WINDOW) else { return };
        let kept = self.learnt.split_off(&(oldest, String::new()));
        if let Some((at, _)) = std::mem::replace(&mut self.learnt, kept).last() {
            self.newest = self.newest.max(*at);
        }
    }

    fn remember(&mut self, spent: Spent) {
        self.recent.remember(spent);
        self.newest = self.newest.max(spent.at.wall);
    }

    pub(super) fn configure(&mut self, asked: &Asked<'_>) {
        self.configured = Configured {
            fingerprint: asked.fingerprint,
            address: asked.address_stamp(),
            current: asked.current.login,
            previous: asked.previous.map(|previous| previous.login),
        };
        let configured = self.configured;
        self.refusals.retain(|login, _| configured.role(*login).is_some());
        self.taken = self.taken.filter(|taken| configured.role(*taken).is_some());
    }

    pub(super) fn check_budget(&self, budget: usize, now: Now) -> Result<(), String> {
        self.recent.check(budget, now)?;
        self.beside.check(budget, now)
    }

    /// The one that was taken last first; but if the BMC had no answer for that again and again, it may refuse it too late to be
    /// seen, and the other one comes first for once.
    pub(super) fn order(&self, asked: &Asked<'_>) -> [Role; 2] {
        let first = self.first(asked);
        let is_unanswered = asked.account(first).is_some_and(|account| self.recent.is_unanswered(account.login));
        if is_unanswered { [first.other(), first] } else { [first, first.other()] }
    }

    /// The one that was taken last.
    pub(super) fn first(&self, asked: &Asked<'_>) -> Role {
        let is_previous = self.taken.is_some() && self.taken == asked.previous.map(|previous| previous.login);
        if is_previous { Role::Previous } else { Role::Current }
    }

    pub(super) fn has_taken(&self, account: Account) -> bool {
        self.taken == Some(account.login)
    }

    pub(super) fn has_refused(&self, account: Account) -> bool {
        self.refusals.contains_key(&account.login)
    }

    pub(super) fn may_try(&self, asked: &Asked<'_>, account: Account, groups: &Groups, now: Moment) -> bool {
        if let Some(refusal) = self.refusals.get(&account.login) {
            return now.since(refusal.at) >= wait(refusal.count);
        }
        let others = self.refusals.values().map(|refusal| now.since(refusal.at)).min();
        let is_known = self.has_taken(account) || groups.is_taken(account.shared);
        is_known || asked.previous.is_none() || others.is_none_or(|since| since >= WINDOW / 2)
    }

    pub(super) fn stamp(&self, method: &str, now: Now) -> Option<Stamp> {
        let Configured { fingerprint, address, previous, .. } = self.configured;
        let role = |login: Option<u64>| login.and_then(|login| self.configured.role(login));
        let spent = self.recent.to_report(now);
        let spent = spent.map(|one| SpentStamp { how: one.how, role: role(one.login), at: one.at.wall });
        let takes_previous = self.taken.is_some() && self.taken == previous;
        let stamp = Stamp { method: method.to_owned(), spent: spent.collect(), takes_previous, fingerprint, address };
        (!stamp.spent.is_empty() || takes_previous).then_some(stamp)
    }
}

/// By this process' clocks, what another one wrote by its own.
fn seen_at(at: Timestamp, now: Now) -> Now {
    let age = Duration::try_from(now.wall.duration_since(at)).unwrap_or_default();
    Now { moment: Moment(now.moment.0.saturating_sub(age)), wall: at.min(now.wall) }
}

fn asks_again(after: Duration) -> String {
    format!("{HELD_BACK} it asks again after {} s, or at once with another Secret", after.as_secs())
}

fn wait(refusals: usize) -> Duration {
    WAITS[refusals.clamp(1, WAITS.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_forgotten_once_they_count_no_more() {
        let mut history = History::default();
        let start = Timestamp::UNIX_EPOCH + WINDOW * 9;
        for at in [start, start + WINDOW, start + WINDOW * 2] {
            history.learnt.insert((at, "bmc".to_owned()));
        }
        history.forget_old_stamps(Now { moment: Moment(WINDOW), wall: start + WINDOW * 2 });
        assert_eq!(history.learnt.len(), 2);
        assert_eq!(history.newest, start, "none of the forgotten is new again");
    }
}
