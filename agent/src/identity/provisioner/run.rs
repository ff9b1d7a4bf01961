//! One run: looks at what there is, publishes the best of it, and asks for a new certificate when its time has come.

use std::time::Duration;

use jiff::Timestamp;

use super::{NodeIdentity, ProvisionError, Provisioner, Published};
use crate::{
    config::IdentityMode,
    identity::{
        credentials::Credentials,
        enrolment::{EnrolError, Progress},
        kubelet::Found,
        request::user_name,
        server::{AskError, Server},
        way::KUBECONFIG,
    },
};

/// Between two looks whether a request was approved.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A run under way.
pub(super) struct Run<'a> {
    provisioner: &'a Provisioner,
    /// What is not as it should be, each with what to do.
    pub(super) notes: Vec<String>,
    pub(super) changed: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(provisioner: &'a Provisioner) -> Self {
        Self { provisioner, notes: Vec::new(), changed: false }
    }

    pub(super) async fn all(&mut self, approval_timeout: Duration) -> Result<Published, ProvisionError> {
        let provisioner = self.provisioner;
        if provisioner.mode == IdentityMode::None {
            return self.withdraw();
        }
        let kubelet = provisioner.kubelet().await.unwrap_or_else(|error| {
            self.notes.push(format!("the kubelet's credentials cannot be used: {error}"));
            None
        });
        self.look_at_kubelet(kubelet.as_ref());
        let identity = self.own(kubelet.as_ref()).await?;
        let now = Timestamp::now();
        let valid = identity.as_ref().filter(|identity| identity.certificate.is_valid_at(now));
        let published = self.publish(valid, kubelet.as_ref())?;
        if !self.wants_a_new_one(identity.as_ref(), now)? {
            return Ok(published);
        }
        Ok(self.renewed(approval_timeout).await?.unwrap_or(published))
    }

    fn withdraw(&mut self) -> Result<Published, ProvisionError> {
        self.changed = self.provisioner.shown.remove(KUBECONFIG)?;
        Ok(Published::Nobody)
    }

    /// This node's own identity, if that is wanted and the kubelet's cluster still takes it.
    async fn own(&mut self, kubelet: Option<&Found>) -> Result<Option<NodeIdentity>, ProvisionError> {
        if self.provisioner.mode == IdentityMode::Kubelet {
            return Ok(None);
        }
        let identity = match self.provisioner.saved().await {
            Err(error @ ProvisionError::Saved(_)) => {
                self.notes.push(format!("{error}; enroll again: nodewell enroll --renew"));
                None
            }
            identity => identity?,
        };
        let identity = identity.filter(|identity| self.is_this_nodes(identity));
        match (identity, kubelet) {
            (Some(identity), Some(found)) if identity.credentials.cluster != found.credentials.cluster => {
                self.follow(identity, found).await
            }
            (identity, _) => Ok(identity),
        }
    }

    fn is_this_nodes(&mut self, identity: &NodeIdentity) -> bool {
        let fits = self.provisioner.is_this_nodes(identity);
        if !fits {
            let (found, wanted) = (&identity.certificate.common_name, user_name(&self.provisioner.node));
            self.notes.push(format!("the certificate in {} is {found}'s, and this is {wanted}: it is not used; enroll again: nodewell enroll --renew", self.provisioner.pki.path().display()));
        }
        fits
    }

    /// The kubelet goes by another address or authority than when we enrolled: so do we, if we are known there.
    async fn follow(&mut self, identity: NodeIdentity, found: &Found) -> Result<Option<NodeIdentity>, ProvisionError> {
        let moved =
            Credentials { cluster: found.credentials.cluster.clone(), secret: identity.credentials.secret.clone() };
        match whoami(&moved).await {
            Ok(()) => {
                self.provisioner.pki.replace(KUBECONFIG, moved.kubeconfig().as_bytes())?;
                Ok(Some(NodeIdentity { credentials: moved, ..identity }))
            }
            Err(error) if error.code() == Some(401) => {
                let server = &moved.cluster.server;
                self.notes.push(format!(
                    "{server}, the kubelet's API server, does not know this node's certificate: it is another cluster's, \
                     and not used; enroll again: nodewell enroll --renew"
                ));
                Ok(None)
            }
            // Not to be asked now: what was good before is good for now.
            Err(_) => Ok(Some(identity)),
        }
    }

    fn look_at_kubelet(&mut self, kubelet: Option<&Found>) {
        let Some(found) = kubelet else { return };
        let (path, node) = (found.path.display(), &self.provisioner.node);
        let Some(certificate) = found.credentials.certificate() else { return };
        if certificate.kubelet_of().is_some_and(|other| other != node) {
            let other = certificate.kubelet_of().unwrap_or_default();
            self.notes.push(format!("{path} is Node {other}'s, and this is {node}: set node-name = \"{other}\" in nodewell.toml, if that is this machine"));
        }
        if certificate.not_after <= Timestamp::now() {
            self.notes.push(format!("the certificate in {path} has been over since {}: the kubelet did not renew it; see: journalctl -u kubelet", certificate.not_after));
        }
    }

    fn publish(&mut self, own: Option<&NodeIdentity>, kubelet: Option<&Found>) -> Result<Published, ProvisionError> {
        match (own, kubelet) {
            (Some(own), _) => {
                self.changed = self.provisioner.publish(&own.credentials)?;
                Ok(Published::Own { until: own.certificate.not_after })
            }
            (None, Some(found)) => {
                self.changed = self.provisioner.publish(&found.credentials)?;
                Ok(Published::Kubelet { path: found.path.clone() })
            }
            // A copy shall not outlive its original; one whose original cannot be read just now stays.
            (None, None) if self.notes.is_empty() => self.withdraw(),
            (None, None) => Ok(Published::Nobody),
        }
    }

    fn wants_a_new_one(&mut self, identity: Option<&NodeIdentity>, now: Timestamp) -> Result<bool, ProvisionError> {
        let due = identity.is_none_or(|identity| identity.renewal() <= now);
        Ok(match self.provisioner.mode {
            IdentityMode::Enroll => due,
            IdentityMode::Auto => due && (identity.is_some() || self.provisioner.enrolment().is_under_way()?),
            IdentityMode::Kubelet | IdentityMode::None => false,
        })
    }

    async fn renewed(&mut self, approval_timeout: Duration) -> Result<Option<Published>, ProvisionError> {
        let asker = match self.provisioner.asker().await {
            Ok(Some(asker)) => asker,
            Ok(None) => {
                self.notes.push(
                    "no credentials to request a certificate with: no kubelet's kubeconfig was found; name one as \
                     bootstrap-kubeconfig in [identity]"
                        .to_owned(),
                );
                return Ok(None);
            }
            Err(error) => {
                self.notes.push(format!("no credentials to request a certificate with: {error}"));
                return Ok(None);
            }
        };
        match self.answer(&asker, approval_timeout).await {
            Ok(Progress::Issued { secret, .. }) => {
                self.take(Credentials { cluster: asker.credentials.cluster, secret })
            }
            Ok(Progress::Waiting { name }) => {
                self.notes.push(format!("{name} waits for approval: kubectl certificate approve {name}"));
                Ok(None)
            }
            Ok(Progress::Denied { name, why }) => {
                self.notes
                    .push(format!("{name} was refused ({why}); it is asked again after a day, or by: nodewell enroll"));
                Ok(None)
            }
            Err(EnrolError::Folder(error)) => Err(error.into()),
            Err(error) => {
                self.notes.push(error.to_string());
                Ok(None)
            }
        }
    }

    fn take(&mut self, credentials: Credentials) -> Result<Option<Published>, ProvisionError> {
        self.provisioner.save(&credentials)?;
        self.changed = true;
        Ok(credentials.certificate().map(|certificate| Published::Own { until: certificate.not_after }))
    }

    async fn answer(&self, asker: &Found, approval_timeout: Duration) -> Result<Progress, EnrolError> {
        let server = Server::of(&asker.credentials)?;
        let deadline = tokio::time::Instant::now() + approval_timeout;
        loop {
            let progress = self.provisioner.enrolment().locked_step(&server).await?;
            let is_over = tokio::time::Instant::now() + LOOK_EVERY > deadline;
            if is_over || !matches!(progress, Progress::Waiting { .. }) {
                return Ok(progress);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

async fn whoami(credentials: &Credentials) -> Result<(), AskError> {
    let review = serde_json::json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let server = Server::of(credentials)?;
    server.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review).await.map(drop)
}
