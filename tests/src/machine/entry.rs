//! A person's command in a machine: as one that its root has begun there, where
//! [`Inside::run`](super::Inside::run) comes as a stranger.

use std::{env, process::Command};

use super::cgroup;

const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// Those that systemd-nspawn makes, and their files. That of the PIDs is entered before: a process is born into it.
const NAMESPACES: [(&str, &str); 5] =
    [("mount", "mnt"), ("uts", "uts"), ("ipc", "ipc"), ("net", "net"), ("cgroup", "cgroup")];

/// Runs `argv` in the machine whose PID 1 is `leader`: in the cgroups of that, by which an agent tells the machine's
/// root from a container's, and with an environment of its own. Of the caller's it has the terminal alone.
#[must_use]
pub fn as_root(leader: u32, argv: &[String]) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &leader.to_string(), "--pid", "--", "sh", "-c", &script(leader), "sh"]);
    command.env("PATH", PATH);
    // Not before it is inside: that shell exports its working directory, which is none of the machine's.
    command.args(["env", "-i", "HOME=/root", "LANG=C.UTF-8", &format!("PATH={PATH}")]);
    command.args(env::var("TERM").ok().map(|term| format!("TERM={term}"))).args(argv);
    command
}

/// What the first process in the machine's PID namespace runs, before it leaves this machine's files. It alone enters
/// the cgroups, and not what waits for it outside: that has no number inside, and systemd fails to read a
/// `cgroup.procs` with a 0 in it.
fn script(leader: u32) -> String {
    // By files: the number is another process's in that namespace.
    let flags = NAMESPACES.map(|(name, file)| format!("--{name}=/proc/{leader}/ns/{file}"));
    format!("{}exec nsenter {} -- \"$@\"", cgroup::entering(&cgroup::of(leader)), flags.join(" "))
}
