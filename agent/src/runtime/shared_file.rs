//! A small file beside the agent's socket, which one program of ours writes and another reads: in memory, because `/run` is, and
//! gone with the boot. It needs no connection, and outlives a restart of either.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use nix::fcntl::OFlag;

/// A file in a folder of its own, in which only its writer's user and root can put one.
#[derive(Debug, Clone)]
pub struct SharedFile(PathBuf);

impl SharedFile {
    /// `folder/name` beside `socket`.
    #[must_use]
    pub fn beside(socket: &Path, folder: &str, name: &str) -> Self {
        Self(socket.with_file_name(folder).join(name))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Nothing here follows a link: the socket's folder may belong to the agent's user, and root writes it.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o755).create(self.folder())?;
        let folder = self.open_folder()?;
        // Whatever the writer's umask: the reader may be an ordinary user.
        folder.set_permissions(Permissions::from_mode(0o755))?;
        // By the folder that was looked at, whatever is in its place by now.
        let within = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let name = self.0.file_name().unwrap_or_default();
        // Renamed into its place: it is never seen half.
        let draft = within.join(name).with_extension("new");
        let _ = fs::remove_file(&draft);
        let mut to =
            OpenOptions::new().write(true).create_new(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(&draft)?;
        to.set_permissions(Permissions::from_mode(0o644))?;
        to.write_all(content)?;
        fs::rename(&draft, within.join(name))
    }

    /// At most `limit_bytes`; `None` if there is no such file, or another user may have made it.
    #[must_use]
    pub fn read(&self, limit_bytes: u64) -> Option<String> {
        self.open_folder().ok()?;
        // A FIFO would be waited for.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.0).ok()?;
        file.metadata().ok().filter(|metadata| metadata.is_file() && is_trusted(metadata))?;
        let mut text = String::new();
        file.take(limit_bytes).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Returns whether there was one.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn folder(&self) -> &Path {
        self.0.parent().unwrap_or(Path::new("/"))
    }

    /// Only one in which no user but ours and root can put a file.
    fn open_folder(&self) -> io::Result<File> {
        let flags = (OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits();
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(self.folder())?;
        let metadata = folder.metadata()?;
        let is_closed = metadata.mode() & 0o022 == 0;
        let why = format!("the folder {} belongs to another user, or others may write in it", self.folder().display());
        if is_trusted(&metadata) && is_closed { Ok(folder) } else { Err(io::Error::other(why)) }
    }
}

/// Where the socket is in a folder that all users can write to, any of them could make the file.
fn is_trusted(metadata: &Metadata) -> bool {
    metadata.uid() == 0 || metadata.uid() == nix::unistd::geteuid().as_raw()
}
