//! Where the agent listens: on the socket that systemd opened, or on one of its own, with its folder, its mode, and the
//! question whether another process already serves there.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
            net::UnixListener as StdListener,
        },
    },
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket},
};
use tokio::net::UnixListener;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot create {}, the folder of the socket: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("another nodewelld serves {}; stop it, or name another path with --socket", path.display())]
    Taken { path: PathBuf },
    #[error("{} is not a socket; it is left alone: move it away, or name another path with --socket", path.display())]
    NotASocket { path: PathBuf },
    #[error("cannot look at {}: {source}", path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("cannot remove the stale socket {}: {source}", path.display())]
    Stale { path: PathBuf, source: io::Error },
    #[error("cannot listen on {}: {source}", path.display())]
    Listen { path: PathBuf, source: io::Error },
    #[error("cannot use the listening socket that systemd opened: {0}")]
    Activated(io::Error),
    #[error("cannot open {} to everyone (mode 0666): {source}", path.display())]
    Mode { path: PathBuf, source: io::Error },
}

/// Where the agent listens, and what it leaves behind.
#[derive(Debug)]
pub struct Door {
    pub listener: UnixListener,
    /// To be removed at the end. One that systemd opened stays: a client that connects then waits for the next agent.
    pub file: Option<SocketFile>,
}

impl Door {
    /// Takes the listener of socket activation, or listens on `path`. Must be called within a tokio runtime.
    pub fn open(activated: Option<OwnedFd>, path: &Path) -> Result<Self, BindError> {
        match activated {
            Some(descriptor) => Ok(Self { listener: adopt(descriptor, path)?, file: None }),
            None => Ok(Self { listener: bind(path)?, file: SocketFile::of(path) }),
        }
    }
}

fn adopt(descriptor: OwnedFd, wanted: &Path) -> Result<UnixListener, BindError> {
    let listener = StdListener::from(descriptor);
    let address = listener.local_addr().map_err(BindError::Activated)?;
    if let Some(path) = address.as_pathname().filter(|path| *path != wanted) {
        let (is, wanted) = (path.display(), wanted.display());
        tracing::warn!(%is, %wanted, "the socket is where its systemd unit says (ListenStream=), not where the config does");
    }
    listener.set_nonblocking(true).map_err(BindError::Activated)?;
    UnixListener::from_std(listener).map_err(BindError::Activated)
}

/// Listens on `path`, with mode 0666: every process may read, and the kernel's credentials of each connect decide who
/// may do more.
///
/// A socket on which no process answers is what a killed agent left behind, and is replaced. Must be called within a
/// tokio runtime.
pub fn bind(path: &Path) -> Result<UnixListener, BindError> {
    make_folder(path)?;
    remove_stale(path)?;
    let listen = |source| BindError::Listen { path: path.to_owned(), source };
    let listener = StdListener::bind(path).map_err(listen)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))
        .map_err(|source| BindError::Mode { path: path.to_owned(), source })?;
    listener.set_nonblocking(true).map_err(listen)?;
    UnixListener::from_std(listener).map_err(listen)
}

/// The file of a socket that we made, known again by its inode: another agent may have put its own at that path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// What lies at `path` right now; `None` if nothing does.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Removes the file if it is still this one.
    pub fn remove(self) {
        if Self::of(&self.path).as_ref() == Some(&self)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::debug!(%error, "the socket was not removed");
        }
    }
}

fn make_folder(path: &Path) -> Result<(), BindError> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(|source| BindError::Folder { path: folder.to_owned(), source })
}

fn remove_stale(path: &Path) -> Result<(), BindError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(BindError::Look { path: path.to_owned(), source }),
        Ok(found) => found,
    };
    if !found.file_type().is_socket() {
        return Err(BindError::NotASocket { path: path.to_owned() });
    }
    match somebody_answers(path) {
        Ok(false) => fs::remove_file(path).map_err(|source| BindError::Stale { path: path.to_owned(), source }),
        Ok(true) => Err(BindError::Taken { path: path.to_owned() }),
        Err(source) => Err(BindError::Look { path: path.to_owned(), source: source.into() }),
    }
}

/// Without waiting: a listener whose queue is full answers `EAGAIN`, and is alive.
fn somebody_answers(path: &Path) -> Result<bool, Errno> {
    let probe = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None)?;
    match connect(probe.as_raw_fd(), &UnixAddr::new(path)?) {
        Ok(()) | Err(Errno::EAGAIN) => Ok(true),
        Err(Errno::ECONNREFUSED | Errno::ENOENT) => Ok(false),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        fs::write(&path, "ours").unwrap();
        let ours = SocketFile::of(&path).unwrap();
        fs::write(folder.path().join("theirs"), "theirs").unwrap();
        fs::rename(folder.path().join("theirs"), &path).unwrap();
        ours.remove();
        assert!(path.exists(), "another's file stays");
        SocketFile::of(&path).unwrap().remove();
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn the_folder_is_made_and_everyone_may_connect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/nodewell.sock");
        let _listener = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    }

    #[tokio::test]
    async fn what_systemd_opened_is_taken_as_it_is_and_left_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let theirs = StdListener::bind(&path).unwrap();
        let door = Door::open(Some(theirs.try_clone().unwrap().into()), Path::new("/elsewhere")).unwrap();
        let early = std::os::unix::net::UnixStream::connect(&path).unwrap();
        door.listener.accept().await.unwrap();
        assert_eq!(door.file, None);
        drop((door, early));
        // No process accepts now, and yet no client is refused.
        std::os::unix::net::UnixStream::connect(&path).unwrap();
    }

    #[tokio::test]
    async fn a_served_socket_is_not_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = bind(&path).unwrap();
        let error = bind(&path).unwrap_err();
        assert!(matches!(error, BindError::Taken { .. }));
        assert!(error.to_string().starts_with("another nodewelld serves "), "{error}");
    }

    #[tokio::test]
    async fn what_a_killed_agent_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(bind(&path).unwrap());
        assert!(path.exists());
        bind(&path).unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        fs::write(&path, "data").unwrap();
        assert!(matches!(bind(&path), Err(BindError::NotASocket { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }
}
