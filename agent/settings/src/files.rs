//! The files of a config: one, and the drop-ins beside it, in the order in which they are read.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::Diagnostic;

/// A config of more than this is not one.
const FILE_LIMIT_BYTES: u64 = 1024 * 1024;

/// The config file and its drop-ins, in the order in which they are read, and why the drop-ins cannot be listed.
#[must_use]
pub fn config_files(named: Option<&Path>, usual: &Path) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let main = named.unwrap_or(usual).to_owned();
    let mut folder = main.clone().into_os_string();
    folder.push(".d");
    // A file that was named must be there; the default one may be missing, if that can be seen.
    let first = (named.is_some() || main.try_exists().unwrap_or(true)).then_some(main);
    let drop_ins = drop_ins(Path::new(&folder));
    let unreadable = |error| Diagnostic::of_file(Path::new(&folder), format!("this folder cannot be read: {error}"));
    let diagnostics = drop_ins.as_ref().err().map(unreadable);
    (first.into_iter().chain(drop_ins.unwrap_or_default()).collect(), diagnostics.into_iter().collect())
}

/// A folder that is not there is an empty one. One that may not be listed is not: what it sets would be lost.
fn drop_ins(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

/// The text of `file`.
///
/// # Errors
/// Why it cannot be read, or that it is too long to be a config.
pub fn config_text(file: &Path) -> Result<String, Diagnostic> {
    let unreadable = |error: String| Diagnostic::of_file(file, format!("cannot read the config: {error}"));
    let size = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
    if size > FILE_LIMIT_BYTES {
        return Err(unreadable(format!("it has {size} bytes, more than {FILE_LIMIT_BYTES}")));
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))
}
