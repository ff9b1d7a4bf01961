//! Whether anything writes the journal: its files can be read, and nothing new comes, when journald is gone. One that hangs
//! is not seen here: its socket listens.

use std::{
    io::{self, ErrorKind},
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    runtime::{Stop, clock},
    sources::{SourceState, wait::wait},
};

/// Where journald takes what programs send (`systemd-journald.service(8)`). systemd holds it while journald is started
/// again.
const SOCKET: &str = "/run/systemd/journal/socket";
/// So many looks in a row that find it closed: one may fall between a stop and a start.
const LOOKS: u32 = 2;
/// A reader of a quiet journal wakes every 30 s.
const LOOK_EVERY: Duration = Duration::from_secs(25);
/// Between two looks at the start.
const ABOUT_TO_START: Duration = Duration::from_secs(1);

/// The system's own journald.
#[derive(Debug)]
pub(super) struct Journald {
    socket: PathBuf,
    /// Looks in a row that found it closed.
    refused: u32,
    /// When it was last looked for, by the monotonic clock.
    looked: Duration,
}

/// What a look has shown.
#[derive(Debug, PartialEq)]
enum Seen {
    Listens,
    /// One look found it closed.
    Doubtful,
    /// Nothing new can come.
    Gone(SourceState),
    /// No more than before: there is no such folder, as in a container, or no answer to be had.
    Nothing,
}

impl Default for Journald {
    fn default() -> Self {
        Self::at(Path::new(SOCKET))
    }
}

impl Journald {
    fn at(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), refused: 0, looked: Duration::ZERO }
    }

    /// Before anything is reported: one that may be about to start is asked again.
    pub(super) fn settled(&mut self, stop: &Stop) -> SourceState {
        while !stop.is_set() {
            match self.look() {
                Seen::Doubtful => _ = wait(stop, &[], Some(ABOUT_TO_START)),
                Seen::Gone(gone) => return gone,
                Seen::Listens | Seen::Nothing => break,
            }
        }
        SourceState::Running
    }

    /// What is certain by now, if it is time to look.
    pub(super) fn look_if_due(&mut self) -> Option<SourceState> {
        if clock::monotonic() < self.looked + LOOK_EVERY {
            return None;
        }
        match self.look() {
            Seen::Listens => Some(SourceState::Running),
            Seen::Gone(gone) => Some(gone),
            Seen::Doubtful | Seen::Nothing => None,
        }
    }

    fn look(&mut self) -> Seen {
        self.looked = clock::monotonic();
        match UnixDatagram::unbound().and_then(|socket| socket.connect(&self.socket)) {
            Ok(()) => {
                self.refused = 0;
                Seen::Listens
            }
            Err(error) if self.is_refusal(&error) => {
                self.refused = self.refused.saturating_add(1);
                if self.refused < LOOKS { Seen::Doubtful } else { Seen::Gone(self.gone(&error)) }
            }
            Err(_) => Seen::Nothing,
        }
    }

    fn is_refusal(&self, error: &io::Error) -> bool {
        match error.kind() {
            ErrorKind::ConnectionRefused => true,
            ErrorKind::NotFound => self.socket.parent().is_some_and(Path::is_dir),
            _ => false,
        }
    }

    fn gone(&self, error: &io::Error) -> SourceState {
        SourceState::blind("JournaldNotRunning", &[("socket", &self.socket.display()), ("error", error)])
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use super::*;

    #[test]
    fn only_one_that_is_gone_for_two_looks_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal/socket");
        let mut journald = Journald::at(&path);
        assert_eq!(
            [journald.look(), journald.look()],
            [Seen::Nothing, Seen::Nothing],
            "a container has no such folder"
        );
        fs::create_dir(path.parent().unwrap()).unwrap();
        let listens = UnixDatagram::bind(&path).unwrap();
        assert_eq!(journald.look(), Seen::Listens);
        drop(listens);
        assert_eq!(journald.look(), Seen::Doubtful, "it may be about to start");
        let Seen::Gone(SourceState::Blind { reason, message }) = journald.look() else { panic!("it is gone") };
        assert_eq!(reason.as_str(), "JournaldNotRunning");
        assert!(message.contains("journal/socket: Connection refused"), "{message}");
        fs::remove_file(&path).unwrap();
        assert!(matches!(journald.look(), Seen::Gone(_)));
        let other = UnixListener::bind(&path).unwrap();
        assert_eq!(journald.look(), Seen::Nothing, "of another kind: no answer, and it is as it was");
        drop(other);
        fs::remove_file(&path).unwrap();
        assert!(matches!(journald.look(), Seen::Gone(_)));
        let _listens = UnixDatagram::bind(&path).unwrap();
        assert_eq!(journald.look(), Seen::Listens);
    }
}
