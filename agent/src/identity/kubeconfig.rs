//! A kubeconfig as far as we use it (`kubeconfig.v1` in Kubernetes' reference of configuration APIs).
//!
//! What `nodewell identity` leaves for the agent is JSON, which the agent reads by itself. A person's, or a kubelet's, is
//! YAML as a rule: that is read by `nodewell kubeconfig`, in a process of its own, so that the agent's locked memory needs
//! no YAML.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::SystemTime,
};

use kube::config::{Kubeconfig as AnyKubeconfig, KubeconfigError as AnyError};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::exec::Plugin;

/// Far above any that a person or a program writes.
const LIMIT_BYTES: u64 = 1 << 20;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    #[error("{0}")]
    File(io::Error),
    /// What is in the file; it is the same until that changes.
    #[error("{0}")]
    Content(String),
    /// It may be read the next time.
    #[error("the program that reads YAML, {program}, did not do it: {why}")]
    Reader { program: PathBuf, why: String },
}

/// The file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
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

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NamedCluster {
    pub name: String,
    pub cluster: Option<ServerEntry>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NamedUser {
    pub name: String,
    pub user: Option<User>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NamedContext {
    pub name: String,
    pub context: Option<Context>,
}

/// A server, and how it proves its identity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
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
#[derive(Clone, Default, PartialEq, Deserialize)]
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
    pub auth_provider: Option<Value>,
    pub exec: Option<Plugin>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
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
        let read = serde_json::from_slice::<Self>(&text).or_else(|_| reader.read(&text))?;
        Ok(read.below(path.parent().unwrap_or(Path::new("/"))))
    }

    /// The same within this process.
    pub fn read_here(path: &Path) -> Result<Self, KubeconfigError> {
        Self::of(AnyKubeconfig::read_from(path))
    }

    /// The one in `text`, whose paths stay as they are.
    pub fn parse_here(text: &str) -> Result<Self, KubeconfigError> {
        Self::of(AnyKubeconfig::from_yaml(text))
    }

    fn of(any: Result<AnyKubeconfig, AnyError>) -> Result<Self, KubeconfigError> {
        let json = serde_json::to_value(any.map_err(failed)?);
        json.and_then(serde_json::from_value).map_err(|error| KubeconfigError::Content(error.to_string()))
    }

    /// Relative paths are of the file's own folder.
    fn below(mut self, folder: &Path) -> Self {
        self.paths().filter(|path| !path.as_os_str().is_empty()).for_each(|path| *path = folder.join(&*path));
        self
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let clusters = self.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
        let users = self.users.iter_mut().filter_map(|named| named.user.as_mut());
        let of_users =
            users.flat_map(|user| [&mut user.client_certificate, &mut user.client_key, &mut user.token_file]);
        clusters.map(|cluster| &mut cluster.certificate_authority).chain(of_users).flatten()
    }

    /// The files that it names.
    #[must_use]
    pub fn named_files(&self) -> Vec<PathBuf> {
        self.clone().paths().map(|path| path.clone()).filter(|path| !path.as_os_str().is_empty()).collect()
    }
}

fn content(path: &Path) -> Result<Vec<u8>, KubeconfigError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LIMIT_BYTES).read_to_end(&mut text));
    read.map_err(KubeconfigError::File)?;
    Ok(text)
}

/// What `nodewell kubeconfig` makes of YAML: JSON with secrets, whose paths stay as they are.
pub fn as_json(yaml: &str) -> Result<String, KubeconfigError> {
    let any = AnyKubeconfig::from_yaml(yaml).map_err(failed)?;
    serde_json::to_string(&any).map_err(|error| KubeconfigError::Content(error.to_string()))
}

fn failed(error: AnyError) -> KubeconfigError {
    match error {
        AnyError::ReadConfig(error, _) => KubeconfigError::File(error),
        other => KubeconfigError::Content(other.to_string()),
    }
}

/// The program that reads YAML: `nodewell` beside this one.
#[derive(Debug, Clone)]
pub struct YamlReader(PathBuf);

/// `EX_DATAERR` of sysexits.h: the YAML is at fault, and not the program.
pub const DATA_ERROR: u8 = 65;

impl YamlReader {
    #[must_use]
    pub fn beside_us() -> Self {
        Self(std::env::current_exe().unwrap_or_default().with_file_name("nodewell"))
    }

    /// The program gets the text and opens no file: what waits for a disk is this thread.
    fn read(&self, yaml: &[u8]) -> Result<Kubeconfig, KubeconfigError> {
        let output = self.run(yaml).map_err(|error| self.unread(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().find(|line| !line.trim().is_empty());
        let why = why.map(|line| line.strip_prefix("nodewell: ").unwrap_or(line).to_owned());
        match output.status.code() {
            Some(0) => serde_json::from_slice(&output.stdout).map_err(|error| self.unread(error.to_string())),
            Some(code) if code == i32::from(DATA_ERROR) => Err(KubeconfigError::Content(why.unwrap_or_default())),
            _ => Err(self.unread(why.unwrap_or_else(|| output.status.to_string()))),
        }
    }

    fn run(&self, yaml: &[u8]) -> io::Result<Output> {
        let mut command = Command::new(&self.0);
        command.arg("kubeconfig").env_remove("NOTIFY_SOCKET");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // It reads all before it writes; one that ends earlier has said why.
        let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(yaml));
        let output = child.wait_with_output()?;
        if output.status.success() { written.map(|()| output) } else { Ok(output) }
    }

    fn unread(&self, why: String) -> KubeconfigError {
        KubeconfigError::Reader { program: self.0.clone(), why }
    }
}

/// How files looked; `None` for one that is not there.
pub type Files = BTreeMap<PathBuf, Option<Stamp>>;

/// When its content and its rights were changed last, and which file it is.
pub type Stamp = (Option<SystemTime>, (i64, i64), u64, u64);

/// How the files look now.
#[must_use]
pub fn stamps(paths: impl IntoIterator<Item = PathBuf>) -> Files {
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok(), (metadata.ctime(), metadata.ctime_nsec()), metadata.ino(), metadata.len()))
    };
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}

#[cfg(test)]
mod tests;
