//! What the root oneshot does at each run: chooses whose credentials the agent gets, publishes them, and asks for own
//! ones in time.

mod run;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use nix::unistd::Group;

use super::{
    certificate::Certificate,
    credentials::{Credentials, CredentialsError},
    enrolment::Enrolment,
    folder::{Access, Folder, FolderError},
    kubeconfig::Kubeconfig,
    kubelet::{self, Found},
    request::user_name,
    way::KUBECONFIG,
};
use crate::config::{Config, IdentityMode, STATE_DIR};
use run::Run;

/// Below the state directory.
const PKI: &str = "pki";
/// Beside the kubeconfig: what was logged last, so that a timer does not log it every few minutes.
pub const NOTES: &str = "notes";
/// Whose files the agent may read.
const AGENTS_GROUP: &str = "nodewell";
/// A renewal is asked for from this share of a certificate's life on, spread over the next twentieth, so that nodes
/// which were enrolled together are not renewed together.
const RENEW_FROM: f64 = 0.70;
const RENEW_SPREAD: f64 = 0.05;

/// Why the oneshot cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the saved identity of this node cannot be used: {0}")]
    Saved(CredentialsError),
}

/// This node's own identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    pub credentials: Credentials,
    pub certificate: Certificate,
}

impl NodeIdentity {
    /// When a new one is asked for.
    #[must_use]
    pub fn renewal(&self) -> Timestamp {
        // Always the same for one node; any spread does.
        let mut hasher = DefaultHasher::new();
        self.certificate.common_name.hash(&mut hasher);
        let spread = (hasher.finish() >> 32) as f64 / f64::from(u32::MAX);
        self.certificate.at_share(RENEW_FROM + RENEW_SPREAD * spread)
    }
}

/// Whose credentials the agent has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    Nobody,
    Kubelet { path: PathBuf },
    Own { until: Timestamp },
}

/// One run's outcome, for the log.
#[derive(Debug)]
pub struct Outcome {
    pub published: Published,
    pub changed: bool,
    /// What is not as it should be, each with what to do.
    pub notes: Vec<String>,
    /// The notes are others than at the last run.
    pub is_news: bool,
}

/// The folders and the wishes.
#[derive(Debug)]
pub struct Provisioner {
    pki: Folder,
    shown: Folder,
    node: String,
    mode: IdentityMode,
    lifetime: Duration,
    kubelet_kubeconfig: Option<PathBuf>,
    bootstrap_kubeconfig: Option<PathBuf>,
    root: PathBuf,
}

impl Provisioner {
    /// Opens the folders that `config` names; kubelets are looked for below `root`.
    pub fn open(config: &Config, root: &Path) -> Result<Self, ProvisionError> {
        let group = Group::from_name(AGENTS_GROUP).ok().flatten();
        let readers = group.map_or(Access::Private, |group| Access::Group(group.gid));
        let identity = &config.identity;
        Ok(Self {
            pki: Folder::open(&config.state_dir.as_deref().unwrap_or(STATE_DIR.as_ref()).join(PKI), Access::Private)?,
            shown: Folder::open(&identity.folder, readers)?,
            node: config.node_name.clone(),
            mode: if config.standalone { IdentityMode::None } else { identity.mode },
            lifetime: identity.certificate_lifetime,
            kubelet_kubeconfig: identity.kubelet_kubeconfig.clone(),
            bootstrap_kubeconfig: identity.bootstrap_kubeconfig.clone(),
            root: root.to_owned(),
        })
    }

    /// The enrolment of this node.
    #[must_use]
    pub fn enrolment(&self) -> Enrolment<'_> {
        Enrolment { folder: &self.pki, node: &self.node, lifetime: self.lifetime }
    }

    /// This node's own identity, if it has one.
    pub async fn saved(&self) -> Result<Option<NodeIdentity>, ProvisionError> {
        let Some(bytes) = self.pki.read(KUBECONFIG)? else { return Ok(None) };
        let path = self.pki.path().join(KUBECONFIG);
        let kubeconfig = Kubeconfig::parse_here(&bytes)
            .map_err(|source| ProvisionError::Saved(CredentialsError::Kubeconfig { path: path.clone(), source }))?;
        let credentials = Credentials::of(&path, &kubeconfig).await.map_err(ProvisionError::Saved)?;
        let certificate = credentials.certificate();
        Ok(certificate.map(|certificate| NodeIdentity { credentials, certificate }))
    }

    /// Saves a new identity of this node's own, and publishes it to the agent.
    pub fn save(&self, credentials: &Credentials) -> Result<(), ProvisionError> {
        let _lock = self.pki.lock()?;
        self.pki.replace(KUBECONFIG, credentials.kubeconfig().as_bytes())?;
        self.enrolment().forget()?;
        self.publish(credentials).map(drop)
    }

    /// Whether a saved identity is the one that this node would be given.
    #[must_use]
    pub fn is_this_nodes(&self, identity: &NodeIdentity) -> bool {
        identity.certificate.common_name == user_name(&self.node)
    }

    /// Whose credentials ask for certificates: the bootstrap kubeconfig's, else the kubelet's.
    pub async fn asker(&self) -> Result<Option<Found>, CredentialsError> {
        match &self.bootstrap_kubeconfig {
            Some(path) => Ok(Some(Found { path: path.clone(), credentials: Credentials::read(path).await? })),
            None => self.kubelet().await,
        }
    }

    async fn kubelet(&self) -> Result<Option<Found>, CredentialsError> {
        kubelet::find(&self.root, self.kubelet_kubeconfig.as_deref()).await
    }

    fn publish(&self, credentials: &Credentials) -> Result<bool, ProvisionError> {
        Ok(self.shown.replace(KUBECONFIG, credentials.kubeconfig().as_bytes())?)
    }

    /// One run. `approval_timeout` is how long it waits for the approval of what it asks for.
    pub async fn run(&self, approval_timeout: Duration) -> Result<Outcome, ProvisionError> {
        let mut run = Run::new(self);
        let published = run.all(approval_timeout).await?;
        let Run { notes, changed, .. } = run;
        let is_news = self.shown.replace(NOTES, notes.join("\n").as_bytes())?;
        Ok(Outcome { published, changed, notes, is_news })
    }
}

#[cfg(test)]
mod tests;
