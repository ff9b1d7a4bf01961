//! `fence`: a person asks for one node to be fenced, without any policy. The guards are those of every record.

mod in_the_way;

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use nodewell_reconcile::{api_error::ApiError, cluster::Nodes};
use nodewell_remediation::{
    api::{ASKED_BY, GROUP, VERSION, policy::StepSpec, request::REQUESTED_BY},
    facts::Node,
    policy::Policy,
};
use serde_json::{Value, json};

use super::{CommandError, Global, asker, error::print, look::one_line, plan::table::state};
use crate::{
    kube::{Wire, escaped},
    report,
};
use in_the_way::InTheWay;

/// Fence one node now: cordon it, turn it off, release its pods
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Fence {
    /// The node
    #[arg(value_name = "NODE")]
    node: String,
    /// Why; it is shown in the record with your name
    #[arg(value_name = "REASON", default_value = "", hide_default_value = true)]
    reason: String,
    /// Of a node that is Ready: evict its pods first, within so long
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "10m")]
    drain: Option<String>,
    /// With --drain: also pods whose emptyDir data is lost by it
    #[arg(long, requires = "drain")]
    delete_emptydir_data: bool,
    /// With --drain: also pods that nothing would make again
    #[arg(long, requires = "drain")]
    force: bool,
    /// With --confirm: also where pods are in the way of its drain, which then is begun again until they are gone
    #[arg(long, requires = "drain")]
    even_if_blocked: bool,
    /// Leave the machine off, for a person to look at it
    #[arg(long)]
    leave_off: bool,
    /// The node's name again, instead of typing it when asked; pods in the way of its drain are refused
    #[arg(long, value_name = "NODE")]
    confirm: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller fence worker-7 \"its disk shelf is on fire\"
  nodewell-controller fence worker-7 --leave-off
  nodewell-controller fence worker-7 --drain 20m   of a node that is Ready
  nodewell-controller fence worker-7 --drain --delete-emptydir-data --force
  nodewell-controller fence worker-7 --confirm worker-7   in a script

It makes a NodeFence without a policy, which takes the role
nodewell:manual-fencer, and asks for the node's name once more first. The leader
does the rest under the guards of every record: budgets of one node, storms,
etcd's quorum, no control plane, no node that lives and was not drained, power
read as off twice before any pod is released. `abort NODE` stops it. Exit codes:
0 asked for; 64 not confirmed; 70 it is not possible, and why.";

impl Fence {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (config, cluster) = global.cluster().await?;
        let (name, wire) = (&self.node, cluster.wire());
        let node = cluster.node(name).await.map_err(CommandError::of(&format!("Node {name}")))?;
        let node = node.ok_or_else(|| CommandError::Message(format!("there is no Node {name}")))?;
        let steps = self.steps(&node)?;
        no_record_is_open(wire, name).await?;
        print(&format!("{name} is {}. Asked for: {}.\n", state(&node), self.shown(&steps)))?;
        if let Some(warning) = of_leader(wire, &config.leader.namespace).await {
            print(&format!("beware: {warning}\n"))?;
        }
        let in_the_way = in_the_way::look(&cluster, &node, &steps).await;
        for sentence in &in_the_way.sentences {
            print(&format!("beware: {sentence}\n"))?;
        }
        self.confirmed()?;
        self.is_not_blocked(&node, &in_the_way)?;
        let by = asker::signed(wire, &self.reason).await;
        let record = record(&node, &steps, &by);
        let path = format!("/apis/{GROUP}/{VERSION}/nodefences");
        let created: Result<Value, ApiError> = wire.create(&path, &record).await;
        created.map_err(CommandError::of(&format!("NodeFence {name}")))?;
        print(&format!(
            "{name}: asked for; `kubectl get nodefence {name} -w` and `nodewell-controller plan --node {name}` follow it\n"
        ))
    }

    /// A person at a terminal has read what is in the way; a script is refused. A dead node waits for no drain.
    fn is_not_blocked(&self, node: &Node, in_the_way: &InTheWay) -> Result<(), CommandError> {
        if self.confirm.is_none() || !node.is_ready() || !in_the_way.stops || self.even_if_blocked {
            return Ok(());
        }
        let help = "add the flags above, or --even-if-blocked: then its drain is begun again until they are gone";
        Err(CommandError::Message(format!("nothing was asked for, since pods are in the way: {help}")))
    }

    /// As a policy's steps are checked and filled in.
    fn steps(&self, node: &Node) -> Result<Vec<StepSpec>, CommandError> {
        if node.is_ready() && self.drain.is_none() {
            return Err(CommandError::Message(format!(
                "{} is Ready, so its pods run: add --drain to evict them before it is turned off",
                node.name
            )));
        }
        let cycle = json!({ "powerCycle": { "leaveOff": self.leave_off } });
        let steps = match &self.drain {
            Some(timeout) => {
                let drain =
                    json!({ "timeout": timeout, "deleteEmptyDirData": self.delete_emptydir_data, "force": self.force });
                json!([{ "cordon": {} }, { "drain": drain }, cycle])
            }
            None => json!([{ "taint": {} }, { "cordon": {} }, cycle]),
        };
        let policy = json!({ "metadata": { "name": "fence" }, "spec": { "when": "true", "steps": steps } });
        let policy = Policy::of_json(&policy).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(|error| error.problem.clone()).collect();
            CommandError::Usage(format!("--drain: {}", errors.join("; ")))
        })?;
        Ok(policy.steps)
    }

    fn shown(&self, steps: &[StepSpec]) -> String {
        let end = if self.leave_off { "stays off" } else { "is turned on again" };
        let first = match steps {
            [_, drain, _] if drain.drain.is_some() => "cordon, drain",
            _ => "taint, cordon",
        };
        format!("{first}, power off, release of its pods; then the machine {end}")
    }

    /// The name once more: typed, or given. A script that gives none is no person who agrees.
    fn confirmed(&self) -> Result<(), CommandError> {
        let (given, node) = (self.confirm.as_deref(), self.node.as_str());
        let typed = match given {
            Some(_) => String::new(),
            None if io::stdin().is_terminal() => asked(node)?,
            None => {
                let how = format!("add --confirm {node}: there is no terminal to ask at");
                return Err(CommandError::Usage(format!("not confirmed, nothing was asked for; {how}")));
            }
        };
        match given.unwrap_or(&typed) {
            name if name == node => Ok(()),
            other => Err(CommandError::Usage(format!(
                "not confirmed, nothing was asked for: {:?} is not {node:?}",
                one_line(other)
            ))),
        }
    }
}

