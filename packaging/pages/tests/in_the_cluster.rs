//! `packaging/lint/cluster`: the tree as it is passes, and each way in which manifests, kustomizations and chart come
//! apart fails by name.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

const PARTS: [&str; 4] = ["packaging", "docs/chart-values.md", "Cargo.toml", "LICENSE"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the check looks at, as it is here, in a repository of its own.
fn tree() -> TempDir {
    let (folder, from) = (tempfile::tempdir().unwrap(), workspace());
    let listed = [&["ls-files", "--cached", "--others", "--exclude-standard"], &PARTS[..]].concat();
    for file in git(&from, &listed).lines().filter(|file| from.join(file).is_file()) {
        let to = folder.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.join(file), to).unwrap();
    }
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "--all"]);
    git(folder.path(), &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "as it is"]);
    folder
}

fn edit(tree: &TempDir, file: &str, from: &str, to: &str) {
    let path = tree.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

/// What it prints, and whether it is content.
fn check(tree: &TempDir) -> (bool, String) {
    git(tree.path(), &["add", "--all"]);
    let output = Command::new(tree.path().join("packaging/lint/cluster")).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

/// Whether there is what the check is written in.
fn has_python(case: &str) -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        eprintln!("SKIP {case}: needs python3");
    }
    has
}

#[test]
fn manifests_kustomizations_and_chart_are_of_one_mind() {
    if has_python("manifests_kustomizations_and_chart_are_of_one_mind") {
        let (is_content, printed) = check(&tree());
        assert!(is_content, "{printed}");
    }
}

/// The file, what of it is replaced by what, and what the check says of it.
const BREAKS: [(&str, &str, &str, &str); 10] = [
    (
        "packaging/rbac/approver/Kustomization",
        "nodewell-approver.yaml",
        "nodewell-other.yaml",
        "packaging/rbac/approver/nodewell-approver.yaml is in 0 kustomizations",
    ),
    (
        "packaging/kustomize/overlays/controller/kustomization.yaml",
        "rbac/people",
        "rbac/people/nodewell-people.yaml",
        "nodewell-people.yaml is in 2 kustomizations",
    ),
    (
        "packaging/helm/make",
        "    \"rbac/approver/nodewell-approver.yaml\": ",
        "    \"rbac/approver/nodewell-other.yaml\": ",
        "packaging/rbac/approver/nodewell-approver.yaml has no condition",
    ),
    (
        "packaging/prometheus/nodewell-rules.yaml",
        "for: 10m",
        "for: 11m",
        "prometheus/operator/nodewell-rules.yaml is old",
    ),
    (
        "packaging/helm/chart/values.yaml",
        "bootstrapTokens: false",
        "bootstrapToken: false",
        "the chart reads the value agent.bootstrapTokens, which values.yaml has not",
    ),
    (
        "packaging/helm/chart/values.schema.json",
        "\"bootstrapTokens\"",
        "\"bootstrapToken\"",
        "agent.bootstrapTokens is in one of values.yaml and values.schema.json",
    ),
    (
        "docs/chart-values.md",
        "`approver.enabled`",
        "`approver`",
        "docs/chart-values.md says nothing of the value approver.enabled",
    ),
    (
        "packaging/helm/chart/values.yaml",
        "approver:\n  enabled: false",
        "approver:\n  enabled: true",
        "rbac/approver/nodewell-approver.yaml is in the chart with its defaults alone",
    ),
    (
        "packaging/rbac/agent/nodewell-agent.yaml",
        "  name: nodewell\n---",
        "  name: nodewell\n  labels: { a: b }\n---",
        "have a Namespace that is not the same",
    ),
    (
        "packaging/rbac/cluster-api/nodewell-cluster-api.yaml",
        "  namespace: default\n",
        "  namespace: machines\n",
        "has the line `namespace: default` 1 times, not 2",
    ),
];

#[test]
fn each_way_in_which_they_come_apart_fails() {
    if !has_python("each_way_in_which_they_come_apart_fails") {
        return;
    }
    let tree = tree();
    for (file, from, to, expected) in BREAKS {
        edit(&tree, file, from, to);
        let (is_content, printed) = check(&tree);
        assert!(!is_content && printed.contains(expected), "{expected} is not in: {printed}");
        git(tree.path(), &["reset", "--quiet", "--hard"]);
    }
}
