//! Whether what is asked and ordered at a level is the node's own.

use std::{sync::Arc, time::Duration};

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{
    api::fence::Blocker,
    facts::Node,
    guard::reason,
    method::{ValidatedMethod, ValidatedMethods},
    snapshot::Level,
    time::Moment,
};
use tokio::time::timeout;

use super::{By, NativePower, Outcome, logins::Role, not_ready, runs::Readings, secret::Accounts, wiring::WiringError};
use crate::identity::{self, IdentityError, Login};

/// Where there are several levels, each has this time to say who it is.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(10);

impl<C: Configuration> NativePower<C> {
    /// The same, if it may be acted upon at this level: this node alone hangs on its plugs, and what is asked is its own. An
    /// act does not wait for a new identity check if one was made lately, for this very configuration, and the level has
    /// answered ever since: what was seen of the node right before would be old by then.
    pub(super) async fn proven(
        &self,
        node: &Node,
        level: Level,
        age: Duration,
    ) -> Result<Arc<ValidatedMethods>, NotProven> {
        let validated = self.with_methods(node, age).await?;
        self.memory().alone(&validated, level)?;
        self.memory().contradictions.check_machine(&validated, node, level)?;
        let now = self.runner.now();
        let ages = self.ages(self.settings.refresh);
        if let Some(known) = self.memory().identified(node, &validated, level, now, ages) {
            return Ok(known.map(|()| validated)?);
        }
        let found = self.identify(node, &validated, level, now).await;
        Ok(found.map(|_| validated)?)
    }

    /// The same by asking now, however lately it was asked: with what the BMCs report of the power in the same login.
    pub(super) async fn proven_now(
        &self,
        node: &Node,
        level: Level,
    ) -> Result<(Arc<ValidatedMethods>, Readings), NotProven> {
        let validated = self.with_methods(node, self.settings.refresh).await?;
        self.memory().alone(&validated, level)?;
        let readings = self.identify(node, &validated, level, self.runner.now()).await?;
        Ok((validated, readings))
    }

    async fn identify(
        &self,
        node: &Node,
        validated: &Arc<ValidatedMethods>,
        level: Level,
        now: Moment,
    ) -> Result<Readings, Blocker> {
        let found = self.ask_level(node, validated, level).await;
        self.memory().identify(node, validated, level, now, found.as_ref().map(|_| ()).map_err(Blocker::clone));
        found
    }

    /// Where there are further levels, one that does not answer is not waited for longer than it is used.
    async fn ask_level(&self, node: &Node, validated: &ValidatedMethods, level: Level) -> Result<Readings, Blocker> {
        let found = self.ask_identity(node, validated, level);
        if validated.levels.len() == 1 {
            return found.await;
        }
        timeout(LEVEL_TIMEOUT, found).await.unwrap_or_else(|_| {
            let error = format!("no answer within {} s", LEVEL_TIMEOUT.as_secs());
            Err(Blocker::of(reason::IDENTITY_UNPROVEN, &[("error", &error)]))
        })
    }

    async fn ask_identity(&self, node: &Node, validated: &ValidatedMethods, level: Level) -> Result<Readings, Blocker> {
        validated
            .check_outlet_pins()
            .map_err(|unpinned| Blocker::of(reason::IDENTITY_UNPROVEN, &[("error", &unpinned)]))?;
        let whose = identity::Whose { node, pins: &validated.pins };
        let mut readings = Readings::new();
        let of_level = |name: &String| validated.names(level).contains(name);
        for call in validated.calls.values().filter(|call| of_level(&call.name) || !validated.is_of_power(&call.name)) {
            let accounts = self.accounts(&validated.node, call).await.map_err(not_ready)?;
            // Methods of the other steps only touch what their options name, and are not believed to prove anything.
            if of_level(&call.name) {
                let prove = async |login: Login<'_>| identity::prove(call, login, whose, &self.runner).await;
                let power = self.with_account(node, call, &accounts, prove).await.map_err(of_identity)?;
                readings.insert(call.name.clone(), power);
            }
        }
        Ok(readings)
    }

    /// Asks by the account that may be tried now; if it is refused, by the other one, as far as that can lock no account.
    pub(super) async fn with_account<T>(
        &self,
        node: &Node,
        call: &ValidatedMethod,
        accounts: &Accounts,
        ask: impl AsyncFn(Login<'_>) -> Result<T, IdentityError>,
    ) -> Result<T, IdentityError> {
        let (method, asked) = (&call.name, accounts.asked(node, &call.name));
        if !identity::asks(call) {
            return ask(self.attempt(&asked, Role::Current).login(accounts.of(Role::Current))).await;
        }
        // One at a time, whichever node or method asks: what the first is refused forbids the second.
        let turn = self.memory().turn(asked.address);
        let _turn = turn.lock().await;
        loop {
            let role = self.memory().logins.next(&asked, self.now());
            let role = role.map_err(|why| IdentityError::Unproven { method: method.clone(), why })?;
            self.report_question(call, method, "which machine it is");
            let found = {
                let attempt = self.attempt(&asked, role);
                ask(attempt.login(accounts.of(role))).await
            };
            self.count(&node.name, call, By::Native, outcome(&found));
            match found {
                Err(IdentityError::LoginRefused { why, .. }) => {
                    self.memory().logins.refused(&asked, role, self.now(), &why);
                }
                Ok(answer) => {
                    self.memory().logins.taken(&asked, role);
                    return Ok(answer);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn outcome<T>(found: &Result<T, IdentityError>) -> Outcome {
    match found {
        Ok(_) => Outcome::Answered,
        Err(IdentityError::LoginRefused { .. }) => Outcome::Refused,
        Err(IdentityError::Unproven { .. } | IdentityError::BadPin { .. }) => Outcome::Failed,
    }
}

/// A pin that is no GUID is an error in the configuration; all else is a BMC of unknown identity.
fn of_identity(error: IdentityError) -> Blocker {
    match error {
        IdentityError::Unproven { method, why } | IdentityError::LoginRefused { method, why } => {
            unproven(&method, &why)
        }
        IdentityError::BadPin { .. } => not_ready(error),
    }
}

fn unproven(method: &str, why: &str) -> Blocker {
    Blocker::of(reason::IDENTITY_UNPROVEN, &[("error", &format!("{method}: {why}"))])
}

/// Why nothing may be done by a node's configuration.
#[derive(Debug)]
pub(super) struct NotProven {
    pub(super) blocker: Blocker,
    /// Other nodes were not read yet: over in a moment after a start.
    pub(super) is_early: bool,
}

impl From<Blocker> for NotProven {
    fn from(blocker: Blocker) -> Self {
        Self { blocker, is_early: false }
    }
}

impl From<WiringError> for NotProven {
    fn from(error: WiringError) -> Self {
        Self { is_early: matches!(error, WiringError::Unread(_)), blocker: not_ready(error) }
    }
}
