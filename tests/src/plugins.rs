//! Programs to be run as plug-ins, the rule files that name them, and what is left of them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use nodewell_kit::write_program;

use crate::agent::Plan;

impl Plan {
    /// An executable file `bin/NAME` in the agent's folder.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn program(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder().join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_program(&path, 0o755, content);
        path
    }

    /// A file of Node Problem Detector's, named `SOURCE.json`, with the condition `Sick` and these rules: type, reason,
    /// path and whatever else.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn npd_plugins(&self, source: &str, config: &str, rules: &[(&str, &str, &Path)]) -> PathBuf {
        let rule = |(kind, reason, path): &(&str, &str, &Path)| {
            format!(r#"{{"type": "{kind}", "condition": "Sick", "reason": "{reason}", "path": {path:?}}}"#)
        };
        let rules: Vec<String> = rules.iter().map(rule).collect();
        let text = format!(
            r#"{{"plugin": "custom", "pluginConfig": {{{config}}}, "source": "{source}",
            "conditions": [{{"type": "Sick", "reason": "Well", "message": "all is fine"}}], "rules": [{}]}}"#,
            rules.join(", ")
        );
        self.file(&format!("monitors.d/{source}.json"), &text)
    }
}

/// # Panics
/// If there is no such file.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The processes that have `mark` on their command line.
///
/// # Panics
/// If there is no /proc.
#[must_use]
pub fn marked(mark: &str) -> Vec<u32> {
    let is_marked = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(mark)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id() && is_marked(pid)).collect()
}
