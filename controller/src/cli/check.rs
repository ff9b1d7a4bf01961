//! `check`: reads configuration and policies without a cluster and prints all errors; of one node, with it.

use std::path::{Path, PathBuf};

use clap::Args;
use nodewell_reaper::{KEYS, Reaper, deviations};
use nodewell_remediation::{
    guard::never,
    policy::{Policy, warnings},
};
use serde_json::{Value, json};

use super::{CommandError, Global, accept, error::print, output::Output};
use crate::config::{Config, Diagnostic};

/// Check configuration and policies without a cluster.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// Policies (.yaml, .yml, .json), configurations (.toml), node-reaper's configuration (.yaml) [default: the controller's own configuration]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// node-reaper's configuration, whatever its name
    #[arg(long, value_name = "FILE")]
    node_reaper_config: Option<PathBuf>,
    /// Whether this node could be turned off, and the command that confirms whose its machine is; asks the cluster and the BMC
    #[arg(long, value_name = "NODE", conflicts_with_all = ["files", "output", "json", "node_reaper_config"])]
    node: Option<String>,
    // Of a document: what is right, and each error with its file and line
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller check                    the configuration on this host
  nodewell-controller check policies/*.yaml    policies, before they are applied
  nodewell-controller check --node-reaper-config FILE  and what differs
  nodewell-controller check --json             for scripts; -o yaml
  nodewell-controller check --node worker-1    whether it could be turned off

Each error is a line that begins with its file; a document has what is right,
and each error with its file and line. Exit codes: 0 none; 70 with
--node: it could not be turned off, or was not asked; 78 some.";

impl Check {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        if let Some(node) = &self.node {
            return accept::run(global, node).await.map_err(with_what_needs_none);
        }
        let (right, diagnostics) = match (&self.node_reaper_config, self.files.as_slice()) {
            (None, []) => own(global),
            (reaper, files) => named(files, reaper.as_deref()),
        };
        let document = || json!({ "right": right, "errors": diagnostics.iter().map(as_json).collect::<Vec<_>>() });
        if let Some(text) = self.output.document(document)? {
            print(&text)?;
            return if diagnostics.is_empty() { Ok(()) } else { Err(CommandError::Reported) };
        }
        print(&right.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        if diagnostics.is_empty() { Ok(()) } else { Err(CommandError::Diagnostics(diagnostics)) }
    }
}

/// Only `--node` asks a cluster: of an error that names no way to one, with what can be checked all the same.
fn with_what_needs_none(error: CommandError) -> CommandError {
    match error {
        CommandError::NoKubeconfig(why) => CommandError::NoKubeconfig(format!("{why}; {NEEDS_NONE}")),
        error => error,
    }
}

const NEEDS_NONE: &str = "policies and configurations need none: nodewell-controller check FILE...";

/// No line where it is of the whole file.
fn as_json(Diagnostic { location, message }: &Diagnostic) -> Value {
    json!({ "file": location.file.display().to_string(), "line": (location.line > 0).then_some(location.line), "message": message })
}

/// What is right, as text, and what is not.
type Found = (Vec<String>, Vec<Diagnostic>);

/// The configuration of this host, with the file that it names.
fn own(global: &Global) -> Found {
    let config = match Config::load(global.config.as_deref(), |settings| global.apply(settings)) {
        Ok(config) => config,
        Err(diagnostics) => return (Vec::new(), diagnostics),
    };
    let mut right = vec!["the configuration is right".to_owned()];
    let Some(file) = &config.node_reaper_config else { return (right, Vec::new()) };
    match text_of(file).and_then(|text| node_reaper(file, &text)) {
        Ok(summary) => right.push(summary),
        Err(diagnostics) => return (right, diagnostics),
    }
    (right, Vec::new())
}

fn named(files: &[PathBuf], reaper: Option<&Path>) -> Found {
    let (mut right, mut diagnostics) = Found::default();
    let of_reaper = |file| (file, text_of(file).and_then(|text| node_reaper(file, &text)));
    let of_files = files.iter().map(|file| (file.as_path(), checked(file)));
    for (file, found) in of_files.chain(reaper.map(of_reaper)) {
        match found {
            Ok(what) => right.push(format!("{}: {what}", file.display())),
            Err(found) => diagnostics.extend(found),
        }
    }
    (right, diagnostics)
}

/// What it is, if it is right.
fn checked(file: &Path) -> Result<String, Vec<Diagnostic>> {
    if file.extension().is_some_and(|end| end == "toml") {
        return Config::load(Some(file), |_| {}).map(|_| "the configuration is right".to_owned());
    }
    let text = text_of(file)?;
    if is_of_node_reaper(&text) { node_reaper(file, &text) } else { policies(file, &text) }
}

fn text_of(file: &Path) -> Result<String, Vec<Diagnostic>> {
    std::fs::read_to_string(file).map_err(|error| vec![Diagnostic::of_file(file, format!("cannot be read: {error}"))])
}

/// Its keys stand alone; every object of Kubernetes has a kind.
fn is_of_node_reaper(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    !has("kind") && KEYS.iter().any(|key| has(key))
}

/// What is odd about it, and what is done otherwise than by node-reaper.
fn node_reaper(file: &Path, text: &str) -> Result<String, Vec<Diagnostic>> {
    let read = nodewell_reaper::parse(file, text)?;
    Reaper::new(read.config.clone(), true)?;
    let mut summary = "node-reaper's configuration is right".to_owned();
    read.warnings.iter().for_each(|warning| summary.push_str(&format!("\n  beware: {warning}")));
    deviations(&read.config).iter().for_each(|line| summary.push_str(&format!("\n  otherwise: {line}")));
    Ok(summary)
}

fn policies(file: &Path, text: &str) -> Result<String, Vec<Diagnostic>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| vec![Diagnostic::of_file(file, format!("not YAML: {}", first_line(&error.to_string())))])?;
    let (mut diagnostics, mut right, mut beware) = (Vec::new(), 0, String::new());
    for document in documents.iter().filter(|document| document["kind"] == "RemediationPolicy") {
        match policy(document) {
            Ok(read) => {
                right += 1;
                let never = never::anywhere(&read);
                let never = never.iter().map(|why| format!("RemediationPolicy {}: {why}", read.name));
                beware.extend(of_events(&read).into_iter().chain(never).map(|line| format!("\n  beware: {line}")));
            }
            Err(found) => diagnostics.extend(found.into_iter().map(|what| Diagnostic::of_file(file, what))),
        }
    }
    if diagnostics.is_empty() && right == 0 {
        diagnostics.push(Diagnostic::of_file(file, "there is no RemediationPolicy in it"));
    }
    if diagnostics.is_empty() {
        let summary = if right == 1 { "the policy is right".to_owned() } else { format!("{right} policies are right") };
        Ok(summary + &beware)
    } else {
        Err(diagnostics)
    }
}

fn policy(document: &Value) -> Result<Policy, Vec<String>> {
    let name = document["metadata"]["name"].as_str().unwrap_or("without a name");
    let wrong = |error: &dyn std::fmt::Display| format!("RemediationPolicy {name}: {error}");
    Policy::of_json(document).map_err(|errors| errors.iter().map(|error| wrong(error)).collect())
}

fn of_events(policy: &Policy) -> Option<String> {
    warnings::of_events(policy).map(|text| format!("RemediationPolicy {}: {text}", policy.name))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::ConnectError;

    #[test]
    fn without_a_kubeconfig_it_says_how_to_name_one_and_what_needs_none() {
        let error = CommandError::from(ConnectError::NotFound("~/.kube/config is not there".into()));
        let CommandError::NoKubeconfig(text) = with_what_needs_none(error) else { panic!("it is another error") };
        for part in ["~/.kube/config is not there", "--kubeconfig FILE", "nodewell-controller check FILE..."] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    fn summary(text: &str) -> Vec<String> {
        policies(Path::new("p.yaml"), text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_wrong_begins_with_the_file_and_names_the_policy() {
        let text =
            "kind: RemediationPolicy\nmetadata: { name: one }\nspec: { when: 'true', steps: [], maxUnavailable: 3 }\n";
        let summary = summary(text);
        assert!(summary[0].starts_with("p.yaml: RemediationPolicy one: "), "{summary:?}");
        assert!(summary[0].contains("maxUnavailable"), "{summary:?}");
    }

    #[test]
    fn a_policy_that_asks_for_events_gets_a_note_on_what_they_are_worth() {
        let summary = |when: &str, more: &str| {
            let steps = "steps: [{ cordon: {} }]";
            let text = format!(
                "kind: RemediationPolicy\nmetadata: {{ name: one }}\nspec: {{ when: \"{when}\", {steps}{more} }}\n"
            );
            policies(Path::new("p.yaml"), &text).unwrap()
        };
        assert_eq!(summary("!node.ready", ""), "the policy is right");
        let asks = "'DiskFell' in events";
        assert!(
            summary(asks, "").contains("beware: RemediationPolicy one: Events alone open no record"),
            "{}",
            summary(asks, "")
        );
        assert!(summary(asks, ", trustEvents: true").contains("any client that may write Events"));
    }

    #[test]
    fn a_policy_that_can_never_act_gets_a_note() {
        let text = "kind: RemediationPolicy\nmetadata: { name: one }\n\
                    spec: { when: '!node.ready', steps: [{ cordon: {} }], cordonBudget: { maxUnavailable: 0 } }\n";
        let summary = policies(Path::new("p.yaml"), text).unwrap();
        let note =
            "beware: RemediationPolicy one: spec.cordonBudget.maxUnavailable: 0, and maxDead is 0 too; never begun";
        assert!(summary.contains(note), "{summary}");
        let room = policies(Path::new("p.yaml"), &text.replace("maxUnavailable: 0", "maxUnavailable: 1%")).unwrap();
        assert_eq!(room, "the policy is right");
    }

    #[test]
    fn node_reapers_file_is_known_by_its_keys() {
        let file = Path::new("r.yaml");
        assert!(is_of_node_reaper("# a comment\ndryRun: false\n") && !is_of_node_reaper("kind: A\ndryRun: false\n"));
        let summary = node_reaper(file, "drainTimeoutSeconds: 5\n").unwrap();
        assert!(summary.contains("beware: drainTimeoutSeconds is less than 30"), "{summary}");
        assert!(summary.contains("otherwise: drain: "), "{summary}");
        let diagnostics = node_reaper(file, "dryRun: false\nmaxNodesUnhealthy: many\n").unwrap_err();
        assert!(diagnostics[0].to_string().starts_with("r.yaml:2: maxNodesUnhealthy"), "{diagnostics:?}");
    }

    #[test]
    fn a_file_without_a_policy_is_reported() {
        assert_eq!(summary("kind: ConfigMap\n"), ["p.yaml: there is no RemediationPolicy in it"]);
        assert!(summary("a: [")[0].starts_with("p.yaml: not YAML: "));
    }
}
