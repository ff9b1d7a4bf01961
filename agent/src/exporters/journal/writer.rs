//! Entries on their way to journald: one that hangs or is being restarted costs a wait, and the other tasks of this
//! thread go on.

use std::{io, path::Path, time::Duration};

use nodewell_journal::native::{Entry, SOCKET};
use tokio::{net::UnixDatagram, time::sleep};

/// Between two tries while journald does not listen.
const PAUSE: Duration = Duration::from_millis(200);

/// The way to journald.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// Connected, because only then the kernel reports when there is room again.
    socket: Option<UnixDatagram>,
}

impl Writer {
    /// Waits until journald has taken the entry. One that is too long for it (the kernel's limit on datagrams, hundreds
    /// of KiB) is an error; the longest of ours has a few.
    pub(super) async fn send(&mut self, entry: &Entry) -> io::Result<()> {
        loop {
            match self.try_send(entry, Path::new(SOCKET)).await {
                Err(error) if error.raw_os_error() != Some(nix::libc::EMSGSIZE) => {
                    tracing::debug!(%error, "the journal takes no entry, will try again");
                    self.socket = None;
                    sleep(PAUSE).await;
                }
                result => return result,
            }
        }
    }

    async fn try_send(&mut self, entry: &Entry, path: &Path) -> io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                socket
            }
        };
        let sent = socket.send(entry.bytes()).await;
        self.socket = Some(socket);
        sent.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_journal_is_waited_for_and_a_new_one_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let journald = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let entry = Entry::default().field("MESSAGE", "hello");
        let mut writer = Writer::default();
        let mut sent = 0;
        while tokio::time::timeout(PAUSE, writer.try_send(&entry, &path)).await.is_ok() {
            sent += 1;
            assert!(sent < 100_000, "the queue has no end");
        }
        // A wait that was given up has taken the socket with it; the next try makes another.
        for _ in 0..sent {
            journald.recv(&mut [0; 64]).unwrap();
        }
        writer.try_send(&entry, &path).await.unwrap();
        assert_eq!(journald.recv(&mut [0; 64]).unwrap(), entry.bytes().len());
    }
}
