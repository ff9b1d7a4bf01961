//! A person's shell at a cluster: bash with kubectl, the programs under test, and what the packages put below
//! /usr/share.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    book::workspace,
    cli::{Outcome, binary},
    cluster::{Cluster, Identity},
    process::bounded,
    real,
};

/// No command of the book takes so long at a server on loopback.
const LIMIT: Duration = Duration::from_secs(300);
const SHARE: &str = "/usr/share/";

/// The shell of the cluster's administrator, in a folder of its own.
#[derive(Debug)]
pub struct Shell {
    folder: TempDir,
}

impl Shell {
    /// # Panics
    /// If what the packages have cannot be put there.
    #[must_use]
    pub fn at(cluster: &Cluster) -> Self {
        let folder = TempDir::with_prefix("nodewell-shell-").unwrap();
        cluster.write_kubeconfig(&Identity::Admin, folder.path());
        let shell = Self { folder };
        let outcome = shell.bash(workspace(), &packaged(), "");
        assert_eq!(outcome.code, 0, "{outcome:?}");
        shell
    }

    /// A file in its folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into its folder.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Runs `script` there to its end, or to the first command that fails; gives what it prints.
    ///
    /// # Panics
    /// If a command fails.
    #[track_caller]
    pub fn run(&self, script: &str) -> String {
        self.run_in(self.folder.path(), script)
    }

    /// The same in another folder.
    ///
    /// # Panics
    /// If a command fails.
    #[track_caller]
    pub fn run_in(&self, folder: &Path, script: &str) -> String {
        let outcome = self.bash(folder, script, "");
        assert_eq!(outcome.code, 0, "{script}\n{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// The same in its own folder, where a person types these lines; how it ended.
    ///
    /// # Panics
    /// If there is no bash.
    #[must_use]
    pub fn typed(&self, script: &str, lines: &str) -> Outcome {
        self.bash(self.folder.path(), script, lines)
    }

    fn bash(&self, folder: &Path, script: &str, lines: &str) -> Outcome {
        let share = format!("{}{SHARE}", self.path("root").display());
        let folders = [binary("nodewell"), real::binary("kubectl")].map(|program| program.with_file_name(""));
        // What is not built would be looked for on this machine.
        ["nodewell-controller", "kubectl-nodewell"].iter().for_each(|name| drop(binary(name)));
        let usual = env::var_os("PATH").unwrap_or_default();
        let all = folders.into_iter().chain(env::split_paths(&usual)).chain(["/usr/sbin".into()]);
        let mut command = bounded(LIMIT, "bash");
        command.args(["-e", "-o", "pipefail", "-c", &script.replace(SHARE, &share)]).current_dir(folder);
        command.env("PATH", env::join_paths(all).unwrap()).env("LC_ALL", "C.UTF-8");
        command.env("HOME", self.folder.path()).env("KUBECONFIG", self.path("kubeconfig"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        child.wait_with_output().unwrap().into()
    }
}

/// A script for the workspace's folder: what both packages have below /usr/share and no build puts together.
fn packaged() -> String {
    let lists = ["nodewell.yaml", "nodewell-controller.yaml"];
    let texts = lists.map(|list| fs::read_to_string(workspace().join("packaging").join(list)).unwrap());
    let installed = |line: &str| {
        let (from, to) = line.trim().strip_prefix("- { src: ")?.split_once(", dst: ")?;
        let (from, to) = (from.trim_matches('"'), to.split([',', ' ']).next()?);
        let is_file = to.starts_with(SHARE) && !from.starts_with("target/");
        let is_folder = to.ends_with('/');
        let script = if is_folder { format!("-t {to} {from}\n") } else { format!("{from} {to}\n") };
        is_file.then(|| format!("install -D -m 644 {script}"))
    };
    texts.iter().flat_map(|text| text.lines()).filter_map(installed).collect()
}
