//! Files that were written and rotated away between two looks, or while no reader ran: their names are not those that
//! were asked for, so they are looked for beside them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use nodewell_message::MessageArgs;

use super::{
    LogFiles,
    tail::{Begin, FileKey},
    watch::{is_compressed, is_fixed},
};
use crate::{
    runtime::clock,
    sources::{Gap, Sink},
};

/// The clock of files is coarse: 10 ms at the slowest.
const TICK: Duration = Duration::from_millis(20);

/// A file that rotation left.
struct Left {
    path: PathBuf,
    key: FileKey,
    /// When it was written last; compressing keeps that.
    written: SystemTime,
    /// Where the file system remembers it.
    made: Option<SystemTime>,
}

impl LogFiles {
    /// What was made and renamed since `last_look`; at the first look what was written after a file that an earlier run
    /// had and that has lost its name.
    pub(super) fn read_left_behind(&mut self, last_look: Option<SystemTime>, sink: &mut dyn Sink) {
        let left_to_us =
            self.tails.iter().filter(|tail| tail.detached_at.is_some()).filter_map(|tail| tail.written().ok());
        let unseen: Vec<Left> = match (last_look, left_to_us.min()) {
            (Some(last), _) => self.rotated(|left| left.made.is_some_and(|made| made + TICK > last)),
            (None, Some(since)) => self.rotated(|left| left.written > since),
            (None, None) => return,
        };
        for left in unseen {
            if !self.tails.iter().any(|tail| tail.key == left.key) {
                self.read_whole(&left, sink);
            }
        }
    }

    /// The rotated files that are wanted, in the order in which they were written. What lies beside a file that is
    /// still the same is a copy of it.
    fn rotated(&self, wanted: impl Fn(&Left) -> bool) -> Vec<Left> {
        let fixed = self.patterns.iter().filter(|pattern| is_fixed(pattern)).map(Path::new);
        let mut left: Vec<Left> =
            fixed.filter(|log| !self.is_followed(log)).flat_map(rotated_of).filter(wanted).collect();
        left.sort_by_key(|left| left.written);
        left
    }

    fn is_followed(&self, log: &Path) -> bool {
        let key = fs::metadata(log).ok().map(|metadata| FileKey::of(&metadata));
        self.tails.iter().any(|tail| tail.detached_at.is_none() && Some(tail.key) == key)
    }

    fn read_whole(&mut self, left: &Left, sink: &mut dyn Sink) {
        let opened = if is_compressed(&left.path) { None } else { self.open(&left.path, Begin::Top, sink).ok() };
        if let Some(mut tail) = opened {
            tail.detached_at = Some(clock::monotonic());
            self.tails.push(tail);
        } else {
            let args: MessageArgs<'_> = &[("file", &left.path.display())];
            sink.gap(Gap::of("RecordsLost/file-rotated", args, None, Timestamp::now()));
        }
    }
}

/// `app.log.1`, `app.log-20261121`, `app.log.2.gz` of `app.log`; `app.log-debug` is a log of its own.
fn rotated_of(log: &Path) -> Vec<Left> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name()) else { return Vec::new() };
    let of_this_log = |path: &PathBuf| {
        let rest = path.file_name()?.as_encoded_bytes().strip_prefix(name.as_encoded_bytes())?;
        matches!(rest, [b'.' | b'-', b'0'..=b'9', ..]).then_some(())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let left = entries.filter(|path| of_this_log(path).is_some()).filter_map(|path| {
        let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let made = metadata.created().ok();
        Some(Left { written: metadata.modified().ok()?, made, key: FileKey::of(&metadata), path })
    });
    left.collect()
}
