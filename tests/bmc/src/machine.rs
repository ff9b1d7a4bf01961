//! A machine that can be turned on and off: a process, and a script that starts and ends it as a hand at its switch would.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nodewell_kit::write_program;

/// It ends with this.
#[derive(Debug)]
pub(crate) struct Machine {
    folder: PathBuf,
}

impl Machine {
    /// One that is off, with its script `machine.sh` in a folder that is there.
    pub(crate) fn new(folder: &Path) -> Self {
        write_program(&folder.join("machine.sh"), 0o755, &MACHINE.replace("@D@", &folder.display().to_string()));
        Self { folder: folder.to_owned() }
    }

    /// Whether its process lives.
    pub(crate) fn is_on(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid().trim())).unwrap_or_default();
        // Its parent may not have waited for it yet.
        status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
    }

    /// The boot that runs now, another one each time it is started; nothing while it is off.
    pub(crate) fn boot(&self) -> Option<String> {
        let pid = self.pid();
        self.is_on().then(|| format!("00000000-0000-4000-8000-{:0>12}", pid.trim()))
    }

    /// Turns it on (`1`) or off (`0`) without asking a BMC.
    pub(crate) fn order(&self, power: &str) {
        let done = Command::new(self.folder.join("machine.sh")).arg(power).stdin(Stdio::null()).status();
        assert!(done.unwrap().success(), "the machine's switch");
    }

    fn pid(&self) -> String {
        fs::read_to_string(self.folder.join("pid")).unwrap_or_default()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = Command::new(self.folder.join("machine.sh")).arg("0").stdin(Stdio::null()).status();
    }
}

/// The machine: a process that sleeps, with nothing of its parent's open.
const MACHINE: &str = r#"#!/bin/sh
D=@D@
alive() { [ -s "$D/pid" ] && grep -q '^State:[[:space:]]*[^Z]' "/proc/$(cat "$D/pid")/status" 2>/dev/null; }
case $1 in
alive) alive; exit;;
1) alive || { setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > "$D/pid"; };;
0) if alive; then kill -9 "$(cat "$D/pid")"; while alive; do :; done; fi; : > "$D/pid";;
esac
exit 0
"#;
