//! How many logins a BMC has refused lately, or may have: no sequence of edits, leaders and methods may make them a third one.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::time::Now;

use super::HELD_BACK;

/// BMCs that lock after three within five minutes are the strictest that are known; the third is left to people.
pub(super) const BUDGET: usize = 2;
pub(super) const WINDOW: Duration = Duration::from_secs(330);
/// After a login without an answer: the next one is for a BMC that was slow once, and not for one that is slow to refuse.
const SLOW: Duration = Duration::from_secs(30);

/// A login that was refused, or may have been.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) at: Now,
    /// Whose account: [`super::Account::login`]; nothing if that is not known, or was taken since.
    pub(super) login: Option<u64>,
    pub(super) how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Refused,
    /// The account was sent and the question was given up. It counts in full, for a BMC that refuses after 10 s would get one
    /// login after the other; but only until the BMC takes one: it was slow then, and has begun to count from nothing.
    Unanswered,
}

/// The last ones, in order: no more than the budget.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent(Vec<Spent>);

impl Recent {
    pub(super) fn remember(&mut self, spent: Spent) {
        self.0.push(spent);
        self.0.sort_by_key(|spent| spent.at.moment);
        let first = self.0.len().saturating_sub(BUDGET);
        self.0.drain(..first);
    }

    /// The BMC took a login by this account. That it refused it before counts all the same, and speaks against it no more.
    pub(super) fn taken(&mut self, login: u64) {
        self.0.retain(|spent| spent.how == How::Refused);
        self.0.iter_mut().filter(|spent| spent.login == Some(login)).for_each(|spent| spent.login = None);
    }

    pub(super) fn within_window(&self, now: Now) -> impl DoubleEndedIterator<Item = &Spent> {
        self.0.iter().filter(move |spent| now.moment.since(spent.at.moment) < WINDOW)
    }

    /// Whether the last ones are all of this account, and none of them had an answer: it refuses late, or is away.
    pub(super) fn is_unanswered(&self, login: u64) -> bool {
        let is_it = |spent: &Spent| spent.how == How::Unanswered && spent.login == Some(login);
        self.0.len() == BUDGET && self.0.iter().all(is_it)
    }

    /// What the next leader has to know: what counts, and a window longer what had no answer.
    pub(super) fn to_report(&self, now: Now) -> impl Iterator<Item = &Spent> {
        let counts = |spent: &Spent| match spent.how {
            How::Refused => WINDOW,
            How::Unanswered => WINDOW * 2,
        };
        self.0.iter().filter(move |spent| now.moment.since(spent.at.moment) < counts(spent))
    }

    /// # Errors
    /// No login may be made now: the same sentence until one may.
    pub(super) fn check(&self, budget: usize, now: Now) -> Result<(), String> {
        let lately: Vec<&Spent> = self.within_window(now).collect();
        if let Some(first) = lately.len().checked_sub(budget) {
            let logins =
                if lately.len() == 1 { "1 login was".to_owned() } else { format!("{} logins were", lately.len()) };
            let is_sure = lately.iter().all(|spent| spent.how == How::Refused);
            let how = if is_sure { "refused" } else { "refused or not answered" };
            let (window, until) = (WINDOW.as_secs(), after(lately[first].at, WINDOW));
            return Err(format!("{logins} {how} within {window} s; {HELD_BACK} it asks again at {until}"));
        }
        let slow = lately.iter().rev().find(|spent| spent.how == How::Unanswered);
        match slow.filter(|spent| now.moment.since(spent.at.moment) < SLOW) {
            Some(spent) => {
                let until = after(spent.at, SLOW);
                Err(format!("no answer to the login at {:.0}; {HELD_BACK} it asks again at {until}", spent.at.wall))
            }
            None => Ok(()),
        }
    }
}

fn after(at: Now, wait: Duration) -> String {
    format!("{:.0}", at.wall.checked_add(wait).unwrap_or(at.wall))
}

/// By [`super::Account::counter`]: methods and nodes that log in at one address by one user share what its BMC counts. It outlives
/// their Nodes: one that is registered again begins with what its BMC refused before.
#[derive(Debug, Default)]
pub(super) struct Budgets(BTreeMap<u64, Recent>);

impl Budgets {
    pub(super) fn remember(&mut self, counter: u64, spent: Spent) {
        self.0.retain(|_, recent| recent.within_window(spent.at).next().is_some());
        self.0.entry(counter).or_default().remember(spent);
    }

    pub(super) fn taken(&mut self, counter: u64, login: u64) {
        if let Some(recent) = self.0.get_mut(&counter) {
            recent.taken(login);
        }
    }

    pub(super) fn check(&self, counter: u64, budget: usize, now: Now) -> Result<(), String> {
        self.0.get(&counter).map_or(Ok(()), |recent| recent.check(budget, now))
    }
}
