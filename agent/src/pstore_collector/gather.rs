//! Reads a folder of pstore records within bounds: the newest files first, nothing that is no file, no file without an
//! end.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use nix::fcntl::OFlag;

/// `archive/SECONDS/COUNT/dmesg.txt` is as deep as it gets.
const DEPTH_LIMIT: usize = 3;
/// Of everything in a folder: an archive grows for years.
const LOOKS_LIMIT: usize = 4096;
const FILES_LIMIT: usize = 64;
/// A whole ring of the usual size; of more, the end counts.
const FILE_LIMIT_BYTES: u64 = 256 * 1024;
const TOTAL_LIMIT_BYTES: u64 = 1024 * 1024;
/// What the kernel calls a record of its log, of its console, and what systemd-pstore makes of the former.
const PREFIXES: [&str; 2] = ["dmesg", "console"];

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFile {
    /// Below the folder that was read.
    pub path: PathBuf,
    pub text: Vec<u8>,
    /// The file's time.
    pub written: Option<Timestamp>,
}

/// What may still be read, of all folders together.
#[derive(Debug, Clone)]
pub struct Budget {
    files: usize,
    bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: FILES_LIMIT, bytes: TOTAL_LIMIT_BYTES }
    }
}

struct Candidate {
    path: PathBuf,
    written: Option<Timestamp>,
}

/// The files below `root`, newest first, as far as `budget` goes; none if it cannot be read.
#[must_use]
pub fn newest(root: &Path, budget: &mut Budget) -> Vec<RecordFile> {
    let mut candidates = Vec::new();
    look(root, Path::new(""), &mut candidates, &mut LOOKS_LIMIT.clone());
    candidates.sort_by(|a, b| (b.written, &b.path).cmp(&(a.written, &a.path)));
    let mut files = Vec::new();
    for Candidate { path, written } in candidates {
        if budget.files == 0 || budget.bytes == 0 {
            break;
        }
        // One that went meanwhile, or cannot be read, is as good as absent.
        let Ok(text) = end_of(&root.join(&path), FILE_LIMIT_BYTES.min(budget.bytes)) else { continue };
        budget.files -= 1;
        budget.bytes = budget.bytes.saturating_sub(text.len() as u64);
        files.push(RecordFile { path, text, written });
    }
    files
}

fn look(root: &Path, below: &Path, found: &mut Vec<Candidate>, looks: &mut usize) {
    let Ok(entries) = fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        if *looks == 0 {
            return;
        }
        *looks -= 1;
        let path = below.join(entry.file_name());
        // Of the entry itself: a link leads nowhere.
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() && path.components().count() < DEPTH_LIMIT => {
                look(root, &path, found, looks);
            }
            Ok(metadata) if metadata.is_file() && is_record(&path) => {
                found.push(Candidate { written: written(&metadata), path });
            }
            _ => {}
        }
    }
}

/// What user space may have left there (`pmsg-`) and function traces are not messages of the kernel.
fn is_record(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn written(metadata: &fs::Metadata) -> Option<Timestamp> {
    metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok())
}

/// The last `limit_bytes` of a file. A FIFO put in its place does not hold us up, nor does a link lead away.
fn end_of(path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let how = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut file = File::options().read(true).custom_flags(how.bits()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if metadata.len() > limit_bytes {
        file.seek(SeekFrom::Start(metadata.len() - limit_bytes))?;
    }
    let mut text = Vec::new();
    file.take(limit_bytes).read_to_end(&mut text)?;
    Ok(text)
}
