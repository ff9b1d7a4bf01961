//! System extensions on a booted machine. The agent's: merged, it runs with its users, folders and configuration;
//! stopped, it stays stopped; it runs after the next boot; unmerged, it is gone. The controller's: it is started where
//! its kubeconfig is, and nowhere else. As folders: a container has no loop device for an image, which holds the same.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use nodewell_tests::{
    leftovers,
    machine::{Disk, Machine, Package, Release},
    release,
    suite::{Need, Suite, leave_out},
    wait::{lasts, until},
};
use tempfile::TempDir;

const PACKAGES: Need = Need::Other(release::packages_unmet);
const SQUASHFS: Need = Need::Other(release::squashfs_unmet);
const AGENT: &str = "nodewell";
const CONTROLLER: &str = "nodewell-controller";
/// From this version of systemd on an extension has its units loaded by itself.
const LOADS_UNITS: u32 = 255;
const LOAD: &str = include_str!("../../packaging/sysext/load-extensions.service");
/// At an address where nothing listens.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: c
clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:6443' } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
users: [{ name: u, user: { token: of-no-user } }]
";

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("release_sysext")
        .case_with(&[Need::LongSuite, PACKAGES, Need::Machine(Release::Bookworm)], "systemd_252", || {
            agent(Release::Bookworm)
        })
        .case_with(&[Need::LongSuite, PACKAGES, Need::Machine(Release::Trixie)], "systemd_257", || {
            agent(Release::Trixie)
        })
        .case_with(&[Need::LongSuite, PACKAGES, Need::Machine(Release::Bookworm)], "controller_on_systemd_252", || {
            controller(Release::Bookworm)
        })
        .case_with(&[Need::LongSuite, PACKAGES, Need::Machine(Release::Trixie)], "controller_on_systemd_257", || {
            controller(Release::Trixie)
        })
        .case_with(
            &[Need::LongSuite, Need::Root, PACKAGES, SQUASHFS],
            "an_image_has_what_its_folder_has",
            an_image_has_what_its_folder_has,
        );
}

/// A folder that has the extension as a folder, by its name.
fn made_of(package: Package) -> TempDir {
    let made = leftovers::folder("extension");
    release::make("sysext", &["--folder"], made.path(), &[package.path()], None);
    made
}

/// An extension, and what it is tried on.
struct Extension {
    name: &'static str,
    debian: Release,
    made: TempDir,
}

impl Extension {
    fn unit(&self) -> String {
        format!("{}.service", self.name)
    }

    /// Where it lies on a machine.
    fn installed(&self) -> String {
        format!("/var/lib/extensions/{}", self.name)
    }

    /// Whether that is possible there.
    fn merge(&self, machine: &Machine) -> bool {
        if machine.run(["sh", "-c", "command -v systemd-sysext"]).code != 0 {
            let reason = format!("Debian {} has no systemd-sysext here", self.debian.name());
            leave_out(format!("release_sysext: {}", self.name), reason);
            return false;
        }
        machine.sh("mkdir -p /var/lib/extensions");
        machine.copy_folder(&self.made.path().join(self.name), &self.installed());
        machine.sh("systemd-sysext merge 2>&1");
        if self.debian.systemd() < LOADS_UNITS {
            machine.sh("systemctl daemon-reload");
        }
        machine.wait_property(&format!("{}-sysext.service", self.name), "ActiveState", "active");
        true
    }

    /// The machine, after its next boot.
    fn boot_again(&self, machine: Machine, disk: &Disk) -> Machine {
        machine.sh("systemctl enable systemd-sysext.service 2>&1");
        if self.debian.systemd() < LOADS_UNITS {
            machine.write("/etc/systemd/system/load-extensions.service", LOAD);
            machine.sh("systemctl enable load-extensions.service 2>&1");
        }
        machine.power_off();
        Machine::boot_from(disk)
    }

    fn unmerge(&self, machine: &Machine) {
        let (unit, name) = (self.unit(), self.name);
        // A folder has to be out of use before it goes.
        machine.sh(&format!("systemctl stop {unit} && systemd-sysext unmerge 2>&1 && rm -r {}", self.installed()));
        machine.sh(&format!("systemctl daemon-reload && systemctl stop {name}-sysext.service"));
        machine.sh(&format!("test ! -e /usr/lib/systemd/system/{unit} && test ! -e /usr/share/{name}"));
        let left = machine.sh(
            "for process in /proc/[0-9]*; do case $(readlink $process/exe) in */bin/nodewell*) echo $process ;; esac; done",
        );
        assert_eq!(left, "", "it runs, and is not there");
    }
}

