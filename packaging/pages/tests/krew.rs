//! `packaging/kubectl/krew`: the manifest of a release has the sum of each archive, and is refused without one.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn krew(version: &str, archives: &[PathBuf]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kubectl/krew");
    Command::new(script).arg(version).args(archives).output().unwrap()
}

fn archives(folder: &Path) -> [PathBuf; 2] {
    ["amd64", "arm64"].map(|arch| {
        let path = folder.join(format!("kubectl-nodewell-1.2.3-linux-{arch}.tar.gz"));
        fs::write(&path, arch).unwrap();
        path
    })
}

#[test]
fn each_platform_has_the_sum_of_its_archive() {
    let folder = tempfile::tempdir().unwrap();
    let archives = archives(folder.path());
    let output = krew("1.2.3", &archives);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for archive in &archives {
        let sum = Command::new("sha256sum").arg(archive).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        let sum = sum.split_whitespace().next().unwrap();
        let name = archive.file_name().unwrap().to_string_lossy();
        assert!(text.contains(&format!("/v1.2.3/{name}\n      sha256: \"{sum}\"\n")), "{text}");
    }
    assert!(text.contains("  version: v1.2.3\n") && !text.contains('@'), "{text}");
}

#[test]
fn a_manifest_without_a_sum_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archives = archives(folder.path());
    for (version, archives, why) in
        [("1.2.3", &archives[..1], "an archive is missing"), ("1.2.4", &archives[..], "has no platform for")]
    {
        let output = krew(version, archives);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty() && error.contains(why), "{error}");
    }
}
