//! The rules we ship, embedded: the agent is whole without a file of its own.

use std::path::Path;

use nodewell_model::ConditionSpec;

/// The folder that embedded files are shown in, where their errors and rules are named.
pub const FOLDER: &str = "built-in";
/// Where the packages put them.
pub const INSTALLED: &str = "/usr/share/nodewell/rules";
/// The file that declares what the agent reports of itself.
const OWN: &str = "agent.toml";
/// And its only condition.
const OF_AGENT: &str = "AgentStateUnwritable";

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
    "accelerators.toml",
    "agent.toml",
    "cper.toml",
    "daemons.toml",
    "etcd.toml",
    "exhaustion.toml",
    "filesystem.toml",
    "firmware.toml",
    "gpu-amd.toml",
    "gpu-display.toml",
    "gpu.toml",
    "hardware.toml",
    "hba.toml",
    "iscsi.toml",
    "kernel.toml",
    "kubelet.toml",
    "limits.toml",
    "links.toml",
    "lockups.toml",
    "memory.toml",
    "netfs.toml",
    "network.toml",
    "nic-modules.toml",
    "nic.toml",
    "oom.toml",
    "pcie.toml",
    "raid.toml",
    "runtime.toml",
    "scsi.toml",
    "services.toml",
    "storage.toml",
    "volumes.toml",
];

/// What of the program is these files: most of it is prose, which no daemon needs once they are loaded.
pub fn texts() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.text)
}

/// Whether a rule file came with the program.
#[must_use]
pub fn is_shipped(rule_file: &Path) -> bool {
    rule_file.starts_with(INSTALLED) || rule_file.starts_with(FOLDER)
}

/// Whether `text` is what we ship under this name: the tests prove that, and need not be run at each start.
#[must_use]
pub fn is_unchanged(name: &str, text: &str) -> bool {
    FILES.iter().any(|file| file.name == name && file.text == text)
}

/// The conditions that monitors of hardware, checks and repairs raise without any rule.
const WITHOUT_RULES: &[&str] = &[
    "DiskUnhealthy",
    "DiskLatencyHigh",
    "MemoryUnhealthy",
    "CpuUnhealthy",
    "CoolingUnhealthy",
    "HardwareMissing",
    "PowerUnhealthy",
    "PcieUnhealthy",
    "NetworkUnhealthy",
    "GpuUnhealthy",
    "GpuFabricUnhealthy",
    "KubeletUnhealthy",
    "ContainerRuntimeUnhealthy",
    "KubeProxyUnhealthy",
    "ServiceUnhealthy",
    "FrequentKubeletRestart",
    "FrequentContainerdRestart",
    "FrequentDockerRestart",
    "FrequentCrioRestart",
    "ServiceRepairFailed",
    "FilesystemFull",
    "MountHung",
    "ReadonlyFilesystem",
    "XfsShutdown",
    "VolumeUnhealthy",
    "ClockUnhealthy",
    "ResourceExhausted",
    "MemoryPressureHigh",
    "CpuPressureHigh",
    "IoPressureHigh",
    "ResourceLeak",
    "TasksUnhealthy",
    "CertificateExpiring",
];

/// The conditions that the agent itself and our monitors raise without rules: part of every catalogue, whatever rules are
/// used.
#[must_use]
pub fn own_conditions() -> Vec<ConditionSpec> {
    FILES.iter().flat_map(conditions).filter(|(file, spec)| is_own(file, spec)).map(|(_, spec)| spec).collect()
}

/// Those of them that `known` lacks: none beside the shipped rules, and no file is parsed again to see that.
#[must_use]
pub fn own_conditions_beyond(known: &[ConditionSpec]) -> Vec<ConditionSpec> {
    let is_known = |name: &str| known.iter().any(|spec| spec.condition.as_str() == name);
    if is_known(OF_AGENT) && WITHOUT_RULES.iter().all(|name| is_known(name)) {
        return Vec::new();
    }
    own_conditions().into_iter().filter(|own| !is_known(own.condition.as_str())).collect()
}

