//! Which account a BMC is asked by, and when by none. Many BMCs lock an account, or the address that asks, after three to five
//! refused logins within some minutes, and then the node can no longer be fenced. Each of these rules may forbid a login:
//!
//! 1. A BMC refuses no more than two logins within [`WINDOW`], whatever is changed meanwhile.
//! 2. An account that it refused is tried there again after [`WAITS`], or at once when its options or its Secret are another.
//! 3. A Secret's other account follows a refused one at once if some BMC took it, else after half the window.
//! 4. An account that several BMCs refused in a row is tried on one of them a minute, until one takes it.
//!
//! What another process has seen of a BMC is in the condition `FenceReady` of its node, as [`Stamp`]s.

mod groups;
mod stamp;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use nodewell_remediation::{
    facts::{FENCE_READY, Node},
    time::{Moment, Now},
};

use groups::Groups;
use stamp::Stamp;

/// BMCs that lock after three within five minutes are the strictest that are known; the third is left to people.
const BUDGET: usize = 2;
const WINDOW: Duration = Duration::from_secs(330);
/// After the first refusal, the second, and so on; after all further ones the last.
const WAITS: [Duration; 3] = [WINDOW, Duration::from_secs(1800), Duration::from_secs(3600)];

/// One of the accounts that a Secret has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Current,
    /// Its keys end with `.previous`.
    Previous,
}

/// An account by its hashes: no password is stored for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Of the address, the account and all other options.
    pub login: u64,
    /// Of the Secret's name, the account and the password: the same for all BMCs that share it.
    pub shared: u64,
}

/// A BMC that is about to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub node: &'a Node,
    pub method: &'a str,
    /// The Secret's name.
    pub secret: &'a str,
    /// Of the method's options and the Secret's version, without a secret in it: it is shown.
    pub fingerprint: u32,
    pub current: Account,
    pub previous: Option<Account>,
}

/// What is known of all BMCs.
#[derive(Debug)]
pub struct Logins {
    budget: usize,
    bmcs: BTreeMap<Bmc, History>,
    groups: Groups,
    /// Nodes with a refused login that `FenceReady` does not have yet.
    unreported: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Bmc {
    node: String,
    method: String,
}

#[derive(Debug, Default)]
struct History {
    /// The last ones, whatever the account.
    recent: Vec<Now>,
    /// By account; those that the method has no more are dropped.
    refusals: BTreeMap<u64, Refusal>,
    taken: Option<Taken>,
    /// An agent that was run since may have been refused: it does not report that.
    agent_failed: Option<Now>,
    fingerprint: u32,
    why: String,
}

#[derive(Debug)]
struct Refusal {
    count: usize,
    at: Moment,
}

/// The account that the BMC took last.
#[derive(Debug, Clone, Copy)]
struct Taken {
    login: u64,
    role: Role,
}

impl Asked<'_> {
    fn account(&self, role: Role) -> Option<Account> {
        match role {
            Role::Current => Some(self.current),
            Role::Previous => self.previous,
        }
    }

    fn accounts(&self) -> impl Iterator<Item = Account> {
        [Some(self.current), self.previous].into_iter().flatten()
    }

    /// What its node's condition has of it.
    fn stamp(&self) -> Option<Stamp> {
        let condition = self.node.condition(FENCE_READY)?;
        stamp::read(&condition.message).into_iter().find(|stamp| stamp.method == self.method)
    }

    fn bmc(&self) -> Bmc {
        Bmc { node: self.node.name.clone(), method: self.method.to_owned() }
    }
}

impl Default for Logins {
    /// Of the controller that leads.
    fn default() -> Self {
        Self { budget: BUDGET, bmcs: BTreeMap::new(), groups: Groups::default(), unreported: BTreeSet::new() }
    }
}

impl Logins {
    /// Of a command, which runs beside the controller and knows of it by `FenceReady` alone: it tries no account where any was
    /// refused lately.
    #[must_use]
    pub fn of_a_command() -> Self {
        Self { budget: 1, ..Self::default() }
    }

    /// The account to ask by now.
    ///
    /// # Errors
    /// Why none may be tried: the same sentence until one may.
    pub fn next(&mut self, asked: &Asked<'_>, now: Now) -> Result<Role, String> {
        let history = self.bmcs.entry(asked.bmc()).or_insert_with(|| History::of_condition(asked, now));
        history.forget_others(asked);
        history.learn(asked, now);
        history.check_budget(self.budget, now)?;
        let mut why = history.why.clone();
        for role in history.order(asked) {
            let Some(account) = asked.account(role) else { continue };
            if !history.may_try(asked, account, &self.groups, now.moment) {
                continue;
            }
            match self.groups.check(account.shared, asked.secret, now.moment) {
                Ok(()) => return Ok(role),
                Err(stopped) => why = stopped,
            }
        }
        Err(why)
    }

