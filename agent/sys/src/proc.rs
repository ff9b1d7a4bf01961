//! What procfs shows of tasks and of mounts, read as bytes: a task's name is whatever bytes it has chosen, and so is a
//! path. What is odd in a file spoils only itself.

pub mod mountinfo;
mod stat;
mod status;

pub use mountinfo::Mount;
pub use stat::Stat;
pub use status::Status;

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// More than the kernel writes of a task: its groups, 65,536 at most, take most of it.
const LIMIT_BYTES: u64 = 1 << 20;
/// Most of these files are shorter, and read at once.
const USUAL_BYTES: usize = 2048;

/// The content of a file of a task; `None` where the task is gone.
///
/// # Errors
/// Where it cannot be read, or not as a whole: what is cut off could be what counts.
pub fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    Ok(content_into(path, &mut bytes)?.then_some(bytes))
}

/// The same, in place of what `bytes` holds: for a caller that reads thousands. False where the task is gone.
///
/// # Errors
/// As those of [`content`].
pub fn content_into(path: &Path, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    bytes.reserve(USUAL_BYTES);
    match File::open(path).and_then(|file| file.take(LIMIT_BYTES).read_to_end(bytes)) {
        Ok(length) if length as u64 == LIMIT_BYTES => Err(io::ErrorKind::FileTooLarge.into()),
        Ok(_) => Ok(true),
        Err(error) if is_gone(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A task that ends between open and read answers ESRCH.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests;
