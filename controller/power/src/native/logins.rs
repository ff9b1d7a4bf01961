//! Which account a BMC is asked by, and when by none. Many BMCs lock an account, or the address that asks, after three to five
//! refused logins within some minutes, and then the node can no longer be fenced. Each of these rules may forbid a login:
//!
//! 1. A BMC refuses no more than two logins within 330 s, whatever is changed meanwhile.
//! 2. An account that it refused is tried there again after 5.5 min, 30 min, and each hour, or at once when its options or its Secret are another.
//! 3. A Secret's other account follows a refused one at once if some BMC took it, else after half the window.
//! 4. An account that several BMCs refused in a row is tried on one of them a minute, until one takes it.
//!
//! What another process has seen of a BMC is in the condition `FenceReady` of its node, as [`Stamp`]s.

mod groups;
mod history;
mod stamp;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::{
    facts::{FENCE_READY, Node},
    time::Now,
};

use groups::Groups;
use history::{BUDGET, History};
use stamp::Stamp;

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
    /// Nodes with a login that was refused in this process.
    refused_here: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Bmc {
    node: String,
    method: String,
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
        Self {
            budget: BUDGET,
            bmcs: BTreeMap::new(),
            groups: Groups::default(),
            unreported: BTreeSet::new(),
            refused_here: BTreeSet::new(),
        }
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
        let mut why = history.why().to_owned();
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
        self.bmcs.entry(asked.bmc()).or_default().refused(asked, account, now, why);
        self.groups.refused(account.shared, &asked.node.name, now.moment);
        self.unreported.insert(asked.node.name.clone());
        self.refused_here.insert(asked.node.name.clone());
    }

    /// The BMC took it.
    pub fn taken(&mut self, asked: &Asked<'_>, role: Role) {
        let Some(account) = asked.account(role) else { return };
        self.bmcs.entry(asked.bmc()).or_default().taken(asked, account, role);
        self.groups.taken(account.shared);
    }

    /// An agent of the method failed: if the BMC refuses the next login, it refused the agent's as well.
    pub fn agent_failed(&mut self, node: &str, method: &str, now: Now) {
        let bmc = Bmc { node: node.to_owned(), method: method.to_owned() };
        if let Some(history) = self.bmcs.get_mut(&bmc) {
            history.agent_failed(now);
        }
    }

    /// The account that an agent gets: the one that the BMC took last.
    #[must_use]
    pub fn role(&self, asked: &Asked<'_>) -> Role {
        self.bmcs.get(&asked.bmc()).map_or(Role::Current, |history| history.order(asked)[0])
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

    /// Whether a BMC of the node refused a login of this process: what others have written they know.
    #[must_use]
    pub fn is_refused_here(&self, node: &str) -> bool {
        self.refused_here.contains(node)
    }

    /// Nodes with a refused login that was not reported: the next leader would not know of it.
    #[must_use]
    pub fn unreported(&self) -> BTreeSet<String> {
        self.unreported.clone()
    }

    pub fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.bmcs.retain(|bmc, _| is_there(&bmc.node));
        self.unreported.retain(|node| is_there(node));
        self.refused_here.retain(|node| is_there(node));
    }
}

#[cfg(test)]
mod tests;
