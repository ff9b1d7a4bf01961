//! Pods that come and go, as the agent sees them.

use std::{fs, path::Path, time::Instant};

use super::*;
use crate::detectors::pod_names::KnownPodNames;

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

fn watch(root: &Path) -> PodNamesWatch {
    PodNamesWatch {
        folder: root.join("pods-logs"),
        names: PodNames::default(),
        file: PodNamesFile::of(&root.join("nodewell.sock")),
    }
}

fn known(root: &Path, uid: &str) -> Option<String> {
    KnownPodNames::new(PodNamesFile::of(&root.join("nodewell.sock"))).name(uid)
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        thread::yield_now();
    }
}

#[test]
fn a_pod_that_comes_is_known_to_judges_and_to_the_agent() {
    let root = tempfile::tempdir().unwrap();
    let watch = watch(root.path());
    let (folder, names) = (watch.folder.clone(), watch.names.clone());
    fs::create_dir(&folder).unwrap();
    fs::create_dir(folder.join("a_first_11111111-2222-4333-8444-555555555555")).unwrap();
    watch.start();
    until("the first is known", || known(root.path(), "11111111-2222-4333-8444-555555555555").is_some());
    // Long before the folder is read again without an event.
    let began = Instant::now();
    fs::create_dir(folder.join(format!("default_web-0_{UID}"))).unwrap();
    until("it is known", || known(root.path(), UID).as_deref() == Some("default/web-0"));
    assert_eq!(names.name(UID).as_deref(), Some("default/web-0"));
    assert!(began.elapsed() < WATCHED / 2, "{:?}", began.elapsed());
    fs::remove_dir(folder.join(format!("default_web-0_{UID}"))).unwrap();
    until("it is gone", || known(root.path(), UID).is_none() && names.name(UID).is_none());
}

#[test]
fn a_folder_that_is_not_there_is_noticed_as_it_comes() {
    let root = tempfile::tempdir().unwrap();
    let watch = watch(root.path());
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    let has_events = || inotify.read_events().is_ok_and(|events| !events.is_empty());
    assert!(watch.watch(&inotify) && !has_events());
    fs::create_dir(&watch.folder).unwrap();
    assert!(has_events(), "it came");
    assert!(watch.watch(&inotify));
    fs::create_dir(watch.folder.join(format!("default_web-0_{UID}"))).unwrap();
    assert!(has_events(), "a pod came");
    let nowhere = PodNamesWatch { folder: root.path().join("none/pods-logs"), ..watch };
    assert!(!nowhere.watch(&inotify), "it is looked for again soon");
}

#[test]
fn a_node_without_pods_has_no_file_and_one_that_is_lost_is_written_again() {
    let root = tempfile::tempdir().unwrap();
    let watch = watch(root.path());
    let mut published = Published::default();
    watch.publish(&mut published);
    assert!(!watch.file.path().exists());
    fs::create_dir_all(watch.folder.join(format!("default_web-0_{UID}"))).unwrap();
    watch.publish(&mut published);
    assert!(known(root.path(), UID).is_some());
    fs::remove_file(watch.file.path()).unwrap();
    watch.publish(&mut published);
    assert!(known(root.path(), UID).is_some());
}

#[test]
fn names_stay_while_the_folder_cannot_be_read() {
    let root = tempfile::tempdir().unwrap();
    let watch = watch(root.path());
    let mut published = Published::default();
    fs::create_dir_all(watch.folder.join(format!("default_web-0_{UID}"))).unwrap();
    watch.publish(&mut published);
    fs::remove_dir_all(&watch.folder).unwrap();
    fs::write(&watch.folder, "a file").unwrap();
    watch.publish(&mut published);
    assert!(published.error.as_ref().is_some_and(|error| error.contains("cannot read")), "{:?}", published.error);
    assert!(known(root.path(), UID).is_some() && watch.names.name(UID).is_some());
}
