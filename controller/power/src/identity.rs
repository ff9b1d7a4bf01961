//! Asks a BMC or a provider who it is, before anything else is believed of it.

mod cloud;
mod ipmi;
mod listens;
mod redfish;
mod tls;

use std::sync::atomic::{AtomicBool, Ordering};

use nodewell_remediation::{
    facts::Node,
    method::{IdentityMethod, Pins, ValidatedMethod, compare, guid_of},
    snapshot::PowerState,
};

use crate::{agent::Options, runner::Runner};

pub use ipmi::IPMITOOL;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use {ipmi::answer as ipmi_answer, redfish::answer as redfish_answer};

/// Agents that are `fence_ipmilan` by another name.
const IPMI: [&str; 7] =
    ["fence_ipmilan", "fence_ipmilanplus", "fence_ilo3", "fence_ilo4", "fence_ilo5", "fence_idrac", "fence_imm"];
const REDFISH: &str = "fence_redfish";

/// What an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Ipmi,
    Redfish,
    /// The controller does not speak it itself.
    Other,
}

impl Protocol {
    #[must_use]
    pub fn of(agent: &str) -> Self {
        match agent {
            REDFISH => Self::Redfish,
            agent if IPMI.contains(&agent) => Self::Ipmi,
            _ => Self::Other,
        }
    }
}

/// Why the machine that a method acts on is not known to be the node's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The method's own pin names no machine: an error in the configuration.
    #[error("{method}: system-uuid is {pin}, which is no GUID of a machine")]
    BadPin { method: String, pin: String },
    #[error("{method}: IdentityUnproven: {why}")]
    Unproven { method: String, why: String },
    /// The BMC answers, and does not take the account: to try again soon may lock it.
    #[error("{method}: IdentityUnproven: {why}")]
    LoginRefused { method: String, why: String },
}

/// Why a BMC's identity is not there.
#[derive(Debug)]
struct AskError {
    why: String,
    is_login_refused: bool,
}

impl From<String> for AskError {
    fn from(why: String) -> Self {
        Self { why, is_login_refused: false }
    }
}

impl AskError {
    fn of(self, method: &str) -> IdentityError {
        let Self { why, is_login_refused } = self;
        let method = method.to_owned();
        if is_login_refused {
            IdentityError::LoginRefused { method, why }
        } else {
            IdentityError::Unproven { method, why }
        }
    }
}

/// By which a BMC is asked once.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    pub options: &'a Options,
    pub unanswered: &'a Unanswered,
}

/// Whether an account is under way to a BMC, which has not taken or refused it yet. A BMC that is away gets no account.
#[derive(Debug, Default)]
pub struct Unanswered(AtomicBool);

