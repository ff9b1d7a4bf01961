//! The newest term ever seen, in a file: a restored etcd has an older Lease and older records, which count the terms, and all
//! controllers may have been restarted since.
//!
//! The file is advice and no condition: a disk that is full or hangs stops no leader. Without it a term's number can be
//! given twice only if etcd was restored *and* no replica that saw the number was left running.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use nodewell_reconcile::cache::Cache;

const FILE: &str = "newest-epoch";

/// Where it is saved: the service manager's state directory (`StateDirectory=`); nothing if there is none.
pub(super) fn folder() -> Option<PathBuf> {
    std::env::var_os("STATE_DIRECTORY").map(PathBuf::from).filter(|made| made.is_absolute())
}

/// Gives `cache` what an earlier run has seen. To be called before the controller stands for election.
pub(super) fn load(folder: &Path, cache: &Cache) {
    match read(folder) {
        Ok(Some(epoch)) => cache.saw_epoch(epoch),
        Ok(None) => {}
        Err(error) => {
            let what =
                "the newest term of earlier runs cannot be read; after a restore of etcd its number may be given again";
            tracing::warn!(file = %folder.join(FILE).display(), %error, "{what}");
        }
    }
}

/// Saves it as it grows; never returns.
pub(super) async fn save(folder: Option<PathBuf>, cache: &Cache) {
    let Some(folder) = folder else { return std::future::pending().await };
    let (mut epochs, mut is_logged) = (cache.epochs(), false);
    loop {
        let epoch = *epochs.borrow_and_update();
        let target = folder.clone();
        let written = tokio::task::spawn_blocking(move || write(&target, epoch)).await;
        if let Ok(Err(error)) = &written
            && !std::mem::replace(&mut is_logged, true)
        {
            tracing::warn!(file = %folder.join(FILE).display(), %error, "the newest term cannot be saved");
        }
        if epochs.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

fn read(folder: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(folder.join(FILE)) {
        Ok(text) => text.trim().parse().map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whole or not at all, and on the disk when this returns. It never becomes less.
fn write(folder: &Path, epoch: u64) -> io::Result<()> {
    if read(folder).ok().flatten().is_some_and(|known| known >= epoch) {
        return Ok(());
    }
    let new = folder.join(format!("{FILE}.new"));
    let mut file = File::create(&new)?;
    writeln!(file, "{epoch}")?;
    file.sync_all()?;
    fs::rename(&new, folder.join(FILE))?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use nodewell_reconcile::{cache::Limits, clock::Clock};

    use super::*;

    fn cache() -> Cache {
        Cache::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default())
    }

    #[tokio::test]
    async fn the_next_run_knows_the_newest_term() {
        let folder = tempfile::tempdir().unwrap();
        let first = cache();
        load(folder.path(), &first);
        assert_eq!(*first.epochs().borrow(), 0);
        first.saw_epoch(7);
        let written = async {
            while read(folder.path()).unwrap() != Some(7) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = save(Some(folder.path().to_owned()), &first) => {}
            written = tokio::time::timeout(std::time::Duration::from_secs(10), written) => written.unwrap(),
        }
        let second = cache();
        load(folder.path(), &second);
        assert_eq!(*second.epochs().borrow(), 7);
        write(folder.path(), 3).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(7), "it never becomes less");
    }

    #[test]
    fn an_empty_file_is_an_error_and_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "").unwrap();
        assert!(read(folder.path()).is_err());
        write(folder.path(), 4).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(4));
    }
}
