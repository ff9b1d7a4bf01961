//! A whole Debian on a disk of a guest's own: one of the trees that machines boot from, with what a case puts into it,
//! and the shell by which it is asked ([`Plan::system`](crate::guest::Plan::system)).

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_tests::{leftovers, machine::Tree};
use tempfile::TempDir;

use crate::{disk::Backing, kernel::output, shell_script};

/// What is not written takes no room.
const SIZE: &str = "4G";
const SHELL: &str = "usr/sbin/nodewell-shell";
const UNIT: &str = "nodewell-shell.service";
const UNIT_TEXT: &str =
    "[Unit]\nDescription=Shell of the tests\n\n[Service]\nExecStart=/usr/sbin/nodewell-shell\nRestart=always\n";

/// A file with an ext4 on all of it; gone when dropped.
#[derive(Debug)]
pub struct System {
    folder: TempDir,
}

impl Backing for System {
    fn file(&self) -> String {
        self.image().display().to_string()
    }
}

impl System {
    /// A copy of `tree` that `fill` has changed.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn of(tree: Tree, fill: impl FnOnce(&Path)) -> Self {
        let system = Self { folder: leftovers::folder("system") };
        let (from, root) = (tree.path().unwrap_or_else(|why| panic!("{why}")), system.folder.path().join("root"));
        done(Command::new("cp").arg("--archive").arg(from).arg(&root));
        add_shell(&root);
        fill(&root);
        let mut made = Command::new("mke2fs");
        made.args(["-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-d"]);
        done(made.arg(&root).arg(system.image()).arg(SIZE));
        fs::remove_dir_all(root).unwrap();
        system
    }

    /// Gives the root folder this attribute: mke2fs copies those of what lies in it.
    ///
    /// # Panics
    /// If it cannot be set.
    #[must_use]
    pub fn with_root_attribute(self, name: &str, value: &str) -> Self {
        done(Command::new("debugfs").args(["-w", "-R", &format!("ea_set / {name} {value}")]).arg(self.image()));
        self
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }
}

/// The service that runs what comes over the port `shell`, and busybox, which it needs.
fn add_shell(root: &Path) {
    let script = root.join(SHELL);
    fs::write(&script, shell_script()).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    done(Command::new("cp").arg("/bin/busybox").arg(root.join("usr/bin/busybox")));
    let units = root.join("etc/systemd/system");
    fs::create_dir_all(units.join("multi-user.target.wants")).unwrap();
    fs::write(units.join(UNIT), UNIT_TEXT).unwrap();
    symlink(format!("../{UNIT}"), units.join("multi-user.target.wants").join(UNIT)).unwrap();
}

/// Runs a command in `root`, as its administrator would: with its own mount of /proc, which goes with the command.
///
/// # Panics
/// If it fails.
#[track_caller]
pub fn within(root: &Path, words: &[&str]) {
    let mounted = "mount -t proc proc \"$0/proc\"; exec chroot \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", mounted]).arg(root).args(words).env("DEBIAN_FRONTEND", "noninteractive");
    done(&mut command);
}

#[track_caller]
fn done(command: &mut Command) {
    output(command).unwrap_or_else(|error| panic!("{command:?}: {error}"));
}
