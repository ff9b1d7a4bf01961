//! The packages' scripts, run as dpkg and rpm run them, in a root that has a shell and a systemctl that only writes
//! masks: what a purge takes, and whose masks a removal, an upgrade and an installation take away.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use nodewell_kit::write_program;
use nodewell_tests::suite::{Need, Suite};
use tempfile::TempDir;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("package_scripts")
        .case_with(&[Need::Root], "a_purge_leaves_what_is_not_its_packages", a_purge_leaves_the_rest)
        .case_with(&[Need::Root], "the_last_purge_leaves_no_folder", the_last_purge_leaves_no_folder)
        .case_with(&[Need::Root], "an_administrators_masks_outlive_an_upgrade", masks_outlive_an_upgrade)
        .case_with(&[Need::Root], "a_removal_unmasks_what_it_masked", a_removal_unmasks_its_own)
        .case_with(&[Need::Root], "an_installation_unmasks_what_a_killed_removal_masked", a_removal_is_killed)
        .case_with(&[Need::Root], "rpm_goes_its_own_way_where_dpkg_has_helpers", rpm_goes_its_own_way);
}

const AGENT: &str = "nodewell";
const CONTROLLER: &str = "nodewell-controller";

/// What each package has or reads in `/etc/nodewell`, by the guides.
const AGENTS: [&str; 7] = [
    "nodewell.toml",
    "nodewell.toml.d/cluster.toml",
    "rules.d/mine.toml",
    "monitors.d/kernel-monitor.json",
    "xids.toml",
    "kubeconfig",
    "bootstrap.kubeconfig",
];
const CONTROLLERS: [&str; 7] = [
    "nodewell-controller.toml.d/mine.toml",
    "controller.kubeconfig",
    "approver.kubeconfig",
    "management.kubeconfig",
    "secret-fence-method-rack7",
    "node-reaper.yaml",
    "pause",
];
/// Files whose names an administrator chose.
const OTHERS: [&str; 2] = ["bmc-ca.pem", "gce.json"];

/// Not even `nodewell-controller.toml` is there, which an administrator may delete.
fn a_purge_leaves_the_rest() {
    for (package, own, left) in [
        (AGENT, &AGENTS, [&CONTROLLERS[..], &OTHERS].concat()),
        (CONTROLLER, &CONTROLLERS, [&AGENTS[..], &OTHERS].concat()),
    ] {
        let host = Host::with(package, Manager::Dpkg);
        own.iter().chain(&left).for_each(|file| host.write_config(file));
        host.succeeds("postremove", &["purge"]);
        assert_eq!(host.config(), left.into_iter().map(str::to_owned).collect(), "{package}");
    }
}

fn the_last_purge_leaves_no_folder() {
    for (package, own) in [(AGENT, AGENTS), (CONTROLLER, CONTROLLERS)] {
        let host = Host::with(package, Manager::Dpkg);
        own.iter().for_each(|file| host.write_config(file));
        host.succeeds("postremove", &["purge"]);
        assert!(!host.path("etc/nodewell").exists(), "{package}");
    }
}

fn masks_outlive_an_upgrade() {
    for host in hosts() {
        host.mask(&host.all());
        match host.manager {
            Manager::Dpkg => {
                host.succeeds("preremove", &["upgrade", "2"]);
                host.succeeds("postremove", &["upgrade", "2"]);
                host.succeeds("postinstall", &["configure", "1"]);
            }
            Manager::Rpm => {
                host.succeeds("postinstall", &["2"]);
                host.succeeds("preremove", &["1"]);
                host.succeeds("postremove", &["1"]);
            }
        }
        assert_eq!(host.masked(), host.all(), "{host:?}");
    }
}

fn a_removal_unmasks_its_own() {
    for host in hosts() {
        host.mask(&host.administrators());
        host.succeeds("preremove", &[host.manager.removes()]);
        assert_eq!(host.masked(), host.all(), "{host:?}");
        host.succeeds("postremove", &[host.manager.removes()]);
        assert_eq!(host.masked(), host.administrators(), "{host:?}");
        assert_eq!(fs::read_dir(host.path("run")).unwrap().count(), 1, "only systemd's own is left in /run: {host:?}");
    }
}

