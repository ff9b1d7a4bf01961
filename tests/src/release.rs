//! What `packaging/release` makes of the packages under test: signed with a key of a test's own, and served on loopback.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nodewell_kit::free_port;
use tempfile::TempDir;

use crate::{leftovers, machine::Machine, process::Process, wait::until};

/// In a machine, whose loopback is its own.
const PORT: u16 = 8080;

/// Why this machine can make no tarball and no extension of a package.
#[must_use]
pub fn packages_unmet() -> Option<String> {
    missing(&[("dpkg-deb", "dpkg"), ("readelf", "binutils")])
}

/// Why this machine can make no image of a package.
#[must_use]
pub fn image_unmet() -> Option<String> {
    missing(&[("dpkg-deb", "dpkg"), ("mmdebstrap", "mmdebstrap")])
}

/// Why this machine can make no image of an extension, or not unpack one.
#[must_use]
pub fn squashfs_unmet() -> Option<String> {
    // They have another option for their version, and one of them fails then.
    let starts = |program: &&str| Command::new(program).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let missing = ["mksquashfs", "unsquashfs"].into_iter().find(|program| !starts(program))?;
    Some(format!("needs {missing} (Debian's package squashfs-tools)"))
}

/// Why this machine cannot make, sign and serve an apt repository.
#[must_use]
pub fn apt_unmet() -> Option<String> {
    missing(&[("dpkg-scanpackages", "dpkg-dev"), ("gpg", "gnupg"), ("python3", "python3")])
}

/// Why this machine cannot write sums, sign and check them.
#[must_use]
pub fn sums_unmet() -> Option<String> {
    missing(&[("sha256sum", "coreutils"), ("gpg", "gnupg")])
}

/// Why this machine cannot make a yum repository and install from it.
#[must_use]
pub fn dnf_unmet() -> Option<String> {
    missing(&[
        ("dnf", "dnf"),
        ("createrepo_c", "createrepo-c"),
        ("rpmsign", "rpm"),
        ("gpg", "gnupg"),
        ("python3", "python3"),
    ])
}

fn missing(programs: &[(&str, &str)]) -> Option<String> {
    let runs =
        |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_missing = |(program, _): &&(&str, &str)| !runs(program).is_ok_and(|status| status.success());
    let (program, package) = programs.iter().find(is_missing)?;
    Some(format!("needs {program} (Debian's package {package})"))
}

/// Runs `packaging/release/SCRIPT OPTIONS --to FOLDER PACKAGES`, which signs with the key if there is one.
///
/// # Panics
/// If it fails.
#[track_caller]
pub fn make(script: &str, options: &[&str], to: &Path, packages: &[&Path], key: Option<&Key>) {
    let mut arguments: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    arguments.extend([OsStr::new("--to"), to.as_os_str()]);
    arguments.extend(packages.iter().map(|package| package.as_os_str()));
    run(script, &arguments, key);
}

/// Writes SHA256SUMS of the files of `folder`, and signs it.
///
/// # Panics
/// If it fails.
#[track_caller]
pub fn sums(folder: &Path, key: &Key) {
    run("sums", &[folder.as_os_str()], Some(key));
}

#[track_caller]
fn run(script: &str, arguments: &[&OsStr], key: Option<&Key>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/release");
    let mut command = Command::new(folder.join(script));
    let key = key.map_or_else(OsString::new, |key| key.secret().into_os_string());
    command.args(arguments).stdin(Stdio::null()).env_remove("GNUPGHOME").env("NODEWELL_SIGNING_KEY", key);
    let output = command.output().unwrap();
    assert!(output.status.success(), "packaging/release/{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A key that is good for a day, in a keyring that is gone when it is dropped.
#[derive(Debug)]
pub struct Key {
    folder: TempDir,
}

impl Key {
    /// # Panics
    /// If gpg makes none.
    #[must_use]
    pub fn throw_away() -> Self {
        let key = Self { folder: leftovers::folder("key") };
        key.gpg(&["--quick-generate-key", "nodewell tests", "rsa3072", "sign", "1d"].map(OsStr::new));
        let secret = key.secret();
        let export = ["--armor", "--output"].map(OsStr::new);
        key.gpg(&[&export[..], &[secret.as_os_str(), OsStr::new("--export-secret-keys")]].concat());
        key
    }

    /// Writes what checks its signatures.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn publish(&self, to: &Path) {
        run("sign", &[OsStr::new("public"), to.as_os_str()], Some(self));
    }

    /// Puts signatures into these rpm packages.
    ///
    /// # Panics
    /// If they cannot be signed.
    pub fn sign_rpm(&self, package: &Path) {
        run("sign", &[OsStr::new("rpm"), package.as_os_str()], Some(self));
    }

    fn secret(&self) -> PathBuf {
        self.folder.path().join("secret.asc")
    }

    fn gpg(&self, arguments: &[&OsStr]) {
        let mut gpg = Command::new("gpg");
        gpg.env("GNUPGHOME", self.folder.path()).stdin(Stdio::null());
        gpg.args(["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]).args(arguments);
        let output = gpg.output().unwrap();
        assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // Its agent would look for its folder for a while.
        let mut end = Command::new("gpgconf");
        let _ = end.arg("--homedir").arg(self.folder.path()).args(["--kill", "all"]).status();
    }
}

/// A web server for a folder of ours; it is gone when this is dropped.
#[derive(Debug)]
pub struct Served {
    url: String,
    _server: Process,
    _log: TempDir,
}

impl Served {
    /// On the loopback of `machine`, which has no other network.
    ///
    /// # Panics
    /// If it does not answer there.
    #[must_use]
    pub fn inside(machine: &Machine, folder: &Path) -> Self {
        let leader = machine.leader().to_string();
        let served = Self::start(&["nsenter", "--net", "--target", &leader, "--"], PORT, folder);
        let get = ["curl", "--silent", "--fail", "--output", "/dev/null", served.url()];
        until("the folder is served in the machine", || (machine.run(get).code == 0).then_some(()));
        served
    }

    /// On this machine's.
    ///
    /// # Panics
    /// If it does not answer there.
    #[must_use]
    pub fn here(folder: &Path) -> Self {
        let port = free_port();
        let served = Self::start(&[], port, folder);
        until("the folder is served", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        served
    }

    fn start(enter: &[&str], port: u16, folder: &Path) -> Self {
        let log = leftovers::folder("server");
        let server = ["python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory"];
        let mut argv: Vec<OsString> = enter.iter().chain(&server).map(OsString::from).collect();
        argv.extend([folder.as_os_str().to_owned(), port.to_string().into()]);
        let server = Process::start(&argv, &log.path().join("log")).unwrap();
        Self { url: format!("http://127.0.0.1:{port}"), _server: server, _log: log }
    }

    /// Without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}
