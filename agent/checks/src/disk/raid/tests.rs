use std::{fs, path::Path};

use proptest::prelude::*;

use super::*;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn roots(root: &Path) -> Roots {
    Roots { sys: root.join("sys"), dev: root.join("dev"), ..Roots::default() }
}

#[test]
fn an_array_is_read_and_a_level_without_redundancy_misses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/block/md0/md");
    let files = [("array_state", "clean\n"), ("level", "raid5\n"), ("raid_disks", "3\n"), ("sync_action", "idle\n")];
    write(&folder, &files);
    let read = array(&roots(root.path()), "md0").unwrap();
    assert_eq!((read.disks, read.missing, read.level.as_str()), (3, None, "raid5"));
    write(&folder, &[("degraded", "1\n")]);
    assert_eq!(array(&roots(root.path()), "md0").unwrap().missing, Some(1));
    assert!(matches!(array(&roots(root.path()), "md1"), Err(ReadError::Gone { .. })));
}

#[test]
fn how_far_an_array_is_and_what_its_last_check_found() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/block/md0/md");
    write(&folder, &[("array_state", "clean\n"), ("level", "raid5\n"), ("degraded", "0\n")]);
    let read = || array(&roots(root.path()), "md0").unwrap();
    assert_eq!((read().done_percent, read().mismatched_sectors), (None, None), "a kernel that has no such file");
    write(&folder, &[("sync_action", "check\n"), ("sync_completed", "1234 / 3702\n"), ("mismatch_cnt", "8\n")]);
    write(&folder, &[("last_sync_action", "check\n")]);
    assert_eq!((read().done_percent, read().mismatched_sectors), (Some(33), Some(8)));
    assert_eq!((read().action.as_str(), read().last_action.as_str()), ("check", "check"));
    for text in ["none\n", "delayed\n", "0 / 0\n", "9 / 3\n", "18446744073709551615 / 1\n", "1 / x\n", "/\n"] {
        write(&folder, &[("sync_completed", text)]);
        assert_eq!(read().done_percent, None, "{text}");
    }
}

fn path(device: &str, works: bool) -> MapPath {
    MapPath { device: device.to_owned(), works }
}

#[test]
fn paths_are_found_in_every_group_whatever_the_selectors_report() {
    // service-time has two arguments a path, round-robin none.
    let status = "2 0 1 0 2 1 A 0 2 2 8:16 A 0 0 1 8:32 F 3 0 1 E 0 1 2 8:48 A 0 0 1 ";
    assert_eq!(paths(status), [path("8:16", true), path("8:32", false), path("8:48", true)]);
    let with_handler = "0 1 alua 1 1 D 1 x 1 0 65:0 F 12";
    assert_eq!(paths(with_handler), [path("65:0", false)]);
}

#[test]
fn a_line_that_is_cut_off_gives_the_whole_paths_before_the_cut() {
    assert_eq!(paths("2 0 0 0 1 1 A 0 2 0 8:16 A 0 8:32"), [path("8:16", true)]);
    assert_eq!(paths("2 0 0 0 99999999999999999999 1 A"), []);
    assert_eq!(paths(""), []);
}

#[test]
fn without_the_device_mapper_the_disks_own_state_counts() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/block/dm-3");
    write(
        &folder,
        &[
            ("dev", "253:3\n"),
            ("dm/name", "mpatha\n"),
            ("slaves/sdb/dev", "8:16\n"),
            ("slaves/sdb/device/state", "running\n"),
            ("slaves/sdc/dev", "8:32\n"),
            ("slaves/sdc/device/state", "transport-offline\n"),
        ],
    );
    let read = map(&roots(root.path()), "dm-3").unwrap();
    assert_eq!(
        read,
        MapReading { name: "mpatha".to_owned(), paths: Part::Read(vec![path("sdb", true), path("sdc", false)]) }
    );
    let reported = named(&folder, vec![path("8:32", false), path("8:99", false)]);
    assert_eq!(reported, [path("sdc", false), path("8:99", false)]);
}

proptest! {
    #[test]
    fn no_line_is_too_strange(line in "[0-9AFE: ]{0,120}") {
        prop_assert!(paths(&line).len() <= line.len());
    }
}
