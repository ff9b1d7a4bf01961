//! `fence-cluster-config` and `fence-policy-NAME`: the proposal's settings of the whole cluster.

use std::{collections::BTreeMap, time::Duration};

use super::{config_maps::ConfigMapReader, properties::parse, read::KnownConfigMaps};

pub(super) const CLUSTER: &str = "fence-cluster-config";
const POLICY_PREFIX: &str = "fence-policy-";
pub(super) const CONFIG_KEY: &str = "config.properties";

/// What applies to all nodes. The proposal's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Between two steps of one node.
    pub grace_timeout: Duration,
    /// Attempts of an act before a person has to look.
    pub giveup_retries: u32,
    pub policies: Vec<FencePolicy>,
    /// Named in the proposal's README only; kept for people, without any meaning.
    pub roles: Vec<String>,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self { grace_timeout: Duration::from_secs(5), giveup_retries: 5, policies: Vec::new(), roles: Vec::new() }
    }
}

/// `fence-policy-NAME`: at most this part of the nodes may be in trouble at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencePolicy {
    pub name: String,
    /// 1 to 100; the proposal spells it `precentage`, both are read.
    pub percentage: Option<u8>,
}

pub(super) fn settings(known: &KnownConfigMaps, reader: &mut ConfigMapReader) -> ClusterSettings {
    let mut settings = ClusterSettings::default();
    let Some(data) = reader.find(known, CLUSTER) else { return settings };
    let mut names = Vec::new();
    for (key, written) in properties(CLUSTER, data, reader) {
        let number = written.value.parse::<u32>();
        match (key.as_str(), number) {
            ("grace_timeout", Ok(secs)) => settings.grace_timeout = Duration::from_secs(secs.into()),
            ("giveup_retries", Ok(times)) => settings.giveup_retries = times,
            ("grace_timeout" | "giveup_retries", Err(_)) => {
                reader.report(format!("{}: {key} is {}, not a number", written.at, written.value));
            }
            ("policies", _) => names = split_list(&written.value),
            ("roles", _) => settings.roles = split_list(&written.value),
            _ => reader.report(format!(
                "{}: {key} is not known here; there are grace_timeout, giveup_retries, policies and roles",
                written.at
            )),
        }
    }
    settings.policies = names.into_iter().filter_map(|name| policy(name, known, reader)).collect();
    settings
}

fn policy(name: String, known: &KnownConfigMaps, reader: &mut ConfigMapReader) -> Option<FencePolicy> {
    let map = format!("{POLICY_PREFIX}{name}");
    let Some(data) = reader.find(known, &map) else {
        reader.absent(known, &map, &format!("{CLUSTER} names the policy {name}"));
        return None;
    };
    let mut policy = FencePolicy { name, percentage: None };
    for (key, written) in properties(&map, data, reader) {
        match key.as_str() {
            "policy_name" if written.value == policy.name => {}
            "policy_name" => reader.report(format!("{}: this is the policy {}", written.at, policy.name)),
            "precentage" | "percentage" => match written.value.trim_end_matches('%').trim().parse() {
                Ok(part @ 1..=100) => policy.percentage = Some(part),
                _ => reader.report(format!("{}: {key} is {}, not 1 to 100", written.at, written.value)),
            },
            _ => reader.report(format!("{}: {key} is not known here; there is percentage", written.at)),
        }
    }
    Some(policy)
}

/// The pairs of `config.properties`; any other key of the ConfigMap is an error.
fn properties(
    map: &str,
    data: &BTreeMap<String, String>,
    reader: &mut ConfigMapReader,
) -> Vec<(String, super::SourcedValue)> {
    for key in data.keys().filter(|key| *key != CONFIG_KEY) {
        reader.report(format!("{map}: the key {key} is not known; there is {CONFIG_KEY}"));
    }
    let text = data.get(CONFIG_KEY).map_or("", String::as_str);
    parse(&format!("{map}/{CONFIG_KEY}"), text, &mut reader.diagnostics)
}

pub(super) fn split_list(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
