//! The process at the other end. The accept takes only what the kernel reports (user, groups, a hold on the process);
//! where the process lives is looked up on demand, once for each connection.

mod identity;
mod process;
#[cfg(test)]
mod tests;

use std::{
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use nodewell_checks::cgroup::{Cgroups, Home};
use nodewell_sys::peer::{self as kernel, Credentials, Help, Hold};

pub(super) use identity::Identity;
pub(super) use nodewell_checks::cgroup::CgroupOwner;
use process::{ProcessReading, Stat};

/// From here on the kernel shows a process's cgroup without its lock of all cgroups, which a node that starts and ends many
/// pods can hold for long (`proc_cgroup_show` in kernel/cgroup/cgroup.c).
const WITHOUT_LOCK: (u32, u32) = (6, 8);

/// The host as peers are seen from it.
#[derive(Debug)]
pub(super) struct Host {
    proc_root: PathBuf,
    home: Home,
    /// Why no peer's cgroup can be determined here, if so.
    blind: Option<&'static str>,
    help: Help,
    /// Whether a look into procfs waits for nothing.
    shows_at_once: bool,
}

impl Host {
    /// `proc_root` is `/proc`; `help` is what is used of the kernel's.
    pub(super) fn new(proc_root: &Path, help: Help) -> Self {
        let own = process::own_cgroup(proc_root);
        let blind = if !process::is_our_namespace(proc_root) {
            Some("the agent's /proc is not of its own pid namespace")
        } else if own.is_none() {
            Some("the agent cannot read /proc/self/cgroup")
        } else {
            None
        };
        let home = Home::of(own.as_deref().unwrap_or_default());
        let release = nix::sys::utsname::uname().ok().and_then(|kernel| version(kernel.release().to_str()?));
        let shows_at_once = release.is_some_and(|release| release >= WITHOUT_LOCK);
        Self { proc_root: proc_root.to_owned(), home, blind, help, shows_at_once }
    }
}

/// `6.18.44-amd64`, `6.8-rc1`: the first two numbers.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The process that connected.
#[derive(Debug)]
pub(super) struct Peer {
    host: Arc<Host>,
    credentials: Credentials,
    groups: Vec<u32>,
    hold: Hold,
    /// Only where there is no pidfd to hold: when the number's process started, as of the accept.
    start_ticks: Option<u64>,
    identity: OnceLock<Identity>,
}

impl Peer {
    /// Takes what the kernel reports of the other end of `stream`: a few system calls, no file.
    pub(super) fn of(stream: &impl AsFd, host: &Arc<Host>) -> io::Result<Self> {
        let credentials = kernel::credentials(stream.as_fd())?;
        let groups = kernel::groups(stream.as_fd())?;
        let hold = match credentials.pid {
            // Without a descriptor left for it, it may still read.
            Some(pid) => kernel::hold(stream.as_fd(), pid, host.help).unwrap_or(Hold::Gone),
            None => Hold::None,
        };
        let start_ticks = match (&hold, credentials.pid) {
            (Hold::None, Some(pid)) => Stat::of(&host.proc_root, pid).map(|stat| stat.start_ticks),
            _ => None,
        };
        Ok(Self { host: Arc::clone(host), credentials, groups, hold, start_ticks, identity: OnceLock::new() })
    }

    pub(super) fn uid(&self) -> u32 {
        self.credentials.uid
    }

    /// The number of the process; 0 if it has none here.
    pub(super) fn pid(&self) -> u32 {
        self.credentials.pid.map_or(0, std::num::NonZeroU32::get)
    }

    /// Looks up the identity; where procfs may wait for a lock of the kernel's, on a thread of its own. To start one costs
    /// several times as much as the look.
    pub(super) async fn look(self: Arc<Self>) {
        if self.identity.get().is_none() && !self.host.shows_at_once {
            // If that thread could not be had, the first question looks.
            let _ = tokio::task::spawn_blocking(move || _ = self.identity()).await;
        }
    }

    /// The identity, looked up on the first call.
    pub(super) fn identity(&self) -> &Identity {
        self.identity.get_or_init(|| {
            let groups = std::iter::once(self.credentials.gid).chain(self.groups.iter().copied());
            Identity::new(self.owner(), self.credentials.uid, groups.collect())
        })
    }

    fn owner(&self) -> CgroupOwner {
        if let Some(why) = self.host.blind {
            return CgroupOwner::Unknown(why);
        }
        let Some(pid) = self.credentials.pid else { return CgroupOwner::Container("outside".into()) };
        let Some(reading) = ProcessReading::of(&self.host.proc_root, pid) else {
            return if matches!(self.hold.is_alive(), Ok(Some(true))) { HIDDEN } else { GONE };
        };
        if let Some(doubt) = self.doubt(&reading) {
            return doubt;
        }
        let owner = Cgroups::parse(&reading.cgroup).owner(&self.host.home);
        match owner {
            // Whatever its cgroup is called, it is shut in; a runtime that names its cgroups like units is found here.
            CgroupOwner::Unit(name) if reading.pid_namespaces != 1 => CgroupOwner::Container(name),
            CgroupOwner::Host if reading.pid_namespaces != 1 => {
                CgroupOwner::Container("a pid namespace of its own".into())
            }
            owner => owner,
        }
    }

    /// Why the reading may be of another process, or from after its end.
    fn doubt(&self, reading: &ProcessReading) -> Option<CgroupOwner> {
        if reading.stat.is_exiting {
            return Some(CgroupOwner::Unknown("its first thread has ended"));
        }
        let same = match self.hold.is_alive() {
            Ok(Some(alive)) => alive,
            Ok(None) => self.start_ticks == Some(reading.stat.start_ticks),
            Err(_) => false,
        };
        if !same {
            return Some(GONE);
        }
        // The number may have changed hands between the connect and the accept; hardly to a process of the same user.
        let certain = matches!(self.hold, Hold::Exact(_)) || reading.uids.contains(&self.credentials.uid);
        (!certain).then_some(CgroupOwner::Unknown("its process has another user by now"))
    }
}

const HIDDEN: CgroupOwner =
    CgroupOwner::Unknown("the agent may not read its entry in /proc; is that mounted with hidepid?");
const GONE: CgroupOwner = CgroupOwner::Unknown("its process ended before it was looked at");
