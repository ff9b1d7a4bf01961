//! Does a filesystem take a write? Asked on a thread of its own: a dying disk may never answer.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::mpsc::{Receiver, TryRecvError, channel},
};

/// Threads that may be stuck at once; a further device is not probed until one is free.
const PROBE_LIMIT: usize = 4;
/// One block: enough to need an allocation and a journal transaction.
const PROBE_BYTES: [u8; 4096] = [0; 4096];

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeResult {
    /// No answer yet, or not asked.
    Pending,
    Writable,
    /// We lack the right to write there.
    Denied,
    Failed,
}

/// The probes under way, at most one for each device.
#[derive(Debug, Default)]
pub(super) struct Probes {
    under_way: BTreeMap<String, Receiver<ProbeResult>>,
    has_begun: bool,
}

impl Probes {
    /// Whether a probe was begun since this was asked last: its answer is milliseconds away on a disk that lives.
    pub(super) fn have_begun(&mut self) -> bool {
        std::mem::take(&mut self.has_begun)
    }

    /// The answer for `device`, if there is one by now; otherwise a probe is under way afterwards.
    pub(super) fn poll(&mut self, device: &str, mount_point: &str) -> ProbeResult {
        match self.under_way.get(device).map(Receiver::try_recv) {
            Some(Ok(result)) => {
                self.under_way.remove(device);
                return result;
            }
            Some(Err(TryRecvError::Empty)) => return ProbeResult::Pending,
            // The thread could not be started or died: ask again.
            Some(Err(TryRecvError::Disconnected)) => drop(self.under_way.remove(device)),
            None => {}
        }
        if self.under_way.len() < PROBE_LIMIT {
            self.start(device, mount_point);
        }
        ProbeResult::Pending
    }

    fn start(&mut self, device: &str, mount_point: &str) {
        let (sender, receiver) = channel();
        let folder = mount_point.to_owned();
        let probe = move || {
            // The receiver may be gone when the disk answers at last.
            let _ = sender.send(write_probe(Path::new(&folder)));
        };
        if std::thread::Builder::new().name("write-probe".into()).stack_size(128 * 1024).spawn(probe).is_ok() {
            self.under_way.insert(device.to_owned(), receiver);
            self.has_begun = true;
        }
    }
}

/// Writes a block to a file that has no name, and asks for it to reach the disk.
#[must_use]
pub(super) fn write_probe(folder: &Path) -> ProbeResult {
    match unnamed_file(folder).and_then(|mut file| file.write_all(&PROBE_BYTES).and_then(|()| file.sync_all())) {
        Ok(()) => ProbeResult::Writable,
        // A full filesystem made the file: it is full, not read-only.
        Err(error) if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            ProbeResult::Writable
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => ProbeResult::Denied,
        Err(_) => ProbeResult::Failed,
    }
}

fn unnamed_file(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(nix::libc::O_TMPFILE).open(folder) {
        // Not every filesystem has files without a name (vfat, NFS).
        Err(error) if error.raw_os_error() == Some(nix::libc::EOPNOTSUPP) => {
            let path = folder.join(format!(".nodewell-probe-{}", std::process::id()));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_takes_writes_is_writable_and_keeps_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write_probe(folder.path()), ProbeResult::Writable);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(write_probe(Path::new("/nonexistent")), ProbeResult::Failed);
    }

    #[test]
    fn the_answer_comes_at_a_later_look() {
        let folder = tempfile::tempdir().unwrap();
        let mut probes = Probes::default();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let mut result = ProbeResult::Pending;
        while result == ProbeResult::Pending && std::time::Instant::now() < deadline {
            result = probes.poll("sda", &folder.path().to_string_lossy());
            std::thread::yield_now();
        }
        assert_eq!(result, ProbeResult::Writable);
    }
}
