//! What a person still has to confirm of a node's machine, for `nodewell-controller check --node`.

use std::time::Duration;

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{
    facts::Node,
    method::{AgentAction, IdentityMethod, Unpinned, ValidatedMethod, destinations},
};

use super::{NativePower, logins::Logins};
use crate::identity::{self, Login};

impl<C: Configuration> NativePower<C> {
    /// For a command, which runs beside the controller.
    #[must_use]
    pub fn of_a_command(self) -> Self {
        self.memory().logins = Logins::of_a_command();
        self
    }

    /// For a person who waits at a terminal: `report` takes what is asked right now, which takes seconds.
    #[must_use]
    pub fn reporting(self, report: Option<fn(&str)>) -> Self {
        Self { report, ..self }
    }

    pub(super) fn report_question(&self, call: &ValidatedMethod, who: &str, what: &str) {
        if let Some(report) = self.report {
            report(&format!("asking {who} at {} {what} …", destinations(call).join(" ")));
        }
    }

    /// Whether a BMC of the node refused a login of this process: `FenceReady` has to have it.
    #[must_use]
    pub fn is_refused(&self, node: &str) -> bool {
        self.memory().logins.is_refused_here(node)
    }

    /// How often each of the node's BMCs and other devices is logged in to while nothing is wrong.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub async fn how_often(&self, node: &Node, interval: Duration) -> Result<Vec<String>, String> {
        let validated = self.validated(node, self.settings.refresh).await.map_err(|blocker| blocker.message)?;
        let times = Duration::from_secs(3600).as_secs_f64() / interval.as_secs_f64();
        let line = |call: &ValidatedMethod| {
            let (name, agent, address) = (&call.name, &call.agent, destinations(call).join(" "));
            if identity::asks(call) {
                format!(
                    "{name} ({address}): {times:.0} logins an hour, and {agent} runs once a day; under remediation a login \
                     a minute, and {agent} at each reading"
                )
            } else {
                format!("{name} ({address}): {agent} runs {times:.0} times an hour; under remediation at each reading")
            }
        };
        Ok(validated.power_of_all(AgentAction::Status).map(line).collect())
    }

    /// The first pin that is not written yet; nothing if all are. Asks a BMC for its identity, and for nothing else.
    ///
    /// # Errors
    /// What has to be mended before the check can run.
    pub async fn unpinned(&self, node: &Node) -> Result<Option<Unpinned>, String> {
        let validated = self.validated(node, Duration::ZERO).await.map_err(|blocker| blocker.message)?;
        if let Err(unpinned) = validated.check_outlet_pins() {
            return Ok(Some(unpinned));
        }
        if validated.pins.system_uuid.is_some() {
            return Ok(None);
        }
        for call in
            validated.power_of_all(AgentAction::Off).filter(|call| call.identity_method == IdentityMethod::Asked)
        {
            if !identity::asks(call) {
                continue;
            }
            let accounts = self.accounts(&validated.node, call).await?;
            let ask = async |login: Login<'_>| identity::reported(call, login, &self.runner).await;
            let reported = self.with_account(node, call, &accounts, ask).await.map_err(|error| error.to_string())?;
            return Ok(Some(validated.pins.unpinned(node, &reported)));
        }
        Ok(None)
    }
}
