//! The rules we ship, embedded: the agent is whole without a file of its own.

use std::path::Path;

use nodewell_model::ConditionSpec;

/// The folder that embedded files are told to lie in, where their mistakes and rules are named.
pub const FOLDER: &str = "built-in";

/// One shipped rule file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedFile {
    /// What a file in the overrides directory must be called to mask it.
    pub name: &'static str,
    /// TOML.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(ShippedFile { name: $name, text: include_str!(concat!("../shipped/", $name)) }),*]
    };
}

/// Every file of `agent/rules/shipped/`, in name order.
pub const FILES: &[ShippedFile] = shipped![
    "agent.toml",
    "filesystem.toml",
    "hardware.toml",
    "kernel.toml",
    "memory.toml",
    "network.toml",
    "services.toml",
    "storage.toml",
];

/// The conditions that the agent itself raises: part of every catalogue, whatever rules are used.
#[must_use]
pub fn own_conditions() -> Vec<ConditionSpec> {
    crate::load::load_text(&Path::new(FOLDER).join("agent.toml"), include_str!("../shipped/agent.toml")).set.conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_speaks_of_its_own_state() {
        let own: Vec<String> = own_conditions().into_iter().map(|spec| spec.condition.to_string()).collect();
        assert_eq!(own, ["AgentStateUnwritable"]);
    }

    #[test]
    fn every_file_of_the_directory_is_embedded() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/shipped");
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        let mut found: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.retain(|name| name.ends_with(".toml"));
        found.sort();
        let listed: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        assert_eq!(listed, found);
    }
}
