//! The system extension on a booted machine: merged, the agent runs with its users, folders and configuration; stopped, it
//! stays stopped; it runs after the next boot; unmerged, it is gone. As a folder: a container has no loop device for an image.

use std::{path::Path, time::Duration};

use nodewell_tests::{
    leftovers,
    machine::{Disk, Machine, Package, Release},
    release,
    suite::{Need, Suite},
    wait::{lasts, until},
};

const PACKAGES: Need = Need::Other(release::packages_unmet);
const AGENT: &str = "nodewell.service";
/// From this version of systemd on an extension has its units loaded by itself.
const LOADS_UNITS: u32 = 255;
const LOAD: &str = include_str!("../../packaging/sysext/load-extensions.service");

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("release_sysext")
        .case_with(&[Need::LongSuite, PACKAGES, Need::Machine(Release::Bookworm)], "systemd_252", || {
            whole(Release::Bookworm)
        })
        .case_with(&[Need::LongSuite, PACKAGES, Need::Machine(Release::Trixie)], "systemd_257", || {
            whole(Release::Trixie)
        });
}

fn whole(debian: Release) {
    let folder = leftovers::folder("extension");
    release::make("sysext", &["--folder"], folder.path(), &[Package::built().path()], None);
    // Not a volatile root: that is an overlay already, and the kernel stacks two of them at most.
    let disk = Disk::of(debian);
    let machine = Machine::boot_from(&disk);
    if machine.run(["sh", "-c", "command -v systemd-sysext"]).code != 0 {
        eprintln!("    SKIPPED: Debian {} has no systemd-sysext here", debian.name());
        return;
    }
    merged(&machine, debian, &folder.path().join("nodewell"));
    a_stop_counts(&machine);
    let machine = booted_again(machine, &disk, debian);
    unmerged(&machine);
}

fn is_up(machine: &Machine) {
    machine.wait_property(AGENT, "ActiveState", "active");
    until("a true status", || machine.has_looked().then_some(()));
}

fn merged(machine: &Machine, debian: Release, extension: &Path) {
    machine.sh("mkdir -p /var/lib/extensions");
    machine.copy_folder(extension, "/var/lib/extensions/nodewell");
    machine.sh("systemd-sysext merge 2>&1");
    if debian.systemd() < LOADS_UNITS {
        machine.sh("systemctl daemon-reload");
    }
    is_up(machine);
    machine.sh("systemctl is-active nodewell-sysext.service nodewell-check.service nodewell-identity.timer");
    machine.sh("getent passwd nodewell nodewell-disk nodewell-gpu");
    machine.sh("test -d /var/lib/nodewell && test -f /etc/nodewell/nodewell.toml && test -d /etc/nodewell/rules.d");
    assert_eq!(machine.property(AGENT, "User"), "nodewell");
}

/// multi-user.target upholds what sets the agent up, and not the agent.
fn a_stop_counts(machine: &Machine) {
    machine.sh(&format!("systemctl stop {AGENT}"));
    lasts(Duration::from_secs(3), "it is stopped", || machine.property(AGENT, "ActiveState") == "inactive");
    machine.sh(&format!("systemctl start {AGENT}"));
    is_up(machine);
}

fn booted_again(machine: Machine, disk: &Disk, debian: Release) -> Machine {
    machine.sh("systemctl enable systemd-sysext.service 2>&1");
    if debian.systemd() < LOADS_UNITS {
        machine.write("/etc/systemd/system/load-extensions.service", LOAD);
        machine.sh("systemctl enable load-extensions.service 2>&1");
    }
    machine.power_off();
    let machine = Machine::boot_from(disk);
    is_up(&machine);
    machine
}

fn unmerged(machine: &Machine) {
    // A folder has to be out of use before it goes.
    machine.sh(&format!("systemctl stop {AGENT} && systemd-sysext unmerge 2>&1 && rm -r /var/lib/extensions/nodewell"));
    machine.sh("systemctl daemon-reload && systemctl stop nodewell-sysext.service");
    machine.sh("test ! -e /usr/bin/nodewelld && test ! -e /usr/lib/systemd/system/nodewell.service");
    let left = machine.sh(
        "for process in /proc/[0-9]*; do case $(readlink $process/exe) in */bin/nodewell*) echo $process ;; esac; done",
    );
    assert_eq!(left, "", "it runs, and is not there");
    machine.sh("test -f /etc/nodewell/nodewell.toml && test -d /var/lib/nodewell");
}
