//! A kubeconfig's exec plug-in (`client.authentication.k8s.io`): runs it, and takes what it prints.

use std::{path::Path, process::Stdio, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    time::timeout,
};

use super::credentials::{Cluster, KeyedCertificate, Secret};

/// It asks a cloud's metadata server, as a rule within a second.
const DEADLINE: Duration = Duration::from_secs(30);
const OUTPUT_LIMIT_BYTES: u64 = 1 << 20;

/// A kubeconfig's `exec`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugin {
    api_version: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<Vec<std::collections::HashMap<String, String>>>,
    provide_cluster_info: Option<bool>,
}

impl Plugin {
    /// A relative path is of `folder`; a name is looked up in `PATH`.
    pub(super) fn below(&mut self, folder: &Path) {
        if let Some(command) = self.command.as_mut().filter(|command| command.contains('/')) {
            *command = folder.join(&*command).to_string_lossy().into_owned();
        }
    }
}

/// What went wrong with a plug-in.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("its exec plug-in has no command")]
    NoCommand,
    #[error("its exec plug-in {command} cannot be run: {source}")]
    Run { command: String, source: std::io::Error },
    #[error("its exec plug-in {command} gave no answer within {} s", DEADLINE.as_secs())]
    Late { command: String },
    #[error("its exec plug-in {command} ended with {status}")]
    Failed { command: String, status: std::process::ExitStatus },
    #[error("its exec plug-in {command} printed no ExecCredential with a token or a certificate")]
    Answer { command: String },
}

#[derive(Deserialize)]
struct Answer {
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs `plugin`, and takes its credentials.
pub(super) async fn run(plugin: &Plugin, cluster: &Cluster) -> Result<Secret, ExecError> {
    let command = plugin.command.clone().ok_or(ExecError::NoCommand)?;
    let failed = |source| ExecError::Run { command: command.clone(), source };
    let child = prepared(plugin, &command, cluster).spawn().map_err(failed)?;
    let output = timeout(DEADLINE, finished(child)).await;
    let (status, output) = output.map_err(|_| ExecError::Late { command: command.clone() })?.map_err(failed)?;
    if !status.success() {
        return Err(ExecError::Failed { command, status });
    }
    secret(&output).ok_or(ExecError::Answer { command })
}

fn prepared(plugin: &Plugin, command: &str, cluster: &Cluster) -> Command {
    let mut prepared = Command::new(command);
    prepared.args(plugin.args.iter().flatten());
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            prepared.env(name, value);
        }
    }
    let version = plugin.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1");
    let mut spec = json!({"interactive": false});
    if plugin.provide_cluster_info == Some(true) {
        spec["cluster"] = json!(cluster);
    }
    let info = json!({"apiVersion": version, "kind": "ExecCredential", "spec": spec});
    prepared.env("KUBERNETES_EXEC_INFO", info.to_string());
    prepared.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    prepared
}

async fn finished(mut child: Child) -> std::io::Result<(std::process::ExitStatus, Vec<u8>)> {
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(OUTPUT_LIMIT_BYTES).read_to_end(&mut output).await?;
    }
    Ok((child.wait().await?, output))
}

pub(crate) fn secret(output: &[u8]) -> Option<Secret> {
    let status = serde_json::from_slice::<Answer>(output).ok()?.status?;
    let bytes = |text: String| text.into_bytes();
    let certificate = status.client_certificate_data.map(bytes).zip(status.client_key_data.map(bytes));
    let certificate = certificate.map(|(certificate, key)| KeyedCertificate { certificate, key });
    let secret = Secret { certificate, token: status.token };
    (secret != Secret::default()).then_some(secret)
}
