//! Which pods go, which stay, and which stand in the way.

use super::*;
use crate::facts::DisruptionBudget;

#[test]
fn a_daemon_sets_pod_stays_or_stands_in_the_way() {
    let one = Pod { owner: owner("DaemonSet"), ..pod("d") };
    assert!(stays(&one, &rules()));
    assert!(refusal(&one, &DrainRules { ignore_daemon_sets: false, ..rules() }).contains("ignoreDaemonSets"));
    let finished = Pod { phase: "Failed".into(), ..one };
    assert_eq!(sorted(&finished, &rules()), PodDeleteStatus::Go);
}

#[test]
fn the_pod_of_a_daemon_set_that_is_gone_needs_force() {
    let mut orphan = Pod { owner: owner("DaemonSet"), ..pod("d") };
    orphan.owner.as_mut().unwrap().gone = true;
    assert!(refusal(&orphan, &rules()).contains("force: true"));
    assert_eq!(sorted(&orphan, &DrainRules { force: true, ..rules() }), PodDeleteStatus::Go);
}

#[test]
fn a_static_pod_stays_whatever_owns_it() {
    let one = Pod { mirror: true, owner: owner("Node"), ..pod("etcd") };
    assert!(stays(&one, &DrainRules { force: true, ..rules() }));
}

#[test]
fn an_empty_dir_needs_the_flag_unless_the_pod_is_finished() {
    let one = Pod { volumes: vec![Volume::EmptyDir { name: "cache".into() }], ..pod("c") };
    let why = refusal(&one, &rules());
    assert!(why.contains("cache") && why.contains("deleteEmptyDirData"), "{why}");
    assert_eq!(sorted(&one, &DrainRules { delete_empty_dir_data: true, ..rules() }), PodDeleteStatus::Go);
    assert_eq!(sorted(&Pod { phase: "Succeeded".into(), ..one }, &rules()), PodDeleteStatus::Go);
}

#[test]
fn a_pod_that_nothing_makes_again_needs_force() {
    let bare = Pod { owner: None, ..pod("bare") };
    assert!(refusal(&bare, &rules()).contains("force"));
    assert!(refusal(&Pod { owned_by_others: true, ..bare.clone() }, &rules()).contains("none of its owners"));
    assert_eq!(sorted(&bare, &DrainRules { force: true, ..rules() }), PodDeleteStatus::Go);
    assert_eq!(sorted(&Pod { phase: "Succeeded".into(), ..bare }, &rules()), PodDeleteStatus::Go);
}

#[test]
fn a_pod_that_is_deleting_for_too_long_is_not_waited_for() {
    let rules = DrainRules { skip_deleting_for: Some(Duration::from_secs(60)), ..rules() };
    assert!(stays(&deleting(pod("old"), 10_000 - 61), &rules));
    assert_eq!(sorted(&deleting(pod("new"), 10_000 - 60), &rules), PodDeleteStatus::Go);
}

#[test]
fn a_selector_leaves_others_alone_even_where_they_would_stand_in_the_way() {
    let requirement = |operator: &str, values: &[&str]| Requirement {
        key: "app".into(),
        operator: operator.into(),
        values: values.iter().map(ToString::to_string).collect(),
    };
    let with = |one| {
        let selector = Selector { match_expressions: vec![one], ..Selector::default() };
        DrainRules { pod_selector: Some(selector), ..rules() }
    };
    for (one, goes) in [
        (requirement("In", &["web"]), true),
        (requirement("In", &["db"]), false),
        (requirement("NotIn", &["db"]), true),
        (requirement("Exists", &[]), true),
        (requirement("DoesNotExist", &[]), false),
        (requirement("Like", &["web"]), false),
    ] {
        assert_eq!(sorted(&pod("p"), &with(one.clone())) == PodDeleteStatus::Go, goes, "{one:?}");
    }
    let absent = Requirement { key: "tier".into(), ..requirement("DoesNotExist", &[]) };
    assert_eq!(sorted(&pod("p"), &with(absent)), PodDeleteStatus::Go);
    for (app, goes) in [("web", true), ("db", false)] {
        let selector = Selector { match_labels: [("app".into(), app.into())].into(), ..Selector::default() };
        let rules = DrainRules { pod_selector: Some(selector), ..rules() };
        assert_eq!(sorted(&pod("p"), &rules) == PodDeleteStatus::Go, goes, "{app}");
    }
    assert!(stays(&Pod { owner: None, ..pod("bare") }, &with(requirement("In", &["db"]))));
}

#[test]
fn a_client_that_only_reads_can_report_what_a_drain_waits_for() {
    let budget = |name: &str, disruptions_allowed| DisruptionBudget {
        namespace: "shop".into(),
        name: name.into(),
        pods: Vec::new(),
        disruptions_allowed,
        message: String::new(),
    };
    let pods = [
        pod("a"),
        deleting(pod("c"), 10_030),
        Pod { mirror: true, ..pod("d") },
        Pod { owner: None, ..pod("e") },
        Pod { phase: "Succeeded".into(), ..pod("f") },
    ];
    let awaited = awaited(&rules(), &pods, now(0));
    let lines = |budgets: &[DisruptionBudget]| -> Vec<String> {
        awaited.iter().map(|one| one.line(if one.asks { budgets } else { &[] })).collect()
    };
    let others = [
        "shop/c: is being deleted, by 1970-01-01T02:47:10Z",
        "shop/e: stands in the way: no controller makes it again; force: true would delete it",
        "shop/f: is to go",
    ];
    for (budgets, message) in [
        (&[][..], "is to go"),
        (&[budget("web", 0)], "refused by PodDisruptionBudget shop/web (allows 0)"),
        (&[budget("web", 1)], "is to go"),
        (
            &[budget("a", 1), budget("b", 1)],
            "several budgets select it, which eviction cannot serve: PodDisruptionBudget shop/a (allows 1), shop/b (allows 1)",
        ),
    ] {
        let found = lines(budgets);
        assert_eq!(
            (found[0].as_str(), &found[1..]),
            (format!("shop/a: {message}").as_str(), &others.map(String::from)[..])
        );
    }
    let rules = DrainRules { disable_eviction: true, ..rules() };
    assert!(super::super::awaited(&rules, &pods, now(0)).iter().all(|one| !one.asks));
}

/// A DaemonSet that is gone makes its pod on no node again.
#[test]
fn what_still_runs_and_does_not_come_back_with_its_node_ends_with_its_power() {
    let gone = |kind: &str| owner(kind).map(|owner| Owner { gone: true, ..owner });
    for (pod, expected) in [
        (pod("a"), true),
        (Pod { owner: None, ..pod("bare") }, true),
        (Pod { owner: gone("ReplicaSet"), ..pod("a") }, true),
        (Pod { owner: owner("DaemonSet"), ..pod("d") }, false),
        (Pod { owner: gone("DaemonSet"), ..pod("d") }, true),
        (Pod { mirror: true, ..pod("etcd") }, false),
        (Pod { phase: "Succeeded".into(), ..pod("f") }, false),
        (Pod { phase: "Failed".into(), ..pod("f") }, false),
    ] {
        assert_eq!(ends_with_power(&pod), expected, "{pod:?}");
    }
}
