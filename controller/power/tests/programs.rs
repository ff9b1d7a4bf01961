//! Which programs are run: those that no other user could have put there or changed.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use nodewell_power::program::{Refused, check};

/// A file of this mode in a folder of that one.
fn made(folder: &Path, folder_mode: u32, mode: u32) -> PathBuf {
    let inner = folder.join("bin");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("fence_test");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    fs::set_permissions(&inner, PermissionsExt::from_mode(folder_mode)).unwrap();
    path
}

#[test]
fn a_program_is_an_executable_file_that_only_its_owner_may_write() {
    for (folder_mode, mode, expected) in [
        (0o755, 0o755, "run"),
        (0o700, 0o100, "run"),
        (0o755, 0o644, "NoProgram"),
        (0o755, 0o775, "Writable"),
        (0o755, 0o757, "Writable"),
        // In such a folder another user cannot replace it.
        (0o1777, 0o755, "run"),
        (0o777, 0o755, "Writable"),
        // For a file that bit means nothing.
        (0o755, 0o1777, "Writable"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let found = match check(&made(folder.path(), folder_mode, mode)) {
            Ok(()) => "run",
            Err(Refused::NoProgram(_)) => "NoProgram",
            Err(Refused::Writable { .. }) => "Writable",
            Err(other) => panic!("{other}"),
        };
        assert_eq!(found, expected, "{folder_mode:o} {mode:o}");
    }
}

#[test]
fn a_folder_is_no_program_and_neither_is_what_has_no_whole_path() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(check(folder.path()), Err(Refused::NoProgram(_))));
    assert!(matches!(check(&folder.path().join("none")), Err(Refused::Unreadable(..))));
    assert!(matches!(check(Path::new("fence_test")), Err(Refused::Relative(_))));
}

/// By a controller of any user.
#[test]
fn a_program_of_root_is_run_and_one_of_another_user_is_not() {
    check(Path::new("/bin/sh")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path(), 0o755, 0o755);
    // Only root may give a file away.
    if chown(&path, Some(4242), None).is_ok() {
        assert!(matches!(check(&path), Err(Refused::Owner { uid: 4242, .. })));
    }
}
