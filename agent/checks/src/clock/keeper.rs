//! Which program synchronises the clock, as far as that can be seen without asking it: chronyd and systemd-timesyncd
//! leave files. Of ntpd nothing is concluded: with `-x` it synchronises the clock without notifying the kernel.

use std::{fs, path::Path};

use nodewell_hardware::Roots;
use serde::{Deserialize, Serialize};

/// A time daemon that notifies the kernel when it is successful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Keeper {
    #[default]
    None,
    Timesyncd,
    Chronyd,
}

/// Debian's and Red Hat's, and chrony's own default.
const CHRONY_PIDS: [&str; 2] = ["chrony/chronyd.pid", "chronyd.pid"];

impl Keeper {
    pub(super) fn find(roots: &Roots) -> Self {
        let chronyd = CHRONY_PIDS.iter().any(|name| is_chronyd(roots, &roots.run.join(name)));
        // Made and removed by its unit (`RuntimeDirectory=systemd/timesync`).
        let timesyncd = || roots.run.join("systemd/timesync").is_dir();
        match chronyd {
            true => Self::Chronyd,
            false if timesyncd() => Self::Timesyncd,
            false => Self::None,
        }
    }

    pub(super) fn is_some(self) -> bool {
        self != Self::None
    }

    /// For people; empty for `None`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Timesyncd => "systemd-timesyncd",
            Self::Chronyd => "chronyd",
        }
    }
}

/// It runs, and may set the clock: with `-x` it only watches, as Debian starts it in containers.
fn is_chronyd(roots: &Roots, pid_file: &Path) -> bool {
    let Some(pid) = fs::read_to_string(pid_file).ok().and_then(|text| text.trim().parse::<u32>().ok()) else {
        return false;
    };
    let process = roots.proc.join(pid.to_string());
    let is_it = fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim() == "chronyd");
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    is_it && !line.split(|byte| *byte == 0).any(|word| word == b"-x")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Keeper) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let at = |name| root.path().join(name);
        let keeper = Keeper::find(&Roots { proc: at("proc"), run: at("run"), ..Roots::default() });
        (root, keeper)
    }

    #[test]
    fn a_keeper_is_known_by_what_it_leaves() {
        let pid = ("run/chrony/chronyd.pid", "77\n");
        for (files, keeper) in [
            (&[][..], Keeper::None),
            (&[("run/systemd/timesync/synchronized", "")], Keeper::Timesyncd),
            (&[pid, ("proc/77/comm", "chronyd\n"), ("proc/77/cmdline", "chronyd\0-F\x001\0")], Keeper::Chronyd),
            (&[pid, ("proc/77/comm", "chronyd\n"), ("proc/77/cmdline", "chronyd\0-x\0")], Keeper::None),
            (&[pid, ("proc/77/comm", "sleep\n")], Keeper::None),
            (&[("run/chronyd.pid", "many\n")], Keeper::None),
        ] {
            assert_eq!(machine(files).1, keeper, "{files:?}");
        }
    }
}
