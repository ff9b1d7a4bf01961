//! Rule files on disk: which ones a directory has, and their text, bounded.

use std::{
    borrow::Cow,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use crate::{
    Diagnostic, Location,
    shipped::{self, ShippedFile},
};

/// Many times the largest file we ship. Reporting the errors of a megabyte of garbage takes some fifty of memory for a
/// moment.
const SIZE_LIMIT_BYTES: u64 = 1024 * 1024;
/// Far more than any operator has; a directory of something else is distinguished from rules.
const FILES_LIMIT: usize = 1000;

/// A rule file that is to be read.
#[derive(Debug)]
pub(super) struct RuleFile {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    embedded: Option<&'static str>,
}

/// The language a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Native,
    Npd,
}

impl Format {
    /// By the extension; `None` if it is neither's.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "toml" => Some(Self::Native),
            "json" => Some(Self::Npd),
            _ => None,
        }
    }
}

impl RuleFile {
    pub(super) fn on_disk(path: &Path, format: Format) -> Self {
        Self { path: path.to_owned(), format, embedded: None }
    }

    pub(super) fn built_in(file: &ShippedFile) -> Self {
        // No such path is on the disk: what people see in a message must not look like a file they can edit.
        let path = Path::new(shipped::FOLDER).join(file.name);
        Self { path, format: Format::Native, embedded: Some(file.text) }
    }

    pub(super) fn name(&self) -> Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// The text, or why there is none.
    pub(super) fn text(&self) -> Result<Cow<'static, str>, Diagnostic> {
        match self.embedded {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => read(&self.path).map(Cow::Owned),
        }
    }
}

/// The rule files of a directory that must exist, in name order.
pub(super) fn list(directory: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<RuleFile> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            diagnostics
                .push(Diagnostic::of_file(directory, format!("this directory of rules cannot be read: {error}")));
            return Vec::new();
        }
    };
    let mut files: Vec<RuleFile> = entries.flatten().filter_map(|entry| rule_file(&entry.path())).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if files.len() > FILES_LIMIT {
        diagnostics
            .push(Diagnostic::of_file(directory, format!("more than {FILES_LIMIT} rule files in one directory")));
        files.truncate(FILES_LIMIT);
    }
    files
}

/// The same for a directory that need not exist.
pub(super) fn list_if_there(directory: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<RuleFile> {
    match directory.try_exists() {
        Ok(false) => Vec::new(),
        _ => list(directory, diagnostics),
    }
}

/// Hidden files are editors' left-overs, other extensions are notes and backups.
fn rule_file(path: &Path) -> Option<RuleFile> {
    let hidden = path.file_name()?.as_encoded_bytes().starts_with(b".");
    let format = Format::of(path)?;
    (!hidden).then(|| RuleFile::on_disk(path, format))
}

fn read(path: &Path) -> Result<String, Diagnostic> {
    let refuse = |error: std::io::Error| Diagnostic::of_file(path, format!("cannot be read: {error}"));
    let metadata = std::fs::metadata(path).map_err(refuse)?;
    // A link to /dev/null masks a file, as with systemd's units; a pipe or another device would never end.
    if !metadata.is_file() {
        let masked = path.canonicalize().is_ok_and(|real| real == Path::new("/dev/null"));
        return if masked { Ok(String::new()) } else { Err(Diagnostic::of_file(path, "is not a regular file")) };
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(SIZE_LIMIT_BYTES + 1).read_to_end(&mut bytes)).map_err(refuse)?;
    if bytes.len() as u64 > SIZE_LIMIT_BYTES {
        return Err(Diagnostic::of_file(path, format!("is larger than {} MiB: no rule file", SIZE_LIMIT_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> Diagnostic {
    let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    let line = memchr::memchr_iter(b'\n', good).count() + 1;
    Diagnostic::new(Location { file: path.to_owned(), line }, "not valid UTF-8")
}
