//! One login to a BMC, from before it is sent: one that is given up may have been refused.

use super::{
    NativePower,
    logins::{Asked, Role},
};
use crate::{
    agent::Options,
    identity::{Login, Unanswered},
};

/// Whatever ends the question (its own deadline, that of its level or of a reading, the end of a term) drops this.
pub(super) struct Attempt<'a, C> {
    power: &'a NativePower<C>,
    asked: &'a Asked<'a>,
    role: Role,
    unanswered: Unanswered,
}

impl<C> Attempt<'_, C> {
    pub(super) fn login<'a>(&'a self, options: &'a Options) -> Login<'a> {
        Login { options, unanswered: &self.unanswered }
    }
}

impl<C> Drop for Attempt<'_, C> {
    fn drop(&mut self) {
        if self.unanswered.is_set() {
            self.power.memory().logins.unanswered(self.asked, self.role, self.power.now());
        }
    }
}

impl<C> NativePower<C> {
    pub(super) fn attempt<'a>(&'a self, asked: &'a Asked<'a>, role: Role) -> Attempt<'a, C> {
        Attempt { power: self, asked, role, unanswered: Unanswered::default() }
    }
}
