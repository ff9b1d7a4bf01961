//! Whether a cloud's machine is a node's, by the `providerID` that the cloud's own controller gave to the Node.

use nodewell_remediation::{facts::Node, method::ValidatedMethod};

/// How an agent names what it acts on, and how `providerID` names the same.
struct Cloud {
    agent: &'static str,
    /// What `providerID` begins with.
    kind: &'static str,
    /// Options that have to match `providerID`: a name counts only together with its project, zone or resource group.
    parts: &'static [(&'static str, Part)],
}

/// Where `providerID` has it.
enum Part {
    /// Counted from its end.
    Last(usize),
    /// After a part of this name.
    After(&'static str),
}

use Part::{After, Last};

/// Ids of instances are unique in AWS and OpenStack; in GCE a name is one in its project and zone, in Azure in its resource
/// group. (`cloudprovider.Instances` of each, and `fence_*` of fence-agents 4.12 for the options.)
const CLOUDS: [Cloud; 4] = [
    Cloud { agent: "fence_aws", kind: "aws", parts: &[("plug", Last(0))] },
    Cloud { agent: "fence_gce", kind: "gce", parts: &[("plug", Last(0)), ("zone", Last(1)), ("project", Last(2))] },
    Cloud {
        agent: "fence_azure_arm",
        kind: "azure",
        parts: &[
            ("plug", After("virtualmachines")),
            ("resourceGroup", After("resourcegroups")),
            ("subscriptionId", After("subscriptions")),
        ],
    },
    Cloud { agent: "fence_openstack", kind: "openstack", parts: &[("plug", Last(0))] },
];

/// Whether an agent's machine can be known by `providerID`.
pub(super) fn knows(agent: &str) -> bool {
    CLOUDS.iter().any(|cloud| cloud.agent == agent)
}

/// # Errors
/// What is another machine's, or is not given.
pub(super) fn prove(call: &ValidatedMethod, node: &Node) -> Result<(), String> {
    let Some(cloud) = CLOUDS.iter().find(|cloud| cloud.agent == call.agent) else {
        return Err(format!("{} is no cloud's agent", call.agent));
    };
    let id = &node.provider_id;
    let path = id.strip_prefix(cloud.kind).and_then(|rest| rest.strip_prefix("://"));
    let path = path.ok_or_else(|| format!("the node's providerID is {id:?}, not one of {}", cloud.kind))?;
    if path.to_ascii_lowercase().contains("virtualmachinescalesets") {
        return Err(format!("{} cannot turn off a machine of a scale set ({id})", call.agent));
    }
    cloud.parts.iter().try_for_each(|(option, part)| same(call, option, find(path, part), id))
}

fn same(call: &ValidatedMethod, option: &str, expected: Option<&str>, id: &str) -> Result<(), String> {
    let expected = expected.ok_or_else(|| format!("the node's providerID {id:?} has no {option}"))?;
    match call.options.get(option) {
        Some(given) if given.eq_ignore_ascii_case(expected) => Ok(()),
        Some(given) => Err(format!("{option} is {given}, the node's providerID is {id:?}: another machine")),
        None => Err(format!("{option} is not given; write {option}={expected}")),
    }
}

fn find<'a>(path: &'a str, part: &Part) -> Option<&'a str> {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    match part {
        Last(back) => names.rev().nth(*back),
        After(part) => names.find(|name| name.eq_ignore_ascii_case(part)).and_then(|_| names.next()),
    }
}

#[cfg(test)]
mod tests;
