//! The rpm in a real transaction: `dnf --installroot` with all signatures checked, from a yum repository as
//! packaging/release/yum makes it, served on loopback, into the root of a machine that then boots. The root is Debian's: no Red
//! Hat system has a part in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_tests::{
    leftovers,
    machine::{Disk, Machine, Release, built_rpm},
    release::{self, Key, Served},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::LongSuite, Need::Other(release::dnf_unmet), Need::Machine(Release::Bookworm)];
    suite.behaviour("release_dnf").case_with(needs, "installs_with_scripts_and_boots", installs_and_boots);
}

/// Gives what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

/// A copy of our package, signed, and a package that provides what it requires: dnf knows nothing of what dpkg has installed.
fn packages(folder: &Path, key: &Key) -> [PathBuf; 2] {
    let ours = folder.join(built_rpm().file_name().unwrap());
    fs::copy(built_rpm(), &ours).unwrap();
    key.sign_rpm(&ours);
    let required = run(Command::new("rpm").args(["--query", "--package", "--requires"]).arg(&ours));
    let provided = required.lines().filter(|line| !line.starts_with("rpmlib("));
    let provides: String = provided.map(|line| format!("  - {line:?}\n")).collect();
    let config = folder.join("stand-in.yaml");
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let text = format!(
        "name: debian-stand-in\narch: {architecture}\nversion: 1.0.0\nrelease: \"1\"\nmaintainer: tests <tests@localhost>\n\
         description: what dpkg has installed\nlicense: Apache-2.0\nprovides:\n{provides}"
    );
    fs::write(&config, text).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let nfpm = run(Command::new(workspace.join("packaging/tools")).args(["requirements.txt", "nfpm"]));
    let stand_in = folder.join(format!("debian-stand-in-1.0.0-1.{}.rpm", std::env::consts::ARCH));
    let mut make = Command::new(nfpm.trim_end());
    run(make.args(["package", "--packager", "rpm", "--config"]).arg(&config).arg("--target").arg(&stand_in));
    key.sign_rpm(&stand_in);
    [ours, stand_in]
}

fn installs_and_boots() {
    let (key, built, repository) = (Key::throw_away(), leftovers::folder("rpm"), leftovers::folder("yum"));
    let packages = packages(built.path(), &key);
    release::make("yum", &[], repository.path(), &packages.each_ref().map(PathBuf::as_path), Some(&key));
    key.publish(&repository.path().join("nodewell.asc"));
    let (served, disk) = (Served::here(repository.path()), Disk::of(Release::Bookworm));

    let mut dnf = Command::new("dnf");
    dnf.arg(format!("--installroot={}", disk.path().display()));
    dnf.arg(format!("--repofrompath=nodewell,{}/{}", served.url(), std::env::consts::ARCH));
    dnf.arg(format!("--setopt=nodewell.gpgkey={}/nodewell.asc", served.url()));
    dnf.args(["--setopt=nodewell.gpgcheck=1", "--setopt=nodewell.repo_gpgcheck=1", "--setopt=install_weak_deps=False"]);
    dnf.args([
        "--setopt=reposdir=/nonexistent",
        "--disableplugin=*",
        "--releasever=1",
        "--assumeyes",
        "install",
        "nodewell",
    ]);
    eprintln!("{}", run(&mut dnf));

    let machine = Machine::boot_from(&disk);
    machine.wait_property("nodewell.service", "ActiveState", "active");
    until("a true status", || machine.has_looked().then_some(()));
    machine.sh("getent passwd nodewell nodewell-disk nodewell-gpu && test -f /etc/nodewell/nodewell.toml");
}
