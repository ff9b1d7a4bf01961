//! Whether a program may be run as root: a file that only root (or we) could have changed, in directories of which the
//! same is true. What was looked at is held open, and executed by that descriptor.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd, RawFd},
        unix::fs::FileExt,
    },
    path::{Component, Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{AtFlags, OFlag, openat, readlinkat},
    sys::stat::{FileStat, Mode, SFlag, fstat},
    unistd::{AccessFlags, faccessat, geteuid},
};

/// As the kernel counts symbolic links on the way (`MAXSYMLINKS`).
const LINKS_LIMIT: u32 = 40;
/// Group and others.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
/// How an ELF file begins (`elf(5)`).
const ELF: &[u8; 4] = b"\x7fELF";
const ANY_EXECUTE: u32 = 0o111;

/// A program that may be run.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    file: OwnedFd,
    is_script: bool,
}

/// Why a program is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("{0} does not exist")]
    Missing(PathBuf),
    #[error("{0} cannot be opened: {1}")]
    Unopened(PathBuf, Errno),
    #[error("{0} is {1}, not a program")]
    NoFile(PathBuf, &'static str),
    #[error("{0} is not executable; chmod +x it")]
    NotExecutable(PathBuf),
    #[error("{0} names no interpreter; its first line must be #! and a path")]
    NoInterpreter(PathBuf),
    #[error("{path} belongs to uid {uid}; only what root{also} owns is run: chown root it")]
    Owner { path: PathBuf, uid: u32, also: &'static str },
    #[error("{path} can be written by others (mode {mode:04o}); chmod go-w it")]
    Writable { path: PathBuf, mode: u32 },
    #[error("{0}: too many symbolic links")]
    Links(PathBuf),
    #[error("{0} is not an absolute path")]
    Relative(PathBuf),
}

impl Program {
    /// Walks to `path` and opens it.
    ///
    /// # Errors
    /// The first thing on the way that another user could change, or why there is nothing to run.
    pub fn open(path: &Path) -> Result<Self, ProgramError> {
        let found = Walk::new(path)?.run()?;
        let file = openat(&found.directory, found.name.as_os_str(), READ | OFlag::O_NOFOLLOW, Mode::empty())
            .map_err(|errno| ProgramError::Unopened(found.path.clone(), errno))?;
        judge_file(&found, &file)?;
        let is_script = is_script(&found, &file)?;
        Ok(Self { path: path.to_owned(), file, is_script })
    }

    /// What to execute. A script is named by its path, by which it finds what lies beside it. Its interpreter opens
    /// that path again: only root could put another one there in between, for every directory was looked at.
    #[must_use]
    pub fn executable(&self) -> PathBuf {
        if self.is_script {
            return self.path.clone();
        }
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// As it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor that it is executed by; open while this is.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

const READ: OFlag = OFlag::O_RDONLY.union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY);
const LOOK: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC).union(OFlag::O_NOFOLLOW);

/// Where the file is, once all links on the way are followed.
struct Found {
    directory: OwnedFd,
    name: OsString,
    path: PathBuf,
}

/// On the way from the root directory, a component at a time: each is opened in the one before, never by its whole path.
struct Walk {
    rest: VecDeque<OsString>,
    /// The directories entered so far; `..` goes back.
    entered: Vec<(OwnedFd, PathBuf)>,
    links: u32,
}

impl Walk {
    fn new(path: &Path) -> Result<Self, ProgramError> {
        if !path.is_absolute() {
            return Err(ProgramError::Relative(path.to_owned()));
        }
        let mut walk = Self { rest: components(path).into(), entered: Vec::new(), links: 0 };
        walk.enter_root()?;
        Ok(walk)
    }

    fn enter_root(&mut self) -> Result<(), ProgramError> {
        let root = PathBuf::from("/");
        let opened = nix::fcntl::open("/", LOOK | OFlag::O_DIRECTORY, Mode::empty());
        self.entered = vec![(opened.map_err(|errno| ProgramError::Unopened(root.clone(), errno))?, root)];
        Ok(())
    }

    fn run(mut self) -> Result<Found, ProgramError> {
        loop {
            let Some(name) = self.rest.pop_front() else {
                return Err(ProgramError::NoFile(self.here().1.clone(), "a directory"));
            };
            if name == ".." {
                if self.entered.len() > 1 {
                    self.entered.pop();
                }
                continue;
            }
            let path = self.here().1.join(&name);
            let opened =
                openat(&self.here().0, name.as_os_str(), LOOK, Mode::empty()).map_err(|errno| match errno {
                    Errno::ENOENT => ProgramError::Missing(path.clone()),
                    errno => ProgramError::Unopened(path.clone(), errno),
                })?;
            let stat = fstat(&opened).map_err(|errno| ProgramError::Unopened(path.clone(), errno))?;
            match kind(&stat) {
                SFlag::S_IFLNK => self.follow(&name, &path, &stat)?,
                SFlag::S_IFDIR => {
                    judge_directory(&path, &stat)?;
                    self.entered.push((opened, path));
                }
                _ if !self.rest.is_empty() => return Err(ProgramError::Unopened(path, Errno::ENOTDIR)),
                _ => {
                    let (directory, _) = self.entered.pop().ok_or_else(|| ProgramError::Missing(path.clone()))?;
                    return Ok(Found { directory, name, path });
                }
            }
        }
    }

    fn here(&self) -> &(OwnedFd, PathBuf) {
        self.entered.last().expect("the root directory is never left")
    }

    /// A link's mode means nothing; its directory was judged, and its owner could only be another user in a sticky one.
    fn follow(&mut self, name: &OsStr, path: &Path, stat: &FileStat) -> Result<(), ProgramError> {
        judge_owner(path, stat)?;
        self.links += 1;
        if self.links > LINKS_LIMIT {
            return Err(ProgramError::Links(path.to_owned()));
        }
        let target =
            readlinkat(&self.here().0, name).map_err(|errno| ProgramError::Unopened(path.to_owned(), errno))?;
        let target = PathBuf::from(target);
        for component in components(&target).into_iter().rev() {
            self.rest.push_front(component);
        }
        if target.is_absolute() { self.enter_root() } else { Ok(()) }
    }
}

fn components(path: &Path) -> Vec<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// In a sticky directory, such as /tmp, no user can move or replace what another user owns.
fn judge_directory(path: &Path, stat: &FileStat) -> Result<(), ProgramError> {
    judge_owner(path, stat)?;
    if stat.st_mode & STICKY != 0 { Ok(()) } else { judge_mode(path, stat) }
}

fn judge_file(found: &Found, file: &OwnedFd) -> Result<(), ProgramError> {
    let path = &found.path;
    let stat = fstat(file).map_err(|errno| ProgramError::Unopened(path.clone(), errno))?;
    match kind(&stat) {
        SFlag::S_IFREG => {}
        SFlag::S_IFIFO => return Err(ProgramError::NoFile(path.clone(), "a pipe")),
        SFlag::S_IFSOCK => return Err(ProgramError::NoFile(path.clone(), "a socket")),
        _ => return Err(ProgramError::NoFile(path.clone(), "a device")),
    }
    judge_owner(path, &stat)?;
    judge_mode(path, &stat)?;
    let may = faccessat(&found.directory, found.name.as_os_str(), AccessFlags::X_OK, AtFlags::AT_EACCESS);
    // A filesystem that is mounted noexec has no such program either.
    if stat.st_mode & ANY_EXECUTE == 0 || may.is_err() {
        return Err(ProgramError::NotExecutable(path.clone()));
    }
    Ok(())
}

fn judge_owner(path: &Path, stat: &FileStat) -> Result<(), ProgramError> {
    let us = geteuid().as_raw();
    if stat.st_uid == 0 || stat.st_uid == us {
        return Ok(());
    }
    let also = if us == 0 { "" } else { " or we" };
    Err(ProgramError::Owner { path: path.to_owned(), uid: stat.st_uid, also })
}

fn judge_mode(path: &Path, stat: &FileStat) -> Result<(), ProgramError> {
    if stat.st_mode & OTHERS_WRITE == 0 {
        return Ok(());
    }
    Err(ProgramError::Writable { path: path.to_owned(), mode: stat.st_mode & 0o7777 })
}

/// Whether it is a script; what is neither that nor a program of this machine's would be given to a shell by the C library.
fn is_script(found: &Found, file: &OwnedFd) -> Result<bool, ProgramError> {
    let mut start = [0; ELF.len()];
    let file = file.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let read = file.and_then(|file| file.read_at(&mut start, 0));
    match read {
        Ok(4) if start == *ELF => Ok(false),
        Ok(2..) if start.starts_with(b"#!") => Ok(true),
        _ => Err(ProgramError::NoInterpreter(found.path.clone())),
    }
}

#[cfg(test)]
mod tests;
