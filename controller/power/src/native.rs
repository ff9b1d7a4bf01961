//! Power by fence agents on this host, configured by ConfigMaps and Secrets of the controller's namespace.

mod accept;
mod attempt;
mod changes;
mod contradiction;
mod counts;
mod half;
pub mod logins;
mod memory;
mod preflight;
mod proof;
mod runs;
mod secret;
mod survey;
mod wiring;

use std::{
    fmt::Display,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use nodewell_reconcile::{cluster::Configuration, lease_deadline::LeaseDeadline, power::Power};
use nodewell_remediation::{
    action::Failed,
    api::fence::Blocker,
    facts::Node,
    guard::reason,
    method::{AgentAction, BuiltIn, KnownConfigMaps, Read, ValidatedMethod, ValidatedMethods, check, read},
    snapshot::{FenceLevel, FencePlan, FenceScope, Level, PowerState},
    time::Moment,
};

pub use counts::{By, Kind, LoginCounts, LoginFigures, Outcome};
use futures_util::future::join_all;
pub use preflight::Preflight;

use crate::{agent::Agents, provider::Provider, runner::Runner};
use half::HalfDone;
use memory::{Ages, Memory};
use proof::NotProven;
use secret::Accounts;
use survey::SharedMaps;

/// A node's own, its type's, its methods', their templates', the cluster's: each round of questions knows the names of the
/// next. More rounds than this are a circle.
const ROUNDS: usize = 8;

/// Where the agents are on this host, and how long answers count.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `/usr/sbin`: has `fence_*`.
    pub agents: PathBuf,
    /// Has Secrets as files, each of its name, which stand for those of the API server.
    pub secrets_folder: Option<PathBuf>,
    /// Authorities of the BMCs' certificates; nothing: the host's.
    pub ca_file: Option<PathBuf>,
    /// The provider's plug-in, if there is one.
    pub provider: Option<Provider>,
    /// A configuration and a BMC's identity count for this long; before acts the configuration is read again.
    pub refresh: Duration,
    /// As long as this a configuration or an identity that was refused is not looked at again.
    pub refresh_refused: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            agents: PathBuf::from("/usr/sbin"),
            secrets_folder: None,
            ca_file: None,
            provider: None,
            refresh: Duration::from_secs(60),
            refresh_refused: Duration::from_secs(10),
        }
    }
}

/// [`Power`] for real.
#[derive(Debug)]
pub struct NativePower<C> {
    cluster: Arc<C>,
    agents: Agents,
    runner: Runner,
    settings: Settings,
    memory: Mutex<Memory>,
    logins: Arc<LoginCounts>,
    /// Takes what is asked, and of which device, for a person who waits.
    report: Option<fn(&str)>,
}

impl<C: Configuration> NativePower<C> {
    #[must_use]
    pub fn new(cluster: Arc<C>, runner: Runner, settings: Settings) -> Self {
        let runner = runner.trusting(settings.ca_file.clone());
        let agents = Agents::new(settings.agents.clone(), runner.clone());
        Self { cluster, agents, runner, settings, memory: Mutex::default(), logins: Arc::default(), report: None }
    }

    /// How often BMCs are logged in to.
    #[must_use]
    pub fn login_counts(&self) -> Arc<LoginCounts> {
        Arc::clone(&self.logins)
    }

    /// Read for each login.
    async fn accounts(&self, node: &str, call: &ValidatedMethod) -> Result<Accounts, String> {
        secret::accounts(&*self.cluster, self.settings.secrets_folder.as_deref(), node, call).await
    }

    /// What is configured for the node, not older than `age`.
    async fn validated(&self, node: &Node, age: Duration) -> Result<Arc<ValidatedMethods>, Blocker> {
        let now = self.runner.now();
        if let Some(known) = self.memory().configured(node, now, self.ages(age)) {
            return known;
        }
        let mut known = KnownConfigMaps::new();
        let found = self.configured(node, &mut known, &SharedMaps::default()).await;
        self.learn(node, now, found, &known)
    }

