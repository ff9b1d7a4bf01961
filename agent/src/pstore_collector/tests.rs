//! The copy, on trees as the kernel and systemd-pstore leave them, and on malformed trees.

use std::{os::unix::fs::PermissionsExt, time::SystemTime};

use super::*;

struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn put(&self, path: &str, text: &str, written: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let written: jiff::Timestamp = written.parse().unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::from(written)).unwrap();
    }

    fn flags(&self) -> PstoreCollectorFlags {
        let at = |name: &str| self.dir.path().join(name);
        PstoreCollectorFlags { to: at("copy"), pstore: at("pstore"), archive: at("archive") }
    }

    fn copied(&self) -> PstoreRecords {
        run(&self.flags()).unwrap();
        readable(&self.flags().to, &Roots { pstore: "/nowhere".into(), archive: "/nowhere".into() })
    }
}

fn paths(files: &[RecordFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.to_str().unwrap()).collect()
}

#[test]
fn a_copy_has_the_names_times_and_texts_and_leaves_the_originals() {
    let tree = Tree::new();
    tree.put("pstore/dmesg-efi-163214523501001", "Panic#1 Part1\n", "2026-11-20T01:02:03Z");
    tree.put("pstore/pmsg-ramoops-0", "a user's text", "2026-11-20T01:02:03Z");
    tree.put("archive/1632145235/001/dmesg.txt", "Panic#1 Part1\n", "2026-11-20T01:05:00Z");
    let records = tree.copied();
    assert_eq!(paths(&records.pstore), ["dmesg-efi-163214523501001"]);
    assert_eq!(records.pstore[0].written, Some("2026-11-20T01:02:03Z".parse().unwrap()));
    assert_eq!(records.pstore[0].text, b"Panic#1 Part1\n");
    assert_eq!(paths(&records.archive), ["1632145235/001/dmesg.txt"]);
    assert!(tree.flags().pstore.join("dmesg-efi-163214523501001").exists());
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(tree.flags().to.join("pstore/dmesg-efi-163214523501001")) & !0o640, 0);
    assert_eq!(mode(tree.flags().to) & !0o750, 0);
}

#[test]
fn a_second_copy_replaces_the_first() {
    let tree = Tree::new();
    tree.put("pstore/dmesg-ramoops-0", "one", "2026-11-20T01:02:03Z");
    tree.copied();
    fs::remove_file(tree.flags().pstore.join("dmesg-ramoops-0")).unwrap();
    tree.put("pstore/dmesg-ramoops-1", "two", "2026-11-20T01:02:03Z");
    assert_eq!(paths(&tree.copied().pstore), ["dmesg-ramoops-1"]);
    assert!(!tree.dir.path().join("copy.new").exists());
}

#[test]
fn the_newest_of_too_many_are_copied_and_of_a_long_one_its_end() {
    let tree = Tree::new();
    for n in 0..80 {
        tree.put(&format!("archive/{n}/dmesg.txt"), "old", &format!("2026-11-20T01:{:02}:{:02}Z", n / 60, n % 60));
    }
    tree.put("pstore/dmesg-erst-1", &("x".repeat(400_000) + "the end"), "2026-11-20T00:00:00Z");
    let records = tree.copied();
    assert!(records.pstore[0].text.len() == 256 * 1024 && records.pstore[0].text.ends_with(b"xthe end"));
    assert_eq!((records.archive.len(), records.archive[0].path.to_str()), (63, Some("79/dmesg.txt")));
}

#[test]
fn links_fifos_and_deep_folders_lead_nowhere() {
    let tree = Tree::new();
    tree.put("secret", "root's own", "2026-11-20T01:02:03Z");
    tree.put("archive/a/b/c/dmesg.txt", "too deep", "2026-11-20T01:02:03Z");
    fs::create_dir(tree.flags().pstore).unwrap();
    std::os::unix::fs::symlink(tree.dir.path().join("secret"), tree.flags().pstore.join("dmesg-efi-1")).unwrap();
    std::os::unix::fs::symlink(tree.dir.path(), tree.flags().archive.join("up")).unwrap();
    nix::unistd::mkfifo(&tree.flags().pstore.join("dmesg-efi-2"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    assert_eq!(tree.copied(), PstoreRecords::default());
}

#[test]
fn nothing_to_copy_is_no_error_and_no_folder_is_one() {
    let tree = Tree::new();
    assert_eq!(run(&tree.flags()).unwrap(), 0);
    let flags = PstoreCollectorFlags { to: "/proc/nodewell/pstore".into(), ..tree.flags() };
    assert!(run(&flags).unwrap_err().to_string().starts_with("cannot write /proc/nodewell/pstore.new: "));
}