    /// The BMC refused it.
    pub fn refused(&mut self, asked: &Asked<'_>, role: Role, now: Now, why: &str) {
        let Some(account) = asked.account(role) else { return };
        let history = self.bmcs.entry(asked.bmc()).or_default();
        history.forget_others(asked);
        // The BMC was changed: the next leader is not to begin with an account that it took before.
        history.taken = history.taken.filter(|taken| taken.login != account.login);
        history.recent.extend(history.agent_failed.take().into_iter().chain([now]));
        let first = history.recent.len().saturating_sub(BUDGET);
        history.recent.drain(..first);
        let refusal = history.refusals.entry(account.login).or_insert(Refusal { count: 0, at: now.moment });
        *refusal = Refusal { count: refusal.count + 1, at: now.moment };
        history.why = format!("{why}; {}", asks_again(wait(refusal.count)));
        history.fingerprint = asked.fingerprint;
        self.groups.refused(account.shared, &asked.node.name, now.moment);
        self.unreported.insert(asked.node.name.clone());
    }

    /// The BMC took it.
    pub fn taken(&mut self, asked: &Asked<'_>, role: Role) {
        let Some(account) = asked.account(role) else { return };
        let history = self.bmcs.entry(asked.bmc()).or_default();
        history.refusals.remove(&account.login);
        history.taken = Some(Taken { login: account.login, role });
        history.agent_failed = None;
        history.fingerprint = asked.fingerprint;
        self.groups.taken(account.shared);
    }

    /// An agent of the method failed: if the BMC refuses the next login, it refused the agent's as well.
    pub fn agent_failed(&mut self, node: &str, method: &str, now: Now) {
        let bmc = Bmc { node: node.to_owned(), method: method.to_owned() };
        if let Some(history) = self.bmcs.get_mut(&bmc) {
            history.agent_failed = Some(now);
        }
    }

    /// The account that an agent gets: the one that the BMC took last.
    #[must_use]
    pub fn role(&self, asked: &Asked<'_>) -> Role {
        let taken = self.bmcs.get(&asked.bmc()).and_then(|history| history.taken);
        let is_previous = asked.previous.is_some_and(|previous| taken.is_some_and(|last| last.login == previous.login));
        if is_previous { Role::Previous } else { Role::Current }
    }

    /// What the next leader has to know of the node's BMCs; empty while every login is taken.
    #[must_use]
    pub fn stamps(&self, node: &str, now: Now) -> String {
        let of_node = self.bmcs.iter().filter(|(bmc, _)| bmc.node == node);
        stamp::text(of_node.filter_map(|(bmc, history)| history.stamp(&bmc.method, now)))
    }

    /// The same for `FenceReady`.
    pub fn report(&mut self, node: &str, now: Now) -> String {
        self.unreported.remove(node);
        self.stamps(node, now)
    }

    /// Nodes with a refused login that was not reported: the next leader would not know of it.
    #[must_use]
    pub fn unreported(&self) -> BTreeSet<String> {
        self.unreported.clone()
    }

    pub fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.bmcs.retain(|bmc, _| is_there(&bmc.node));
        self.unreported.retain(|node| is_there(node));
    }
}

impl History {
    /// Another process asked it before: what it wrote counts for one window, for a kubelet could have written it too.
    fn of_condition(asked: &Asked<'_>, now: Now) -> Self {
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
            history.refusals = stopped.map(|one| (one.login, Refusal { count: 1, at: at.moment })).collect();
            history.why =
                format!("a login was refused at {:.0}, as FenceReady reports; {}", at.wall, asks_again(WINDOW));
        }
        history
    }

    /// A command of a person has had a login refused meanwhile.
    fn learn(&mut self, asked: &Asked<'_>, now: Now) {
        let Some((_, at)) = asked.stamp().and_then(|stamp| stamp.refused) else { return };
        let last = self.recent.last().map_or(Timestamp::MIN, |last| last.wall);
        let is_newer = at.duration_since(last.min(at)) > SignedDuration::from_secs(1);
        if is_newer && at.duration_since(now.wall) < SignedDuration::from_mins(1) {
            self.recent.push(seen_at(at, now));
            let first = self.recent.len().saturating_sub(BUDGET);
            self.recent.drain(..first);
        }
    }

    fn forget_others(&mut self, asked: &Asked<'_>) {
        let there: BTreeSet<u64> = asked.accounts().map(|account| account.login).collect();
        self.refusals.retain(|login, _| there.contains(login));
        self.taken = self.taken.filter(|taken| there.contains(&taken.login));
    }

    fn check_budget(&self, budget: usize, now: Now) -> Result<(), String> {
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
    fn order(&self, asked: &Asked<'_>) -> [Role; 2] {
        let is_previous = self.taken.is_some_and(|taken| asked.previous.is_some_and(|one| one.login == taken.login));
        if is_previous { [Role::Previous, Role::Current] } else { [Role::Current, Role::Previous] }
    }

    fn may_try(&self, asked: &Asked<'_>, account: Account, groups: &Groups, now: Moment) -> bool {
        if let Some(refusal) = self.refusals.get(&account.login) {
            return now.since(refusal.at) >= wait(refusal.count);
        }
        let others = self.refusals.values().map(|refusal| now.since(refusal.at)).min();
        let is_known = self.taken.is_some_and(|taken| taken.login == account.login) || groups.is_taken(account.shared);
        is_known || asked.previous.is_none() || others.is_none_or(|since| since >= WINDOW / 2)
    }

    fn stamp(&self, method: &str, now: Now) -> Option<Stamp> {
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

#[cfg(test)]
mod tests;
