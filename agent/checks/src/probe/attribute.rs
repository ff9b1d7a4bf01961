//! One attribute of sysfs or procfs: a small file that may vanish between list and read.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::probe::ReadError;

/// `/proc/cpuinfo` of 512 CPUs is below 1 MiB; a file that is larger than this is none of ours.
const LIMIT_BYTES: u64 = 8 << 20;
/// What sysfs shows in one file at most; most of them are read at once.
const USUAL_BYTES: usize = 4096;

/// The text of the file, its last line break cut off; `None` if it is not there, or its device is not any more.
pub fn text(path: &Path) -> Result<Option<String>, ReadError> {
    match read(path) {
        Ok(bytes) => Ok(Some(trimmed(&bytes))),
        Err(error) => forgive_absence(path, &error),
    }
}

/// The text of an attribute that a kernel may have and not show, or not to this reader: pressure that is switched off
/// (`EOPNOTSUPP`), the carrier of an interface that is down (`EINVAL`). `None` then. What any other error hides is
/// unknown: without descriptors or memory nothing can be read, and what is not read must not look as if it were not
/// there.
pub fn shown(path: &Path) -> Result<Option<String>, ReadError> {
    const WITHHELD: [i32; 4] = [nix::libc::EOPNOTSUPP, nix::libc::EINVAL, nix::libc::EACCES, nix::libc::EPERM];
    match read(path) {
        Ok(bytes) => Ok(Some(trimmed(&bytes))),
        Err(error) if error.raw_os_error().is_some_and(|code| WITHHELD.contains(&code)) => Ok(None),
        Err(error) => forgive_absence(path, &error),
    }
}

/// The number in such a file; `None` also if it is none.
pub fn number_shown(path: &Path) -> Result<Option<u64>, ReadError> {
    Ok(shown(path)?.and_then(|text| text.trim().parse().ok()))
}

/// Whether something is at `path`, be it a link that leads nowhere.
pub fn is_there(path: &Path) -> Result<bool, ReadError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) => forgive_absence::<()>(path, &error).map(|_| false),
    }
}

/// The number in the file; `None` if it is not there, cannot be read or is no number.
pub fn number(path: &Path) -> Option<u64> {
    text(path).ok().flatten()?.trim().parse().ok()
}

/// The entries of `directory` whose names are `prefix` and a number, by that number. None if there is no such directory.
pub fn numbered(directory: &Path, prefix: &str) -> Result<Vec<(u32, PathBuf)>, ReadError> {
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) => return forgive_absence(directory, &error).map(Option::unwrap_or_default),
    };
    let number = |path: PathBuf| {
        let digits = path.file_name()?.to_str()?.strip_prefix(prefix)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten().map(|number| (number, path))
    };
    let mut found: Vec<_> = entries.flatten().filter_map(|entry| number(entry.path())).collect();
    found.sort();
    Ok(found)
}

/// What `error` at `path` is to the caller of a reader.
pub fn read_error(path: &Path, error: &io::Error) -> ReadError {
    let message = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => ReadError::Denied { message },
        _ => ReadError::Failed { message },
    }
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    File::open(path)?.take(LIMIT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `None` where `error` means that nothing is at `path`; an open file whose device goes away answers ENODEV or ENXIO.
pub fn forgive_absence<T>(path: &Path, error: &io::Error) -> Result<Option<T>, ReadError> {
    let gone = [nix::libc::ENOENT, nix::libc::ENODEV, nix::libc::ENXIO, nix::libc::ENOTDIR];
    match error.raw_os_error() {
        Some(code) if gone.contains(&code) => Ok(None),
        _ => Err(read_error(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_there_is_no_error() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(text(&root.path().join("none")), Ok(None));
        assert_eq!(number(&root.path().join("none")), None);
        assert_eq!(numbered(&root.path().join("none"), "mc"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_not_shown_is_no_error_and_what_cannot_be_read_is_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pressure");
        assert_eq!((shown(&path), number_shown(&path), is_there(&path)), (Ok(None), Ok(None), Ok(false)));
        fs::write(&path, "7\n").unwrap();
        assert_eq!((shown(&path), number_shown(&path)), (Ok(Some("7".to_owned())), Ok(Some(7))));
        assert!(matches!(shown(root.path()), Err(ReadError::Failed { .. })), "a folder");
        std::os::unix::fs::symlink("loop", root.path().join("loop")).unwrap();
        assert!(shown(&root.path().join("loop")).is_err() && is_there(&root.path().join("loop/x")).is_err());
        assert_eq!(is_there(&root.path().join("loop")), Ok(true));
    }

    #[test]
    fn garbage_is_no_number() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("ce_count");
        for (written, expected) in
            [("12\n", Some(12)), ("", None), ("-1\n", None), ("\0\u{fffd}", None), ("0x10", None)]
        {
            fs::write(&path, written).unwrap();
            assert_eq!(number(&path), expected, "{written:?}");
        }
    }

    #[test]
    fn only_numbered_entries_are_found_in_the_order_of_their_numbers() {
        let root = tempfile::tempdir().unwrap();
        for name in ["mc10", "mc2", "mc", "mc+1", "mcx", "power"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let found: Vec<_> = numbered(root.path(), "mc").unwrap().into_iter().map(|(number, _)| number).collect();
        assert_eq!(found, [2, 10]);
    }
}
