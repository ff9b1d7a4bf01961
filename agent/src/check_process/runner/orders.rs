//! What people want of a process that runs lies in files beside the agent's socket, in a folder for each kind. The
//! kernel reports when one comes or goes: to look for them all the time would wake an idle machine for nothing.

use std::{
    future,
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tokio::{io::unix::AsyncFd, time::sleep};

use crate::runtime::readable::readable;

/// What happens within this is one piece of news: a socket may lie in a folder in which others make files all the time.
const SETTLE: Duration = Duration::from_millis(100);

/// The folders of one runner's files.
pub(super) struct Orders {
    folders: Vec<PathBuf>,
    watch: Option<AsyncFd<Watch>>,
    are_watched: bool,
}

struct Watch(Inotify);

impl Orders {
    /// Must be called within a runtime. Where there is no watch to be had (a user may have 128), its owner has to look.
    pub(super) fn in_folders(folders: Vec<PathBuf>) -> Self {
        let watch = (!folders.is_empty()).then(Watch::new).flatten();
        Self { folders, watch, are_watched: false }
    }

    /// To be called before the files are looked at: what comes after that is news.
    pub(super) fn watch(&mut self) {
        self.are_watched = match &self.watch {
            Some(watch) => watch.get_ref().covers(&self.folders),
            None => self.folders.is_empty(),
        };
    }

    /// Whether nothing can come that [`Orders::news`] does not notice.
    pub(super) fn are_watched(&self) -> bool {
        self.are_watched
    }

    /// Returns once something may have come or gone since the last [`Orders::watch`].
    pub(super) async fn news(&self) {
        let Some(watch) = &self.watch else { return future::pending().await };
        match watch.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => future::pending().await,
        }
        sleep(SETTLE).await;
    }
}

impl Watch {
    fn new() -> Option<AsyncFd<Self>> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
        readable(Self(inotify)).ok()
    }

    /// Watches them from now on. One that is not there is watched for in the folder that it will be in.
    fn covers(&self, folders: &[PathBuf]) -> bool {
        while self.0.read_events().is_ok_and(|events| !events.is_empty()) {}
        folders.iter().all(|folder| {
            if self.add(folder) {
                return true;
            }
            let is_awaited = folder.parent().is_some_and(|parent| self.add(parent));
            // It may have come before that.
            self.add(folder) || is_awaited
        })
    }

    /// Each time: another may be in its place by now. Links lead elsewhere, and no file is read there.
    fn add(&self, folder: &Path) -> bool {
        let flags = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF
            | AddWatchFlags::IN_DONT_FOLLOW
            | AddWatchFlags::IN_ONLYDIR;
        self.0.add_watch(folder, flags).is_ok()
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::time::timeout;

    use super::*;

    async fn are_there_news(orders: &mut Orders) -> bool {
        let is_news = timeout(SETTLE * 5, orders.news()).await.is_ok();
        orders.watch();
        is_news
    }

    #[tokio::test]
    async fn what_comes_and_goes_is_news_and_so_is_its_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("released");
        let mut orders = Orders::in_folders(vec![folder.clone()]);
        orders.watch();
        assert!(orders.are_watched() && !are_there_news(&mut orders).await);
        fs::create_dir(&folder).unwrap();
        assert!(are_there_news(&mut orders).await && orders.are_watched());
        assert!(!are_there_news(&mut orders).await, "once");
        fs::write(folder.join("gpu.new"), "").unwrap();
        fs::rename(folder.join("gpu.new"), folder.join("gpu")).unwrap();
        assert!(are_there_news(&mut orders).await);
        fs::remove_file(folder.join("gpu")).unwrap();
        assert!(are_there_news(&mut orders).await);
        fs::remove_dir(&folder).unwrap();
        assert!(are_there_news(&mut orders).await && orders.are_watched());
        fs::create_dir(&folder).unwrap();
        assert!(are_there_news(&mut orders).await, "another one in its place");
        fs::write(folder.join("gpu"), "").unwrap();
        assert!(are_there_news(&mut orders).await);
    }

    #[tokio::test]
    async fn where_nothing_can_be_watched_its_owner_looks_and_where_nothing_is_wanted_nothing_comes() {
        let home = tempfile::tempdir().unwrap();
        let mut orders = Orders::in_folders(vec![home.path().join("none/released")]);
        orders.watch();
        assert!(!orders.are_watched());
        let mut none = Orders::in_folders(Vec::new());
        none.watch();
        assert!(none.are_watched() && !are_there_news(&mut none).await);
    }

    #[tokio::test]
    async fn a_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let (elsewhere, folder) = (home.path().join("elsewhere"), home.path().join("run/released"));
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(home.path().join("run")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
        let mut orders = Orders::in_folders(vec![folder]);
        orders.watch();
        fs::write(elsewhere.join("gpu"), "").unwrap();
        assert!(!are_there_news(&mut orders).await);
    }
}