fn asked(node: &str) -> Result<String, CommandError> {
    let mut out = io::stderr().lock();
    write!(out, "Type the node's name to have it fenced ({node}): ")
        .and_then(|()| out.flush())
        .map_err(CommandError::Output)?;
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| CommandError::Message(format!("cannot be asked: {error}")))?;
    Ok(line.trim().to_owned())
}

/// One record for each node: what is under way goes on by its own steps.
async fn no_record_is_open(wire: &Wire, name: &str) -> Result<(), CommandError> {
    let path = format!("/apis/{GROUP}/{VERSION}/nodefences/{}", escaped(name));
    let there: Option<Value> = wire.get(&path).await.map_err(CommandError::of(&format!("NodeFence {name}")))?;
    there.map_or(Ok(()), |record| Err(CommandError::Message(under_remediation(name, &record))))
}

fn under_remediation(name: &str, record: &Value) -> String {
    let policy = record["spec"]["policy"].as_str().filter(|policy| !policy.is_empty()).map(one_line);
    let request = record["metadata"]["annotations"][REQUESTED_BY].as_str();
    let by = match (&policy, request) {
        (Some(policy), _) => format!("policy {policy}"),
        (None, Some(request)) => format!("request {}", one_line(request)),
        (None, None) => "a person".to_owned(),
    };
    let phase = record["status"]["phase"].as_str().unwrap_or("Pending");
    let text = format!(
        "{name} is under remediation already: by {by}, phase {phase}; `nodewell-controller plan --node {name}` shows what it \
         waits for, `retry {name}` has a quarantined record tried again"
    );
    match policy.filter(|_| !frees_pods(record)) {
        Some(policy) => format!(
            "{text}. To fence it by hand: set spec.mode of policy {policy} to Paused, `abort {name}`, then `kubectl delete \
             nodefence {name}`"
        ),
        None => text,
    }
}

fn frees_pods(record: &Value) -> bool {
    let mut steps = record["spec"]["steps"].as_array().into_iter().flatten();
    steps.any(|step| !step["powerCycle"].is_null() || !step["reap"].is_null())
}

/// That it will be asked for in vain, as far as it is known.
async fn of_leader(wire: &Wire, namespace: &str) -> Option<String> {
    let report = report::stored(wire, namespace).await.ok()??;
    let host = one_line(&report.host);
    match (report.is_fresh(jiff::Timestamp::now()), report.dry_run) {
        (false, _) => Some(format!("no controller decides now ({host} was the last): it waits for one")),
        (true, true) => Some(format!("the controllers are in a dry run ({host}): the record waits for one that acts")),
        (true, false) => None,
    }
}

