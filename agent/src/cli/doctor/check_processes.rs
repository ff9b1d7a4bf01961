//! Whether each check process runs that this machine needs.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use nodewell_checks::probe::Roots;
use nodewell_model::view::DaemonView;
use nodewell_sys::proc::{Status, content};

use super::check::Check;
use crate::{
    check_process::{Group, has_gpu_driver},
    config::{CheckProcesses, Config},
    runtime::program::CHECKS,
};

/// Without one of these systemd skips `nodewell-disk.service` (`ConditionCapability=`); their numbers are the kernel's.
const DISK_CAPABILITIES: [(&str, u32); 3] = [("CAP_SYS_RAWIO", 17), ("CAP_SYS_ADMIN", 21), ("CAP_DAC_READ_SEARCH", 2)];

/// A warning for each that does not report and would have something to do.
pub(super) fn missing(daemons: &[DaemonView], config: &Config) -> Vec<Check> {
    // Packages put it beside this program.
    let program = std::env::current_exe().unwrap_or_default().with_file_name(CHECKS);
    missing_at(&Roots::default(), &program, daemons, config)
}

fn missing_at(roots: &Roots, program: &Path, daemons: &[DaemonView], config: &Config) -> Vec<Check> {
    let is_heard = |group: Group| {
        let name = format!("{}@", group.as_str());
        daemons.iter().any(|daemon| daemon.name.starts_with(&name))
    };
    let missing = [Group::Check, Group::Disk, Group::Gpu].into_iter().filter(|group| !is_heard(*group));
    let needed = missing.filter(|group| is_needed(*group, &roots.sys, config));
    let broken = broken(program);
    let advice = |group| broken.clone().unwrap_or_else(|| advice(group, config.check_processes, &roots.proc));
    needed.map(|group| Check::warn(group.as_str(), lacking(group), advice(group))).collect()
}

/// One whose devices the configuration switches off would report nothing; nor would that of GPUs without their driver.
fn is_needed(group: Group, sys: &Path, config: &Config) -> bool {
    match group {
        Group::Check => true,
        Group::Disk => config.checks.disk.enabled,
        Group::Gpu => config.checks.gpu.enabled && has_gpu_driver(sys),
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

/// What to do where no service could start their program.
fn broken(program: &Path) -> Option<String> {
    let why = match fs::metadata(program) {
        Err(error) => error.to_string(),
        Ok(found) if !found.is_file() => "it is no file".to_owned(),
        Ok(found) if found.len() == 0 => "it is empty".to_owned(),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => "it is not executable".to_owned(),
        Ok(_) => return None,
    };
    Some(format!("their program {} cannot be started ({why}): install the package again", program.display()))
}

fn advice(group: Group, check_processes: CheckProcesses, proc: &Path) -> String {
    let name = group.as_str();
    match check_processes {
        CheckProcesses::Spawn => {
            format!("the agent starts it by itself: its log says why `nodewell-checks run {name}` ends")
        }
        CheckProcesses::Auto | CheckProcesses::None => match withheld(group, proc) {
            Some(capability) => format!(
                "systemd skips nodewell-{name}, because this machine has no {capability} (many containers have not): \
                 give it that, or set `enabled = false` in [{name}]"
            ),
            None => format!("systemctl enable --now nodewell-{name}; see also: journalctl -u nodewell-{name}"),
        },
    }
}

/// The first capability that systemd itself may not have. None where `/proc` hides its process.
fn withheld(group: Group, proc: &Path) -> Option<&'static str> {
    let needed: &[_] = if group == Group::Disk { &DISK_CAPABILITIES } else { &[] };
    let status = content(&proc.join("1/status")).ok()??;
    let set = Status::of(&status).mask("CapBnd")?;
    needed.iter().find(|(_, number)| set & (1 << number) == 0).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
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
            full: false,
        };
        names.iter().map(view).collect()
    }

    fn config() -> Config {
        Config::of_flags(&Flags::default())
    }

    fn roots(sys: &Path) -> Roots {
        Roots { sys: sys.to_owned(), proc: sys.join("proc"), ..Roots::default() }
    }

    /// One that can be started.
    fn program() -> std::path::PathBuf {
        std::env::current_exe().unwrap()
    }

    fn named(sys: &Path, heard: &[&str], config: &Config) -> Vec<String> {
        missing_at(&roots(sys), &program(), &daemons(heard), config).into_iter().map(|check| check.name).collect()
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
        (config.checks.disk.enabled, config.checks.gpu.enabled) = (false, false);
        assert_eq!(named(sys.path(), &[], &config), ["check"]);
    }

    #[test]
    fn what_to_do_depends_on_who_starts_it() {
        let sys = tempfile::tempdir().unwrap();
        let advice = |config: &Config| {
            missing_at(&roots(sys.path()), &program(), &daemons(&["check@root"]), config).remove(0).advice
        };
        assert!(advice(&config()).starts_with("systemctl enable --now nodewell-disk"));
        let spawned = Config { check_processes: CheckProcesses::Spawn, ..config() };
        assert!(advice(&spawned).contains("`nodewell-checks run disk`"));
    }

    #[test]
    fn a_program_that_cannot_be_started_comes_before_its_units() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("nodewell-checks");
        let advice = || missing_at(&roots(root.path()), &program, &[], &config()).remove(0).advice;
        let is_broken = |why: &str| {
            let advice = advice();
            assert!(advice.contains("nodewell-checks cannot be started") && advice.contains(why), "{advice}");
        };
        is_broken("No such file");
        fs::create_dir(&program).unwrap();
        is_broken("it is no file");
        fs::remove_dir(&program).unwrap();
        fs::write(&program, "").unwrap();
        is_broken("it is empty");
        fs::write(&program, "program").unwrap();
        is_broken("it is not executable");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(advice().starts_with("systemctl enable --now nodewell-check"));
    }

    /// As in a container that has all but raw access to devices, and in one of Docker's.
    #[test]
    fn a_unit_that_systemd_skips_is_not_to_be_enabled() {
        let root = tempfile::tempdir().unwrap();
        let advice = |bounding: &str, heard: &[&str]| {
            fs::create_dir_all(root.path().join("proc/1")).unwrap();
            fs::write(root.path().join("proc/1/status"), format!("Name:\tsystemd\nCapBnd:\t{bounding}\n")).unwrap();
            missing_at(&roots(root.path()), &program(), &daemons(heard), &config()).remove(0).advice
        };
        let of_disk = |bounding: &str| advice(bounding, &["check@root"]);
        assert!(of_disk("000001ffffffffff").starts_with("systemctl enable --now nodewell-disk"));
        let skipped = of_disk("000001fffffdffff");
        assert!(
            skipped.contains("has no CAP_SYS_RAWIO") && skipped.contains("`enabled = false` in [disk]"),
            "{skipped}"
        );
        assert!(!skipped.contains("systemctl enable"), "{skipped}");
        assert!(of_disk("000001fffffffffb").contains("has no CAP_DAC_READ_SEARCH"));
        let of_check = advice("00000000a80425fb", &["disk@nodewell-disk.service"]);
        assert!(of_check.starts_with("systemctl enable --now nodewell-check"), "{of_check}");
    }

    #[test]
    fn the_units_conditions_are_known() {
        let unit = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd/nodewell-disk.service"));
        let unit = unit.unwrap();
        let conditions: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("ConditionCapability=")).collect();
        assert_eq!(conditions, DISK_CAPABILITIES.map(|(name, _)| name));
    }
}
