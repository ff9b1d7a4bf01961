//! Which program synchronises the clock, as far as that can be seen without asking it: chronyd and systemd-timesyncd
//! leave files. Of ntpd nothing is concluded: with `-x` it synchronises the clock without notifying the kernel.

use std::{fs, path::Path};

use crate::probe::Roots;
use serde::{Deserialize, Serialize};

/// A time daemon that notifies the kernel when it is successful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TimeDaemon {
    #[default]
    None,
    Timesyncd,
    Chronyd,
}

/// Debian's and Red Hat's, and chrony's own default.
const CHRONY_PIDS: [&str; 2] = ["chrony/chronyd.pid", "chronyd.pid"];

impl TimeDaemon {
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

    /// Shows its time sources; empty for `None`.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Timesyncd => "timedatectl timesync-status",
            Self::Chronyd => "chronyc sources",
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

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, TimeDaemon) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let at = |name| root.path().join(name);
        let daemon = TimeDaemon::find(&Roots { proc: at("proc"), run: at("run"), ..Roots::default() });
        (root, daemon)
    }

    #[test]
    fn a_time_daemon_is_known_by_what_it_leaves() {
        let pid = ("run/chrony/chronyd.pid", "77\n");
        for (files, daemon) in [
            (&[][..], TimeDaemon::None),
            (&[("run/systemd/timesync/synchronized", "")], TimeDaemon::Timesyncd),
            (&[pid, ("proc/77/comm", "chronyd\n"), ("proc/77/cmdline", "chronyd\0-F\x001\0")], TimeDaemon::Chronyd),
            (&[pid, ("proc/77/comm", "chronyd\n"), ("proc/77/cmdline", "chronyd\0-x\0")], TimeDaemon::None),
            (&[pid, ("proc/77/comm", "sleep\n")], TimeDaemon::None),
            (&[("run/chronyd.pid", "many\n")], TimeDaemon::None),
        ] {
            assert_eq!(machine(files).1, daemon, "{files:?}");
        }
    }
}
