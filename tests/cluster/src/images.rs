//! The images of pods, made without a registry from the busybox of the machines' tree.

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
    let archive = folder.join("images.tar");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/images.sh");
    let output = Command::new("bash")
        .args([script.as_path(), &archive, &tree.join("bin/busybox")])
        // Its own folders are in that one, which a later run removes if this is killed.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "images of pods: {}", String::from_utf8_lossy(&output.stderr));
    archive
}
