//! How the exporter comes to the API server.

use std::{fmt, path::PathBuf};

use super::api_client::ApiClient;

/// Where the client comes from.
#[derive(Clone)]
pub enum ClientSource {
    /// Built from this file, and again whenever it or a file that it names changes.
    Kubeconfig(PathBuf),
    /// Given, for good: the scale test puts a server of its own under it. No file is looked at.
    Client(ApiClient),
}

impl ClientSource {
    /// The file that decides.
    pub(super) fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Kubeconfig(path) => Some(path),
            Self::Client(_) => None,
        }
    }

    /// The client, if it was given.
    pub(super) fn client(&self) -> Option<&ApiClient> {
        match self {
            Self::Kubeconfig(_) => None,
            Self::Client(client) => Some(client),
        }
    }
}

impl fmt::Display for ClientSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubeconfig(path) => path.display().fmt(f),
            Self::Client(_) => f.write_str("a given client"),
        }
    }
}

impl fmt::Debug for ClientSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientSource({self})")
    }
}

impl From<PathBuf> for ClientSource {
    fn from(kubeconfig: PathBuf) -> Self {
        Self::Kubeconfig(kubeconfig)
    }
}
