//! The provider's plug-in, which reaps a machine: an executable called with `type`, `reap` or `status`, and the
//! Node as JSON on stdin. `type` prints the provider's name, as `providerID` begins with it. `reap` ends with 0 once it
//! has asked for the machine's end. `status` prints `gone` or `present`; only `gone`, with status 0, means gone.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use nodewell_reconcile::lease_deadline::LeaseDeadline;
use nodewell_remediation::{action::Failed, facts::Node};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    program,
    runner::{NoReport, Run, Runner},
    scrub::scrub,
    supervisor::{Ending, Report},
};

/// For one call.
const DEADLINE: Duration = Duration::from_secs(60);
/// For its name, which it has to know by itself.
const KIND_DEADLINE: Duration = Duration::from_secs(10);
const OUTPUT_BYTES: usize = 16 * 1024;
const ASK_EVERY: Duration = Duration::from_secs(5);

/// A plug-in.
#[derive(Debug, Clone)]
pub struct Provider {
    pub path: PathBuf,
    /// For the machine to be gone, after it was asked for.
    pub gone_within: Duration,
}

impl Provider {
    /// The type of the nodes it is for, as `type` prints it: one word.
    ///
    /// # Errors
    /// It may not be run, or did not print one.
    pub async fn kind(&self, runner: &Runner) -> Result<String, String> {
        let report = self.run("type", String::new(), KIND_DEADLINE, runner, None).await;
        let report = report.map_err(|(PluginError::NotBegun(why) | PluginError::Lost(why))| why)?;
        let complaint = || format!("{}; it has to print one word", self.complaint("type", &report));
        kind(&report).map(str::to_owned).ok_or_else(complaint)
    }

    /// Asks for the end of the node's machine and waits until it is gone. One that is gone already is not asked for.
    ///
    /// # Errors
    /// [`Failed::NotBegun`] before `reap` was called; [`Failed::Refused`] if it refused; else the outcome is unknown.
    pub async fn reap(&self, node: &Node, runner: &Runner, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        self.is_for(node, runner).await.map_err(Failed::NotBegun)?;
        if self.is_gone(node, runner).await.map_err(Failed::NotBegun)? {
            return Ok(());
        }
        let report = match self.call("reap", node, runner, Some(lease_deadline)).await {
            Ok(report) => report,
            Err(PluginError::NotBegun(why)) => return Err(Failed::NotBegun(why)),
            Err(PluginError::Lost(why)) => return Err(Failed::InDoubt(why)),
        };
        match report.ending {
            Ending::Exited(0) => self.wait(node, runner, lease_deadline).await,
            Ending::Exited(_) => Err(Failed::Refused(self.complaint("reap", &report))),
            Ending::NotStarted(why) => Err(Failed::NotBegun(why)),
            _ => Err(Failed::InDoubt(self.complaint("reap", &report))),
        }
    }

    async fn wait(&self, node: &Node, runner: &Runner, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        let give_up = runner.now().plus(self.gone_within);
        loop {
            match self.is_gone(node, runner).await {
                Ok(true) => return Ok(()),
                Err(why) if runner.now() >= give_up => return Err(Failed::InDoubt(why)),
                Ok(false) if runner.now() >= give_up => return Err(Failed::Timeout(self.gone_within)),
                _ if !lease_deadline.is_ahead(runner.now()) => {
                    return Err(Failed::InDoubt("the leader's time was over".to_owned()));
                }
                _ => sleep(ASK_EVERY).await,
            }
        }
    }

    /// A plug-in for another provider would look for a machine that it cannot know, and report that it is gone.
    async fn is_for(&self, node: &Node, runner: &Runner) -> Result<(), String> {
        let report = self.ask("type", node, runner).await?;
        let (kind, of_node) = (report.stdout.trim(), node.provider_id.split_once("://").map_or("", |(kind, _)| kind));
        if report.ending == Ending::Exited(0) && !kind.is_empty() && (of_node.is_empty() || kind == of_node) {
            return Ok(());
        }
        let path = self.path.display();
        Err(format!("{path} is for {kind:?}, the node's providerID is {:?} ({:?})", node.provider_id, report.ending))
    }

    async fn is_gone(&self, node: &Node, runner: &Runner) -> Result<bool, String> {
        let report = self.ask("status", node, runner).await?;
        let complaint = || format!("{}; it has to print gone or present", self.complaint("status", &report));
        is_gone(&report).ok_or_else(complaint)
    }

    async fn ask(&self, command: &str, node: &Node, runner: &Runner) -> Result<Report, String> {
        self.call(command, node, runner, None)
            .await
            .map_err(|(PluginError::NotBegun(why) | PluginError::Lost(why))| why)
    }

    async fn call(
        &self,
        command: &str,
        node: &Node,
        runner: &Runner,
        lease_deadline: Option<&LeaseDeadline>,
    ) -> Result<Report, PluginError> {
        self.run(command, node_json(node), DEADLINE, runner, lease_deadline).await
    }

    async fn run(
        &self,
        command: &str,
        stdin: String,
        deadline: Duration,
        runner: &Runner,
        lease_deadline: Option<&LeaseDeadline>,
    ) -> Result<Report, PluginError> {
        let refused = |refused| PluginError::NotBegun(format!("the plug-in is not run: {refused}"));
        program::check(&self.path).map_err(refused)?;
        let run = Run {
            program: self.path.clone(),
            args: vec![command.to_owned()],
            env: BTreeMap::new(),
            stdin,
            deadline,
            limit_bytes: OUTPUT_BYTES,
        };
        runner.run(run, lease_deadline).await.map_err(|error| match error {
            NoReport::NotStarted(why) => PluginError::NotBegun(why),
            NoReport::Lost(why) => PluginError::Lost(why),
        })
    }

    fn complaint(&self, command: &str, report: &Report) -> String {
        let output = scrub(&format!("{}\n{}", report.stdout, report.stderr), report.cut, &[]);
        format!("{} {command}: {:?}; it printed: {output}", self.path.display(), report.ending)
    }
}

/// The one word that `type` printed.
pub(crate) fn kind(report: &Report) -> Option<&str> {
    let kind = report.stdout.trim();
    let is_one_word = !kind.is_empty() && !kind.contains(|letter: char| letter == ':' || letter.is_whitespace());
    (report.ending == Ending::Exited(0) && is_one_word).then_some(kind)
}

/// What `status` printed; nothing if it is anything else.
pub(crate) fn is_gone(report: &Report) -> Option<bool> {
    match (&report.ending, report.stdout.trim()) {
        (Ending::Exited(0), "gone") => Some(true),
        (Ending::Exited(0), "present") => Some(false),
        _ => None,
    }
}

/// Why a call has no report.
enum PluginError {
    NotBegun(String),
    Lost(String),
}

/// A Node as the API has it, with what distinguishes machines.
fn node_json(node: &Node) -> String {
    let addresses: Vec<_> =
        node.addresses.iter().map(|address| json!({"type": "InternalIP", "address": address})).collect();
    let value = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name, "uid": node.uid, "labels": node.labels, "annotations": node.annotations,
            "creationTimestamp": node.created.to_string(),
        },
        "spec": {"providerID": node.provider_id, "unschedulable": node.unschedulable, "taints": node.taints},
        "status": {
            "addresses": addresses,
            "nodeInfo": {"bootID": node.boot_id, "systemUUID": node.system_uuid},
        },
    });
    value.to_string()
}
