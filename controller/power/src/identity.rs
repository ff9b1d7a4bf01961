//! Asks a BMC or a provider who it is, before anything else is believed of it.

mod cloud;
mod ipmi;
mod redfish;
mod tls;

use nodewell_remedy::{
    facts::Node,
    method::{Call, Claim, compare, guid_of},
};

use crate::{agent::Options, runner::Runner};

pub use ipmi::IPMITOOL;

/// Agents that are `fence_ipmilan` by another name.
const IPMI: [&str; 7] =
    ["fence_ipmilan", "fence_ipmilanplus", "fence_ilo3", "fence_ilo4", "fence_ilo5", "fence_idrac", "fence_imm"];
const REDFISH: &str = "fence_redfish";

/// Whether what `call` acts on is this node.
///
/// # Errors
/// It is not, or nobody can tell; what to do about it.
pub async fn prove(call: &Call, options: &Options, node: &Node, runner: &Runner) -> Result<(), String> {
    let name = &call.name;
    match (&call.claim, call.agent.as_str()) {
        (Claim::Configured, _) => Ok(()),
        (Claim::Pinned(pin), _) if guid_of(pin).is_none() => {
            Err(format!("{name}: system-uuid is {pin}, which is no GUID of a machine"))
        }
        (claim, agent) if IPMI.contains(&agent) || agent == REDFISH => {
            let said =
                if agent == REDFISH { redfish::uuid(options).await } else { ipmi::guid(options, agent, runner).await };
            let said = said.map_err(|why| unproven(name, &why))?;
            let expected = if let Claim::Pinned(pin) = claim { pin } else { &node.system_uuid };
            compare(&said, expected).map_err(|error| format!("{name}: {error}"))
        }
        (Claim::Asked, agent) if cloud::knows(agent) => cloud::prove(call, node).map_err(|why| unproven(name, &why)),
        (_, agent) => {
            let why = format!("{agent} cannot be asked who it is; say identity=configured if its options are certain");
            Err(unproven(name, &why))
        }
    }
}

fn unproven(method: &str, why: &str) -> String {
    format!("{method}: IdentityUnproven: {why}")
}

fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "yes" | "on" | "true")
}
