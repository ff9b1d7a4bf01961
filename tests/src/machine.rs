//! A whole machine: a real systemd as PID 1, in a container of its own that is gone when it is dropped.
//!
//! What is not enforced in it: limits of memory and tasks, OOM scores below zero, and whatever else the outer machine
//! withholds from its root.

mod boot;
mod cgroup;
mod disk;
mod entry;
mod hardware;
mod inside;
mod package;
mod tree;

use std::{ops::Deref, thread, time::Duration};

use tempfile::TempDir;

use crate::{process::Process, wait::until_within};

pub use self::{
    cgroup::{Controllers, controllers_unmet, remove_leftovers},
    disk::Disk,
    entry::as_root,
    hardware::{Hardware, KernelLog},
    inside::{Inside, is_starting},
    package::{Package, built_rpm, remove_copies},
    tree::{Release, Tree, machines, unmet},
};

/// Installing a package, or stopping a service that takes its time.
const LONG: Duration = Duration::from_secs(90);

/// A booted machine.
#[derive(Debug)]
pub struct Machine {
    inside: Inside,
    nspawn: Process,
    _cgroup: cgroup::Cgroup,
    /// Its console's log and its private device node.
    _folder: TempDir,
}

impl Machine {
    /// Boots one from the cached tree of `release`, which is made at the first call. Nothing written in it stays.
    ///
    /// # Panics
    /// If it does not come up; its output is shown.
    #[must_use]
    pub fn boot(release: Release) -> Self {
        let tree = Tree::of(release).path().unwrap_or_else(|reason| panic!("{reason}"));
        Self::boot_as(&Hardware { is_volatile: true, ..Hardware::of(tree) })
    }

    /// Boots one from `disk`, where everything stays that is written: it can boot again.
    ///
    /// # Panics
    /// If it does not come up; its output is shown.
    #[must_use]
    pub fn boot_from(disk: &Disk) -> Self {
        Self::boot_as(&Hardware::of(disk.path()))
    }

    /// Boots one that is made so.
    ///
    /// # Panics
    /// If it does not come up; its output is shown.
    #[must_use]
    pub fn boot_as(hardware: &Hardware) -> Self {
        let machine = boot::start(hardware).unwrap_or_else(|why| panic!("{why}"));
        machine.wait_until_up();
        machine
    }

    /// Turns one on that is made so, and does not wait until it is up.
    ///
    /// # Errors
    /// Why it does not start, with its output.
    pub fn turn_on(hardware: &Hardware) -> Result<Self, String> {
        boot::start(hardware)
    }

    /// Waits until systemd has started all there is to start.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn wait_until_up(&self) {
        boot::wait_until_up(self);
    }

    /// What can be done in it, for as long as it is on.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.inside
    }

    /// Whether it has ended, by itself or by force.
    pub fn has_ended(&mut self) -> bool {
        self.nspawn.ended().is_some()
    }

    /// Shuts it down as its administrator would.
    ///
    /// # Panics
    /// If it does not end.
    pub fn power_off(mut self) {
        self.sh("systemctl poweroff");
        until_within(LONG, "the machine is off", || self.nspawn.ended());
    }
}

impl Machine {
    fn show_journal(&self, lines: &str, units: &[&str]) {
        let mut argv = vec!["journalctl", "--no-pager", "--quiet", "--output", "short-monotonic", "--lines", lines];
        argv.extend(units.iter().flat_map(|unit| ["--unit", unit]));
        let log = self.run(argv);
        eprintln!("--- the journal of its units {} ends:\n{}---", units.join(" "), log.stdout);
    }
}

impl Deref for Machine {
    type Target = Inside;

    fn deref(&self) -> &Inside {
        &self.inside
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The number of one that has ended may be another process's by now.
        if thread::panicking() && !self.has_ended() {
            self.show_journal("80", &["nodewell*"]);
            self.show_journal("40", &["kubelet.service", "containerd.service"]);
        }
        // Its death takes everything inside with it: it is the init of a PID namespace.
        boot::end(self.inside.leader(), &mut self.nspawn);
    }
}
