//! `check --node`: whether a node could be turned off, and if its machine is not confirmed yet, the command that
//! confirms it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1 as core;
use nodewell_power::native::{NativePower, Preflight, logins::HELD_BACK};
use nodewell_reconcile::{
    cluster::{Configuration, Nodes},
    power::READING_TIMEOUT,
};
use nodewell_remediation::{
    facts::{Condition, ConditionStatus, FENCE_READY, Node},
    method::{KnownConfigMaps, Unpinned},
};
use serde_json::json;

use super::{CommandError, Global, error::print, progress::Progress};
use crate::{
    daemon::{self, readiness},
    kube::{KubeCluster, convert},
};

const KEY: &str = "config.properties";
/// A BMC takes a second or two.
const SLOW: Duration = Duration::from_secs(5);

pub(super) async fn run(global: &Global, name: &str) -> Result<(), CommandError> {
    let (config, cluster) = global.cluster().await?;
    let cluster = Arc::new(cluster);
    let node = cluster.node(name).await.map_err(CommandError::of(&format!("Node {name}")))?;
    let node = node.ok_or_else(|| CommandError::Message(format!("there is no Node {name}")))?;
    let power = daemon::power(&config, &cluster).map_err(|fatal| CommandError::Message(fatal.to_string()))?;
    let progress = Progress::of_stderr();
    let power = power.of_a_command().reporting(progress.line());
    survey(&cluster, &power).await?;
    let unpinned = power.unpinned(&node).await;
    if power.is_refused(&node.name) {
        let preflight = power.preflight(&node).await;
        progress.wipe();
        remember(&cluster, &power, &node, &preflight).await?;
    }
    if let Some(unpinned) = unpinned.map_err(CommandError::Message)? {
        let data = cluster.config_map(&unpinned.map).await.map_err(CommandError::of(&unpinned.map))?;
        let known = KnownConfigMaps::from([(unpinned.map.clone(), data)]);
        progress.wipe();
        print(&format!("{name}: {}\n\n{}\n", unpinned.found, command(&config.namespace, &unpinned, &known)))?;
        return Err(CommandError::Message(format!(
            "{name} is not turned off before its ConfigMap confirms it; look at the machine"
        )));
    }
    let started = Instant::now();
    let preflight = power.preflight(&node).await;
    let slow = slow(started.elapsed());
    progress.wipe();
    remember(&cluster, &power, &node, &preflight).await?;
    let Preflight { status, reason, message } = preflight;
    let answer = format!("{name}: {reason}: {message}");
    if status != ConditionStatus::True {
        let aside = if message.contains(HELD_BACK) { of_the_controller(&node) } else { String::new() };
        return Err(CommandError::Message(answer + &aside));
    }
    let answer = answer + &slow.unwrap_or_default();
    let often = power.how_often(&node, config.fencing.preflight_interval).await.map_err(CommandError::Message)?;
    print(&format!("{answer}\n{}", often.iter().map(|line| format!("  {line}\n")).collect::<String>()))
}

/// Where no login is tried here: a controller that leads tries an account that was changed.
fn of_the_controller(node: &Node) -> String {
    let begins = "\n  This command tries no login until then. A controller that leads tries a changed account at its next look; ";
    match node.conditions.iter().find(|condition| condition.kind == FENCE_READY) {
        Some(Condition { status: ConditionStatus::True, message, .. }) => {
            format!("{begins}FenceReady of the Node is True by now: {message}")
        }
        _ => format!("{begins}see FenceReady: kubectl describe node {}", node.name),
    }
}

/// Reads what is configured for all nodes: two on one plug are found by comparing them.
async fn survey(cluster: &KubeCluster, power: &NativePower<KubeCluster>) -> Result<(), CommandError> {
    let listed: Vec<core::Node> =
        cluster.wire().list("/api/v1/nodes", "").await.map_err(CommandError::of("the list of nodes"))?;
    let now = cluster.clock().moment();
    let nodes: Vec<Node> = listed.into_iter().filter_map(|raw| convert::node(raw, now).ok()).collect();
    power.survey(power.unread(nodes.iter())).await;
    Ok(())
}

