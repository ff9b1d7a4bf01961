//! Whether what is asked and ordered at a level is the node's own.

use std::{sync::Arc, time::Duration};

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{
    api::fence::Blocker,
    facts::Node,
    guard::reason,
    method::{ValidatedMethod, ValidatedMethods},
    snapshot::Level,
};
use tokio::time::timeout;

use super::{By, NativePower, Outcome, not_ready, secret, wiring::WiringError};
use crate::{
    agent::Options,
    identity::{self, IdentityError},
};

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
        let now = self.runner.now();
        let ages = self.ages(self.settings.refresh);
        if let Some(known) = self.memory().identified(node, &validated, level, now, ages) {
            return Ok(known.map(|()| validated)?);
        }
        let found = self.identify(node, &validated, level).await;
        self.memory().identify(node, &validated, level, now, found.clone());
        Ok(found.map(|()| validated)?)
    }

    /// Where there are further levels, one that does not answer is not waited for longer than it is used.
    async fn identify(&self, node: &Node, validated: &ValidatedMethods, level: Level) -> Result<(), Blocker> {
        let found = self.ask_identity(node, validated, level);
        if validated.levels.len() == 1 {
            return found.await;
        }
        timeout(LEVEL_TIMEOUT, found).await.unwrap_or_else(|_| {
            let error = format!("no answer within {} s", LEVEL_TIMEOUT.as_secs());
            Err(Blocker::of(reason::IDENTITY_UNPROVEN, &[("error", &error)]))
        })
    }

    async fn ask_identity(&self, node: &Node, validated: &ValidatedMethods, level: Level) -> Result<(), Blocker> {
        validated
            .check_outlet_pins()
            .map_err(|unpinned| Blocker::of(reason::IDENTITY_UNPROVEN, &[("error", &unpinned)]))?;
        let whose = identity::Whose { node, pins: &validated.pins };
        let of_level = |name: &String| validated.names(level).contains(name);
        for call in validated.calls.values().filter(|call| of_level(&call.name) || !validated.is_of_power(&call.name)) {
            let options = secret::options(&*self.cluster, &validated.node, call).await.map_err(not_ready)?;
            // Methods of the other steps only touch what their options name, and are not believed to prove anything.
            if of_level(&call.name) {
                self.prove(call, &options, whose).await?;
            }
        }
        Ok(())
    }

    /// With an account that was not refused lately.
    async fn prove(
        &self,
        call: &ValidatedMethod,
        options: &Options,
        whose: identity::Whose<'_>,
    ) -> Result<(), Blocker> {
        let (node, method, now) = (&whose.node.name, &call.name, self.runner.now());
        self.memory().logins.check(node, method, options, now).map_err(|why| unproven(method, &why))?;
        let found = identity::prove(call, options, whose, &self.runner).await;
        if identity::asks(call) {
            self.count(node, call, By::Native, outcome(&found));
        }
        match found {
            Err(IdentityError::LoginRefused { why, .. }) => {
                let why = self.memory().logins.refuse(node, method, options, now, &why);
                Err(unproven(method, &why))
            }
            Ok(()) => {
                self.memory().logins.take(node, method);
                Ok(())
            }
            Err(error) => Err(of_identity(error)),
        }
    }
}

fn outcome(found: &Result<(), IdentityError>) -> Outcome {
    match found {
        Ok(()) => Outcome::Answered,
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
