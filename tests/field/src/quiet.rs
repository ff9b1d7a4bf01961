//! Logs of healthy machines: those in `quiet/` of a folder, if it has one.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use crate::LabelError;

/// The paths of `quiet/*.log`, by name.
pub fn quiet(folder: &Path) -> Result<Vec<PathBuf>, LabelError> {
    let folder = folder.join("quiet");
    let unread = |error: io::Error| LabelError::Read { path: folder.display().to_string(), error };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unread(error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut logs: Vec<PathBuf> = paths.collect::<io::Result<_>>().map_err(unread)?;
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_taken_by_name_and_a_folder_need_not_have_any() {
        let folder = tempfile::tempdir().unwrap();
        assert!(quiet(folder.path()).unwrap().is_empty());
        let logs = folder.path().join("quiet");
        fs::create_dir(&logs).unwrap();
        for name in ["b.log", "a.log", "README.md"] {
            fs::write(logs.join(name), "").unwrap();
        }
        assert_eq!(quiet(folder.path()).unwrap(), [logs.join("a.log"), logs.join("b.log")]);
    }
}