/// What reads slowly now is not read in time on a bad day, and then it is in doubt whether a machine is off.
fn slow(elapsed: Duration) -> Option<String> {
    (elapsed > SLOW).then(|| {
        format!(
            "\n  slow: it took {} s, and all methods of a level have {} s; time the agent's status by hand (a BMC without \
             cipher suite 17 wants cipher=3 of fence_ipmilan)",
            elapsed.as_secs(),
            READING_TIMEOUT.as_secs()
        )
    })
}

/// A login that was refused here counts for the controller that leads, too.
async fn remember(
    cluster: &KubeCluster,
    power: &NativePower<KubeCluster>,
    node: &Node,
    preflight: &Preflight,
) -> Result<(), CommandError> {
    if !power.is_refused(&node.name) {
        return Ok(());
    }
    match readiness::write(cluster, node, preflight).await {
        Ok(()) => Ok(()),
        Err(error) => print(&format!(
            "{}: FenceReady cannot be written: {error}; the BMC refused a login, so run this again in six minutes at the \
             earliest: many lock an account after three\n",
            node.name
        )),
    }
}

/// What writes the line beside what is there, instead of an older one.
fn command(namespace: &str, unpinned: &Unpinned, known: &KnownConfigMaps) -> String {
    let Unpinned { line, map, .. } = unpinned;
    let Some(Some(data)) = known.get(map) else {
        return format!(
            "kubectl -n {namespace} create configmap {map} --from-literal={}",
            quoted(&format!("{KEY}={line}"))
        );
    };
    let key = line.split_once('=').map_or(line.as_str(), |(key, _)| key);
    let is_older = |old: &&str| old.split_once('=').is_some_and(|(before, _)| before.trim() == key);
    let text = data.get(KEY).map_or("", String::as_str);
    let lines = text.lines().filter(|old| !is_older(old)).chain([line.as_str()]);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let patch = json!({ "data": { KEY: text } }).to_string();
    format!("kubectl -n {namespace} patch configmap {map} --type merge -p {}", quoted(&patch))
}

/// As a shell takes it for one argument.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpinned(line: &str) -> Unpinned {
        Unpinned { found: "f".into(), line: line.into(), map: "fence-config-n1".into() }
    }

    #[test]
    fn the_command_adds_its_line_and_replaces_an_older_one() {
        let data = [(KEY.to_owned(), "power_management=a\n# don't\noutlets = x/1\n".to_owned())];
        let known = KnownConfigMaps::from([("fence-config-n1".to_owned(), Some(data.into()))]);
        assert_eq!(
            command("ns", &unpinned("outlets=x/1 x/2"), &known),
            r#"kubectl -n ns patch configmap fence-config-n1 --type merge -p '{"data":{"config.properties":"power_management=a\n# don'\''t\noutlets=x/1 x/2\n"}}'"#
        );
    }

    #[test]
    fn where_no_login_is_tried_the_leaders_answer_is_shown() {
        let mut node = Node { name: "n1".into(), ..Node::default() };
        assert!(of_the_controller(&node).ends_with("see FenceReady: kubectl describe node n1"));
        let ready = |status| Condition {
            kind: FENCE_READY.into(),
            status,
            message: "it answers".into(),
            ..Condition::default()
        };
        node.conditions = vec![ready(ConditionStatus::True)];
        assert!(of_the_controller(&node).ends_with("FenceReady of the Node is True by now: it answers"));
        node.conditions = vec![ready(ConditionStatus::False)];
        assert!(of_the_controller(&node).contains("kubectl describe node n1"));
    }

    #[test]
    fn what_takes_long_is_reported() {
        assert_eq!(slow(Duration::from_secs(2)), None);
        assert!(slow(Duration::from_secs(14)).unwrap().starts_with("\n  slow: it took 14 s, and all methods"));
    }

    #[test]
    fn a_node_that_has_no_configmap_gets_one() {
        let known = KnownConfigMaps::from([("fence-config-n1".to_owned(), None)]);
        assert_eq!(
            command("ns", &unpinned("system_uuid=1-2"), &known),
            "kubectl -n ns create configmap fence-config-n1 --from-literal='config.properties=system_uuid=1-2'"
        );
    }
}
