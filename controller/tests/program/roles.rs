//! The roles that ship: who may write what, read from the manifests themselves.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nodewell_controller::config::{Config, Settings};
use nodewell_remediation::facts::AGENT_CONDITION_TYPES;
use serde_json::Value;

const WRITES: [&str; 6] = ["create", "update", "patch", "delete", "deletecollection", "*"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac")
}

fn objects_of(file: &Path) -> Vec<Value> {
    serde_saphyr::from_multiple::<Value>(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Of every part, which has a folder of its own; what kustomize reads there is no manifest.
fn manifests() -> Vec<Value> {
    let inside = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = inside(folder()).flat_map(inside).filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    files.flat_map(|file| objects_of(&file)).collect()
}

fn is(object: &Value, kind: &str, namespace: Option<&str>) -> bool {
    object["kind"] == kind && namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
}

fn has(list: &Value, word: &str) -> bool {
    list.as_array().is_some_and(|all| all.iter().any(|one| one == word))
}

fn writes_leases(role: &Value) -> bool {
    let rules = role["rules"].as_array().cloned().unwrap_or_default();
    let of_leases = rules.iter().filter(|rule| has(&rule["resources"], "leases") || has(&rule["resources"], "*"));
    of_leases.into_iter().any(|rule| WRITES.iter().any(|verb| has(&rule["verbs"], verb)))
}

/// An agent's Lease is named like its Node, and that may be called like the leader's Lease. No admission policy is
/// needed to separate them: where the controller's are, no other client has a role, and where the agents' are, the
/// controller writes none.
#[test]
fn the_controllers_leases_and_the_agents_cannot_meet() {
    let config = Config::resolved(Settings::default()).unwrap();
    let (own, agents) = (config.leader.namespace.as_str(), config.namespace.as_str());
    let all = manifests();
    assert!(all.iter().any(|object| is(object, "Namespace", None) && object["metadata"]["name"] == own));
    let roles: Vec<&Value> = all.iter().filter(|object| is(object, "Role", Some(own))).collect();
    assert!(roles.len() == 1 && writes_leases(roles[0]), "{roles:?}");
    for binding in all.iter().filter(|object| is(object, "RoleBinding", Some(own))) {
        let users: Vec<&Value> = binding["subjects"].as_array().unwrap().iter().map(|who| &who["name"]).collect();
        assert_eq!(users, ["nodewell:controller"]);
    }
    let of_controller = all
        .iter()
        .filter(|object| is(object, "Role", Some(agents)) && object["metadata"]["name"] == "nodewell:controller");
    assert_eq!(of_controller.filter(|role| writes_leases(role)).count(), 0);
    assert_eq!(all.iter().filter(|object| is(object, "ClusterRole", None) && writes_leases(object)).count(), 0);
}

/// Types between quotes of a text.
fn quoted(text: &str) -> Vec<&str> {
    text.split('\'').skip(1).step_by(2).collect()
}

/// What agents may write, what the controller speaks for when an agent is silent, and what agents do write.
#[test]
fn the_policy_for_agents_knows_their_catalogue_and_no_more() {
    let all = manifests();
    let policy = all.iter().find(|object| {
        object["kind"] == "ValidatingAdmissionPolicy" && object["metadata"]["name"] == "nodewell-own-node"
    });
    let variables = policy.unwrap()["spec"]["variables"].as_array().unwrap();
    let types = variables.iter().find(|variable| variable["name"] == "types").unwrap();
    assert_eq!(quoted(types["expression"].as_str().unwrap()), AGENT_CONDITION_TYPES);

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/rules/shipped");
    let texts = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let mut shipped: Vec<String> = texts.flat_map(|text| conditions_of(&text)).collect();
    shipped.sort();
    assert_eq!(
        shipped, AGENT_CONDITION_TYPES,
        "facts/agent_condition_types.rs and nodewell-admission.yaml follow agent/rules/shipped"
    );
}

fn conditions_of(text: &str) -> Vec<String> {
    let tables = text.split("[[condition]]").skip(1);
    let kinds = tables.filter_map(|table| table.trim_start().strip_prefix("type = \"")?.split('"').next());
    kinds.map(str::to_owned).collect()
}

fn rules_of<'a>(all: &'a [Value], kind: &str, name: &str) -> Vec<&'a Value> {
    let roles = all.iter().filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    roles.flat_map(|role| role["rules"].as_array().unwrap()).collect()
}

fn may(rules: &[&Value], verb: &str, resource: &str) -> bool {
    rules.iter().any(|rule| has(&rule["verbs"], verb) && has(&rule["resources"], resource))
}

