//! A kubeconfig as far as we use it (`kubeconfig.v1` in Kubernetes' reference of configuration APIs).
//!
//! What `nodewell identity` leaves for the agent is JSON, which the agent reads by itself. A person's, or a kubelet's, is
//! YAML as a rule: that is read by `nodewell kubeconfig`, in a process of its own, so that the agent's locked memory needs
//! no YAML.

mod stamps;
mod yaml_reader;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{exec::Plugin, regular_file};

pub use stamps::{Files, stamps};
pub use yaml_reader::{DATA_ERROR, YamlReader};

/// Far above any that a person or a program writes.
const LIMIT_BYTES: u64 = 1 << 20;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    #[error("{0}")]
    File(io::Error),
    #[error("it has more than {} KiB", LIMIT_BYTES >> 10)]
    TooLarge,
    /// What is in the file; it is the same until that changes.
    #[error("{0}")]
    Content(String),
    /// It may be read the next time.
    #[error("the program that reads YAML, {program}, did not do it: {why}")]
    Reader { program: PathBuf, why: String },
}

/// The file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Kubeconfig {
    pub current_context: Option<String>,
    #[serde(deserialize_with = "or_none")]
    pub clusters: Vec<NamedCluster>,
    #[serde(deserialize_with = "or_none")]
    pub users: Vec<NamedUser>,
    #[serde(deserialize_with = "or_none")]
    pub contexts: Vec<NamedContext>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedCluster {
    pub name: String,
    pub cluster: Option<ServerEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedUser {
    pub name: String,
    pub user: Option<User>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedContext {
    pub name: String,
    pub context: Option<Context>,
}

/// A server, and how it proves its identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ServerEntry {
    pub server: Option<String>,
    pub certificate_authority: Option<PathBuf>,
    pub certificate_authority_data: Option<String>,
    pub tls_server_name: Option<String>,
    pub insecure_skip_tls_verify: Option<bool>,
    pub proxy_url: Option<String>,
}

/// What proves a user's identity.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct User {
    pub token: Option<String>,
    #[serde(rename = "tokenFile")]
    pub token_file: Option<PathBuf>,
    pub client_certificate: Option<PathBuf>,
    pub client_certificate_data: Option<String>,
    pub client_key: Option<PathBuf>,
    pub client_key_data: Option<String>,
    pub username: Option<String>,
    #[serde(rename = "as")]
    pub impersonated: Option<String>,
    pub as_uid: Option<String>,
    pub as_groups: Option<Vec<String>>,
    pub as_user_extra: Option<Value>,
    pub auth_provider: Option<Value>,
    pub exec: Option<Plugin>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    pub cluster: String,
    pub user: Option<String>,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("User")
    }
}

/// `null` is an empty list.
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Kubeconfig {
    /// The one at `path`, with absolute paths in it; `reader` is asked where it is no JSON. It may wait for a disk.
    pub fn read(path: &Path, reader: &YamlReader) -> Result<Self, KubeconfigError> {
        let text = content(path)?;
        let read = serde_json::from_slice::<Self>(&text).or_else(|_| reader.read_once(path, text))?;
        Ok(read.below(folder_of(path)))
    }

    /// The same within this process.
    pub fn read_here(path: &Path) -> Result<Self, KubeconfigError> {
        Ok(Self::parse_here(&content(path)?)?.below(folder_of(path)))
    }

    /// The one in `text`, whose paths stay as they are.
    pub fn parse_here(text: &[u8]) -> Result<Self, KubeconfigError> {
        let text = decoded(text).map_err(KubeconfigError::Content)?;
        let documents: Vec<Self> = serde_saphyr::from_multiple(&text).map_err(|error| unread(&error))?;
        Ok(documents.into_iter().fold(Self::default(), Self::merged))
    }

    /// Several documents are as several files are to kubectl: the first to set a value or to use a name has it.
    fn merged(mut self, next: Self) -> Self {
        self.current_context = self.current_context.or(next.current_context);
        append(&mut self.clusters, next.clusters, |named| named.name.as_str());
        append(&mut self.users, next.users, |named| named.name.as_str());
        append(&mut self.contexts, next.contexts, |named| named.name.as_str());
        self
    }

    /// Relative paths are of the file's own folder.
    fn below(mut self, folder: &Path) -> Self {
        let users = self.users.iter_mut().filter_map(|named| named.user.as_mut());
        users.filter_map(|user| user.exec.as_mut()).for_each(|plugin| plugin.below(folder));
        self.paths().filter(|path| !path.as_os_str().is_empty()).for_each(|path| *path = folder.join(&*path));
        self
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let clusters = self.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
        let users = self.users.iter_mut().filter_map(|named| named.user.as_mut());
        clusters.map(|cluster| &mut cluster.certificate_authority).chain(users.flat_map(User::paths)).flatten()
    }

    /// The files that it names.
    #[must_use]
    pub fn named_files(&self) -> Vec<PathBuf> {
        named(self.clone().paths())
    }
}

impl User {
    fn paths(&mut self) -> [&mut Option<PathBuf>; 3] {
        [&mut self.client_certificate, &mut self.client_key, &mut self.token_file]
    }

    /// The files that it names.
    #[must_use]
    pub fn named_files(&self) -> Vec<PathBuf> {
        named(self.clone().paths().into_iter().flatten())
    }
}

/// An empty one is none.
fn named<'a>(paths: impl Iterator<Item = &'a mut PathBuf>) -> Vec<PathBuf> {
    paths.map(std::mem::take).filter(|path| !path.as_os_str().is_empty()).collect()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn content(path: &Path) -> Result<Vec<u8>, KubeconfigError> {
    let mut text = Vec::new();
    let read = regular_file::open(path).and_then(|file| file.take(LIMIT_BYTES + 1).read_to_end(&mut text));
    let length = read.map_err(KubeconfigError::File)?;
    if u64::try_from(length).is_ok_and(|length| length <= LIMIT_BYTES) {
        Ok(text)
    } else {
        Err(KubeconfigError::TooLarge)
    }
}

fn append<T>(all: &mut Vec<T>, others: Vec<T>, name: fn(&T) -> &str) {
    for other in others {
        if !all.iter().any(|known| name(known) == name(&other)) {
            all.push(other);
        }
    }
}

/// What `nodewell kubeconfig` makes of YAML: JSON with secrets, whose paths stay as they are.
pub fn as_json(yaml: &[u8]) -> Result<String, KubeconfigError> {
    let kubeconfig = Kubeconfig::parse_here(yaml)?;
    serde_json::to_string(&kubeconfig).map_err(|error| KubeconfigError::Content(error.to_string()))
}

/// What follows the first line shows the text, which may have secrets in it.
fn unread(error: &serde_saphyr::Error) -> KubeconfigError {
    let text = error.to_string();
    KubeconfigError::Content(format!("it is no kubeconfig: {}", text.lines().next().unwrap_or_default()))
}

/// Windows writes UTF-16, which its mark names (YAML 1.2.2, 5.2).
fn decoded(text: &[u8]) -> Result<String, String> {
    let wide = |units: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = text[2..].as_chunks().0.iter().map(|unit| units(*unit)).collect();
        String::from_utf16(&units).map_err(|error| error.to_string())
    };
    match text {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8(text.to_vec()).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests;
