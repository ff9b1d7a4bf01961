//! The images of pods, made without a registry from the machines' tree.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A docker archive in `folder`: `localhost/pause:1` and `localhost/busybox:1`.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn make(folder: &Path, tree: &Path) -> PathBuf {
    archive("images.sh", &tree.join("bin/busybox"), folder.join("images.tar"))
}

/// A docker archive in `folder`: glibc and libsystemd under the name of Debian's own image,
/// `docker.io/library/debian:12-slim`, without a shell.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn debian(folder: &Path, tree: &Path) -> PathBuf {
    archive("debian.sh", tree, folder.join("debian.tar"))
}

fn archive(script: &str, from: &Path, archive: PathBuf) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("files").join(script);
    let output = Command::new("bash")
        .args([script.as_path(), &archive, from])
        // Its own folders are in that one, which a later run removes if this is killed.
        .env("TMPDIR", archive.parent().expect("it is a file in a folder"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "images of pods: {}", String::from_utf8_lossy(&output.stderr));
    archive
}