    fn learn(
        &self,
        node: &Node,
        now: Moment,
        found: Result<ValidatedMethods, Unready>,
        known: &KnownConfigMaps,
    ) -> Result<Arc<ValidatedMethods>, Blocker> {
        let mut memory = self.memory();
        match &found {
            Ok(_) => memory.wiring.read(&node.name, now, None),
            Err(unready) if unready.is_read => memory.wiring.read(&node.name, now, Some(known)),
            Err(_) => {}
        }
        let found = found.map(Arc::new).map_err(|unready| not_ready(unready.why));
        memory.configure(node, now, found.clone());
        found
    }

    fn ages(&self, age: Duration) -> Ages {
        Ages { good: age, refused: age.min(self.settings.refresh_refused) }
    }

    /// `known` has all that was looked up afterwards, and none that only others name: it is not wired to those.
    async fn configured(
        &self,
        node: &Node,
        known: &mut KnownConfigMaps,
        shared: &SharedMaps,
    ) -> Result<ValidatedMethods, Unready> {
        for _ in 0..ROUNDS {
            match read(&node.name, &node.labels, known) {
                Read::Need(names) => {
                    for name in names {
                        let data = shared.read(&*self.cluster, node, &name).await;
                        let data = data.map_err(|error| Unready::unread(format!("ConfigMap {name}: {error}")))?;
                        known.insert(name, data);
                    }
                }
                Read::Refused(errors) => return Err(Unready::wrong(errors)),
                Read::Methods(found) => {
                    let mut agents = std::collections::BTreeMap::new();
                    for name in found.fence_agents() {
                        agents.insert(name.to_owned(), self.agents.metadata(name).await);
                    }
                    return check(&found, &agents).map_err(Unready::wrong);
                }
            }
        }
        Err(Unready::wrong("the ConfigMaps name ever more of them"))
    }

    /// What is configured, not older than `age`, if it turns anything off.
    async fn with_methods(&self, node: &Node, age: Duration) -> Result<Arc<ValidatedMethods>, Blocker> {
        let validated = self.validated(node, age).await?;
        if validated.power(Level::FIRST, AgentAction::Off).next().is_none() {
            return Err(no_methods(node));
        }
        Ok(validated)
    }

    async fn perform(
        &self,
        node: &Node,
        scope: &FenceScope,
        action: AgentAction,
        lease_deadline: &LeaseDeadline,
    ) -> Result<Vec<String>, Failed> {
        let validated = self.proven(node, scope.level, Duration::ZERO).await;
        let validated = validated.map_err(|error| not_begun(error.blocker))?;
        if !is_of(&validated, scope) {
            return Err(Failed::NotBegun(format!("the methods of {} cut something else by now", node.name)));
        }
        let mut done = Vec::new();
        let question = self.question(node, scope.level);
        for call in validated.power(scope.level, action) {
            if let Err(failed) = self.run(node, call, action, lease_deadline).await {
                let half = HalfDone { node, level: scope.level, call, action, failed, done: &done };
                return Err(self.half_done(&validated, half, lease_deadline).await);
            }
            done.push(call.name.clone());
        }
        question.answered();
        // A storage without a method for that lets a node in again that has been rebooted: it does so itself.
        let by_itself = action == AgentAction::On && validated.storage_only.is_some();
        if done.is_empty() && !by_itself {
            return Err(Failed::NotBegun(format!("no method turns it {}", action.name())));
        }
        Ok(done)
    }

    /// One level of the plan. What is wrong with the only one is wrong with all of the plan; one of several that is not ready is
    /// not used.
    async fn level(&self, node: &Node, validated: &ValidatedMethods, number: Level) -> Result<FenceLevel, Blocker> {
        let proven = self.proven(node, number, self.settings.refresh).await.map(drop).map_err(|error| error.blocker);
        let identity = match proven {
            Err(blocker) if validated.levels.len() == 1 && blocker.reason != reason::IDENTITY_UNPROVEN => {
                return Err(blocker);
            }
            proven => proven.map_err(|blocker| blocker.message),
        };
        Ok(FenceLevel {
            methods: validated.names(number).to_vec(),
            longest: validated.longest(number),
            identity: Some(identity),
            asks_machine: validated.asks_machine(number),
        })
    }
}

/// What the methods report of one node's power.
struct States {
    all: PowerState,
    each: Vec<(String, PowerState)>,
    complaint: Option<String>,
}