/// Who stops cannot go on, who writes policies touches no record, and none grants a Secret or fencing configuration.
#[test]
fn peoples_roles_are_no_wider_than_their_names() {
    let all = manifests();
    let of = |name: &str| rules_of(&all, "ClusterRole", name);
    let [operator, fencer, author] = ["nodewell:operator", "nodewell:fencer", "nodewell:policy-author"].map(of);
    assert!(may(&operator, "patch", "nodefences") && !may(&operator, "delete", "nodefences"));
    for verb in ["retry", "release"] {
        assert!(!may(&operator, verb, "nodefences") && may(&fencer, verb, "nodefences"), "{verb}");
    }
    assert!(may(&fencer, "delete", "nodefences") && !may(&fencer, "patch", "remediationpolicies"));
    assert!(may(&author, "create", "remediationpolicies") && !may(&author, "patch", "nodefences"));
    let manual = of("nodewell:manual-fencer");
    assert!(may(&manual, "create", "nodefences") && may(&manual, "get", "nodes") && may(&manual, "list", "pods"));
    for verb in ["patch", "update", "delete", "retry", "open"] {
        assert!(!may(&manual, verb, "nodefences") && !may(&manual, verb, "nodes"), "{verb}");
    }
    assert!(may(&of("nodewell:controller"), "open", "nodefences"), "the admission policy asks for it");
    for (name, deletes) in [("nodewell:operator", false), ("nodewell:fencer", true)] {
        let rules = rules_of(&all, "Role", name);
        assert!(
            rules.iter().all(|rule| rule["resourceNames"].as_array().is_some_and(|names| names == &["nodewell-pause"]))
        );
        assert_eq!(may(&rules, "delete", "configmaps"), deletes, "{name}");
    }
    for rules in [&operator, &fencer, &author] {
        assert!(
            ["secrets", "configmaps", "nodes", "*"]
                .iter()
                .all(|kind| rules.iter().all(|rule| !has(&rule["resources"], kind)))
        );
    }
    let aggregated = all.iter().filter(|object| {
        let labels = object["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        labels.keys().any(|key| key.starts_with("rbac.authorization.k8s.io/aggregate-to-"))
    });
    let names: Vec<&Value> = aggregated.map(|role| &role["metadata"]["name"]).collect();
    assert_eq!(names, ["nodewell:view"], "nothing but reading comes with the cluster's own roles");
}

/// Of ConfigMaps it names two: others there say how nodes are fenced.
#[test]
fn who_looks_at_the_fleet_reads_and_does_nothing() {
    let all = manifests();
    let viewer = rules_of(&all, "ClusterRole", "nodewell:fleet-viewer");
    for (verb, resource) in [("list", "nodes"), ("list", "nodefences"), ("list", "leases"), ("list", "events")] {
        assert!(may(&viewer, verb, resource), "{verb} {resource}");
    }
    for rule in &viewer {
        let verbs: Vec<&str> = rule["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()).collect();
        assert!(verbs.iter().all(|verb| ["get", "list", "watch"].contains(verb)), "{verbs:?}");
        assert!(!has(&rule["resources"], "secrets") && !has(&rule["resources"], "*"), "{rule}");
        let names = rule["resourceNames"].as_array().map(Vec::len);
        assert_eq!(names, has(&rule["resources"], "configmaps").then_some(2), "{rule}");
    }
}

/// What has machines turned off comes in manifests of its own, and answers nothing.
#[test]
fn requests_are_made_and_answered_by_optional_roles_alone() {
    let of = |part: &str| objects_of(&folder().join(part).join(format!("nodewell-{part}.yaml")));
    let optional = ["external-remediation", "cluster-api"].map(of).concat();
    let touches = |object: &Value| {
        let rules = object["rules"].as_array().cloned().unwrap_or_default();
        rules.iter().any(|rule| rule["resources"].to_string().contains("nodefenceremediation"))
    };
    for object in manifests().iter().filter(|object| touches(object)) {
        assert!(optional.contains(object), "{} is not optional", object["metadata"]["name"]);
    }
    for (name, label) in [
        ("nodewell:fence-requester", "rbac.ext-remediation/aggregate-to-ext-remediation"),
        ("nodewell:machine-fence-requester", "cluster.x-k8s.io/aggregate-to-manager"),
    ] {
        let role = optional.iter().find(|object| object["metadata"]["name"] == name).unwrap();
        assert_eq!(role["metadata"]["labels"][label], "true");
        let rules = rules_of(&optional, "ClusterRole", name);
        assert!(may(&rules, "create", "nodefenceremediations") && may(&rules, "delete", "nodefenceremediations"));
        assert!(!may(&rules, "answer", "nodefenceremediations"), "{name}");
        for resource in ["nodefenceremediations/status", "nodefences", "nodes", "*"] {
            assert!(rules.iter().all(|rule| !has(&rule["resources"], resource)), "{name}: {resource}");
        }
    }
    for (kind, name) in [("ClusterRole", "nodewell:external-remediation"), ("Role", "nodewell:cluster-api")] {
        let answers = rules_of(&optional, kind, name);
        assert!(may(&answers, "answer", "nodefenceremediations"), "the admission policy asks for it");
        for verb in ["create", "update", "delete"] {
            assert!(!may(&answers, verb, "nodefenceremediations"), "{name} {verb}");
        }
    }
    // One policy in both manifests: where both are applied, the second changes nothing.
    let policies: Vec<&Value> =
        optional.iter().filter(|object| object["kind"] == "ValidatingAdmissionPolicy").collect();
    assert_eq!((policies.len(), policies[0]), (2, policies[1]));
}
