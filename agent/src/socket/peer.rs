//! Who is at the other end, by the kernel's word (`SO_PEERCRED`): the user at the moment of connect.

use tokio::net::UnixStream;

/// The process that connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) uid: u32,
}

impl Peer {
    pub(super) fn of(stream: &UnixStream) -> std::io::Result<Self> {
        Ok(Self { uid: stream.peer_cred()?.uid() })
    }

    /// Whether it may change something: root, or the user the agent runs as.
    pub(super) fn may_act(self, owner: u32) -> bool {
        self.uid == 0 || self.uid == owner
    }
}
