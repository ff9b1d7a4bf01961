//! Which files there are, and when that or their content changes: globs, and inotify so that frequent looks are not
//! needed.

use std::{
    collections::HashSet,
    fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::{Component, Path, PathBuf},
};

use glob::Pattern;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

use super::tail::{FileKey, Tail};

/// More files than this are not one log.
const FILES_LIMIT: usize = 256;
/// What rotation leaves behind and no reader can follow.
const COMPRESSED: [&str; 5] = ["gz", "xz", "bz2", "zst", "lz4"];

/// The files that match now, in order, without what is compressed.
pub(crate) fn matching(patterns: &[String]) -> Vec<PathBuf> {
    let paths = patterns.iter().filter_map(|pattern| glob::glob(pattern).ok()).flatten().flatten();
    let wanted = paths.filter(|path| !is_compressed(path) && path.metadata().is_ok_and(|metadata| metadata.is_file()));
    let mut files: Vec<PathBuf> = wanted.take(FILES_LIMIT).collect();
    files.sort();
    files.dedup();
    files
}

pub(crate) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|end| COMPRESSED.iter().any(|other| end == *other))
}

/// Whether the pattern names one file.
pub(crate) fn is_fixed(pattern: &str) -> bool {
    !Path::new(pattern).components().any(has_wildcard)
}

/// The file in the folders of `patterns` that is `key`, under whatever name rotation gave it.
pub(crate) fn renamed(patterns: &[String], key: FileKey) -> Option<PathBuf> {
    let entries =
        patterns.iter().flat_map(|pattern| folders_of(pattern)).filter_map(|folder| fs::read_dir(folder).ok());
    let mut paths = entries.flatten().flatten().map(|entry| entry.path());
    paths.find(|path| {
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && FileKey::of(&metadata) == key)
    })
}

/// The inotify instance of one log.
pub(crate) struct Watch {
    inotify: Inotify,
    folders: HashSet<WatchDescriptor>,
}

impl Watch {
    pub(crate) fn new() -> io::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        Ok(Self { inotify, folders: HashSet::new() })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Watches where files of `patterns` may come and go; what cannot be watched is found by looking now and then.
    pub(crate) fn folders(&mut self, patterns: &[String]) {
        let flags = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        let folders: HashSet<PathBuf> = patterns.iter().flat_map(|pattern| folders_of(pattern)).collect();
        for folder in folders {
            if let Ok(watch) = self.inotify.add_watch(&folder, flags) {
                self.folders.insert(watch);
            }
        }
    }

    /// Watches the file itself, whatever its name is by now; the watch goes with the file.
    pub(crate) fn file(&mut self, tail: &Tail) -> io::Result<()> {
        let path = format!("/proc/self/fd/{}", tail.fd().as_fd().as_raw_fd());
        self.inotify.add_watch(path.as_str(), AddWatchFlags::IN_MODIFY)?;
        Ok(())
    }

    /// Takes what happened; true if files may have come or gone.
    pub(crate) fn drain(&mut self) -> bool {
        let mut moved = false;
        while let Ok(events) = self.inotify.read_events() {
            if events.is_empty() {
                break;
            }
            let concerns_us = |flags: AddWatchFlags| flags.contains(AddWatchFlags::IN_Q_OVERFLOW);
            moved |= events.iter().any(|event| concerns_us(event.mask) || self.folders.contains(&event.wd));
        }
        moved
    }
}

/// The folders whose entries decide what `pattern` matches: where the fixed part ends, and those that match further on.
fn folders_of(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let fixed: PathBuf = path.components().take_while(|part| !has_wildcard(*part)).collect();
    let base = if fixed == path { path.parent() } else { Some(fixed.as_path()) };
    let mut folders: Vec<PathBuf> = base.and_then(nearest_existing).into_iter().collect();
    let above = path.parent().and_then(Path::to_str).filter(|above| Pattern::escape(above) != *above);
    if let Some(matches) = above.and_then(|above| glob::glob(above).ok()) {
        folders.extend(matches.flatten().filter(|folder| folder.is_dir()).take(FILES_LIMIT));
    }
    folders
}

fn has_wildcard(part: Component<'_>) -> bool {
    part.as_os_str().to_str().is_some_and(|part| part.contains(['*', '?', '[']))
}

fn nearest_existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir())).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_that_decide_what_matches() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_str().unwrap();
        fs::create_dir_all(dir.path().join("pods/a")).unwrap();
        let path = |below: &str| dir.path().join(below);
        assert_eq!(folders_of(&format!("{root}/kern.log")), [path("")]);
        assert_eq!(folders_of(&format!("{root}/missing/deep/kern.log")), [path("")]);
        assert_eq!(folders_of(&format!("{root}/*.log")), [path("")]);
        assert_eq!(folders_of(&format!("{root}/pods/*/0.log")), [path("pods"), path("pods/a")]);
    }

    #[test]
    fn compressed_files_and_folders_do_not_match() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.log", "a.log.1", "a.log.2.gz"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::create_dir(dir.path().join("a.log.d")).unwrap();
        let pattern = format!("{}/a.log*", dir.path().display());
        assert_eq!(matching(&[pattern.clone(), pattern]), [dir.path().join("a.log"), dir.path().join("a.log.1")]);
    }
}
