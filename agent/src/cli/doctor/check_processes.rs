//! Whether each check process runs that this machine needs.

use std::path::Path;

use nodewell_hardware::Roots;
use nodewell_model::view::DaemonView;

use super::check::Check;
use crate::{
    check_process::{GPU_DRIVERS, Group},
    config::{CheckProcesses, Config},
};

/// A warning for each that does not report and would have something to do.
pub(super) fn missing(daemons: &[DaemonView], config: &Config) -> Vec<Check> {
    missing_at(&Roots::default().sys, daemons, config)
}

fn missing_at(sys: &Path, daemons: &[DaemonView], config: &Config) -> Vec<Check> {
    let is_heard = |group: Group| {
        let name = format!("{}@", group.as_str());
        daemons.iter().any(|daemon| daemon.name.starts_with(&name))
    };
    let missing = [Group::Check, Group::Disk, Group::Gpu].into_iter().filter(|group| !is_heard(*group));
    let needed = missing.filter(|group| is_needed(*group, sys, config));
    needed.map(|group| Check::warn(group.as_str(), lacking(group), advice(group, config.check_processes))).collect()
}

/// One whose devices the configuration switches off would report nothing; nor would that of GPUs without their driver.
fn is_needed(group: Group, sys: &Path, config: &Config) -> bool {
    match group {
        Group::Check => true,
        Group::Disk => config.hardware.disk.enabled,
        Group::Gpu => {
            config.hardware.gpu.enabled && GPU_DRIVERS.iter().any(|name| sys.join("module").join(name).is_dir())
        }
    }
}

fn lacking(group: Group) -> &'static str {
    match group {
        Group::Check => {
            "does not run: read-only filesystems and vanished devices stay problems until the next boot, and the \
             errors of memory, CPUs, PCI Express and fabrics are not counted"
        }
        Group::Disk => "does not run: the disks and arrays are not checked",
        Group::Gpu => "does not run: the GPUs are not checked, and what their resets mend stays a problem",
    }
}

fn advice(group: Group, check_processes: CheckProcesses) -> String {
    let name = group.as_str();
    match check_processes {
        CheckProcesses::Spawn => {
            format!("the agent starts it by itself: its log says why `nodewelld monitor {name}` ends")
        }
        CheckProcesses::Auto | CheckProcesses::None => {
            format!("systemctl enable --now nodewell-{name}; see also: journalctl -u nodewell-{name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nodewell_model::view::DaemonState;

    use super::*;
    use crate::config::Flags;

    fn daemons(names: &[&str]) -> Vec<DaemonView> {
        let view = |name: &&str| DaemonView {
            name: (*name).to_owned(),
            state: DaemonState::Running,
            reason: String::new(),
            message: String::new(),
            records: 0,
            lost: 0,
            ttl_secs: Some(90),
            silent_since: None,
        };
        names.iter().map(view).collect()
    }

    fn config() -> Config {
        Config::of_flags(&Flags::default())
    }

    fn named(sys: &Path, heard: &[&str], config: &Config) -> Vec<String> {
        missing_at(sys, &daemons(heard), config).into_iter().map(|check| check.name).collect()
    }

    #[test]
    fn each_that_is_not_heard_is_named_but_for_gpus_without_a_driver() {
        let sys = tempfile::tempdir().unwrap();
        let named = |heard: &[&str]| named(sys.path(), heard, &config());
        assert_eq!(named(&["kernel-monitor"]), ["check", "disk"]);
        assert_eq!(named(&["check@nodewell-check.service", "disk@root"]), [""; 0]);
        assert_eq!(named(&["check@root", "diskette@root"]), ["disk"]);
        fs::create_dir_all(sys.path().join("module/nvidia")).unwrap();
        assert_eq!(named(&["check@root", "disk@root"]), ["gpu"]);
        assert_eq!(named(&["check@root", "disk@root", "gpu@nodewell-gpu.service"]), [""; 0]);
    }

    #[test]
    fn what_is_switched_off_is_not_missed() {
        let sys = tempfile::tempdir().unwrap();
        fs::create_dir_all(sys.path().join("module/amdgpu")).unwrap();
        let mut config = config();
        (config.hardware.disk.enabled, config.hardware.gpu.enabled) = (false, false);
        assert_eq!(named(sys.path(), &[], &config), ["check"]);
    }

    #[test]
    fn what_to_do_depends_on_who_starts_it() {
        let sys = tempfile::tempdir().unwrap();
        let advice = |config: &Config| missing_at(sys.path(), &daemons(&["check@root"]), config).remove(0).advice;
        assert!(advice(&config()).starts_with("systemctl enable --now nodewell-disk"));
        let spawned = Config { check_processes: CheckProcesses::Spawn, ..config() };
        assert!(advice(&spawned).contains("`nodewelld monitor disk`"));
    }
}
