//! `nodewell enroll`: gets this node an identity of its own, which can touch nothing but this node.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use nix::unistd::geteuid;
use nodewell_settings::duration;
use nodewell_time::Backoff;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::{
    error::{CommandError, NO_INPUT, NO_PERMISSION, SOFTWARE, TEMPORARY, UNAVAILABLE, found},
    out::Out,
    output::Output,
};
use crate::{
    config::{Config, Flags, node_name},
    identity::{
        AskError, Cluster, Credentials, EnrolError, FolderError, NodeIdentity, Progress, ProvisionError, Provisioner,
        Secret, Server, user_name,
    },
};

/// Get this node an identity of its own: a key made here, a certificate from the cluster.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell enroll
  sudo nodewell enroll --timeout 1h --json
  sudo NODEWELL_TOKEN=abcdef.0123456789abcdef nodewell enroll --server https://10.0.0.1:6443 --certificate-authority ca.crt

It asks as this node's kubelet, or as whom --bootstrap-kubeconfig or a bootstrap
token says. An administrator looks at the request (nodewell-identity(7) says at
what) and approves it: kubectl certificate approve NAME. To stop waiting, press
Ctrl-C: nodewell-identity.service goes on waiting, and renews the certificate in
its time.
As JSON and YAML: {node, user, state, request, expires}.

Exit codes: 0 enrolled, or was already; 64 wrong usage; 66 no credentials to ask
with; 69 the API server cannot be reached; 70 it failed; 75 it is not approved
yet; 77 denied, forbidden, or not root; 78 errors in the configuration.")]
pub(super) struct Enroll {
    /// Ask as the user of this kubeconfig [default: the kubelet's].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token", "server"])]
    bootstrap_kubeconfig: Option<PathBuf>,
    /// Ask with this bootstrap token; better by the variable, which other users cannot see.
    #[arg(long, env = "NODEWELL_TOKEN", hide_env_values = true, requires = "server")]
    token: Option<String>,
    /// The API server's address, for a token.
    #[arg(long, value_name = "URL", requires = "token")]
    server: Option<String>,
    /// The API server's authority, for a token [default: those that this machine trusts].
    #[arg(long, value_name = "FILE", requires = "token")]
    certificate_authority: Option<PathBuf>,
    /// Ask for a new key and certificate although there is a good one.
    #[arg(long)]
    renew: bool,
    /// How long to wait for the approval.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration::parse)]
    timeout: Duration,
    #[command(flatten)]
    output: Output,
    /// The agent's config file [default: /etc/nodewell/nodewell.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// This node's name in the cluster [default: the config's, else the host name in lower case].
    #[arg(long, value_name = "NAME", value_parser = node_name::parse)]
    node_name: Option<String>,
}

/// Between two looks whether it was approved.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));

/// How it ended.
#[derive(Debug, Serialize)]
struct Account {
    node: String,
    user: String,
    /// `enrolled`, `pending` or `denied`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Enroll {
    pub(super) async fn run(self, out: &mut Out) -> Result<ExitCode, CommandError> {
        let config = self.config()?;
        let provisioner = Provisioner::open(&config, "/".as_ref()).map_err(unopened)?;
        if let Some(identity) = self.good_one(&provisioner).await {
            let account = Account { expires: Some(identity.certificate.not_after), ..account(&config.node_name) };
            return self.end(out, account);
        }
        let asker = self.asker(&provisioner).await?;
        let server = Server::of(&asker).map_err(|error| refused(&error))?;
        let mut account = account(&config.node_name);
        let stuck = |error: FolderError| CommandError::new(SOFTWARE, error.to_string());
        provisioner.enrolment().forget_denial().map_err(stuck)?;
        match self.answer(&provisioner, &server, out).await? {
            Progress::Issued { name, secret } => {
                let credentials = Credentials { cluster: asker.cluster, secret };
                provisioner.save(&credentials).map_err(|error| CommandError::new(SOFTWARE, error.to_string()))?;
                account.expires = credentials.certificate().map(|certificate| certificate.not_after);
                account.request = Some(name);
            }
            Progress::Waiting { name } => {
                (account.state, account.request) = ("pending", Some(name));
            }
            Progress::Denied { name, why } => {
                (account.state, account.request, account.why) = ("denied", Some(name), Some(why));
            }
        }
        self.end(out, account)
    }

    fn config(&self) -> Result<Config, CommandError> {
        let flags = Flags { config: self.config.clone(), node_name: self.node_name.clone(), ..Flags::default() };
        Config::load(&flags).map_err(|diagnostics| CommandError::configuration(&diagnostics))
    }

    /// What is there already and needs no successor yet.
    async fn good_one(&self, provisioner: &Provisioner) -> Option<NodeIdentity> {
        // One that cannot be read is what this command replaces.
        let identity = provisioner.saved().await.ok().flatten()?;
        let is_good = provisioner.is_this_nodes(&identity) && Timestamp::now() < identity.renewal();
        (is_good && !self.renew).then_some(identity)
    }

