//! node-reaper's own cases (its calculator's, its controller's), and where we differ from it.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_remediation::{
    api::{
        CORDONED_BY,
        policy::{Amount, Mode},
    },
    drain::DrainRules,
    facts::{Condition, ConditionStatus, Node, OLD_ZONE, ZONE},
    snapshot::Snapshot,
    time::{Moment, Now},
};

use super::{
    decision::{ReapDecision, Reason, decide_one},
    *,
};

const EXAMPLE: &str = include_str!("../../../../docs/examples/node-reaper.yaml");
const NOT_READY: &str =
    "reapPredicate: \"[Conditions.Ready] != 'True'\"\nunhealthyPredicate: \"[Conditions.Ready] != 'True'\"\n";

fn config(text: &str) -> ReaperConfig {
    read(text).unwrap_or_else(|diagnostics| panic!("{diagnostics:?}")).config
}

fn diagnostics(text: &str) -> Vec<String> {
    read(text).map(|read| panic!("{read:?}")).unwrap_err().iter().map(ToString::to_string).collect()
}

fn node(name: &str, zone: &str, ready: bool) -> Node {
    let condition = |kind: &str, status| Condition { kind: kind.to_owned(), status, ..Condition::default() };
    Node {
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "1".into(),
        labels: [(OLD_ZONE.into(), zone.into()), (ZONE.into(), zone.into())].into(),
        provider_id: "aws:///zone/i-1".into(),
        conditions: vec![
            condition("Ready", if ready { ConditionStatus::True } else { ConditionStatus::Unknown }),
            condition("MemoryPressure", ConditionStatus::False),
            condition("DiskPressure", ConditionStatus::False),
        ],
        ..Node::default()
    }
}

/// `bad` unready nodes and `good` ready ones in a zone.
fn zone(name: &str, bad: usize, good: usize) -> Vec<Node> {
    let bad = (0..bad).map(|n| node(&format!("{name}-bad{n}"), name, false));
    bad.chain((0..good).map(|n| node(&format!("{name}-good{n}"), name, true))).collect()
}

fn cluster(zones: &[Vec<Node>]) -> Snapshot {
    let nodes = zones.iter().flatten().map(|node| (node.name.clone(), node.clone())).collect();
    Snapshot { nodes, ..Snapshot::default() }
}

fn at(second: i64) -> Now {
    Now { moment: Moment::default(), wall: Timestamp::from_second(second).unwrap() }
}

fn decide(text: &str, name: &str, snapshot: &Snapshot) -> Result<ReapDecision, String> {
    decide_one(&config(text), &snapshot.nodes[name], snapshot, at(100_000))
}

