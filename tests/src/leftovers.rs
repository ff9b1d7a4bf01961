//! Folders that carry the number of the process that made them, so that what a killed process left is removed by the
//! next.

use std::{
    env, fs,
    io::ErrorKind,
    process,
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

const MARK: &str = "nodewell-";

/// A folder of this kind, gone when it is dropped. What processes that died have left of that kind goes first.
///
/// # Panics
/// If none can be made.
#[must_use]
pub fn folder(kind: &'static str) -> TempDir {
    static SWEPT: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !swept.contains(&kind) {
        sweep(kind);
        swept.push(kind);
    }
    TempDir::with_prefix(format!("{MARK}{kind}-{}-", process::id())).unwrap()
}

/// Removes what processes that died have left of this kind.
pub fn sweep(kind: &str) {
    let prefix = format!("{MARK}{kind}-");
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.split_once('-'));
        if owner.is_some_and(|(pid, _)| is_dead(pid)) {
            // Another process may be sweeping as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether `owner` is the number of a process that has ended; one that its parent has not waited for has ended, too.
#[must_use]
pub fn is_dead(owner: &str) -> bool {
    let Ok(pid) = owner.parse::<u32>() else { return false };
    match fs::read_to_string(format!("/proc/{pid}/status")) {
        Ok(status) => status.lines().any(|line| line.starts_with("State:") && line.contains('Z')),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