/// After the masks, twice; dpkg calls what comes then an upgrade.
fn a_removal_is_killed() {
    for host in hosts() {
        host.mask(&host.administrators());
        fs::write(host.path("killed-at-stop"), "").unwrap();
        for _ in 0..2 {
            assert_eq!(host.run("preremove", &[host.manager.removes()]).code(), None, "{host:?}");
            assert_eq!(host.masked(), host.all(), "{host:?}");
        }
        match host.manager {
            Manager::Dpkg => host.succeeds("postinstall", &["configure", "1"]),
            Manager::Rpm => host.succeeds("postinstall", &["2"]),
        }
        assert_eq!(host.masked(), host.administrators(), "{host:?}");
    }
}

/// In a root of dpkg's that rpm fills: who calls decides, and not what is there.
fn rpm_goes_its_own_way() {
    let host = Host::with(AGENT, Manager::Rpm);
    for helper in HELPERS {
        write_program(&host.path("tools").join(helper), 0o755, "#!/bin/sh\n: >/helper-was-called\n");
    }
    write_program(&host.path("tools/systemctl"), 0o755, "#!/bin/sh\necho \"$*\" >>/systemctl.log\n");
    for script in SCRIPTS {
        let text = fs::read_to_string(host.path(script)).unwrap();
        let text =
            text.replace("installable=\"\"\nenabled=\"\"", "installable=\"$units\"\nenabled=\"nodewell.service\"");
        assert!(text.contains("enabled=\"nodewell.service\""), "{text}");
        fs::write(host.path(script), text).unwrap();
    }
    let asked = |what: &str| {
        let log = fs::read_to_string(host.path("systemctl.log")).unwrap_or_default();
        assert!(log.lines().any(|line| line.starts_with(what)), "no {what} in\n{log}");
    };
    host.succeeds("postinstall", &["1"]);
    asked("--no-reload preset nodewell");
    host.succeeds("preremove", &[host.manager.removes()]);
    asked("--no-reload disable --now nodewell");
    host.succeeds("postremove", &[host.manager.removes()]);
    assert!(!host.path("helper-was-called").exists());
}

/// Each package under each package manager.
fn hosts() -> impl Iterator<Item = Host> {
    let managers = |package| [Manager::Dpkg, Manager::Rpm].map(|manager| Host::with(package, manager));
    [AGENT, CONTROLLER].into_iter().flat_map(managers)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Dpkg,
    Rpm,
}

impl Manager {
    /// The argument that stands for a removal.
    fn removes(self) -> &'static str {
        match self {
            Self::Dpkg => "remove",
            Self::Rpm => "0",
        }
    }
}

/// A root with one package's scripts in it.
struct Host {
    root: TempDir,
    package: &'static str,
    manager: Manager,
    units: Vec<String>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} under {:?}", self.package, self.manager)
    }
}

/// Makes and takes masks as the real one does, and ends who asks it to stop something while `/killed-at-stop` is there.
const SYSTEMCTL: &str = r#"#!/bin/sh
verb=$1
case "$verb $2" in
  "stop "*) [ ! -e /killed-at-stop ] || kill -KILL $PPID ;;
  "mask --runtime" | "unmask --runtime")
    shift 2
    for unit; do
      link=/run/systemd/system/$unit
      if [ $verb = mask ]; then [ -L "$link" ] || ln -s /dev/null "$link"; else rm -f "$link"; fi
    done ;;
esac
"#;

const SCRIPTS: [&str; 3] = ["postinstall", "preremove", "postremove"];
/// Of Debian's packages.
const HELPERS: [&str; 2] = ["deb-systemd-helper", "deb-systemd-invoke"];
/// What the scripts and the systemctl above call.
const TOOLS: [&str; 6] = ["rm", "rmdir", "cat", "ln", "timeout", "getent"];