/// Off only if all report it; on if one does, for a machine with two supplies runs on either.
fn together(all: &[PowerState]) -> PowerState {
    match all {
        [] => PowerState::Unknown,
        all if all.iter().all(|state| *state == PowerState::Off) => PowerState::Off,
        all if all.contains(&PowerState::On) => PowerState::On,
        _ => PowerState::Unknown,
    }
}

/// The methods, as they are by now, cut off what the scope says.
fn is_of(validated: &ValidatedMethods, scope: &FenceScope) -> bool {
    validated.storage_only == scope.storage && validated.levels.len() > scope.level.index()
}

fn no_methods(node: &Node) -> Blocker {
    Blocker::of(reason::NO_METHODS, &[("node", &node.name)])
}

/// What has to be mended, or is to be looked at again.
fn not_ready(why: impl Display) -> Blocker {
    Blocker::of(reason::FENCE_NOT_READY, &[("error", &why)])
}

fn not_begun(blocker: Blocker) -> Failed {
    Failed::NotBegun(blocker.to_string())
}

/// Why a node's configuration is no use.
#[derive(Debug)]
struct Unready {
    why: String,
    /// All of it was read, and it has errors.
    is_read: bool,
}

impl Unready {
    fn unread(why: String) -> Self {
        Self { why, is_read: false }
    }

    fn wrong(why: impl std::fmt::Display) -> Self {
        Self { why: why.to_string(), is_read: true }
    }
}

/// What failed after another method had acted was begun.
fn begun(failed: Failed, done: &[String]) -> Failed {
    match failed {
        Failed::NotBegun(why) if !done.is_empty() => {
            Failed::InDoubt(format!("{why}; done before: {}", done.join(", ")))
        }
        failed => failed,
    }
}

impl<C: Configuration> Power for NativePower<C> {
    async fn plan(&self, node: &Node) -> Result<FencePlan, Blocker> {
        let validated = self.with_methods(node, self.settings.refresh).await?;
        let levels = validated.numbered().map(|level| self.level(node, &validated, level));
        let levels = join_all(levels).await.into_iter().collect::<Result<_, _>>()?;
        Ok(FencePlan {
            isolation: validated.isolation.clone(),
            levels,
            recovery: validated.recovery.clone(),
            storage_only: validated.storage_only.clone(),
        })
    }

    async fn read(&self, node: &Node, scope: &FenceScope) -> PowerState {
        match self.proven(node, scope.level, self.settings.refresh).await {
            Ok(validated) if !is_of(&validated, scope) => PowerState::Unknown,
            Ok(validated) => {
                let question = self.question(node, scope.level);
                let states = self.states(node, &validated, scope.level).await;
                if states.each.iter().all(|(_, state)| *state != PowerState::Unknown) {
                    question.answered();
                }
                states.all
            }
            Err(_) => PowerState::Unknown,
        }
    }

    async fn off(
        &self,
        node: &Node,
        scope: &FenceScope,
        lease_deadline: &LeaseDeadline,
    ) -> Result<Vec<String>, Failed> {
        self.perform(node, scope, AgentAction::Off, lease_deadline).await
    }

    async fn on(&self, node: &Node, scope: &FenceScope, lease_deadline: &LeaseDeadline) -> Result<Vec<String>, Failed> {
        self.perform(node, scope, AgentAction::On, lease_deadline).await
    }

    async fn methods(&self, node: &Node, names: &[String], lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        let validated = self.validated(node, Duration::ZERO).await.map_err(not_begun)?;
        // The machine's identity is not checked for these.
        validated.check_outlet_pins().map_err(|unpinned| Failed::NotBegun(unpinned.to_string()))?;
        let mut done = Vec::new();
        for name in names.iter().filter(|name| BuiltIn::named(name).is_none()) {
            let missing = || begun(Failed::NotBegun(format!("the method {name} is not configured any more")), &done);
            let call = validated.calls.get(name).ok_or_else(missing)?;
            let action = if call.actions.contains(&AgentAction::Off) { AgentAction::Off } else { AgentAction::On };
            self.run(node, call, action, lease_deadline).await.map_err(|failed| begun(failed, &done))?;
            done.push(name.clone());
        }
        Ok(())
    }

    async fn reap(&self, node: &Node, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        match &self.settings.provider {
            Some(provider) => provider.reap(node, &self.runner, lease_deadline).await,
            None => Err(Failed::NotBegun("no provider's plug-in is configured".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
