//! What a ConfigMap may not pass to an agent, whichever client writes it, and which options are secrets.

/// Options that the controller sets itself, or that would write files or show secrets: a client that may write ConfigMaps
/// must not become root of the control plane by them.
const RESERVED: [&str; 17] = [
    "cookie_file",
    "random_sleep_range",
    "action",
    "option",
    "help",
    "version",
    "debug",
    "debug_file",
    "logfile",
    "verbose",
    "verbose_level",
    "sudo",
    "use_sudo",
    "status_file",
    // The controller plans with the agent's timeout.
    "disable_timeout",
    "boto3_debug",
    // fence_ibm_vpc writes to it.
    "token_file",
];
/// Options whose danger only the agents' code shows, each with what it does.
const DANGEROUS: [(&str, &str); 11] = [
    ("exec", "runs a program of its choice"),
    ("ssh_options", "runs a program of its choice: ssh has ProxyCommand"),
    // fence_gce.
    ("runonwarn", "runs a program of its choice"),
    ("runonfail", "runs a program of its choice"),
    // fence_openstack gives it to a shell.
    ("openrc", "runs the file; write auth_url, project_name and username, and the password into the Secret"),
    ("port_as_ip", "would hide two nodes on one plug; write ip"),
    // fence_openstack acts on it and not on plug, which the node's identity was proven by.
    ("uuid", "would act on another machine than plug; write plug alone"),
    // fence_gce.
    ("plugzonemap", "would hide which machine is meant; write zone"),
    // fence_azure_arm: the machine runs on, and writes to its disks.
    ("network_fencing", "has the machine read off as soon as its network is cut, while it runs; leave it away"),
    // fence_virsh, fence_cisco_ucs and others.
    ("missing_as_off", "takes a machine that is not found for one that is off; leave it away"),
    // fence_gce: status is the opposite of what is asked for.
    ("baremetalsolution", "has the agent answer without asking; it can confirm nothing"),
];
/// Agents that are refused: they take what they cannot read for off, or do not touch the power.
const UNUSABLE_AGENTS: [&str; 8] = [
    "fence_dummy",
    // Off is that the message is on the shared disk, which the node reads later or never.
    "fence_sbd",
    "fence_kdump",
    "fence_heuristics_ping",
    "fence_ack_manual",
    // Off is that no host answers a ping.
    "fence_crosslink",
    // Both report to Nova that a hypervisor is down; neither turns it off.
    "fence_compute",
    "fence_evacuate",
];
/// Agents whose `key` is no secret, but names the node that is cut off.
const KEY_NAMES_NODE: [&str; 2] = ["fence_scsi", "fence_mpath"];

/// Whether an agent's answer proves nothing about a node.
pub(super) fn proves_nothing(agent: &str) -> bool {
    UNUSABLE_AGENTS.contains(&agent)
}

/// Whether an option names the node that is cut off.
pub(super) fn names_node(agent: &str, option: &str) -> bool {
    KEY_NAMES_NODE.contains(&agent) && option == "key"
}

/// Whether it is a key of persistent reservations. `fence_mpath` takes the key as its `plug`, too.
pub(super) fn is_reservation_key(agent: &str, option: &str) -> bool {
    names_node(agent, option) || agent == "fence_mpath" && option == "plug"
}

/// Why an option may not be set.
pub(super) fn why(option: &str) -> Option<&'static str> {
    let danger = DANGEROUS.iter().find(|(name, _)| *name == option).map(|(_, why)| *why);
    // `api_path` is a part of a URL.
    let is_path = option.ends_with("_path") && option != "api_path";
    let is_reserved = RESERVED.contains(&option) || is_path || option.ends_with("_script");
    danger.or_else(|| is_reserved.then_some("leave it away"))
}

/// Whether an option's value is a secret, by its name; the metadata does not show it.
pub(super) fn is_secret(name: &str) -> bool {
    ["password", "passwd", "secret", "token", "apikey", "hexadecimal_kg"].iter().any(|word| name.contains(word))
}

/// Whether an option of an agent may come from the Secret: what names the machine stays in sight, and what would run a
/// program stays out.
pub(super) fn may_be_secret(agent: &str, option: &str) -> bool {
    let words = ["username", "login", "community", "key"];
    let fits = is_secret(option) || words.iter().any(|word| option.contains(word));
    let names_node = KEY_NAMES_NODE.contains(&agent) && option.starts_with("key");
    fits && !names_node && why(option).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_come_from_the_secret_names_no_machine_and_runs_nothing() {
        for (agent, option, may) in [
            ("fence_test", "password", true),
            ("fence_test", "username", true),
            ("fence_test", "key", true),
            ("fence_scsi", "password", true),
            ("fence_scsi", "key", false),
            ("fence_mpath", "key", false),
            ("fence_test", "plug", false),
            ("fence_test", "password_script", false),
            ("fence_test", "token_file", false),
        ] {
            assert_eq!(may_be_secret(agent, option), may, "{agent} {option}");
        }
    }
}
