//! Whether anything writes the journal: its files can be read, and nothing new comes, when journald is gone.

use std::{
    io::ErrorKind,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
};

use crate::sources::SourceState;

/// Where journald takes what programs send (`systemd-journald.service(8)`). systemd holds it while journald is started
/// again.
const SOCKET: &str = "/run/systemd/journal/socket";
/// So many looks in a row that find it closed: one may fall between a stop and a start.
const LOOKS: u32 = 2;

/// Looks at the system's own journald.
#[derive(Debug)]
pub(super) struct Journald {
    socket: PathBuf,
    /// Looks in a row that found nothing.
    missed: u32,
}

impl Default for Journald {
    fn default() -> Self {
        Self::at(Path::new(SOCKET))
    }
}

impl Journald {
    fn at(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), missed: 0 }
    }

    /// That nothing new can come, once it is certain.
    pub(super) fn look(&mut self) -> Option<SourceState> {
        let Some(error) = self.refusal() else {
            self.missed = 0;
            return None;
        };
        self.missed = self.missed.saturating_add(1);
        let args: [(&str, &dyn std::fmt::Display); 2] = [("socket", &self.socket.display()), ("error", &error)];
        (self.missed >= LOOKS).then(|| SourceState::blind("JournaldNotRunning", &args))
    }

    /// Why nothing can be sent there. Where the folder is missing it is another's journal, in a container: nothing is
    /// known.
    fn refusal(&self) -> Option<std::io::Error> {
        let error = UnixDatagram::unbound().and_then(|socket| socket.connect(&self.socket)).err()?;
        let is_there = || self.socket.parent().is_some_and(Path::is_dir);
        match error.kind() {
            ErrorKind::ConnectionRefused => Some(error),
            ErrorKind::NotFound if is_there() => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_one_that_is_gone_for_two_looks_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal/socket");
        let mut journald = Journald::at(&path);
        assert_eq!([journald.look(), journald.look()], [None, None], "a container has no such folder");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let listens = UnixDatagram::bind(&path).unwrap();
        assert_eq!([journald.look(), journald.look()], [None, None]);
        drop(listens);
        assert_eq!(journald.look(), None, "it may be about to start");
        let Some(SourceState::Blind { reason, message }) = journald.look() else { panic!("it is gone") };
        assert_eq!(reason.as_str(), "JournaldNotRunning");
        assert!(message.contains("journal/socket: Connection refused"), "{message}");
        fs::remove_file(&path).unwrap();
        assert!(journald.look().is_some());
        let _listens = UnixDatagram::bind(&path).unwrap();
        assert_eq!(journald.look(), None);
    }
}
