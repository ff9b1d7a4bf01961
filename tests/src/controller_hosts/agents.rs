//! The fence agents of one host: the real one behind a gate, and a log of the agents that came to it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nodewell_kit::write_program;
use tempfile::TempDir;

/// A folder that the controller takes for `/usr/sbin`.
#[derive(Debug)]
pub struct Agents(TempDir);

impl Agents {
    pub(super) fn make() -> Self {
        let folder = TempDir::with_prefix("nodewell-agents-").unwrap();
        let program = folder.path().join("fence_ipmilan");
        write_program(&program, 0o755, &AGENT.replace("@D@", &folder.path().display().to_string()));
        Self(folder)
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// From now on an agent waits before it does `action` (`off`, `on`, `status`), until its time is over.
    pub fn close(&self, action: &str) {
        fs::write(self.gate(action), "").unwrap();
    }

    /// An agent that waits goes on.
    pub fn open(&self, action: &str) {
        fs::remove_file(self.gate(action)).unwrap();
    }

    /// How many came to do `action`.
    #[must_use]
    pub fn begun(&self, action: &str) -> usize {
        self.count(&format!("{action} begun"))
    }

    /// How many of them went through the gate.
    #[must_use]
    pub fn passed(&self, action: &str) -> usize {
        self.count(&format!("{action} passed"))
    }

    fn count(&self, line: &str) -> usize {
        let book = fs::read_to_string(self.folder().join("book")).unwrap_or_default();
        book.lines().filter(|written| *written == line).count()
    }

    fn gate(&self, action: &str) -> PathBuf {
        self.folder().join(format!("gate.{action}"))
    }
}

/// The options come on stdin, a password among them: they are stored nowhere but in the shell.
const AGENT: &str = r#"#!/bin/sh
options=$(cat)
action=$(printf '%s\n' "$options" | sed -n 's/^action=//p' | tail -n 1)
echo "$action begun" >>@D@/book
while [ -e "@D@/gate.$action" ]; do sleep 0.05; done
echo "$action passed" >>@D@/book
printf '%s\n' "$options" | /usr/sbin/fence_ipmilan "$@"
"#;
