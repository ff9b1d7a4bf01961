//! `make cluster`: a process holds the cluster and does what commands ask; with it all of the cluster ends, however that
//! is, and another one comes up after it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use nodewell_cluster::CLUSTER;
use nodewell_tests::{
    cli::Outcome,
    process::Process,
    suite::{Need, Suite},
    wait::until_within,
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_nodewell-cluster");
const SMALL: [&str; 3] = ["--bare", "--workers=1", "--controllers=0"];
const UP: Duration = Duration::from_secs(300);
const SOON: Duration = Duration::from_secs(60);
/// Less than systemd waits for a process that ignores SIGTERM.
const ORDERLY: Duration = Duration::from_secs(60);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("held")
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "nothing_outlives_a_killed_holder_and_another_comes_up",
            nothing_outlives_a_killed_holder_and_another_comes_up,
        )
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "one_that_is_being_brought_up_is_found",
            one_that_is_being_brought_up_is_found,
        );
}

fn nothing_outlives_a_killed_holder_and_another_comes_up() {
    let held = Held::new();
    let mut holder = held.hold();
    until_within(UP, "the cluster is up", || {
        assert!(holder.ended().is_none(), "{}", held.log());
        (held.run(&["status"]).code == 0).then_some(())
    });
    obeys(&held);
    let second = held.run(&[&["up"][..], &SMALL].concat());
    assert!(second.code == 70 && second.stderr.contains("is up already"), "{second:?}");

    let number = holder.pid();
    holder.signal(Signal::SIGKILL);
    holder.wait();
    until_within(SOON, "all its processes have ended", || processes(number).is_empty().then_some(()));
    // The kernel ends a network namespace a moment after its last process.
    until_within(SOON, "its cable to this machine is gone", || links(number).is_empty().then_some(()));

    held.must(&[&["up"][..], &SMALL].concat());
    assert!(held.must(&["status"]).contains("w1"));
    let another = held.holder().unwrap();
    held.must(&["down"]);
    for number in [number, another] {
        let left = [processes(number), files(number)].concat();
        assert!(left.is_empty() && links(number).is_empty(), "left of process {number}: {left:?}{}", links(number));
    }
}

/// After Ctrl-C in `up` its holder goes on.
fn one_that_is_being_brought_up_is_found() {
    let held = Held::new();
    let mut up = held.command(&[&["up"][..], &SMALL].concat()).stderr(Stdio::null()).spawn().unwrap();
    let holder = until_within(SOON, "there is a holder", || held.holder());
    up.kill().unwrap();
    up.wait().unwrap();
    let second = held.run(&[&["up"][..], &SMALL].concat());
    assert!(second.code == 70 && second.stderr.contains("is being brought up"), "{second:?}");
    let down = held.must(&["down"]);
    assert!(down.contains("was being brought up"), "{down}");
    let left = || [processes(holder), vec![links(holder)]].concat().concat();
    until_within(SOON, "nothing of it runs", || left().is_empty().then_some(()));
    assert!(held.must(&["down"]).contains("no cluster is up"));
    assert!(files(holder).is_empty(), "{:?}", files(holder));
}

fn obeys(held: &Held) {
    assert_eq!(held.must(&["exec", "w1", "hostname"]).trim(), "w1");
    runs_as_its_root(held);
    let begun = Instant::now();
    held.must(&["stop", "w1"]);
    assert!(begun.elapsed() < ORDERLY, "its pod does not end by SIGTERM: {:?}", begun.elapsed());
    let off = held.run(&["stop", "w1"]);
    assert!(off.code == 70 && off.stderr.contains("w1 is off"), "{off:?}");
    held.must(&["on", "w1"]);
    held.must(&["cut", "w1"]);
    held.must(&["join", "w1"]);
}

/// An agent takes what `exec` runs for the machine's root, and it has nothing of the caller's environment.
fn runs_as_its_root(held: &Held) {
    let exec = |command: &[&str]| held.must(&[&["exec", "w1"][..], command].concat());
    assert_eq!(exec(&["cat", "/proc/self/cgroup"]), exec(&["cat", "/proc/1/cgroup"]));
    let environment = exec(&["env"]);
    let names: Vec<&str> = environment.lines().map(|line| line.split('=').next().unwrap_or_default()).collect();
    let are_its = names.iter().all(|name| ["HOME", "LANG", "PATH", "TERM"].contains(name));
    assert!(are_its && environment.contains("HOME=/root\n"), "{environment}");
}

/// A cluster beside the one that a person may have; ended when dropped.
struct Held(TempDir);

impl Held {
    fn new() -> Self {
        let held = Self(tempfile::tempdir().unwrap());
        fs::create_dir(held.folder()).unwrap();
        held
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("cluster")
    }

    /// Not by `up`: this one ends with the case, however that ends.
    fn hold(&self) -> Process {
        let folder = format!("NODEWELL_CLUSTER_FOLDER={}", self.folder().display());
        let argv = [&["env", &folder, PROGRAM, "hold"][..], &SMALL].concat();
        let argv: Vec<_> = argv.into_iter().map(Into::into).collect();
        Process::start(&argv, &self.folder().join("log")).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).env("NODEWELL_CLUSTER_FOLDER", self.folder()).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Outcome {
        self.command(args).output().unwrap().into()
    }

    /// The number of the process that holds the cluster, or held the last one.
    fn holder(&self) -> Option<u32> {
        fs::read_to_string(self.folder().with_extension("lock")).ok()?.parse().ok()
    }

    fn must(&self, args: &[&str]) -> String {
        let outcome = self.run(args);
        assert_eq!(outcome.code, 0, "{args:?}: {}\n{}", outcome.stderr, self.log());
        outcome.stdout
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.run(&["down"]);
    }
}

/// Processes of this machine that are in the cgroup of a machine of this holder's, or have a file of its in their
/// command line.
fn processes(holder: u32) -> Vec<String> {
    let (cgroup, file) = (format!("/nodewell-machine-{holder}-"), format!("-{holder}-"));
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let known = entries.filter_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let command = read("cmdline").replace('\0', " ");
        let is_its = read("cgroup").contains(&cgroup) || command.contains("/nodewell-") && command.contains(&file);
        is_its.then(|| format!("{}: {command}", entry.path().display()))
    });
    known.collect()
}

/// Names of network namespaces and folders.
fn files(holder: u32) -> Vec<String> {
    let (network, folder) = (format!("nwc{holder}x"), format!("-{holder}-"));
    let is_its = |name: &String| name.starts_with(&network) || name.starts_with("nodewell-") && name.contains(&folder);
    let entries =
        ["/run/netns".into(), std::env::temp_dir()].map(fs::read_dir).into_iter().flatten().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_its).collect()
}

/// What the kernel lists of the holder's cable to this machine.
fn links(holder: u32) -> String {
    let links = Command::new("ip").args(["-oneline", "link"]).output().unwrap();
    let links = String::from_utf8_lossy(&links.stdout).into_owned();
    links.lines().filter(|line| line.contains(&format!(" nwc{holder}x"))).collect()
}
