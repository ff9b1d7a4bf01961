//! Which account a BMC is asked by, and when by none. Many BMCs lock an account, or the address that asks, after three to five
//! refused logins within some minutes, and then the node can no longer be fenced. Each of these rules may forbid a login:
//!
//! 1. A BMC refuses no more than two logins within 330 s, whatever is changed meanwhile: of one method, and of all that log in at its
//!    address by the same user. One that had no answer may have been refused.
//! 2. An account that it refused is tried there again after 5.5 min, 30 min, and each hour, or at once when its options or its Secret are another.
//! 3. A Secret's other account follows a refused one at once if some BMC took it, else after half the window.
//! 4. An account that several BMCs refused in a row is tried on one of them a minute, until one takes it. A BMC that took it before
//!    waits for that, and is not asked by the Secret's other account, unless no BMC has refused that one since one took it.
//!
//! What another process has seen of a BMC is in the condition `FenceReady` of its node, as [`Stamp`]s.

mod budget;
mod groups;
mod history;
pub(super) mod stamp;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::{
    facts::{FENCE_READY, Node},
    time::Now,
};

use budget::{BUDGET, Budgets};
use groups::Groups;
use history::History;
use stamp::Stamp;
pub use stamp::cut;

/// Every sentence on a login that is not tried has it.
pub const HELD_BACK: &str = "not to be locked out";

/// A node has fewer methods that log in; a client may have written any number.
const MOST_CARRIED: usize = 8;

/// One of the accounts that a Secret has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Current,
    /// Its keys end with `.previous`.
    Previous,
}

impl Role {
    fn other(self) -> Self {
        match self {
            Self::Current => Self::Previous,
            Self::Previous => Self::Current,
        }
    }
}

/// An account by its hashes: no password is stored for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Of the address, the account and all other options.
    pub login: u64,
    /// Of the Secret's name, the account and the password: the same for all BMCs that share it.
    pub shared: u64,
    /// Of the address and the user: the same for all methods and nodes whose refused logins a BMC counts together.
    pub counter: u64,
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
    /// Of the address alone: at one address there is one login at a time.
    pub address: u64,
    pub current: Account,
    pub previous: Option<Account>,
}

/// What is known of all BMCs.
#[derive(Debug)]
pub struct Logins {
    budget: usize,
    bmcs: BTreeMap<Bmc, History>,
    budgets: Budgets,
    groups: Groups,
    /// By node: what another process wrote of methods that this one has not asked.
    carried: BTreeMap<String, Vec<Stamp>>,
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

    /// What its node's condition has of it.
    fn stamp(&self) -> Option<Stamp> {
        self.stamps().find(|stamp| stamp.method == self.method)
    }

    /// And of the node's other methods.
    fn stamps(&self) -> impl Iterator<Item = Stamp> {
        let condition = self.node.condition(FENCE_READY);
        condition.map(|condition| stamp::read(&condition.message)).unwrap_or_default().into_iter()
    }

    fn address_stamp(&self) -> u32 {
        u32::try_from(self.address >> 32).unwrap_or_default()
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
            budgets: Budgets::default(),
            groups: Groups::default(),
            carried: BTreeMap::new(),
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
        history.configure(asked);
        history.learn(asked, now);
        history.check_budget(self.budget, now)?;
        let mut why = history.why().to_owned();
        for role in order(history, asked, &self.groups) {
            let Some(account) = asked.account(role) else { continue };
            if !history.may_try(asked, account, &self.groups, now.moment) {
                continue;
            }
            let checked = self.budgets.check(account.counter, self.budget, now);
            match checked.and_then(|()| self.groups.check(account.shared, asked.secret, now.moment)) {
                Ok(()) => return Ok(role),
                // By the other one it would be refused.
                Err(stopped) if history.has_taken(account) => return Err(stopped),
                Err(stopped) => why = stopped,
            }
        }
        Err(why)
    }

    /// The BMC refused it.
    pub fn refused(&mut self, asked: &Asked<'_>, role: Role, now: Now, why: &str) {
        let Some(account) = asked.account(role) else { return };
        let spent = self.bmcs.entry(asked.bmc()).or_default().refused(asked, account, now, why);
        spent.into_iter().for_each(|one| self.budgets.remember(account.counter, one));
        self.groups.refused(account.shared, &asked.node.name, now.moment);
        self.is_news(&asked.node.name);
    }

