//! How a node is fenced: the proposal's ConfigMaps, merged, checked against the agents' own metadata.
//!
//! The path: [`KnownConfigMaps`] → [`read()`] (which names what else it needs) → [`NodeMethods`] →
//! [`check()`] against each agent's [`FenceAgent`] metadata → [`ValidatedMethods`]: what is given to the agents,
//! without their secrets. An error anywhere refuses all of it: a node that is configured wrongly is not fenced, and the
//! errors are reported all at once.

mod agent;
mod check;
mod cluster;
mod config_maps;
mod forbidden;
mod identity;
mod pins;
mod plugs;
mod properties;
mod read;
mod source;
pub mod suggestions;
mod values;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use crate::snapshot::Level;

pub use agent::{FenceAgent, MetadataError, Parameter, ParameterKind};
pub use check::check;
pub use cluster::{ClusterSettings, FencePolicy};
pub use identity::{Unproven, compare, guid_of};
pub use pins::{Pins, Unpinned};
pub use plugs::{Plug, Plugs, destinations};
pub use read::{KnownConfigMaps, Read, read};
pub use values::check_value;

/// What stands before a method's name in a ConfigMap's; allowed in lists of methods as well.
pub const METHOD_PREFIX: &str = "fence-method-";

/// Everything that is wrong with one node's fencing, each with the ConfigMap, key and line it is in. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MethodDiagnostics(pub Vec<String>);

impl fmt::Display for MethodDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for MethodDiagnostics {}

/// A method that the controller does itself, without a fence agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    Cordon,
    Uncordon,
    CleanPods,
    MarkUnschedulable,
    /// The proposal's default for power: there is nothing that could do it, so it counts as no method at all.
    RestartInstance,
}

impl BuiltIn {
    /// The built-in of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cordon" => Some(Self::Cordon),
            "uncordon" => Some(Self::Uncordon),
            "clean-pods" => Some(Self::CleanPods),
            "mark-unschedulable" => Some(Self::MarkUnschedulable),
            "restart-instance" => Some(Self::RestartInstance),
            _ => None,
        }
    }
}

/// What an agent is asked for. `reboot` is none: its answer cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentAction {
    On,
    Off,
    Status,
}

impl AgentAction {
    /// The value of the agents' option `action`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Status => "status",
        }
    }
}

/// How it is known that what a method acts on is this node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum IdentityMethod {
    /// By what the BMC or the provider reports of itself, against the node's pin or providerID.
    #[default]
    Asked,
    /// `system-uuid`: the BMC has a GUID of its own, which is this one.
    Pinned(String),
    /// `identity=configured`: it cannot be asked (a PDU), and the author of the ConfigMap answers for it.
    Configured,
}

/// A method that is a fence agent, as the ConfigMaps have it: not yet checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Method {
    pub name: String,
    /// `fence_ipmilan`.
    pub agent: String,
    /// Where `agent` is written (`ConfigMap/key:line`).
    pub at: String,
    /// `action`, if one is given.
    pub action: Option<RequestedAction>,
    /// Options as they were written, and where: the last layer that names one wins.
    pub options: BTreeMap<String, SourcedValue>,
    pub identity_method: IdentityMethod,
    /// `storage=DRIVER`: it cuts the node off this storage, not off the power.
    pub storage: Option<String>,
    /// The Secret that has its password; each of its keys is an option.
    pub secret: String,
    /// The ConfigMap names a Secret or a `password-script`: without the Secret nothing is done.
    pub secret_needed: bool,
}

/// The proposal's `action`. `reboot` takes part in off and in on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedAction {
    On,
    Off,
    Reboot,
}

/// A value and where it is written (`ConfigMap/key:line`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcedValue {
    pub value: String,
    pub at: String,
    /// It was written for this node, or chosen by what was: not by a label, which the node's kubelet may set.
    pub of_node: bool,
}

/// What the ConfigMaps configure for one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeMethods {
    pub node: String,
    /// The ConfigMap that applied; nothing if none did and the built-in default is what is left.
    pub source: Option<String>,
    pub isolation: Vec<String>,
    /// The first level, and those that it gives way to.
    pub power_management: Vec<String>,
    pub further_levels: Vec<Vec<String>>,
    pub recovery: Vec<String>,
    /// Those that are agents.
    pub methods: BTreeMap<String, Method>,
    pub cluster: ClusterSettings,
    pub pins: Pins,
}

