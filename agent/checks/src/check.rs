//! What a check is, as [`CHECKS`] lists them.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    time::Duration,
};

use nodewell_settings::Part;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{
    CHECKS, Settings,
    pod_names::PodNames,
    probe::{Judge, Reader, Roots},
};

/// The devices, or whatever else, that one reader reads and one judge judges.
pub struct Check {
    /// In file names, names of tasks and logs.
    pub name: &'static str,
    pub worker_group: WorkerGroup,
    /// Its table of the config.
    pub table: fn() -> Part<Settings>,
    pub is_enabled: fn(&Settings) -> bool,
    pub interval: fn(&Settings) -> Duration,
    /// How long one device may take to answer.
    pub deadline: fn(&Settings) -> Duration,
    pub reader: fn(Roots, &Settings) -> Box<dyn Reader>,
    pub judge: fn(&Settings, &PodNames) -> Box<dyn Judge>,
}

/// Checks that share a worker, a child of the check process that does the calls which may hang: where one of them
/// hangs, its group waits, and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerGroup {
    Check,
    /// Servers of files hang often, and for long.
    Mounts,
    Disk,
    Gpu,
}

impl WorkerGroup {
    pub const ALL: [Self; 4] = [Self::Check, Self::Mounts, Self::Disk, Self::Gpu];

    /// Its name on a worker's command line, and the name under which its checks report (`source`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Mounts => "mounts",
            Self::Disk => "disk",
            Self::Gpu => "gpu",
        }
    }

    /// The group of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.as_str() == name)
    }

    /// The checks of the group.
    pub fn checks(self) -> impl Iterator<Item = &'static Check> {
        CHECKS.iter().copied().filter(move |check| check.worker_group == self)
    }
}

/// By its name, which no other has.
impl PartialEq for Check {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Check {}

impl PartialOrd for Check {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Check {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for Check {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Check {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let check = CHECKS.iter().copied().find(|check| check.name == name);
        check.ok_or_else(|| D::Error::custom(format!("there is no check {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_has_a_name_and_a_table_of_its_own() {
        let names: BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
        let tables: BTreeSet<_> = CHECKS.iter().map(|check| (check.table)().key).collect();
        assert_eq!((names.len(), tables), (CHECKS.len(), names));
    }

    #[test]
    fn a_check_goes_over_the_wire_by_its_name() {
        for check in CHECKS.iter().copied() {
            let text = serde_json::to_string(check).unwrap();
            assert_eq!(text, format!("{:?}", check.name));
            assert_eq!(serde_json::from_str::<&'static Check>(&text).unwrap(), check);
        }
        assert!(serde_json::from_str::<&'static Check>("\"disks\"").is_err());
    }

    #[test]
    fn each_belongs_to_one_group() {
        let grouped: Vec<_> = WorkerGroup::ALL.into_iter().flat_map(WorkerGroup::checks).collect();
        assert_eq!(grouped.len(), CHECKS.len());
        assert!(WorkerGroup::ALL.into_iter().all(|group| WorkerGroup::named(group.as_str()) == Some(group)));
    }
}
