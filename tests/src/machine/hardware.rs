//! What a machine is made of, as the outer machine gives it: a root, a network, a kernel log, cgroups.

use std::{ffi::OsString, path::PathBuf};

use super::cgroup::Controllers;

/// What a container's `/dev/kmsg` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelLog {
    /// The kernel's own: there is one for all machines, and each sees what happens to the others.
    Shared,
    /// A node that opens, has no record and never will: a kubelet ends where there is none at all.
    Empty,
}

impl KernelLog {
    /// The number of the character device with major number 1.
    pub(super) fn minor(self) -> u64 {
        match self {
            Self::Shared => 11,
            Self::Empty => 3,
        }
    }
}

/// How a machine is booted.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// The folder that is its root.
    pub root: PathBuf,
    /// Nothing that is written to the root stays.
    pub is_volatile: bool,
    /// Its name, as systemd has it; hostname of a machine that has none of its own.
    pub name: String,
    /// What is run in it: `--boot` and arguments of systemd, or another program that ends up as systemd.
    pub program: Vec<String>,
    /// A named network namespace; otherwise one with nothing but a loopback device.
    pub network: Option<String>,
    pub kernel_log: KernelLog,
    pub controllers: Controllers,
    /// More flags of systemd-nspawn.
    pub flags: Vec<String>,
}

impl Hardware {
    /// One that boots systemd from `root`, with the kernel's log and no network.
    #[must_use]
    pub fn of(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            is_volatile: false,
            name: "node".to_owned(),
            program: vec!["--boot".to_owned()],
            network: None,
            kernel_log: KernelLog::Shared,
            controllers: Controllers::Systemds,
            flags: Vec::new(),
        }
    }

    /// Arguments of systemd-nspawn, the program last.
    pub(super) fn argv(&self) -> Vec<OsString> {
        // Without bpf(2) the kernel's side of DeviceAllow= and IPAddressDeny= would silently be left out; without
        // CAP_SYSLOG the machine's own root could not open the kernel log.
        let fixed = "--quiet --register=no --keep-unit --console=pipe --capability=all --system-call-filter=bpf";
        let mut argv: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
        argv.push(format!("--machine={}", self.name));
        argv.push(format!("--directory={}", self.root.display()));
        argv.push(match &self.network {
            Some(name) => format!("--network-namespace-path=/run/netns/{name}"),
            None => "--private-network".to_owned(),
        });
        argv.extend(self.is_volatile.then(|| "--volatile=overlay".to_owned()));
        argv.extend(self.flags.iter().cloned());
        argv.extend(self.program.iter().cloned());
        argv.into_iter().map(OsString::from).collect()
    }
}
