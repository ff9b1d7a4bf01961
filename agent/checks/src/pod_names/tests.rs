//! Folders as kubelets make them, and as they do not.

use std::{fs, os::unix::fs::symlink};

use proptest::prelude::*;

use super::*;

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";
const HASH: &str = "abcdefabcdefabcdefabcdefabcdef12";

fn folders(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder
}

fn names(pods: &[(&str, &str)]) -> Names {
    pods.iter().map(|(uid, name)| ((*uid).to_owned(), (*name).to_owned())).collect()
}

#[test]
fn pods_and_static_pods_are_named_by_their_folders() {
    let folder = folders(&[&format!("default_web-0.a_{UID}"), &format!("kube-system_etcd-node-1_{HASH}")]);
    let expected = names(&[(UID, "default/web-0.a"), (HASH, "kube-system/etcd-node-1")]);
    assert_eq!(read(folder.path()).unwrap(), expected);
}

#[test]
fn a_folder_that_no_kubelet_makes_names_no_pod() {
    let long = "n".repeat(LABEL_LIMIT_BYTES + 1);
    for name in [
        "garbage".to_owned(),
        format!("default_web-0_{UID}_x"),
        format!("default_web-0_x{UID}"),
        format!("Default_web-0_{UID}"),
        format!("de fault_web-0_{UID}"),
        format!("kube-system_a b_{UID}"),
        format!("kube-system_a\nb_{UID}"),
        format!("kube-system_a..b_{UID}"),
        format!("kube-system_-a_{UID}"),
        format!("kube-system__{UID}"),
        format!("_web_{UID}"),
        format!("{long}_web_{UID}"),
        format!("default_{}_{UID}", "n".repeat(DNS_NAME_LIMIT_BYTES + 1)),
    ] {
        assert_eq!(pod_of(&name), None, "{name:?}");
    }
    let folder = folders(&[]);
    let name = folder.path().join(format!("default_web-0_{UID}"));
    fs::write(&name, "").unwrap();
    assert_eq!(read(folder.path()).unwrap(), Names::new(), "a file");
    fs::remove_file(&name).unwrap();
    symlink("/", &name).unwrap();
    assert_eq!(read(folder.path()).unwrap(), Names::new(), "a link");
}

#[test]
fn two_folders_of_one_uid_name_no_pod() {
    let folder =
        folders(&[&format!("default_web-0_{UID}"), &format!("kube-system_etcd_{UID}"), &format!("a_b_{HASH}")]);
    assert_eq!(read(folder.path()).unwrap(), names(&[(HASH, "a/b")]));
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    assert!(read(Path::new("/nowhere")).is_err());
}

#[test]
fn no_folder_is_read_without_end() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..ENTRIES_LIMIT + 10 {
        fs::create_dir(folder.path().join(format!("default_web_{n:032x}"))).unwrap();
    }
    assert_eq!(read(folder.path()).unwrap().len(), ENTRIES_LIMIT);
}

#[test]
fn all_clones_have_the_names_that_were_read_last() {
    let one = PodNames::default();
    let other = one.clone();
    assert_eq!(other.name_or_uid(UID), UID);
    one.replace(names(&[(UID, "default/web-0")]));
    assert_eq!((other.name(UID).as_deref(), &*other.name_or_uid(UID)), (Some("default/web-0"), "default/web-0"));
    one.replace(Names::new());
    assert_eq!(other.name(UID), None);
}

#[test]
fn what_is_written_is_read_back_and_garbage_is_not() {
    let pods = names(&[(UID, "default/web-0"), (HASH, "kube-system/etcd")]);
    assert_eq!(from_text(&to_text(&pods)), pods);
    assert_eq!(from_text(&format!("x\n{UID} default\n{UID} a b/c\n{UID}\n{HASH} a/b\n")), names(&[(HASH, "a/b")]));
}

proptest! {
    #[test]
    fn no_text_makes_a_name_that_no_pod_can_have(text in "(.{0,40}[ /_\n]){0,6}") {
        for (uid, name) in from_text(&text).into_iter().chain(pod_of(&text)) {
            let (namespace, name) = name.split_once('/').unwrap();
            prop_assert!(is_uid(&uid) && named(namespace, name, &uid).is_some());
        }
    }
}