    /// It was sent, and the question was given up before the BMC took or refused it.
    pub fn unanswered(&mut self, asked: &Asked<'_>, role: Role, now: Now) {
        let Some(account) = asked.account(role) else { return };
        let spent = self.bmcs.entry(asked.bmc()).or_default().unanswered(asked, account, now);
        self.budgets.remember(account.counter, spent);
        self.is_news(&asked.node.name);
    }

    /// The BMC took it.
    pub fn taken(&mut self, asked: &Asked<'_>, role: Role) {
        let Some(account) = asked.account(role) else { return };
        let history = self.bmcs.entry(asked.bmc()).or_default();
        if let Some(other) = asked.account(role.other()).filter(|other| history.has_refused(*other)) {
            self.groups.replaced(other.shared, &asked.node.name);
        }
        history.taken(asked, account);
        self.budgets.taken(account.counter, account.login);
        self.groups.taken(account.shared);
    }

    fn is_news(&mut self, node: &str) {
        self.unreported.insert(node.to_owned());
        self.refused_here.insert(node.to_owned());
    }

    /// An agent of the method failed: if the BMC refuses the next login, it refused the agent's as well.
    pub fn agent_failed(&mut self, node: &str, method: &str, now: Now) {
        self.agent(node, method, Some(now));
    }

    pub fn agent_answered(&mut self, node: &str, method: &str) {
        self.agent(node, method, None);
    }

    fn agent(&mut self, node: &str, method: &str, failed: Option<Now>) {
        let bmc = Bmc { node: node.to_owned(), method: method.to_owned() };
        if let Some(history) = self.bmcs.get_mut(&bmc) {
            history.agent_failed(failed);
        }
    }

    /// The account that an agent gets: the one that the BMC took last.
    #[must_use]
    pub fn role(&self, asked: &Asked<'_>) -> Role {
        self.bmcs.get(&asked.bmc()).map_or(Role::Current, |history| history.first(asked))
    }

    /// What the next leader has to know of the node's BMCs; empty while every login is taken.
    #[must_use]
    pub fn stamps(&self, node: &str, now: Now) -> String {
        let of_node = self.bmcs.iter().filter(|(bmc, _)| bmc.node == node);
        let asked = of_node.filter_map(|(bmc, history)| history.stamp(&bmc.method, now));
        stamp::text(asked.chain(self.carried.get(node).into_iter().flatten().cloned()))
    }

    /// What its condition has of methods that cannot be asked now is written again as it is, while they are configured or that is not
    /// known: the next leader may ask them.
    pub fn carry(&mut self, node: &Node, is_configured: impl Fn(&str) -> bool, now: Now) {
        let there = node.condition(FENCE_READY).map(|condition| stamp::read(&condition.message)).unwrap_or_default();
        let is_asked =
            |method: &str| self.bmcs.contains_key(&Bmc { node: node.name.clone(), method: method.to_owned() });
        let there = there.into_iter().filter(|stamp| is_configured(&stamp.method) && !is_asked(&stamp.method));
        let there: Vec<Stamp> = there.filter_map(|stamp| stamp.still(now)).take(MOST_CARRIED).collect();
        self.carried.insert(node.name.clone(), there);
        self.carried.retain(|_, stamps| !stamps.is_empty());
    }

    /// `FenceReady` has this message. What was refused while it was written is not in it, and stays to be reported.
    pub fn reported(&mut self, node: &str, message: &str, now: Now) {
        if message.starts_with(&self.stamps(node, now)) {
            self.unreported.remove(node);
        }
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

    /// Of nodes that are gone; what their BMCs count they go on to count.
    pub fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.bmcs.retain(|bmc, _| is_there(&bmc.node));
        self.carried.retain(|node, _| is_there(node));
        self.unreported.retain(|node| is_there(node));
        self.refused_here.retain(|node| is_there(node));
    }
}

/// The account that the BMC took last first. One that BMCs cease to take one after the other comes second, while no BMC refuses the
/// other one.
fn order(history: &History, asked: &Asked<'_>, groups: &Groups) -> [Role; 2] {
    let [first, second] = history.order(asked);
    let is_going = asked.account(first).is_some_and(|account| groups.is_going(account.shared));
    let is_clean = |account: Account| groups.in_a_row(account.shared) == 0;
    if is_going && asked.account(second).is_some_and(is_clean) { [second, first] } else { [first, second] }
}

#[cfg(test)]
mod tests;