fn agent(debian: Release) {
    let extension = Extension { name: AGENT, debian, made: made_of(Package::built()) };
    // Not a volatile root: that is an overlay already, and the kernel stacks two of them at most.
    let disk = Disk::of(debian);
    let machine = Machine::boot_from(&disk);
    if !extension.merge(&machine) {
        return;
    }
    is_up(&machine);
    machine.sh("systemctl is-active nodewell-check.service nodewell-identity.timer");
    machine.sh("getent passwd nodewell nodewell-disk nodewell-gpu");
    machine.sh("test -d /var/lib/nodewell && test -f /etc/nodewell/nodewell.toml && test -d /etc/nodewell/rules.d");
    assert_eq!(machine.property(&extension.unit(), "User"), "nodewell");
    a_stop_counts(&machine);
    let machine = extension.boot_again(machine, &disk);
    is_up(&machine);
    extension.unmerge(&machine);
    machine.sh("test ! -e /usr/bin/nodewelld && test -f /etc/nodewell/nodewell.toml && test -d /var/lib/nodewell");
}

fn is_up(machine: &Machine) {
    machine.wait_property("nodewell.service", "ActiveState", "active");
    until("a true status", || machine.has_looked().then_some(()));
}

/// multi-user.target upholds what sets the agent up, and not the agent.
fn a_stop_counts(machine: &Machine) {
    machine.sh("systemctl stop nodewell.service");
    lasts(Duration::from_secs(3), "it is stopped", || {
        machine.property("nodewell.service", "ActiveState") == "inactive"
    });
    machine.sh("systemctl start nodewell.service");
    is_up(machine);
}

/// Its kubeconfig comes after the extension here, and before it where Ignition writes both: then at the next boot.
fn controller(debian: Release) {
    let extension = Extension { name: CONTROLLER, debian, made: made_of(Package::controller()) };
    let disk = Disk::of(debian);
    let machine = Machine::boot_from(&disk);
    if !extension.merge(&machine) {
        return;
    }
    machine.sh("nodewell-controller --version && nodewell-controller check && kubectl-nodewell --version");
    machine.sh("test -f /etc/nodewell/nodewell-controller.toml && test -f /etc/logrotate.d/nodewell-controller");
    let unit = extension.unit();
    lasts(Duration::from_secs(3), "without a kubeconfig it is not started", || {
        machine.property(&unit, "ActiveState") == "inactive"
    });
    machine.write("/etc/nodewell/controller.kubeconfig", KUBECONFIG);
    machine.sh(&format!("chmod 600 /etc/nodewell/controller.kubeconfig && systemctl start {unit}"));
    waits_for_the_api_server(&machine, &unit);
    let machine = extension.boot_again(machine, &disk);
    waits_for_the_api_server(&machine, &unit);
    extension.unmerge(&machine);
    machine.sh("test ! -e /usr/bin/nodewell-controller && test -f /etc/nodewell/nodewell-controller.toml");
}

fn waits_for_the_api_server(machine: &Machine, unit: &str) {
    machine.wait_property(unit, "ActiveState", "active");
    until("it says what it waits for", || {
        machine.property(unit, "StatusText").starts_with("waiting for the API server").then_some(())
    });
    machine.sh("curl --silent --fail http://127.0.0.1:20258/healthz");
}

fn an_image_has_what_its_folder_has() {
    for (name, package) in [(AGENT, Package::built()), (CONTROLLER, Package::controller())] {
        let made = made_of(package);
        let [folder, unpacked, to] = [name, "unpacked", "images"].map(|inside| made.path().join(inside));
        release::make("sysext", &[], &to, &[package.path()], None);
        let images: Vec<PathBuf> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(images.len() == 1 && images[0].extension().is_some_and(|end| end == "raw"), "{images:?}");
        output_of(Command::new("unsquashfs").args(["-no-progress", "-dest"]).args([&unpacked, &images[0]]));
        assert_eq!(files(&unpacked), files(&folder), "{name}");
        output_of(Command::new("diff").args(["--recursive", "--brief", "--no-dereference"]).args([&unpacked, &folder]));
    }
}

/// Kind, mode, owner, group, path and, of a link, where it leads, of all that is in a folder and of itself.
fn files(folder: &Path) -> Vec<String> {
    let listed = output_of(Command::new("find").arg(folder).args(["-printf", "%y %m %U %G %P -> %l\n"]));
    let mut files: Vec<String> = listed.lines().map(str::to_owned).collect();
    files.sort_unstable();
    files
}

/// What it wrote; it must succeed.
#[track_caller]
fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