fn is_own(file: &ShippedFile, spec: &ConditionSpec) -> bool {
    file.name == OWN || WITHOUT_RULES.contains(&spec.condition.as_str())
}

/// What a shipped file declares. All declarations stand before its rules, which are not read for this.
fn conditions(file: &'static ShippedFile) -> impl Iterator<Item = (&'static ShippedFile, ConditionSpec)> {
    let declared = file.text.split_once("[[rule]]").map_or(file.text, |(before, _)| before);
    let loaded = crate::load::load_text(&Path::new(FOLDER).join(file.name), declared);
    loaded.set.conditions.into_iter().map(move |spec| (file, spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unchanged_by_its_name_and_every_byte() {
        for file in FILES {
            assert!(is_unchanged(file.name, file.text) && !is_unchanged("mine.toml", file.text), "{}", file.name);
            assert!(!is_unchanged(file.name, &format!("{} ", file.text)), "{}", file.name);
        }
    }

    #[test]
    fn the_agent_speaks_of_its_own_state() {
        let own: Vec<String> = own_conditions().into_iter().map(|spec| spec.condition.to_string()).collect();
        assert_eq!(own.iter().filter(|name| !WITHOUT_RULES.contains(&name.as_str())).collect::<Vec<_>>(), [OF_AGENT]);
        assert_eq!(own.len(), 1 + WITHOUT_RULES.len(), "{own:?}");
    }

    #[test]
    fn what_a_catalogue_lacks_of_them_is_found() {
        let (all, own) = (crate::load(&crate::LoadPlan::default()).set.conditions, own_conditions());
        assert_eq!(own_conditions_beyond(&all), []);
        assert_eq!(own_conditions_beyond(&[]), own);
        for lacking in &own {
            let rest: Vec<_> = all.iter().filter(|spec| *spec != lacking).cloned().collect();
            assert_eq!(own_conditions_beyond(&rest), std::slice::from_ref(lacking));
        }
    }

    /// Else a node without a journal would not know how its disks are.
    #[test]
    fn a_condition_is_watched_by_the_rules_of_one_source() {
        let set = crate::load(&crate::LoadPlan::default()).set;
        let watched = set.rules.iter().filter(|rule| rule.shows_healthy_condition);
        let mut readers = std::collections::BTreeMap::new();
        for rule in watched {
            let Some(condition) = &rule.condition else { continue };
            let first = *readers.entry(condition).or_insert(rule.reader);
            assert_eq!(first, rule.reader, "{} needs shows-healthy-condition = false", rule.reason);
        }
        assert!(readers.len() > 10);
    }

    #[test]
    fn what_monitors_of_hardware_raise_is_in_every_catalogue() {
        let tables = nodewell_faults::Tables::shipped();
        let codes = tables.xids.codes().all().chain(tables.sxids.codes().all());
        let decoded = codes.flat_map(|meaning| meaning.conditions());
        for condition in
            nodewell_faults::reason::all().iter().filter_map(|reason| reason.condition.clone()).chain(decoded)
        {
            assert!(
                WITHOUT_RULES.contains(&condition.as_str()),
                "{condition} is not declared for rules that are not ours"
            );
        }
    }

    #[test]
    fn every_condition_is_declared_before_the_rules_of_its_file() {
        let all = crate::load(&crate::LoadPlan::default()).set.conditions;
        let declared: Vec<_> = FILES.iter().flat_map(conditions).map(|(_, spec)| spec).collect();
        assert_eq!(declared, all);
    }

    #[test]
    fn every_condition_is_explained() {
        let set = crate::load(&crate::LoadPlan::default()).set;
        for spec in &set.conditions {
            let meaning = set.meanings.get(&spec.condition).map(String::as_str).unwrap_or_default();
            assert!(!meaning.is_empty() && !meaning.ends_with('.'), "{}: {meaning:?}", spec.condition);
        }
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