fn record(node: &Node, steps: &[StepSpec], by: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "NodeFence",
        "metadata": { "name": node.name, "annotations": { ASKED_BY: by } },
        "spec": { "nodeName": node.name, "nodeUID": node.uid, "cause": format!("asked for by {by}"), "steps": steps },
    })
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::{api::fence::NodeFenceSpec, time::Moment};

    use super::*;
    use crate::kube::convert;

    fn node(ready: &str) -> Node {
        let raw = json!({ "metadata": { "name": "n1", "uid": "u-1" },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] } });
        convert::node(serde_json::from_value(raw).unwrap(), Moment::default()).unwrap()
    }

    fn fence(drain: Option<&str>, confirm: Option<&str>) -> Fence {
        Fence {
            node: "n1".into(),
            reason: String::new(),
            drain: drain.map(str::to_owned),
            delete_emptydir_data: false,
            force: false,
            even_if_blocked: false,
            leave_off: false,
            confirm: confirm.map(str::to_owned),
        }
    }

    fn refused<T: std::fmt::Debug>(outcome: Result<T, CommandError>) -> String {
        match outcome.unwrap_err() {
            CommandError::Message(message) | CommandError::Usage(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_node_that_lives_is_drained_first_or_not_fenced() {
        assert!(refused(fence(None, None).steps(&node("True"))).contains("add --drain"));
        let steps = fence(Some("20m"), None).steps(&node("True")).unwrap();
        let drain = steps[1].drain.clone().unwrap();
        assert_eq!((drain.timeout.0.as_str(), drain.force, drain.delete_empty_dir_data), ("20m", false, false));
        for (force, delete_emptydir_data) in [(true, false), (false, true)] {
            let asked = Fence { force, delete_emptydir_data, ..fence(Some("20m"), None) };
            let drain = asked.steps(&node("True")).unwrap()[1].drain.clone().unwrap();
            assert_eq!((drain.force, drain.delete_empty_dir_data), (force, delete_emptydir_data));
        }
        assert!(refused(fence(Some("soon"), None).steps(&node("True"))).starts_with("--drain: "));
        let steps = json!(fence(None, None).steps(&node("Unknown")).unwrap());
        assert!(steps[0]["taint"].is_object() && steps[2]["powerCycle"].is_object(), "{steps}");
    }

    #[test]
    fn the_record_has_no_policy_names_its_person_and_is_one_that_the_controller_reads() {
        let steps = fence(None, None).steps(&node("Unknown")).unwrap();
        let record = record(&node("Unknown"), &steps, "eva: its shelf burns");
        let spec: NodeFenceSpec = serde_json::from_value(record["spec"].clone()).unwrap();
        assert_eq!((spec.policy.as_str(), spec.node_uid.as_str(), spec.steps), ("", "u-1", steps));
        assert_eq!(record["metadata"]["annotations"][ASKED_BY], "eva: its shelf burns");
    }

    /// The policy would open the next record at once.
    #[test]
    fn a_record_that_only_isolates_can_be_made_way_for_a_persons() {
        let record = |policy: &str, last: &str| {
            json!({ "spec": { "policy": policy, "steps": [{ "cordon": {} }, { last: {} }] },
                "status": { "phase": "Waiting" } })
        };
        let by_hand = "set spec.mode of policy gpu to Paused, `abort n1`, then `kubectl delete nodefence n1`";
        for (policy, last, expected) in
            [("gpu", "drain", true), ("gpu", "reboot", true), ("gpu", "powerCycle", false), ("", "drain", false)]
        {
            let text = under_remediation("n1", &record(policy, last));
            assert!(text.starts_with("n1 is under remediation already: by "), "{text}");
            assert_eq!(text.contains(by_hand), expected, "{policy} {last}: {text}");
        }
    }

    #[test]
    fn pods_in_the_way_of_a_node_that_lives_stop_a_script() {
        let stops = |stops| InTheWay { sentences: vec!["its drain stops at dev/cache".to_owned()], stops };
        let script = fence(Some("20m"), Some("n1"));
        let outcome = script.is_not_blocked(&node("True"), &stops(true));
        assert!(refused(outcome).starts_with("nothing was asked for, since pods are in the way: add the flags above"));
        for (what, asked, ready, stops) in [
            ("nothing stops it", fence(Some("20m"), Some("n1")), "True", stops(false)),
            ("a dead node is not drained", fence(Some("20m"), Some("n1")), "Unknown", stops(true)),
            ("a person at a terminal", fence(Some("20m"), None), "True", stops(true)),
            (
                "--even-if-blocked",
                Fence { even_if_blocked: true, ..fence(Some("20m"), Some("n1")) },
                "True",
                stops(true),
            ),
        ] {
            assert!(asked.is_not_blocked(&node(ready), &stops).is_ok(), "{what}");
        }
    }

    #[test]
    fn another_name_confirms_nothing() {
        assert!(fence(None, Some("n1")).confirmed().is_ok());
        assert!(refused(fence(None, Some("n2")).confirmed()).contains("\"n2\" is not \"n1\""));
    }
}
