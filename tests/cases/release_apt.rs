//! Two commands on a bare booted machine, `apt-get update` and `apt-get install nodewell`, as docs/install.md has them,
//! from a signed repository as packaging/release/apt makes it, served on loopback: nodewell runs, and its status is true.
//! How long that took is printed.

use std::{path::Path, time::Instant};

use nodewell_tests::{
    book::commands,
    leftovers,
    machine::{Machine, Package, Release},
    release::{self, Key, Served},
    suite::{Need, Suite},
    wait::until,
};

const APT: Need = Need::Other(release::apt_unmet);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("release_apt")
        .case_with(&[APT, Need::Machine(Release::Bookworm)], "debian_12", || two_commands(Release::Bookworm))
        .case_with(&[Need::LongSuite, APT, Need::Machine(Release::Trixie)], "debian_13", || {
            two_commands(Release::Trixie)
        })
        .case_with(&[Need::LongSuite, Need::OldGlibc, APT, Need::Machine(Release::Bullseye)], "debian_11", || {
            two_commands(Release::Bullseye)
        });
}

/// Not judged: the machine that runs this is busy.
const TARGET_SECS: u32 = 15;
const KEYRING: &str = "/etc/apt/keyrings/nodewell.asc";
/// Where the page's commands have the published folder.
const PUBLISHED: &str = "https://packages.example.com/nodewell";

fn two_commands(debian: Release) {
    let (key, folder) = (Key::throw_away(), leftovers::folder("repository"));
    let packages = [Package::built().path(), Package::controller().path()];
    release::make("apt", &[], &folder.path().join("apt"), &packages, Some(&key));
    key.publish(&folder.path().join("nodewell.asc"));
    let machine = Machine::boot(debian);
    let served = Served::inside(&machine, folder.path());
    // Debian's own repositories are out of reach.
    machine.sh(
        "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d && mkdir -p /etc/apt/sources.list.d /etc/apt/keyrings",
    );
    machine.write("/etc/apt/sources.list.d/nodewell.sources", sources(&served));
    another_key_is_refused(&machine, &folder.path().join("other.asc"));
    let typed = |block: String| machine.sh(&format!("set -e\n{}", block.replace(PUBLISHED, served.url())));
    typed(commands("install.md", "install -d -m 0755 /etc/apt/keyrings"));

    let begun = Instant::now();
    typed(commands("install.md", "cat >/etc/apt/sources.list.d/nodewell.sources"));
    until("a true status", || machine.has_looked().then_some(()));
    let took = begun.elapsed().as_secs_f64();
    eprintln!("Debian {}: {took:.1} s from apt-get update to a true status (target: {TARGET_SECS} s)", debian.name());
    machine.wait_property("nodewell.service", "ActiveState", "active");
    // The same once more.
    machine.sh(&commands("start.md", "apt-get install nodewell"));
    let known = machine.sh("apt-cache policy nodewell nodewell-controller");
    assert_eq!(known.matches(served.url()).count(), 2, "both are in the repository: {known}");
    assert_eq!(known.matches("Installed: (none)").count(), 1, "the controller is a package of its own: {known}");
}

fn sources(served: &Served) -> String {
    format!("Types: deb\nURIs: {}/apt\nSuites: stable\nComponents: main\nSigned-By: {KEYRING}\n", served.url())
}

/// What apt was not given the key of is installed by no command.
fn another_key_is_refused(machine: &Machine, file: &Path) {
    Key::throw_away().publish(file);
    machine.copy(file, KEYRING);
    machine.sh(&format!("chmod 644 {KEYRING}"));
    let refused = machine.run(["apt-get", "update", "--quiet"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    let refused = machine.run(["apt-get", "install", "--yes", "--quiet", "nodewell"]);
    assert_ne!(refused.code, 0, "{refused:?}");
}
