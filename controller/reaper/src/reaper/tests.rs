//! node-reaper's file as one policy among others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_remediation::{
    facts::{CONTROL_PLANE, Condition, ConditionStatus},
    time::Moment,
};

use super::*;

const NOW: Now = Now { moment: Moment(Duration::from_secs(1000)), wall: Timestamp::UNIX_EPOCH };
const DANGEROUS: &str = "dryRun: false\nreapPredicate: \"[Conditions.Ready] != 'True'\"\n";

fn reaper(text: &str, has_plugins: bool) -> Reaper {
    let read = parse(Path::new("node-reaper.yaml"), text).unwrap();
    Reaper::new(read.config, has_plugins).unwrap()
}

fn node(name: &str, label: Option<&str>) -> nodewell_remediation::facts::Node {
    let labels: BTreeMap<String, String> = label.map(|label| (label.to_owned(), String::new())).into_iter().collect();
    nodewell_remediation::facts::Node {
        name: name.into(),
        uid: name.into(),
        resource_version: "1".into(),
        labels,
        conditions: vec![Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() }],
        ..nodewell_remediation::facts::Node::default()
    }
}

fn snapshot(nodes: impl IntoIterator<Item = nodewell_remediation::facts::Node>) -> Snapshot {
    let nodes = nodes.into_iter().map(|node| (node.name.clone(), node)).collect();
    Snapshot { nodes, ..Snapshot::default() }
}

#[test]
fn it_only_observes_until_the_cluster_was_looked_at() {
    let reaper = reaper(DANGEROUS, true);
    assert_eq!(reaper.policy().mode, Mode::Observe);
    assert!(reaper.look(&snapshot([node("worker", None)]), NOW).is_empty());
    assert_eq!(reaper.clone().policy().mode, Mode::Enforce);
}

#[test]
fn a_control_plane_node_that_comes_turns_it_off_again() {
    let reaper = reaper(DANGEROUS, true);
    let mut snapshot = snapshot([node("worker", None)]);
    reaper.look(&snapshot, NOW);
    snapshot.nodes.insert("master".into(), node("master", Some(CONTROL_PLANE[0])));
    let refusals = reaper.look(&snapshot, NOW);
    assert!(refusals[0].contains("control-plane") && refusals[0].contains("master"), "{refusals:?}");
    assert_eq!(reaper.policy().mode, Mode::Observe);
}

#[test]
fn the_files_dry_run_holds_whatever_the_cluster_looks_like() {
    let reaper = reaper("dryRun: true\n", true);
    assert!(reaper.look(&snapshot([node("worker", None)]), NOW).is_empty());
    assert_eq!(reaper.policy().mode, Mode::Observe);
}

#[test]
fn without_a_plug_in_the_steps_end_with_the_drain() {
    let steps = |has_plugins| reaper("dryRun: false\n", has_plugins).policy().steps;
    assert!(steps(true).last().unwrap().reap.is_some());
    assert!(steps(false).last().unwrap().drain.is_some());
}

#[test]
fn it_stands_among_the_policies_by_its_name_and_once() {
    let named = |name: &str| Policy { name: name.into(), ..Policy::default() };
    let mut snapshot = Snapshot { policies: vec![named("a"), named("z")], ..Snapshot::default() };
    let reaper = reaper("", true);
    reaper.put(&mut snapshot);
    reaper.put(&mut snapshot);
    let names: Vec<_> = snapshot.policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["a", POLICY_NAME, "z"]);
}

#[test]
fn errors_have_their_lines() {
    let diagnostics = parse(Path::new("r.yaml"), "dryRun: false\nmaxNodesUnhealthy: many\n").unwrap_err();
    assert!(diagnostics[0].to_string().starts_with("r.yaml:2: "), "{diagnostics:?}");
    let error = read(Path::new("/nonexistent/r.yaml")).unwrap_err()[0].to_string();
    assert!(error.starts_with("/nonexistent/r.yaml: cannot be read: "), "{error}");
}