impl Host {
    fn with(package: &'static str, manager: Manager) -> Self {
        let root = TempDir::with_prefix("nodewell-scripts-").unwrap();
        for folder in ["bin", "dev", "tools", "etc/nodewell", "run/systemd/system"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        copy_program(root.path(), "sh", "bin/sh");
        TOOLS.iter().for_each(|tool| copy_program(root.path(), tool, &format!("tools/{tool}")));
        write_program(&root.path().join("tools/systemctl"), 0o755, SYSTEMCTL);
        if manager == Manager::Dpkg {
            for helper in HELPERS {
                write_program(&root.path().join("tools").join(helper), 0o755, "#!/bin/sh\n");
            }
        }
        let units = units(package);
        for script in SCRIPTS {
            fs::write(root.path().join(script), assembled(package, &units, script)).unwrap();
        }
        Self { root, package, manager, units }
    }

    fn path(&self, of: &str) -> PathBuf {
        self.root.path().join(of)
    }

    fn run(&self, script: &str, arguments: &[&str]) -> ExitStatus {
        let mut command = Command::new("chroot");
        command.arg(self.root.path()).args(["/bin/sh", &format!("/{script}")]).args(arguments);
        command.env_clear().env("PATH", "/tools:/usr/sbin:/usr/bin:/sbin:/bin").status().unwrap()
    }

    fn succeeds(&self, script: &str, arguments: &[&str]) {
        let status = self.run(script, arguments);
        assert!(status.success(), "{self:?}: {script} {arguments:?}: {status}");
    }

    fn write_config(&self, file: &str) {
        let path = self.path("etc/nodewell").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    /// All files of `/etc/nodewell`.
    fn config(&self) -> BTreeSet<String> {
        let (top, mut found) = (self.path("etc/nodewell"), BTreeSet::new());
        let mut folders = vec![top.clone()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found
    }

    fn all(&self) -> BTreeSet<String> {
        self.units.iter().cloned().collect()
    }

    /// What an administrator does not want until the next boot: half of the units, none of a single one.
    fn administrators(&self) -> BTreeSet<String> {
        self.units[..self.units.len() / 2].iter().cloned().collect()
    }

    fn mask(&self, units: &BTreeSet<String>) {
        units.iter().for_each(|unit| symlink("/dev/null", self.path("run/systemd/system").join(unit)).unwrap());
    }

    fn masked(&self) -> BTreeSet<String> {
        let links = fs::read_dir(self.path("run/systemd/system")).unwrap();
        links.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// As packaging/build puts a script together.
fn assembled(package: &str, units: &[String], script: &str) -> String {
    let units = units.join(" ");
    let mut text =
        format!("set -e\npackage={package}\nunits=\"{units}\"\nservices=\"\"\ninstallable=\"\"\nenabled=\"\"\n");
    for part in [package, "masks", script] {
        text += &fs::read_to_string(workspace().join("packaging/scripts").join(part)).unwrap();
        text.push('\n');
    }
    text
}

/// All but slices.
fn units(package: &str) -> Vec<String> {
    let names = fs::read_dir(workspace().join("systemd")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_unit = |name: &String| [".service", ".socket", ".path", ".timer"].iter().any(|kind| name.ends_with(kind));
    let mut units: Vec<_> = names.filter(is_unit).collect();
    units.retain(|name| name.starts_with("nodewell-controller.") == (package == CONTROLLER));
    units.sort();
    units
}

/// With the libraries that it needs.
pub(crate) fn copy_program(root: &Path, name: &str, to: &str) {
    let folders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    let program = folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists()).unwrap();
    copy(&program, &root.join(to));
    copy_libraries(root, &program);
}

/// Those that `program` is linked with.
pub(crate) fn copy_libraries(root: &Path, program: &Path) {
    let listed = Command::new("ldd").arg(program).output().unwrap().stdout;
    for word in String::from_utf8(listed).unwrap().split_whitespace().filter(|word| word.starts_with('/')) {
        copy(Path::new(word), &root.join(word.trim_start_matches('/')));
    }
}

/// By another process: a file that this one has open for writing cannot be executed.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("install").arg("-D").arg(from).arg(to).status().unwrap();
    assert!(copied.success(), "{}", from.display());
}
