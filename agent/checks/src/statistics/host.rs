//! What does not change while the system runs: the kernel, the machine, the distribution.

use std::path::Path;

use sysinfo::System;

use crate::probe::attribute;

/// Read once, at the start: `/etc` lies on a disk that may be dead later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// `uname -r`; empty if the kernel does not report it.
    pub kernel_version: String,
    /// Such as `debian 12 (bookworm)`: the id and version of os-release(5), for every distribution.
    pub os_version: String,
    /// `uname -m`.
    pub architecture: String,
    /// Vendor, version and date of the firmware; empty if it does not show them.
    pub bios: String,
    /// The revision that the first CPU ran at the start.
    pub microcode: String,
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
            bios: bios(root),
            microcode: word(&root.join("sys/devices/system/cpu/cpu0/microcode/version")),
        }
    }
}

/// As the kernel shows it to every user (Documentation/ABI/testing/sysfs-class-dmi).
fn bios(root: &Path) -> String {
    let part = |name: &str| word(&root.join("sys/class/dmi/id").join(name));
    let parts = ["bios_vendor", "bios_version", "bios_date"].map(part);
    parts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A label's value, whatever firmware wrote; empty if it is not there or not shown.
fn word(path: &Path) -> String {
    let text = attribute::shown(path).ok().flatten().unwrap_or_default();
    nodewell_model::text::line(text.trim(), 64)
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
    fn firmware_is_named_as_far_as_it_shows_itself() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(bios(root.path()), "");
        let folder = root.path().join("sys/class/dmi/id");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("bios_vendor"), "Dell Inc.  \n").unwrap();
        std::fs::write(folder.join("bios_date"), "01/31/2026\n").unwrap();
        assert_eq!(bios(root.path()), "Dell Inc. 01/31/2026");
    }

    #[test]
    fn this_host_has_a_kernel_and_an_architecture() {
        let host = Host::read(Path::new("/"));
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(host.kernel_version, release.trim());
        assert!(!host.architecture.is_empty() && !host.os_version.is_empty(), "{host:?}");
    }
}
