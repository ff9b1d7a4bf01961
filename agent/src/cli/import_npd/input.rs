//! What is to be taken over: monitors, manifests and folders of them.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
};

use nodewell_rules::npd::import::{Item, NpdFile};
use serde_json::Value;

use super::{
    super::error::{CommandError, DATA, NO_INPUT, USAGE},
    manifest::{self, Found, Manifest},
};

/// More than all objects of kube-system have, and what is held of a file that has no end.
const LIMIT_BYTES: u64 = 16 << 20;

/// All of it.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) files: Vec<NpdFile>,
    /// For `nodewell.toml`.
    pub(super) keys: String,
    /// What is known of it before a file is read.
    pub(super) items: Vec<Item>,
}

impl Input {
    /// # Errors
    /// What cannot be read, or has nothing in it.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, CommandError> {
        let (mut files, mut manifests) = (Vec::new(), Vec::new());
        for path in expanded(paths)? {
            let text = text_of(&path)?;
            if is_json(&path) && !is_object(&text) {
                files.push(NpdFile { path, text });
            } else {
                let path = if is_stdin(&path) { PathBuf::from("stdin.yaml") } else { path };
                manifests.push(Manifest::parse(path, &text)?);
            }
        }
        let Found { files: more, keys, items } = manifest::found(&manifests);
        files.extend(more);
        if files.is_empty() && keys.is_empty() && items.is_empty() {
            let message = "there is nothing to take over: no container that runs node-problem-detector with flags, and \
                           no ConfigMap with a *.json";
            return Err(CommandError::new(DATA, message));
        }
        Ok(Self { files, keys, items })
    }
}

/// Every file once; a folder's own, in the order of their names.
fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let within = within(path).map_err(|error| unreadable(path, &error))?;
            if within.is_empty() {
                let message = format!("{}: there is no *.json and no *.yaml in it", path.display());
                return Err(CommandError::new(NO_INPUT, message));
            }
            files.extend(within);
        } else if is_stdin(path) || is_json(path) || is_yaml(path) {
            files.push(path.clone());
        } else {
            let message = format!("{}: it is no folder, and neither *.json nor *.yaml", path.display());
            return Err(CommandError::new(USAGE, message));
        }
    }
    let mut seen = BTreeSet::new();
    files.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(files)
}

fn within(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| (is_json(path) || is_yaml(path)) && path.is_file()).collect();
    paths.sort();
    Ok(paths)
}

/// The monitors among the files that `path` names.
pub(super) fn monitors(path: &Path) -> Vec<PathBuf> {
    let mut paths = if path.is_dir() { within(path).unwrap_or_default() } else { vec![path.to_owned()] };
    paths.retain(|path| is_json(path));
    paths
}

fn text_of(path: &Path) -> Result<String, CommandError> {
    let bytes = if is_stdin(path) { limited(io::stdin().lock()) } else { File::open(path).and_then(limited) };
    let bytes = bytes.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > LIMIT_BYTES {
        let (path, limit) = (path.display(), LIMIT_BYTES >> 20);
        let message = format!("{path}: it is larger than {limit} MiB: give node-problem-detector's objects alone");
        return Err(CommandError::new(DATA, message));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(path, &io::Error::new(ErrorKind::InvalidData, error)))
}

fn limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    let code = if error.kind() == ErrorKind::InvalidData { DATA } else { NO_INPUT };
    CommandError::new(code, format!("{}: cannot be read: {error}", path.display()))
}

/// Whether the JSON is an object of Kubernetes, as `kubectl -o json` writes it.
fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value["kind"].is_string() && value["apiVersion"].is_string())
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}
