//! `packaging/lint/files`: the tree as it is passes, and each way in which lists and tree come apart fails by name.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

const PARTS: [&str; 7] = [
    "packaging",
    "systemd",
    "docs",
    "agent/rules/shipped",
    "agent/Cargo.toml",
    "controller/Cargo.toml",
    "controller/kubectl/Cargo.toml",
];

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

fn add(tree: &TempDir, file: &str) {
    let path = tree.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

fn edit(tree: &TempDir, file: &str, from: &str, to: &str) {
    let path = tree.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

/// What it prints, and whether it is content.
fn check(tree: &TempDir, packages: &[&Path]) -> (bool, String) {
    git(tree.path(), &["add", "--all"]);
    let output = Command::new(tree.path().join("packaging/lint/files")).args(packages).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_lists_name_what_is_there() {
    assert_eq!(check(&tree(), &[]), (true, String::new()));
}

#[test]
fn each_way_in_which_list_and_tree_come_apart_fails() {
    type Break = fn(&TempDir);
    let cases: [(Break, &str); 15] = [
        (
            |tree| fs::remove_file(tree.path().join("packaging/grants.toml")).unwrap(),
            "names packaging/grants.toml, which is not",
        ),
        (
            |tree| fs::remove_file(tree.path().join("packaging/nodewell-controller.toml")).unwrap(),
            "names packaging/nodewell-controller.toml, which is not there",
        ),
        (
            |tree| edit(tree, "packaging/nodewell.yaml", "docs/examples/*.yaml", "docs/examples/node-*.yaml"),
            "pages of nodewell lead to /usr/share/doc/nodewell/examples/controller-pod.yaml, which it lacks",
        ),
        (
            |tree| fs::remove_file(tree.path().join("packaging/rbac/enroll/nodewell-enroll.yaml")).unwrap(),
            "nodewell-enroll.yaml, which is not",
        ),
        (|tree| add(tree, "packaging/rbac/nodewell-new.yaml"), "packaging/rbac/nodewell-new.yaml is in no package"),
        (|tree| add(tree, "docs/reference/new.txt"), "docs/reference/new.txt is in no package"),
        (|tree| add(tree, "systemd/nodewell.conf"), "systemd/nodewell.conf has no place in a package"),
        (
            |tree| edit(tree, "systemd/nodewell-disk.service", "/usr/bin/nodewell-checks", "/usr/bin/nodewell-disk"),
            "a unit starts /usr/bin/nodewell-disk, which is in no package",
        ),
        (
            |tree| edit(tree, "systemd/nodewell-gpu.service", "TasksMax=", "#"),
            "systemd/nodewell-gpu.service has no TasksMax= of its own",
        ),
        (
            |tree| edit(tree, "systemd/nodewell.slice", "CPUWeight=300", "CPUWeight=300\nTasksMax=256"),
            "systemd/nodewell.slice has a limit, which one service could take up for all",
        ),
        (
            |tree| edit(tree, "packaging/dist", " \"$folder/nodewell-controller\"", ""),
            "packaging/dist does not look at the glibc of nodewell-controller",
        ),
        (
            |tree| edit(tree, "packaging/build", " \"$folder/nodewell-controller\"", ""),
            "packaging/build does not stage nodewell-controller",
        ),
        (
            |tree| {
                edit(
                    tree,
                    "controller/Cargo.toml",
                    "[[bin]]\nname = \"nodewell-controller\"",
                    "[[bin]]\nname = \"other\"",
                )
            },
            "no crate builds nodewell-controller",
        ),
        (
            |tree| edit(tree, "packaging/nodewell.yaml", "stage/nodewell/third", "stage/nodewell/fourth"),
            "stage/nodewell/fourth-party-notices.gz, which packaging/build does not make",
        ),
        (
            |tree| {
                edit(
                    tree,
                    "packaging/nodewell-controller.yaml",
                    "nodewell-controller/copyright }",
                    "nodewell/copyright }",
                )
            },
            "both packages have /usr/share/doc/nodewell/copyright",
        ),
    ];
    let tree = tree();
    for (break_it, expected) in cases {
        break_it(&tree);
        let (is_content, printed) = check(&tree, &[]);
        assert!(!is_content && printed.contains(expected), "{expected} is not in: {printed}");
        assert_eq!(printed.lines().count(), 1 + usize::from(expected.starts_with("no crate")), "{printed}");
        git(tree.path(), &["reset", "--quiet", "--hard"]);
    }
}

/// A Debian package that lacks what was staged for it, and has what was not.
#[test]
fn a_package_is_compared_with_its_list() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        eprintln!("SKIP a_package_is_compared_with_its_list: needs dpkg-deb");
        return;
    }
    let (tree, content, to) = (tree(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for file in ["DEBIAN/control", "etc/nodewell/nodewell.toml", "usr/share/doc/nodewell/README"] {
        fs::create_dir_all(content.path().join(file).parent().unwrap()).unwrap();
        fs::write(
            content.path().join(file),
            "Package: nodewell\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n",
        )
        .unwrap();
    }
    let file = to.path().join("nodewell_1_all.deb");
    let built =
        Command::new("dpkg-deb").args(["--build", "--root-owner-group"]).arg(content.path()).arg(&file).output();
    assert!(built.unwrap().status.success());
    let (is_content, printed) = check(&tree, &[&file]);
    assert!(!is_content);
    for expected in
        ["lacks /usr/bin/nodewelld", "lacks /usr/share/doc/nodewell/copyright", "has /usr/share/doc/nodewell/README"]
    {
        assert!(printed.contains(expected), "{expected} is not in: {printed}");
    }
    assert!(!printed.contains("/etc/nodewell/nodewell.toml"), "{printed}");
}
