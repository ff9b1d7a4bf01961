//! Credentials that need no file but their own: read from any kubeconfig with all that it names, written as one.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{
    certificate::Certificate,
    exec::{self, ExecError},
    kubeconfig::{Context, Kubeconfig, KubeconfigError, User},
    regular_file,
};

/// Keys, certificates and tokens are a few kilobytes.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Why a kubeconfig gives no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("{path}: {source}")]
    Kubeconfig { path: PathBuf, source: KubeconfigError },
    #[error("{path}: names no {what}")]
    Incomplete { path: PathBuf, what: &'static str },
    #[error("{path}: its {what} is no base64")]
    Encoding { path: PathBuf, what: &'static str },
    #[error("{path}: cannot read {file}, which it names: {source}")]
    File { path: PathBuf, file: PathBuf, source: io::Error },
    #[error("{path}: {way} is not supported; use a client certificate, a token or an exec plug-in")]
    Unsupported { path: PathBuf, way: &'static str },
    #[error("{path}: {source}")]
    Exec { path: PathBuf, source: ExecError },
    #[error(
        "{path}: the agent runs no exec plug-in; nodewell-identity.service does, as root: name this file as \
         `[identity] kubelet-kubeconfig` in place of `kubeconfig`"
    )]
    Plugin { path: PathBuf },
}

impl CredentialsError {
    /// There is no such file; anything else is worth a message.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        let Self::Kubeconfig { source: KubeconfigError::File(error), .. } = self else { return false };
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }
}

/// The server, and how it proves its identity.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Cluster {
    pub server: String,
    /// PEM. `None`: the machine's own authorities.
    #[serde(rename = "certificate-authority-data", skip_serializing_if = "Option::is_none")]
    pub authority: Option<ByteString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
}

/// A client certificate with its chain, and its key; both PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyedCertificate {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// What proves our identity. Never shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret {
    pub certificate: Option<KeyedCertificate>,
    pub token: Option<String>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// A server and a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub cluster: Cluster,
    pub secret: Secret,
}

impl Credentials {
    /// Reads the current context of the kubeconfig at `path`, the files it names, and what its plug-in returns.
    pub async fn read(path: &Path) -> Result<Self, CredentialsError> {
        let kubeconfig = Kubeconfig::read_here(path)
            .map_err(|source| CredentialsError::Kubeconfig { path: path.to_owned(), source })?;
        Self::of(path, &kubeconfig).await
    }

    /// The same for a kubeconfig whose paths are absolute; `path` is where it lies.
    pub async fn of(path: &Path, kubeconfig: &Kubeconfig) -> Result<Self, CredentialsError> {
        let named = Named { path, kubeconfig };
        let (cluster, user) = (named.cluster()?, named.user()?.ok_or_else(|| named.lacks("user"))?);
        let written = named.written(user)?;
        let secret = match &user.exec {
            // What is written goes before the plug-in, as with kubectl.
            _ if written != Secret::default() => written,
            None => return Err(named.lacks("certificate, token or plug-in")),
            Some(plugin) => exec::run(plugin, &cluster)
                .await
                .map_err(|source| CredentialsError::Exec { path: path.to_owned(), source })?,
        };
        Ok(Self { cluster, secret })
    }

    /// The same where no plug-in may be run. Without any proof it asks as the server lets everyone ask.
    pub fn without_plugin(path: &Path, kubeconfig: &Kubeconfig) -> Result<Self, CredentialsError> {
        let named = Named { path, kubeconfig };
        let (cluster, user) = (named.cluster()?, named.user()?);
        let secret = user.map(|user| named.written(user)).transpose()?.unwrap_or_default();
        if user.is_some_and(|user| user.exec.is_some()) && secret == Secret::default() {
            return Err(CredentialsError::Plugin { path: path.to_owned() });
        }
        Ok(Self { cluster, secret })
    }

    /// The client certificate, if there is one that can be read.
    #[must_use]
    pub fn certificate(&self) -> Option<Certificate> {
        let keyed = self.secret.certificate.as_ref()?;
        Certificate::read(&keyed.certificate).ok()
    }

    /// A kubeconfig with everything in it. The same credentials give the same bytes.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let cluster = serde_json::to_value(&self.cluster).unwrap_or_default();
        let document = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": "node", "user": self.secret.user()}],
            "contexts": [{"name": "node", "context": {"cluster": "cluster", "user": "node"}}],
            "current-context": "node",
        });
        // JSON is YAML.
        format!("{document:#}\n")
    }
}

impl Secret {
    /// A client certificate and its key, both PEM.
    #[must_use]
    pub fn of_certificate(certificate: Vec<u8>, key: Vec<u8>) -> Self {
        Self { certificate: Some(KeyedCertificate { certificate, key }), token: None }
    }

    fn user(&self) -> Value {
        let mut user = serde_json::Map::new();
        if let Some(KeyedCertificate { certificate, key }) = &self.certificate {
            user.insert("client-certificate-data".to_owned(), json!(ByteString(certificate.clone())));
            user.insert("client-key-data".to_owned(), json!(ByteString(key.clone())));
        }
        if let Some(token) = &self.token {
            user.insert("token".to_owned(), json!(token));
        }
        Value::Object(user)
    }
}

/// A kubeconfig whose paths are absolute, and where it lies.
struct Named<'a> {
    path: &'a Path,
    kubeconfig: &'a Kubeconfig,
}

