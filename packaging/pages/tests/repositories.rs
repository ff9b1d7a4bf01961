//! `packaging/release/apt` and `packaging/release/yum`: of one name there is one package, whatever is given.

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
const TOOLS: [(&str, &str); 3] = [
    ("dpkg-deb", "#!/bin/sh\necho nodewell\n"),
    ("dpkg-scanpackages", "#!/bin/sh\n"),
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
        let path = self.folder.path().join(folder).join(self.name);
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
fn of_two_that_have_one_name_none_is_published() {
    for publisher in Publisher::each() {
        let two = [publisher.package("first", "one"), publisher.package("second", "another")];
        publisher.is_refused(&two, "have one name and other content");
        assert_eq!(publisher.published(), None, "{}", publisher.script);
    }
}
