//! Files that cannot be used where they are: a damaged one is moved aside, one that cannot be written is read from a copy.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::database::{FILE, with_suffix};

/// How many damaged files stay for people to look at.
const LIMIT: usize = 3;
/// What belongs to a database file.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// Moves `state.db` and what belongs to it to `state.db.corrupt-TIME`, and forgets the oldest of those.
pub(super) fn move_aside(directory: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let to = directory.join(format!("{FILE}.corrupt-{}", now.strftime("%Y%m%dT%H%M%S.%3fZ")));
    for part in PARTS {
        match fs::rename(with_suffix(&directory.join(FILE), part), with_suffix(&to, part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    forget_oldest(directory)?;
    Ok(to)
}

fn forget_oldest(directory: &Path) -> io::Result<()> {
    let prefix = format!("{FILE}.corrupt-");
    let names = fs::read_dir(directory)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_file = |name: &String| name.starts_with(&prefix) && !name.ends_with("-wal") && !name.ends_with("-shm");
    let mut damaged: Vec<String> = names.filter(is_file).collect();
    // The names sort as their times do.
    damaged.sort();
    damaged.truncate(damaged.len().saturating_sub(LIMIT));
    for name in damaged {
        for part in PARTS {
            let _ = fs::remove_file(with_suffix(&directory.join(&name), part));
        }
    }
    Ok(())
}

/// A private copy of the file and its log; it is removed with this.
#[derive(Debug)]
pub(super) struct Copy(PathBuf);

impl Copy {
    /// Copies to the service's own directory in memory, or to where temporary files go.
    pub(super) fn of(directory: &Path) -> io::Result<Self> {
        let parent = std::env::var_os("RUNTIME_DIRECTORY").map_or_else(std::env::temp_dir, PathBuf::from);
        let copy = Self(nix::unistd::mkdtemp(&parent.join("nodewell-state-XXXXXX"))?);
        let (from, to) = (directory.join(FILE), copy.0.join(FILE));
        fs::copy(&from, &to)?;
        match fs::copy(with_suffix(&from, "-wal"), with_suffix(&to, "-wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(copy),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.0
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