fn not(text: &str, name: &str, snapshot: &Snapshot) -> String {
    match decide(text, name, snapshot) {
        Ok(ReapDecision::Not(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_calculators_of_node_reaper_come_out_the_same() {
    for (most, unhealthy, total, allowed) in [
        ("1", 0, 0, true),
        ("1", 1, 0, true),
        ("1", 2, 0, false),
        ("1%", 0, 100, true),
        ("1%", 1, 100, true),
        ("1%", 2, 100, false),
        ("14%", 10, 73, true),
        ("13%", 10, 73, false),
        ("23%", 7, 31, true),
        ("22%", 7, 31, false),
        ("10%", 0, 1, true),
        ("10%", 2, 10, false),
        ("100%", 5, 5, true),
        ("0%", 0, 9, true),
        ("0%", 1, 9, false),
        ("10%", 0, 0, false),
        ("18446744073709551615", 9, 9, true),
    ] {
        assert_eq!(Maximum::parse(most).unwrap().allows(unhealthy, total), allowed, "{unhealthy} of {total}, {most}");
    }
}

#[test]
fn what_is_no_maximum_is_a_mistake() {
    for text in ["", "a", "%", "-1", "1.5", "101%", "0100%", "1 %", "10%%", "18446744073709551616"] {
        assert!(Maximum::parse(text).is_err(), "{text:?}");
    }
    assert!(Maximum::parse("18446744073709551616").unwrap_err().contains("out of range"));
}

#[test]
fn an_empty_file_is_all_defaults() {
    for text in ["", "\n# nothing\n", "---\n", "{}"] {
        let config = config(text);
        assert_eq!(config.max_unhealthy, Maximum::Nodes(1), "{text:?}");
        assert_eq!(config.drain_timeout, Duration::from_secs(310));
        assert!(config.dry_run && config.use_eviction && config.drain_force_retry && !config.skip_reaping);
        assert_eq!(config.compat, Compat::Fixed);
        assert!(config.reap.text.contains("[Labels.kubernetes.io/role] != 'master'"));
        assert!(config.unhealthy.text.contains("[Conditions.OutOfDisk] != 'False'"));
    }
}

#[test]
fn every_key_is_read() {
    let text = "reapPredicate: 'Cordoned'\nunhealthyPredicate: 'Ready'\nmaxNodesUnhealthy: 5\n\
        maxNodesUnhealthyInSameZone: 20%\nnewNodeGracePeriodSeconds: 1\ndrainTimeoutSeconds: 40\n\
        drainForceRetryOnError: false\npodDeletionGracePeriodSeconds: 2\nuseEviction: false\nskipReaping: true\n\
        dryRun: false\ncompat: strict\n";
    let config = config(text);
    assert_eq!((config.reap.text.as_str(), config.unhealthy.text.as_str()), ("Cordoned", "Ready"));
    assert_eq!((config.max_unhealthy, config.max_unhealthy_in_zone), (Maximum::Nodes(5), Maximum::Percent(20)));
    assert_eq!((config.node_startup_grace_period, config.pod_grace), (Duration::from_secs(1), Duration::from_secs(2)));
    assert_eq!((config.drain_timeout, config.compat), (Duration::from_secs(40), Compat::Strict));
    assert!(!config.drain_force_retry && !config.use_eviction && config.skip_reaping && !config.dry_run);
}

#[test]
fn an_unknown_key_is_reported_with_its_line() {
    let found = diagnostics("dryRun: true\nskipReeping: true\n");
    assert!(found[0].starts_with("2: ") && found[0].contains("skipReeping"), "{found:?}");
}

#[test]
fn a_value_of_another_kind_is_told_with_its_line() {
    for text in
        ["\ndryRun: maybe\n", "\ndrainTimeoutSeconds: -1\n", "\ndrainTimeoutSeconds: 5m\n", "\nuseEviction: 3\n"]
    {
        let found = diagnostics(text);
        assert!(found[0].starts_with("2: "), "{text:?}: {found:?}");
    }
    assert_eq!(diagnostics("dryRun: [\n").len(), 1);
    assert_eq!(diagnostics("dryRun: true\ndryRun: false\n").len(), 1);
}

#[test]
fn every_mistake_is_reported_at_once() {
    let found = diagnostics(
        "reapPredicate: 'Cordoned =='\nmaxNodesUnhealthy: many\nmaxNodesUnhealthyInSameZone: 101%\ncompat: loose\n",
    );
    assert_eq!(found.len(), 4, "{found:?}");
    for (line, expected) in
        [("1: ", "reapPredicate"), ("2: ", "maxNodesUnhealthy"), ("3: ", "SameZone"), ("4: ", "compat")]
    {
        assert!(
            found.iter().any(|text| text.starts_with(line) && text.contains(expected)),
            "{line}{expected}: {found:?}"
        );
    }
}

#[test]
fn an_empty_reap_predicate_is_the_default_and_an_empty_unhealthy_predicate_is_none() {
    assert!(config("reapPredicate: ''").reap.text.starts_with("Cordoned == false"));
    assert!(diagnostics("unhealthyPredicate: ''")[0].contains("empty"));
    let strict = read("compat: strict\nunhealthyPredicate: ''\n").unwrap();
    assert!(strict.warnings.iter().any(|line| line.contains("unhealthyPredicate fails")), "{:?}", strict.warnings);
}

#[test]
fn oddities_are_warnings() {
    let read = read("newNodeGracePeriodSeconds: 0\ndrainTimeoutSeconds: 7\npodDeletionGracePeriodSeconds: 0\nmaxNodesUnhealthy: 100%").unwrap();
    assert_eq!((read.config.drain_timeout, read.config.pod_grace), (Duration::from_secs(30), Duration::from_secs(1)));
    assert_eq!(read.warnings.len(), 4, "{:?}", read.warnings);
}

#[test]
fn reaping_after_a_failed_drain_is_asked_for_by_a_key_and_only_in_fixed() {
    assert!(config("reapEvenIfDrainFailed: true").reap_even_if_drain_failed);
    assert!(diagnostics("compat: strict\nreapEvenIfDrainFailed: true")[0].starts_with("2: "));
    assert!(diagnostics("skipReaping: true\nreapEvenIfDrainFailed: true")[0].contains("opposite"));
}

#[test]
fn a_predicate_that_is_no_boolean_or_no_expression_is_an_error() {
    let snapshot = cluster(&[zone("a", 1, 9)]);
    let strict = |text: &str| decide(&format!("compat: strict\n{text}"), "a-bad0", &snapshot).unwrap_err();
    assert!(strict("reapPredicate: '1'").contains("not a boolean expression"));
    assert!(strict("reapPredicate: 'Cordoned =='").contains("reapPredicate"));
    assert!(strict("reapPredicate: 'true'\nunhealthyPredicate: '1'").contains("unhealthyPredicate"));
    assert!(strict("reapPredicate: 'true'\nunhealthyPredicate: '('").contains("unhealthyPredicate"));
    assert!(strict("reapPredicate: 'true'\nunhealthyPredicate: ''").contains("empty"));
}

#[test]
fn a_node_that_is_well_is_not_reaped() {
    assert_eq!(not(NOT_READY, "a-good0", &cluster(&[zone("a", 1, 9)])), "reapPredicate is false");
}

#[test]
fn a_single_unready_node_is_reaped() {
    for mode in ["strict", "fixed"] {
        let text = format!("{NOT_READY}compat: {mode}\n");
        assert_eq!(decide(&text, "a-bad0", &cluster(&[zone("a", 1, 9)])), Ok(ReapDecision::Reap), "{mode}");
    }
}

#[test]
fn too_many_unhealthy_nodes_in_the_cluster_or_the_zone_stop_it() {
    let snapshot = cluster(&[zone("a", 1, 9), zone("b", 1, 9)]);
    assert_eq!(not(NOT_READY, "a-bad0", &snapshot), "2 of 20 nodes are unhealthy, maxNodesUnhealthy is 1");
    let text = format!("{NOT_READY}maxNodesUnhealthy: 5\n");
    assert_eq!(decide(&text, "a-bad0", &snapshot), Ok(ReapDecision::Reap));
    let snapshot = cluster(&[zone("a", 2, 9), zone("b", 0, 9)]);
    assert!(not(&text, "a-bad0", &snapshot).contains("zone a"));
}

#[test]
fn a_new_node_is_left_alone() {
    let snapshot = cluster(&[zone("a", 1, 9)]);
    let judged = |second| decide_one(&config(NOT_READY), &snapshot.nodes["a-bad0"], &snapshot, at(second)).unwrap();
    assert!(matches!(judged(299), ReapDecision::Not(Reason::TooNew { .. })));
    assert!(matches!(judged(-50), ReapDecision::Not(Reason::TooNew { .. })));
    assert_eq!(judged(300), ReapDecision::Reap);
}

#[test]
fn a_share_of_the_zone_is_of_the_cluster_in_strict_and_of_the_zone_in_fixed() {
    // 2 of 4 in the zone, 2 of 20 in the cluster.
    let snapshot = cluster(&[zone("a", 2, 2), zone("b", 0, 16)]);
    let text = format!("{NOT_READY}maxNodesUnhealthy: 50%\nmaxNodesUnhealthyInSameZone: 10%\n");
    assert_eq!(decide(&format!("{text}compat: strict\n"), "a-bad0", &snapshot), Ok(ReapDecision::Reap));
    assert!(not(&text, "a-bad0", &snapshot).starts_with("2 of 4"));
}

#[test]
fn without_the_beta_label_strict_fails_and_fixed_looks_further() {
    let bare = |keep: bool| {
        let mut nodes = zone("a", 1, 9);
        for node in &mut nodes {
            node.labels.remove(OLD_ZONE);
            if !keep {
                node.labels.remove(ZONE);
            }
        }
        cluster(&[nodes])
    };
    let strict = format!("{NOT_READY}compat: strict\n");
    assert!(decide(&strict, "a-bad0", &bare(true)).unwrap_err().contains("failure-domain.beta.kubernetes.io/zone"));
    assert_eq!(decide(NOT_READY, "a-bad0", &bare(true)), Ok(ReapDecision::Reap));
    assert_eq!(decide(NOT_READY, "a-bad0", &bare(false)), Ok(ReapDecision::Reap));
}

#[test]
fn the_default_never_reaps_today_in_strict_and_does_in_fixed() {
    let snapshot = cluster(&[zone("a", 1, 9)]);
    assert!(not("compat: strict", "a-bad0", &snapshot).starts_with("10 of 10"));
    assert_eq!(decide("", "a-bad0", &snapshot), Ok(ReapDecision::Reap));
}

#[test]
fn a_node_that_still_has_the_old_condition_is_judged_by_it() {
    let mut nodes = zone("a", 1, 9);
    let out_of_disk = Condition { kind: "OutOfDisk".into(), ..nodes[5].conditions[1].clone() };
    nodes[5].conditions.push(out_of_disk);
    assert!(not("", "a-bad0", &cluster(&[nodes])).starts_with("9 of 10"));
}

#[test]
fn fixed_never_reaps_a_control_plane_node() {
    let mut nodes = zone("a", 1, 9);
    nodes[0].labels.insert("node-role.kubernetes.io/control-plane".into(), String::new());
    let snapshot = cluster(&[nodes]);
    assert!(not(NOT_READY, "a-bad0", &snapshot).contains("control-plane"));
    assert_eq!(decide(&format!("{NOT_READY}compat: strict\n"), "a-bad0", &snapshot), Ok(ReapDecision::Reap));
}

#[test]
fn our_own_cordon_does_not_end_what_it_began() {
    let mut nodes = zone("a", 1, 9);
    nodes[0].unschedulable = true;
    let by_others = cluster(std::slice::from_ref(&nodes));
    assert_eq!(not("", "a-bad0", &by_others), "reapPredicate is false");
    nodes[0].annotations.insert(CORDONED_BY.into(), POLICY_NAME.into());
    assert_eq!(decide("", "a-bad0", &cluster(&[nodes])), Ok(ReapDecision::Reap));
}

#[test]
fn the_default_is_refused_where_it_would_take_the_control_plane() {
    let mut nodes = zone("a", 0, 9);
    nodes[0].labels.insert("node-role.kubernetes.io/control-plane".into(), String::new());
    let snapshot = cluster(&[nodes]);
    for mode in ["strict", "fixed"] {
        let text = format!("compat: {mode}\n");
        assert!(refusals(&config(&text), &snapshot, at(100_000)).is_empty());
        let found = refusals(&config(&format!("{text}dryRun: false\n")), &snapshot, at(100_000));
        assert!(found.len() == 1 && found[0].contains("a-good0"), "{found:?}");
    }
    let careful = EXAMPLE.replace("dryRun: true", "dryRun: false");
    assert!(refusals(&config(&careful), &snapshot, at(100_000)).is_empty());
}

#[test]
fn a_predicate_for_everything_is_refused() {
    let found = refusals(&config("dryRun: false\nreapPredicate: 'true'\n"), &cluster(&[zone("a", 0, 3)]), at(100_000));
    assert!(found[0].contains("all 3 nodes"), "{found:?}");
    let strict = "dryRun: false\ncompat: strict\nunhealthyPredicate: ''\n";
    assert!(refusals(&config(strict), &cluster(&[]), at(0))[0].contains("unhealthyPredicate is empty"));
}

#[test]
fn each_mode_has_its_lines_at_the_start() {
    let lines = |text: &str| deviations(&config(text));
    assert!(lines("").iter().any(|line| line.starts_with("fixed: ")));
    assert!(!lines("").iter().any(|line| line.starts_with("strict: ")));
    assert!(lines("compat: strict").iter().any(|line| line.contains("README")));
    assert!(lines("reapEvenIfDrainFailed: true").last().unwrap().starts_with("reapEvenIfDrainFailed"));
}

#[test]
fn the_guide_has_every_key_metric_and_deviation() {
    let guide = include_str!("../../../../docs/node-reaper.md");
    for line in deviations(&config("")).into_iter().chain(deviations(&config("compat: strict"))) {
        assert!(guide.contains(&format!("- {line}\n")), "{line}");
    }
    let keys = EXAMPLE.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key);
    let keys: Vec<_> = keys.filter(|key| key.bytes().all(|byte| byte.is_ascii_alphabetic())).collect();
    assert_eq!(keys.len(), 13, "{keys:?}");
    let metrics = [DRAIN_TOTAL, DRAIN_FAIL_TOTAL, REAP_TOTAL, REAP_FAIL_TOTAL];
    for name in keys.iter().chain(&metrics) {
        assert!(guide.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn the_example_drains_and_reaps() {
    let mut config = config(EXAMPLE);
    assert!(config.dry_run);
    config.dry_run = false;
    let snapshot = cluster(&[zone("a", 1, 5)]);
    let (spec, judge) = to_policy(&config);
    assert_eq!(spec.mode, Mode::Enforce);
    let kinds: Vec<_> = spec.steps.iter().map(|s| (s.cordon.is_some(), s.drain.is_some(), s.reap.is_some())).collect();
    assert_eq!(kinds, [(true, false, false), (false, true, false), (false, false, true)]);
    assert_eq!(judge.judge(&snapshot.nodes["a-bad0"], &snapshot, at(100_000)), Ok(true));
    assert_eq!(judge.judge(&snapshot.nodes["a-good0"], &snapshot, at(100_000)), Ok(false));
    let many = cluster(&[zone("a", 2, 5)]);
    assert!(judge.judge(&many.nodes["a-bad0"], &many, at(100_000)).unwrap_err().contains("2 of 7"));
}

#[test]
fn the_drain_has_node_reapers_time_and_force_comes_after_it() {
    for (given, total, forced) in [(310, 340, 30), (40, 50, 10)] {
        let (spec, _) = to_policy(&config(&format!("drainTimeoutSeconds: {given}\n")));
        let rules = DrainRules::of(spec.steps[1].drain.as_ref().unwrap()).unwrap();
        assert_eq!((rules.timeout, rules.forced_for()), (Duration::from_secs(total), Duration::from_secs(forced)));
        assert_eq!(rules.grace, Some(Duration::from_secs(300)));
    }
    let (spec, _) = to_policy(&config("drainForceRetryOnError: false\nuseEviction: false\nskipReaping: true\n"));
    let rules = DrainRules::of(spec.steps[1].drain.as_ref().unwrap()).unwrap();
    assert!(rules.timeout == Duration::from_secs(310) && rules.disable_eviction && !rules.force_on_timeout);
    assert_eq!(spec.steps.len(), 2);
}

#[test]
fn the_maxima_become_the_budget() {
    let amounts = |text: &str| {
        let budget = to_policy(&config(text)).0.budget.unwrap();
        (budget.max_unavailable.unwrap(), budget.max_unavailable_per_zone.unwrap(), budget.max_concurrent)
    };
    let percent = |text: &str| Amount::Text(text.into());
    let text = "maxNodesUnhealthy: 3\nmaxNodesUnhealthyInSameZone: 20%\n";
    assert_eq!(amounts(text), (Amount::Count(3), percent("20%"), Some(1)));
    assert_eq!(amounts(&format!("{text}compat: strict\n")).1, percent("100%"));
}
