//! ZFS: the imported pools, and the state that its module shows of each
//! (`/proc/spl/kstat/zfs/POOL/state`, OpenZFS 0.8 and later, module/zfs/spa_stats.c spa_state_init). Reading it takes
//! no lock.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{reading::Health, sysfs};
use crate::probe::ReadError;

/// Before a pool's name: no block device is called so.
const PREFIX: &str = "zpool ";
const KSTATS: &str = "spl/kstat/zfs";

/// All of them, as [`pool`] reads them: `zpool tank`.
pub(super) fn all(proc: &Path) -> Vec<String> {
    let names = sysfs::names(&proc.join(KSTATS));
    names.into_iter().map(|pool| format!("{PREFIX}{pool}")).filter(|name| is_there(proc, name)).collect()
}

/// The pool's own name, if `name` is that of one.
pub(super) fn pool(name: &str) -> Option<&str> {
    // A pool's name begins with a letter and has no slash (OpenZFS module/zcommon/zfs_namecheck.c).
    let is_name = |pool: &&str| pool.starts_with(|first: char| first.is_ascii_alphabetic()) && !pool.contains('/');
    name.strip_prefix(PREFIX).filter(is_name)
}

/// Whether the pool is imported: also if its state cannot be read just now.
pub(super) fn is_there(proc: &Path, name: &str) -> bool {
    let is_none = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    file(proc, name).is_some_and(|file| !fs::metadata(file).is_err_and(|error| is_none(&error)))
}

/// Its state. One that cannot be read is no export, by which a fault would end.
pub(super) fn read(proc: &Path, name: &str) -> Result<Health, ReadError> {
    let Some(file) = file(proc, name) else { return Err(ReadError::Gone { what: name.to_owned() }) };
    let state = fs::read_to_string(&file).map_err(|error| ReadError::of_file(&file, &error))?;
    match state.trim() {
        "" => Err(ReadError::Failed { message: format!("{} is empty", file.display()) }),
        state => Ok(Health::Zpool { state: state.to_owned() }),
    }
}

fn file(proc: &Path, name: &str) -> Option<PathBuf> {
    Some(proc.join(KSTATS).join(pool(name)?).join("state"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proc() -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = proc.path().join(KSTATS).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("tank/state", "ONLINE\n");
        write("tank/objset-0x36", "");
        write("my pool:1/state", "DEGRADED\n");
        // Before 0.8, and what is no pool.
        write("old/io", "");
        write("arcstats", "");
        proc
    }

    #[test]
    fn the_imported_pools_are_found_with_their_state() {
        let proc = proc();
        assert_eq!(all(proc.path()), ["zpool my pool:1", "zpool tank"]);
        assert_eq!(read(proc.path(), "zpool tank"), Ok(Health::Zpool { state: "ONLINE".to_owned() }));
        assert_eq!(pool("zpool my pool:1"), Some("my pool:1"));
        assert_eq!(all(&proc.path().join("none")), [""; 0]);
    }

    #[test]
    fn what_was_exported_or_is_a_path_is_gone() {
        let proc = proc();
        for name in ["zpool gone", "zpool old", "zpool ../tank", "zpool tank/../tank", "zpool ", "tank"] {
            assert!(!is_there(proc.path(), name), "{name}");
            assert!(matches!(read(proc.path(), name), Err(ReadError::Gone { .. })), "{name}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_read_is_no_export() {
        let proc = proc();
        let state = proc.path().join(KSTATS).join("tank/state");
        fs::write(&state, "").unwrap();
        assert!(matches!(read(proc.path(), "zpool tank"), Err(ReadError::Failed { .. })));
        fs::remove_file(&state).unwrap();
        fs::create_dir(&state).unwrap();
        assert!(matches!(read(proc.path(), "zpool tank"), Err(ReadError::Failed { .. })));
        assert!(is_there(proc.path(), "zpool tank"));
    }
}