impl Named<'_> {
    fn cluster(&self) -> Result<Cluster, CredentialsError> {
        let name = &self.context()?.cluster;
        let named = self.kubeconfig.clusters.iter().find(|named| named.name == *name);
        let cluster = named.and_then(|named| named.cluster.as_ref()).ok_or_else(|| self.lacks("such cluster"))?;
        let server = cluster.server.clone().ok_or_else(|| self.lacks("server"))?;
        let (data, file) = (&cluster.certificate_authority_data, &cluster.certificate_authority);
        let authority = self.data_or_file("certificate-authority-data", data, file)?.map(ByteString);
        Ok(Cluster {
            server,
            authority,
            tls_server_name: set(&cluster.tls_server_name).cloned(),
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            proxy_url: set(&cluster.proxy_url).cloned(),
        })
    }

    /// What the file itself has, and the files that it names.
    fn written(&self, user: &User) -> Result<Secret, CredentialsError> {
        let token = self.token(user)?;
        let certificate = match self.certificate(user) {
            // Half a pair is none.
            Err(CredentialsError::Incomplete { .. }) if token.is_some() => None,
            certificate => certificate?,
        };
        Ok(Secret { certificate, token })
    }

    fn certificate(&self, user: &User) -> Result<Option<KeyedCertificate>, CredentialsError> {
        let (data, file) = (&user.client_certificate_data, &user.client_certificate);
        let certificate = self.data_or_file("client-certificate-data", data, file)?;
        let key = self.data_or_file("client-key-data", &user.client_key_data, &user.client_key)?;
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(KeyedCertificate { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.lacks("key of its client certificate")),
            (None, Some(_)) => Err(self.lacks("client certificate of its key")),
        }
    }

    fn token(&self, user: &User) -> Result<Option<String>, CredentialsError> {
        let token = || set(&user.token).cloned();
        let Some(file) = file_of(&user.token_file) else { return Ok(token()) };
        let read = self.content(file).and_then(|token| {
            let token = String::from_utf8_lossy(&token).trim().to_owned();
            let empty = || io::Error::new(io::ErrorKind::InvalidData, "it is empty");
            if token.is_empty() { Err(self.unread(file, empty())) } else { Ok(token) }
        });
        // The file goes before the word beside it, if it can be read.
        read.map(Some).or_else(|error| token().map(Some).ok_or(error))
    }

    fn context(&self) -> Result<&Context, CredentialsError> {
        let current = self.kubeconfig.current_context.as_ref().ok_or_else(|| self.lacks("current context"))?;
        let named = self.kubeconfig.contexts.iter().find(|named| named.name == *current);
        named.and_then(|named| named.context.as_ref()).ok_or_else(|| self.lacks("such context"))
    }

    /// The context's user, if it names one.
    fn user(&self) -> Result<Option<&User>, CredentialsError> {
        let Some(name) = set(&self.context()?.user) else { return Ok(None) };
        let named = self.kubeconfig.users.iter().find(|named| named.name == *name);
        let Some(user) = &named.ok_or_else(|| self.lacks("such user"))?.user else { return Ok(None) };
        let ways = [
            (user.auth_provider.is_some(), "an auth-provider"),
            (set(&user.username).is_some(), "a user name and password"),
            (user.acts_as_another(), "to act as another user (`as`)"),
        ];
        match ways.into_iter().find(|(is_set, _)| *is_set) {
            Some((_, way)) => Err(CredentialsError::Unsupported { path: self.path.to_owned(), way }),
            None => Ok(Some(user)),
        }
    }

    /// `data` is of the key `what`, and goes before the file.
    fn data_or_file(
        &self,
        what: &'static str,
        data: &Option<String>,
        file: &Option<PathBuf>,
    ) -> Result<Option<Vec<u8>>, CredentialsError> {
        if let Some(data) = set(data) {
            let encoding = |_| CredentialsError::Encoding { path: self.path.to_owned(), what };
            let ByteString(data) = serde_json::from_value(Value::from(data.as_str())).map_err(encoding)?;
            return Ok(Some(data));
        }
        file_of(file).map(|file| self.content(file)).transpose()
    }

    fn content(&self, file: &Path) -> Result<Vec<u8>, CredentialsError> {
        let mut content = Vec::new();
        let read = regular_file::open(file).and_then(|open| open.take(FILE_LIMIT_BYTES).read_to_end(&mut content));
        read.map_err(|error| self.unread(file, error))?;
        Ok(content)
    }

    fn unread(&self, file: &Path, source: io::Error) -> CredentialsError {
        CredentialsError::File { path: self.path.to_owned(), file: file.to_owned(), source }
    }

    fn lacks(&self, what: &'static str) -> CredentialsError {
        CredentialsError::Incomplete { path: self.path.to_owned(), what }
    }
}

impl User {
    fn acts_as_another(&self) -> bool {
        let has_groups = self.as_groups.as_ref().is_some_and(|groups| !groups.is_empty());
        let has_name = [&self.impersonated, &self.as_uid].into_iter().any(|name| set(name).is_some());
        has_name || has_groups || self.as_user_extra.is_some()
    }
}

/// An empty text is none, as templates write it.
fn set(text: &Option<String>) -> Option<&String> {
    text.as_ref().filter(|text| !text.is_empty())
}

fn file_of(path: &Option<PathBuf>) -> Option<&PathBuf> {
    path.as_ref().filter(|path| !path.as_os_str().is_empty())
}

#[cfg(test)]
mod tests;