impl Unanswered {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn sent(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn answered(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What is to be turned off: the Node as its kubelet reports it, and what people have recorded of its machine.
#[derive(Debug, Clone, Copy)]
pub struct Whose<'a> {
    pub node: &'a Node,
    pub pins: &'a Pins,
}

/// Whether what `call` acts on is this node, with the power's state as the BMC reports it in the same login: Unknown where it
/// is not asked. The kubelet's report may speak against the identity, and never for it.
///
/// # Errors
/// It is not, or the proof is missing; what to do about it.
pub async fn prove(
    call: &ValidatedMethod,
    login: Login<'_>,
    whose: Whose<'_>,
    runner: &Runner,
) -> Result<PowerState, IdentityError> {
    let (name, Whose { node, pins }) = (&call.name, whose);
    // Before an agent gets a password for it.
    pins.check_reported_uuid(node).map_err(|why| unproven(name, &why))?;
    match (&call.identity_method, call.agent.as_str()) {
        (IdentityMethod::Configured, _) => Ok(PowerState::Unknown),
        (IdentityMethod::Pinned(pin), _) if guid_of(pin).is_none() => {
            Err(IdentityError::BadPin { method: name.clone(), pin: pin.clone() })
        }
        (identity_method, agent) if Protocol::of(agent) != Protocol::Other => {
            let Answer { uuid: reported, power } =
                asked_bmc(agent, login, runner).await.map_err(|error| error.of(name))?;
            let own =
                if let IdentityMethod::Pinned(pin) = identity_method { Some(pin) } else { pins.system_uuid.as_ref() };
            let expected = own.ok_or_else(|| unproven(name, &pins.unpinned(node, &reported).to_string()))?;
            compare(&reported, expected).map_err(|error| unproven(name, &error.to_string()))?;
            Ok(power)
        }
        (IdentityMethod::Asked, agent) if cloud::knows(agent) => {
            cloud::prove(call, node).map_err(|why| unproven(name, &why))?;
            Ok(PowerState::Unknown)
        }
        (_, agent) => {
            let why =
                format!("{agent} cannot be asked who it is; write identity=configured if its options are certain");
            Err(unproven(name, &why))
        }
    }
}

/// Whether a proof by this method logs in to a BMC.
pub(crate) fn asks(call: &ValidatedMethod) -> bool {
    call.identity_method != IdentityMethod::Configured && Protocol::of(&call.agent) != Protocol::Other
}

/// What the BMC reports of its machine, whose ever it is.
///
/// # Errors
/// Why it does not.
pub(crate) async fn reported(
    call: &ValidatedMethod,
    login: Login<'_>,
    runner: &Runner,
) -> Result<String, IdentityError> {
    asked_bmc(&call.agent, login, runner).await.map(|answer| answer.uuid).map_err(|error| error.of(&call.name))
}

/// What a BMC answers to one login.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Of its machine; an empty text if it reports none, which names no machine.
    pub(crate) uuid: String,
    pub(crate) power: PowerState,
}

async fn asked_bmc(agent: &str, login: Login<'_>, runner: &Runner) -> Result<Answer, AskError> {
    if agent == REDFISH { redfish::ask(login, runner).await } else { ipmi::ask(login, agent, runner).await }
}

fn unproven(method: &str, why: &str) -> IdentityError {
    IdentityError::Unproven { method: method.to_owned(), why: why.to_owned() }
}

fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "yes" | "on" | "true")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn call(agent: &str, identity_method: IdentityMethod) -> ValidatedMethod {
        ValidatedMethod {
            name: "m".into(),
            agent: agent.into(),
            options: BTreeMap::new(),
            secret: String::new(),
            secret_needed: false,
            needed: BTreeSet::new(),
            secret_keys: BTreeMap::new(),
            identity_method,
            from_label: BTreeSet::new(),
            storage: None,
            actions: BTreeSet::new(),
            longest: std::time::Duration::ZERO,
        }
    }

    /// What a person vouches for is not asked, and what the controller does not speak cannot be.
    #[test]
    fn a_bmc_is_logged_in_to_where_it_has_to_say_who_it_is() {
        let pinned = || IdentityMethod::Pinned("00112233-4455-6677-8899-aabbccddeeff".into());
        for (agent, identity_method, expected) in [
            ("fence_redfish", IdentityMethod::Asked, true),
            ("fence_ipmilan", pinned(), true),
            ("fence_redfish", IdentityMethod::Configured, false),
            ("fence_aws", IdentityMethod::Asked, false),
            ("fence_apc_snmp", pinned(), false),
            ("fence_apc_snmp", IdentityMethod::Configured, false),
        ] {
            assert_eq!(asks(&call(agent, identity_method)), expected, "{agent}");
        }
    }

    #[test]
    fn an_agent_speaks_what_it_is_a_name_for() {
        for (agent, protocol) in [
            ("fence_redfish", Protocol::Redfish),
            ("fence_ipmilan", Protocol::Ipmi),
            ("fence_ilo5", Protocol::Ipmi),
            ("fence_idrac", Protocol::Ipmi),
            ("fence_aws", Protocol::Other),
            ("fence_apc_snmp", Protocol::Other),
        ] {
            assert_eq!(Protocol::of(agent), protocol, "{agent}");
            assert!(!cloud::knows(agent) || protocol == Protocol::Other, "{agent}");
        }
        for agent in ["fence_aws", "fence_gce", "fence_azure_arm", "fence_openstack"] {
            assert!(cloud::knows(agent), "{agent}");
        }
        assert!(!cloud::knows("fence_apc_snmp") && !cloud::knows("fence_ipmilan"));
    }
}
