//! `packaging/release/apt` and `packaging/release/yum`: of one name there is one package, whatever is given, and a node
//! that reads while lists are written reads lists that belong together.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use nodewell_kit::write_program;
use tempfile::TempDir;

/// The script, a package's name, and its folder in the repository.
const KINDS: [(&str, &str, &str); 2] =
    [("apt", "nodewell_0.1.0-1_amd64.deb", "pool/nodewell"), ("yum", "nodewell-0.1.0-1.x86_64.rpm", "x86_64")];

/// In place of what reads packages, since none is one here.
const TOOLS: [(&str, &str); 4] = [
    (
        "dpkg-deb",
        "#!/bin/sh\ncase $3 in Package) echo nodewell ;; Version) echo 0.1.0-1 ;; Architecture) echo amd64 ;; esac\n",
    ),
    // A list that differs with what is in the pool.
    ("dpkg-scanpackages", "#!/bin/sh\ncat pool/*/*.deb\n"),
    ("rpm", "#!/bin/sh\necho x86_64/nodewell-0.1.0-1.x86_64.rpm\n"),
    ("createrepo_c", "#!/bin/sh\nfor to; do :; done\nmkdir -p \"$to/repodata\" && : >\"$to/repodata/repomd.xml\"\n"),
];

struct Publisher {
    folder: TempDir,
    script: &'static str,
    name: &'static str,
    place: &'static str,
}

impl Publisher {
    fn each() -> impl Iterator<Item = Self> {
        KINDS.into_iter().map(|(script, name, place)| {
            let folder = tempfile::tempdir().unwrap();
            let tools = folder.path().join("tools");
            fs::create_dir(&tools).unwrap();
            TOOLS.iter().for_each(|(tool, text)| write_program(&tools.join(tool), 0o755, text));
            Self { folder, script, name, place }
        })
    }

    fn package(&self, folder: &str, content: &str) -> PathBuf {
        self.package_called(self.name, folder, content)
    }

    fn package_called(&self, name: &str, folder: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(folder).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn publish(&self, packages: &[PathBuf]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../release").join(self.script);
        let tools = self.folder.path().join("tools");
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(script);
        command.arg("--to").arg(self.folder.path().join("to")).args(packages);
        command.env("PATH", path).env("SOURCE_DATE_EPOCH", "0").env_remove("NODEWELL_SIGNING_KEY");
        command.output().unwrap()
    }

    #[track_caller]
    fn is_refused(&self, packages: &[PathBuf], why: &str) {
        let output = self.publish(packages);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(why), "{}: {error}", self.script);
    }

    fn published(&self) -> Option<String> {
        fs::read_to_string(self.folder.path().join("to").join(self.place).join(self.name)).ok()
    }
}

#[test]
fn a_version_is_published_once() {
    for publisher in Publisher::each() {
        let first = publisher.package("first", "one");
        let output = publisher.publish(std::slice::from_ref(&first));
        assert!(output.status.success(), "{}: {}", publisher.script, String::from_utf8_lossy(&output.stderr));
        publisher.is_refused(&[publisher.package("second", "another")], "is published with other content");
        assert_eq!(publisher.published().as_deref(), Some("one"), "{}", publisher.script);
        assert!(publisher.publish(&[first.clone(), first]).status.success(), "the same, twice");
    }
}

#[test]
fn a_version_is_the_one_in_the_package_whatever_its_file_is_called() {
    for publisher in Publisher::each() {
        let suffix = publisher.name.rsplit_once('.').unwrap().1;
        let renamed = publisher.package_called(&format!("build-7.{suffix}"), "first", "one");
        assert!(publisher.publish(&[renamed]).status.success(), "{}", publisher.script);
        assert_eq!(publisher.published().as_deref(), Some("one"), "{}", publisher.script);
        publisher.is_refused(&[publisher.package("second", "another")], "is published with other content");
    }
}

/// A node that has read the Release of before asks for the lists of before.
#[test]
fn the_lists_of_before_stay_by_their_sums() {
    let publisher = Publisher::each().next().unwrap();
    let lists = publisher.folder.path().join("to/dists/stable");
    let sums = || {
        let release = fs::read_to_string(lists.join("Release")).unwrap();
        assert!(release.contains("\nAcquire-By-Hash: yes\n"), "{release}");
        let named = release.lines().filter_map(|line| line.strip_prefix(' ')?.split_once(' '));
        named.map(|(sum, rest)| (sum.to_owned(), rest.split_once(' ').unwrap().1.to_owned())).collect::<Vec<_>>()
    };
    let is_there = |(sum, list): &(String, String)| {
        let folder = lists.join(list).parent().unwrap().join("by-hash/SHA256");
        folder.join(sum).is_file()
    };
    let mut releases: Vec<Vec<(String, String)>> = Vec::new();
    for content in ["one", "two", "three"] {
        // As if there were another version.
        let _ = fs::remove_dir_all(publisher.folder.path().join("to/pool"));
        assert!(publisher.publish(&[publisher.package(content, content)]).status.success(), "{content}");
        releases.push(sums());
    }
    let [first, second, third] = releases.as_slice() else { panic!("{releases:?}") };
    assert!(first[0] != second[0] && third.len() == 4, "{releases:?}");
    assert!(second.iter().chain(third).all(is_there), "the newest, and those before it");
    assert!(!first.iter().any(is_there), "and no more");
    let left = fs::read_dir(lists.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "no draft is left");
}

#[test]
fn of_two_that_have_one_name_none_is_published() {
    for publisher in Publisher::each() {
        let two = [publisher.package("first", "one"), publisher.package("second", "another")];
        publisher.is_refused(&two, "have one name and other content");
        assert_eq!(publisher.published(), None, "{}", publisher.script);
    }
}
