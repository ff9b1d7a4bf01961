//! Which pods there are: reads the kubelet's folder of logs whenever a pod comes or goes, for the judges of this process, and
//! writes it beside the socket, for the agent, which may not look there by itself.
//!
//! The kubelet makes a pod's folder before its sandbox, so its name is known before a process of it can run.

use std::{
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};
use nodewell_checks::pod_names::{self, Names, PodNames};

use crate::detectors::pod_names::PodNamesFile;

/// A folder that inotify watches is read again all the same: another may be in its place.
const WATCHED: Duration = Duration::from_secs(60);
/// One that cannot be watched, nor the folder in which it would be.
const UNWATCHED: Duration = Duration::from_secs(5);
/// Pods that come together are read together.
const SETTLE: Duration = Duration::from_millis(20);

/// Follows one folder.
pub(super) struct PodNamesWatch {
    pub(super) folder: PathBuf,
    pub(super) names: PodNames,
    pub(super) file: PodNamesFile,
}

/// What was done last.
#[derive(Default)]
struct Published {
    names: Option<Names>,
    /// Logged once.
    error: Option<String>,
}

impl PodNamesWatch {
    /// On a thread of its own, which ends with the process: the folder's disk may never answer. Then the names stay as they
    /// are, and of a later pod its uid is shown.
    pub(super) fn start(self) {
        let thread = thread::Builder::new().name("pod-names".into()).stack_size(128 * 1024);
        if let Err(error) = thread.spawn(move || self.run()) {
            tracing::warn!(%error, "pods are shown by their uids");
        }
    }

    fn run(&self) {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        let mut published = Published::default();
        loop {
            let is_watched = inotify.as_ref().is_some_and(|inotify| self.watch(inotify));
            self.publish(&mut published);
            wait(inotify.as_ref(), if is_watched { WATCHED } else { UNWATCHED });
        }
    }

    /// Before the folder is read: what comes after that is an event. While it is not there, that it comes is one: a
    /// node without a kubelet has none, and is not to be looked at all the time.
    fn watch(&self, inotify: &Inotify) -> bool {
        let flags = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        while inotify.read_events().is_ok_and(|events| !events.is_empty()) {}
        let watch = |folder: &Path| inotify.add_watch(folder, flags).is_ok();
        if watch(&self.folder) {
            return true;
        }
        let is_parent_watched = self.folder.parent().is_some_and(watch);
        // It may have come before that.
        watch(&self.folder) || is_parent_watched
    }

    fn publish(&self, published: &mut Published) {
        let names = match pod_names::read(&self.folder) {
            Ok(names) => names,
            // A node without a kubelet has no pods.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Names::new(),
            Err(error) => return published.fail(format!("cannot read {}: {error}", self.folder.display())),
        };
        let is_known = published.names.as_ref() == Some(&names) && self.file.path().exists();
        if is_known || (names.is_empty() && published.names.is_none()) {
            return;
        }
        self.names.replace(names.clone());
        match self.file.write(&names) {
            Ok(()) => *published = Published { names: Some(names), error: None },
            Err(error) => published.fail(format!("cannot write {}: {error}", self.file.path().display())),
        }
    }
}

impl Published {
    fn fail(&mut self, error: String) {
        if self.error.as_ref() != Some(&error) {
            tracing::warn!(error, "pods that come now are shown by their uids");
            self.error = Some(error);
        }
    }
}

/// Until a pod comes or goes, or for so long.
fn wait(inotify: Option<&Inotify>, longest: Duration) {
    let Some(inotify) = inotify else { return thread::sleep(longest) };
    let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)], timeout) {
        Ok(0) => {}
        Ok(_) => thread::sleep(SETTLE),
        // A poll that fails at once would be asked without end.
        Err(_) => thread::sleep(UNWATCHED),
    }
}

#[cfg(test)]
mod tests;
