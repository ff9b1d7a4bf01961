//! The branch of NVIDIA's driver: the number before the first dot, such as 580 of `580.65.06`. Meanings go by it.

use serde::{Deserialize, Serialize};

/// A driver branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Branch(pub u32);

impl Branch {
    /// The branch of a version as the driver, NVML and `/sys/module/nvidia/version` write it.
    #[must_use]
    pub fn of_version(version: &str) -> Option<Self> {
        let (branch, rest) = version.trim().split_once('.')?;
        let numbers = rest.starts_with(|c: char| c.is_ascii_digit());
        // Branches have had three digits since 2012; a year or a hash is none.
        let sound = branch.len() == 3 && branch.bytes().all(|byte| byte.is_ascii_digit());
        if numbers && sound { branch.parse().ok().map(Self) } else { None }
    }

    /// The branch that the driver names when it is loaded: `NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64
    /// 580.65.06  Release Build …`.
    #[must_use]
    pub fn of_loading_line(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("NVRM: loading NVIDIA UNIX ")?;
        rest.split_whitespace().find_map(Self::of_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_branches() {
        let cases = [("580.65.06\n", Some(580)), ("535.54", Some(535)), ("", None), ("580", None), ("2026.11", None)];
        for (version, branch) in cases {
            assert_eq!(Branch::of_version(version), branch.map(Branch), "{version:?}");
        }
    }

    #[test]
    fn the_driver_names_its_branch_when_it_is_loaded() {
        let old = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024";
        let open = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@host)";
        assert_eq!(Branch::of_loading_line(old), Some(Branch(550)));
        assert_eq!(Branch::of_loading_line(open), Some(Branch(580)));
        assert_eq!(Branch::of_loading_line("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  "), None);
    }
}
