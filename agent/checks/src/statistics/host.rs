//! What does not change while the system runs: the kernel, the machine, the distribution.

use std::path::Path;

use sysinfo::System;

/// Read once, at the start: `/etc` lies on a disk that may be dead later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// `uname -r`; empty if the kernel does not report it.
    pub kernel_version: String,
    /// Such as `debian 12 (bookworm)`: the id and version of os-release(5), for every distribution.
    pub os_version: String,
    /// `uname -m`.
    pub architecture: String,
}

impl Host {
    /// Asks the kernel, and the os-release of the system whose root is at `root`.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let release = ["etc/os-release", "usr/lib/os-release"];
        let release = release.iter().find_map(|file| std::fs::read_to_string(root.join(file)).ok());
        Self {
            kernel_version: System::kernel_version().unwrap_or_default(),
            os_version: release.as_deref().map_or_else(unversioned, os_version),
            architecture: System::cpu_arch(),
        }
    }
}

fn unversioned() -> String {
    System::distribution_id()
}

/// The names that Node Problem Detector uses, so that its dashboards find them.
fn os_version(release: &str) -> String {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    };
    // As os-release(5) has it.
    let id = value("ID").unwrap_or_else(|| "linux".to_owned());
    let version = value("VERSION").or_else(|| value("VERSION_ID")).unwrap_or_default();
    let build = value("BUILD_ID").filter(|_| id == "cos").map(|build| format!("-{build}")).unwrap_or_default();
    let whole = format!("{id} {version}{build}");
    nodewell_model::text::cut(whole.trim_end(), 128).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_os_is_called_as_node_problem_detector_calls_it() {
        for (release, expected) in [
            ("ID=debian\nVERSION=\"9 (stretch)\"\nVERSION_ID=\"9\"", "debian 9 (stretch)"),
            ("BUILD_ID=12293.0.0\nVERSION=77\nID=cos", "cos 77-12293.0.0"),
            ("ID=\"amzn\"\nVERSION=\"2\"", "amzn 2"),
            ("ID=arch\nBUILD_ID=rolling", "arch"),
            ("ID=fedora\nVERSION_ID=42", "fedora 42"),
            ("", "linux"),
        ] {
            assert_eq!(os_version(release), expected);
        }
    }

    #[test]
    fn this_host_has_a_kernel_and_an_architecture() {
        let host = Host::read(Path::new("/"));
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(host.kernel_version, release.trim());
        assert!(!host.architecture.is_empty() && !host.os_version.is_empty(), "{host:?}");
    }
}
