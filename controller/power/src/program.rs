//! Whether a program may be run: no user but root, or ours, could have put it there or changed it.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;

/// Group and others.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
const ANY_EXECUTE: u32 = 0o111;

/// Why a program is not run.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("{0} is not an absolute path")]
    Relative(PathBuf),
    #[error("{0}: {1}")]
    Unreadable(PathBuf, io::Error),
    #[error("{0} is not an executable file; chmod +x it")]
    NoProgram(PathBuf),
    #[error("{0} is not a file")]
    NoFile(PathBuf),
    #[error("{path} belongs to uid {uid}; chown root it")]
    Owner { path: PathBuf, uid: u32 },
    #[error("{path} can be written by others (mode {mode:04o}); chmod go-w it")]
    Writable { path: PathBuf, mode: u32 },
}

/// Looks at the file that `path` leads to and at every directory on its way. It is executed by its name afterwards, which
/// some agents go by: only root could have put another file there.
///
/// # Errors
/// The first thing that another user could change, or why there is nothing to run.
pub fn check(path: &Path) -> Result<(), Refused> {
    let (real, file) = checked(path)?;
    if !file.is_file() || file.mode() & ANY_EXECUTE == 0 {
        return Err(Refused::NoProgram(real));
    }
    Ok(())
}

/// The same for a file that is read and not executed.
///
/// # Errors
/// The first thing that another user could change, or why there is nothing to read.
pub(crate) fn check_file(path: &Path) -> Result<(), Refused> {
    let (real, file) = checked(path)?;
    if file.is_file() { Ok(()) } else { Err(Refused::NoFile(real)) }
}

fn checked(path: &Path) -> Result<(PathBuf, fs::Metadata), Refused> {
    if !path.is_absolute() {
        return Err(Refused::Relative(path.to_owned()));
    }
    let real = fs::canonicalize(path).map_err(|error| Refused::Unreadable(path.to_owned(), error))?;
    // Links on the way lie in directories of the path as it was named.
    for place in path.ancestors().skip(1).chain(real.ancestors()) {
        judge(place)?;
    }
    let file = metadata(&real)?;
    Ok((real, file))
}

/// In a sticky directory a user cannot replace what another user owns.
fn judge(path: &Path) -> Result<(), Refused> {
    let found = metadata(path)?;
    let (uid, mode) = (found.uid(), found.mode());
    if uid != 0 && uid != geteuid().as_raw() {
        return Err(Refused::Owner { path: path.to_owned(), uid });
    }
    let is_shared = found.is_dir() && mode & STICKY != 0;
    if mode & OTHERS_WRITE != 0 && !is_shared {
        return Err(Refused::Writable { path: path.to_owned(), mode: mode & 0o7777 });
    }
    Ok(())
}

fn metadata(path: &Path) -> Result<fs::Metadata, Refused> {
    fs::metadata(path).map_err(|error| Refused::Unreadable(path.to_owned(), error))
}