    async fn asker(&self, provisioner: &Provisioner) -> Result<Credentials, CommandError> {
        let unread = |error: &dyn std::error::Error| CommandError::new(NO_INPUT, error.to_string());
        if let (Some(server), Some(token)) = (&self.server, &self.token) {
            return self.by_token(server, token);
        }
        if let Some(path) = &self.bootstrap_kubeconfig {
            return Credentials::read(path).await.map_err(|error| unread(&error));
        }
        let missing = || {
            CommandError::new(
                NO_INPUT,
                "no kubelet's kubeconfig was found on this machine: name one with --bootstrap-kubeconfig, or give --server and a bootstrap token",
            )
        };
        let found = provisioner.asker().await.map_err(|error| unread(&error))?.ok_or_else(missing)?;
        Ok(found.credentials)
    }

    fn by_token(&self, server: &str, token: &str) -> Result<Credentials, CommandError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| CommandError::new(NO_INPUT, format!("{}: {error}", path.display())))
        };
        let authority = self.certificate_authority.as_ref().map(read).transpose()?.map(ByteString);
        let (tls_server_name, insecure_skip_tls_verify, proxy_url) = (None, None, None);
        let cluster =
            Cluster { server: server.to_owned(), authority, tls_server_name, insecure_skip_tls_verify, proxy_url };
        Ok(Credentials { cluster, secret: Secret { certificate: None, token: Some(token.to_owned()) } })
    }

    /// Sends the request, prints how to approve it, and waits.
    async fn answer(
        &self,
        provisioner: &Provisioner,
        server: &Server,
        out: &mut Out,
    ) -> Result<Progress, CommandError> {
        let (deadline, mut pauses, mut reported) = (Instant::now() + self.timeout, PAUSES, String::new());
        loop {
            let progress = match provisioner.enrolment().locked_step(server).await {
                // A server that comes and goes is waited for, once it has taken the request.
                Err(EnrolError::Server(error)) if !reported.is_empty() && error.code().is_none() => {
                    Progress::Waiting { name: reported.clone() }
                }
                step => step.map_err(|error| failed(&error))?,
            };
            let Progress::Waiting { name } = &progress else { return Ok(progress) };
            if *name != reported && self.output.document().is_none() {
                // Whether someone reads it or not, the request is waited for.
                found(ExitCode::SUCCESS, announce(name, out))?;
            }
            reported.clone_from(name);
            let next = Instant::now() + pauses.pause();
            if next > deadline {
                return Ok(progress);
            }
            sleep_until(next).await;
        }
    }

    fn end(&self, out: &mut Out, account: Account) -> Result<ExitCode, CommandError> {
        let code = match account.state {
            "pending" => TEMPORARY,
            "denied" => NO_PERMISSION,
            _ => 0,
        };
        let written = match self.output.document() {
            Some(form) => out.document(form, &account),
            None => out.line(&account.words()).map_err(CommandError::from),
        };
        found(ExitCode::from(code), written)
    }
}

fn announce(name: &str, out: &mut Out) -> Result<(), CommandError> {
    out.line(&format!("{name} waits for approval, by an administrator of the cluster:"))?;
    out.line(&format!("  kubectl certificate approve {name}"))?;
    Ok(out.flush()?)
}

fn account(node: &str) -> Account {
    let (request, expires, why) = (None, None, None);
    Account { node: node.to_owned(), user: user_name(node), state: "enrolled", request, expires, why }
}

impl Account {
    fn words(&self) -> String {
        let request = self.request.as_deref().unwrap_or_default();
        match (self.state, self.expires) {
            ("pending", _) => {
                format!("{request} is not approved yet; nodewell-identity.service goes on waiting, or: nodewell enroll")
            }
            ("denied", _) => format!("{request} was refused: {}", self.why.as_deref().unwrap_or_default()),
            (_, Some(expires)) => {
                format!("enrolled: this node is {} until {expires}, and renews it by itself", self.user)
            }
            (_, None) => format!("enrolled: this node is {}", self.user),
        }
    }
}

fn unopened(error: ProvisionError) -> CommandError {
    if geteuid().is_root() {
        return CommandError::new(SOFTWARE, error.to_string());
    }
    CommandError::new(NO_PERMISSION, format!("{error}; the key is root's: run it with sudo"))
}

fn failed(error: &EnrolError) -> CommandError {
    match error {
        EnrolError::Server(error) => refused(error),
        other => CommandError::new(SOFTWARE, other.to_string()),
    }
}

fn refused(error: &AskError) -> CommandError {
    let (code, what) = match error.code() {
        Some(401) => (NO_PERMISSION, "; the credentials to ask with have expired, or are another cluster's"),
        Some(403) => (
            NO_PERMISSION,
            "; who asks must be let create and get certificatesigningrequests: kubelets are, others by \
             nodewell-enroll.yaml in /usr/share/nodewell/kubernetes",
        ),
        Some(_) => (SOFTWARE, ""),
        None => (UNAVAILABLE, ""),
    };
    CommandError::new(code, format!("cannot ask for a certificate: {error}{what}"))
}
