//! Another user who could have changed a program is found anywhere on the way.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use tempfile::TempDir;

use super::*;

/// A folder of ours with an executable `plugin` in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plugin");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    mode(&path, 0o755);
    (folder, path)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn refused(path: &Path) -> String {
    Program::open(path).unwrap_err().to_string()
}

#[test]
fn a_program_that_only_we_could_change_may_run() {
    let (_folder, path) = folder();
    let program = Program::open(&path).unwrap();
    assert_eq!(program.executable(), path, "a script is named by its path");
    let sh = fs::canonicalize("/bin/sh").unwrap();
    let program = Program::open(&sh).unwrap();
    assert_eq!(program.executable(), PathBuf::from(format!("/proc/self/fd/{}", program.descriptor())));
    assert_eq!(program.path(), sh);
}

#[test]
fn links_are_followed_and_judged() {
    let (folder, path) = folder();
    symlink("plugin", folder.path().join("relative")).unwrap();
    symlink(&path, folder.path().join("absolute")).unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    symlink("../relative", folder.path().join("sub/up")).unwrap();
    for name in ["relative", "absolute", "sub/up", "sub/../plugin", "./plugin"] {
        assert!(Program::open(&folder.path().join(name)).is_ok(), "{name}");
    }
    assert!(refused(&folder.path().join("loop")).ends_with("too many symbolic links"));
    fs::create_dir(folder.path().join("open")).unwrap();
    mode(&folder.path().join("open"), 0o777);
    fs::copy(&path, folder.path().join("open/plugin")).unwrap();
    symlink("open/plugin", folder.path().join("into")).unwrap();
    assert!(refused(&folder.path().join("into")).ends_with("open can be written by others (mode 0777); chmod go-w it"));
}

#[test]
fn what_others_can_write_is_refused() {
    let (folder, path) = folder();
    for bits in [0o775, 0o757, 0o777] {
        mode(&path, bits);
        assert!(refused(&path).contains("can be written by others"), "{bits:o}");
    }
    mode(&path, 0o755);
    mode(folder.path(), 0o770);
    assert!(refused(&path).ends_with("(mode 0770); chmod go-w it"));
    mode(folder.path(), 0o1777);
    assert!(Program::open(&path).is_ok(), "no other user replaces our file in a sticky directory");
}

#[test]
fn what_is_no_program_is_refused() {
    let (folder, path) = folder();
    assert!(refused(folder.path()).ends_with("is a directory, not a program"));
    assert!(refused(&folder.path().join("none")).ends_with("none does not exist"));
    assert!(refused(&path.join("below")).contains("cannot be opened"));
    assert!(refused(Path::new("/dev/null")).contains("is a device, not a program"));
    assert!(refused(Path::new("plugin")).ends_with("is not an absolute path"));
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    assert!(refused(&pipe).ends_with("is a pipe, not a program"), "it must not wait for a writer");
    for text in ["echo no first line", "#", "", "\x7fEL"] {
        fs::write(&path, text).unwrap();
        assert!(refused(&path).ends_with("names no interpreter; its first line must be #! and a path"), "{text:?}");
    }
    mode(&path, 0o644);
    assert!(refused(&path).ends_with("is not executable; chmod +x it"));
}

#[test]
fn what_another_user_owns_is_refused() {
    if !geteuid().is_root() {
        return;
    }
    let (_folder, path) = folder();
    nix::unistd::chown(&path, Some(12345.into()), None).unwrap();
    assert!(refused(&path).ends_with("belongs to uid 12345; only what root owns is run: chown root it"));
}