impl NodeMethods {
    /// The agents whose metadata [`check()`] asks for.
    #[must_use]
    pub fn fence_agents(&self) -> BTreeSet<&str> {
        self.methods.values().map(|method| method.agent.as_str()).collect()
    }

    /// The methods of each fencing level, the first one first.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.power_management).chain(&self.further_levels)
    }

    pub(crate) fn is_of_power(&self, name: &String) -> bool {
        self.levels().any(|level| level.contains(name))
    }
}

/// One method of [`ValidatedMethods`]: which fence agent may be run, and with which options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ValidatedMethod {
    pub name: String,
    pub agent: String,
    /// By the agent's own names; without `action` and without what the Secret adds.
    pub options: BTreeMap<String, String>,
    pub secret: String,
    pub secret_needed: bool,
    /// Options without which the agent does not start and which only the Secret can give.
    pub needed: BTreeSet<String>,
    /// The keys that the Secret may have (every name of an option that may come from it), with the option's preferred name.
    pub secret_keys: BTreeMap<String, String>,
    pub identity_method: IdentityMethod,
    /// Options that were written for all nodes with a label, by the agent's own names.
    pub from_label: BTreeSet<String>,
    pub storage: Option<String>,
    /// The actions that it is run for.
    pub actions: BTreeSet<AgentAction>,
    /// The longest that the agent may take for one action: twice its `power_timeout`, and 10 s for logins.
    pub longest: Duration,
}

/// Everything that is known of a node's fencing without asking an agent or a BMC.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ValidatedMethods {
    pub node: String,
    /// In order, with the built-in ones.
    pub isolation: Vec<String>,
    /// The fencing levels, the first one first: there is at least that one, which may be empty. Each turns the whole machine
    /// off; all methods of one have to succeed.
    pub levels: Vec<Vec<String>>,
    pub recovery: Vec<String>,
    pub calls: BTreeMap<String, ValidatedMethod>,
    /// All of power management cuts off this storage, and nothing else.
    pub storage_only: Option<String>,
    pub pins: Pins,
    /// What was accepted and had better be written otherwise.
    pub notes: Vec<String>,
}

impl ValidatedMethods {
    /// The calls of this level that take part in `action`, in order; none of a level that is not there.
    pub fn power(&self, level: Level, action: AgentAction) -> impl Iterator<Item = &ValidatedMethod> {
        let calls = self.names(level).iter().filter_map(|name| self.calls.get(name));
        calls.filter(move |call| call.actions.contains(&action))
    }

    /// Those of all levels; one that is in several comes once.
    pub fn power_of_all(&self, action: AgentAction) -> impl Iterator<Item = &ValidatedMethod> {
        let calls = self.calls.values().filter(|call| self.is_of_power(&call.name));
        calls.filter(move |call| call.actions.contains(&action))
    }

    /// The names of this level's methods.
    #[must_use]
    pub fn names(&self, level: Level) -> &[String] {
        self.levels.get(level.index()).map_or(&[], Vec::as_slice)
    }

    pub fn numbered(&self) -> impl Iterator<Item = Level> {
        (1..=self.levels.len()).filter_map(|number| u32::try_from(number).ok()).map(Level)
    }

    #[must_use]
    pub fn is_of_power(&self, name: &String) -> bool {
        self.levels.iter().any(|level| level.contains(name))
    }

    /// The machine itself is asked at this level, by what can prove which machine it is: not the outlets that it hangs on.
    #[must_use]
    pub fn asks_machine(&self, level: Level) -> bool {
        let asks = |call: &ValidatedMethod| call.identity_method != IdentityMethod::Configured;
        let mut calls = self.power(level, AgentAction::Status).peekable();
        calls.peek().is_some() && calls.all(asks)
    }

    /// The longest that off or on may take with all methods of a level, one after the other.
    #[must_use]
    pub fn longest(&self, level: Level) -> Duration {
        let of = |action| self.power(level, action).map(|call| call.longest).sum::<Duration>();
        of(AgentAction::Off).max(of(AgentAction::On))
    }
}

#[cfg(test)]
mod tests;
