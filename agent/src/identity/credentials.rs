//! Credentials that need no file but their own: read from any kubeconfig with all that it names, written as one.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use k8s_openapi::ByteString;
use kube::config::{AuthInfo, Kubeconfig, KubeconfigError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    certificate::Certificate,
    exec::{self, ExecError, Plugin},
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
    #[error("{path}: cannot read {file}, which it names: {source}")]
    File { path: PathBuf, file: PathBuf, source: io::Error },
    #[error("{path}: {way} is not supported; use a client certificate, a token or an exec plug-in")]
    Unsupported { path: PathBuf, way: &'static str },
    #[error("{path}: {source}")]
    Exec { path: PathBuf, source: ExecError },
    #[error("{path}: {source}")]
    Shape { path: PathBuf, source: serde_json::Error },
}

impl CredentialsError {
    /// There is no such file; anything else is worth a message.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        let Self::Kubeconfig { source: KubeconfigError::ReadConfig(error, _), .. } = self else { return false };
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

/// A kubeconfig's user, as far as we can use it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<ByteString>,
    client_key: Option<PathBuf>,
    client_key_data: Option<ByteString>,
    username: Option<String>,
    auth_provider: Option<Value>,
    exec: Option<Plugin>,
}

impl Credentials {
    /// Reads the current context of the kubeconfig at `path`, the files it names, and what its plug-in returns.
    pub async fn read(path: &Path) -> Result<Self, CredentialsError> {
        let kubeconfig = Kubeconfig::read_from(path)
            .map_err(|source| CredentialsError::Kubeconfig { path: path.to_owned(), source })?;
        Self::of(path, &kubeconfig).await
    }

    /// The same for a kubeconfig whose paths are absolute; `path` is where it lies.
    pub async fn of(path: &Path, kubeconfig: &Kubeconfig) -> Result<Self, CredentialsError> {
        let named = Named { path, kubeconfig };
        let cluster = named.cluster()?;
        let secret = named.secret(&cluster).await?;
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
        let authority = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
            (Some(data), _) => Some(self.decoded(data)?),
            (None, Some(file)) => Some(ByteString(self.content(Path::new(file))?)),
            (None, None) => None,
        };
        Ok(Cluster {
            server,
            authority,
            tls_server_name: cluster.tls_server_name.clone(),
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            proxy_url: cluster.proxy_url.clone(),
        })
    }

    async fn secret(&self, cluster: &Cluster) -> Result<Secret, CredentialsError> {
        let user = self.user()?;
        let unsupported = |way| Err(CredentialsError::Unsupported { path: self.path.to_owned(), way });
        if user.auth_provider.is_some() {
            return unsupported("an auth-provider");
        }
        if user.username.is_some() {
            return unsupported("a user name and password");
        }
        let written = Secret { certificate: self.certificate(&user)?, token: self.token(&user)? };
        match user.exec {
            None if written == Secret::default() => Err(self.lacks("certificate, token or plug-in")),
            None => Ok(written),
            Some(plugin) => exec::run(&plugin, cluster)
                .await
                .map_err(|source| CredentialsError::Exec { path: self.path.to_owned(), source }),
        }
    }

    fn certificate(&self, user: &User) -> Result<Option<KeyedCertificate>, CredentialsError> {
        let certificate = self.data_or_file(&user.client_certificate_data, &user.client_certificate)?;
        let key = self.data_or_file(&user.client_key_data, &user.client_key)?;
        Ok(certificate.zip(key).map(|(certificate, key)| KeyedCertificate { certificate, key }))
    }

    fn token(&self, user: &User) -> Result<Option<String>, CredentialsError> {
        match (&user.token, &user.token_file) {
            (Some(token), _) => Ok(Some(token.clone())),
            (None, Some(file)) => {
                let token = self.content(file)?;
                Ok(Some(String::from_utf8_lossy(&token).trim().to_owned()))
            }
            (None, None) => Ok(None),
        }
    }

    fn context(&self) -> Result<&kube::config::Context, CredentialsError> {
        let current = self.kubeconfig.current_context.as_ref().ok_or_else(|| self.lacks("current context"))?;
        let named = self.kubeconfig.contexts.iter().find(|named| named.name == *current);
        named.and_then(|named| named.context.as_ref()).ok_or_else(|| self.lacks("such context"))
    }

    fn user(&self) -> Result<User, CredentialsError> {
        let name = self.context()?.user.as_ref().ok_or_else(|| self.lacks("user"))?;
        let named = self.kubeconfig.auth_infos.iter().find(|named| named.name == *name);
        let user: &AuthInfo =
            named.and_then(|named| named.auth_info.as_ref()).ok_or_else(|| self.lacks("such user"))?;
        serde_json::to_value(user).and_then(serde_json::from_value).map_err(|source| self.misshapen(source))
    }

    fn data_or_file(
        &self,
        data: &Option<ByteString>,
        file: &Option<PathBuf>,
    ) -> Result<Option<Vec<u8>>, CredentialsError> {
        match (data, file) {
            (Some(ByteString(data)), _) => Ok(Some(data.clone())),
            (None, Some(file)) => self.content(file).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn decoded(&self, data: &str) -> Result<ByteString, CredentialsError> {
        serde_json::from_value(Value::from(data)).map_err(|source| self.misshapen(source))
    }

    fn content(&self, file: &Path) -> Result<Vec<u8>, CredentialsError> {
        let mut content = Vec::new();
        let read = File::open(file).and_then(|open| open.take(FILE_LIMIT_BYTES).read_to_end(&mut content));
        let failed = |source| CredentialsError::File { path: self.path.to_owned(), file: file.to_owned(), source };
        read.map_err(failed)?;
        Ok(content)
    }

    fn lacks(&self, what: &'static str) -> CredentialsError {
        CredentialsError::Incomplete { path: self.path.to_owned(), what }
    }

    fn misshapen(&self, source: serde_json::Error) -> CredentialsError {
        CredentialsError::Shape { path: self.path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests;
