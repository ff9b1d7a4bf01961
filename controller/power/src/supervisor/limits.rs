//! What an agent may take of its host: the host is a control plane's, and one agent that has gone mad must not be its end.
//!
//! They are of each process of its. Of all together the unit has its own (`TasksMax=`, `MemoryMax=`).

use std::{fs, io};

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};

const MIB: rlim_t = 1024 * 1024;
/// Beyond any run's deadline at full speed: one whose supervisor has gone all the same ends by this.
const CPU_SECS: rlim_t = 1800;
/// Memory that it can write to, which is what it costs; agents with a cloud's libraries have 60 to 150 MiB.
const DATA: rlim_t = 1024 * MIB;
/// One file; agents write none that is longer than a key.
const FILE: rlim_t = 64 * MIB;
const FILES: rlim_t = 1024;
/// Of the whole user, its controller's threads among them; the kernel does not hold root to it.
const TASKS: rlim_t = 512;
/// No password may end up in a core file.
const CORE: rlim_t = 0;
/// If memory is short all the same, the agent goes before the controller. A process may raise its own.
const OOM_SCORE: &str = "500";

const LIMITS: [(Resource, rlim_t); 6] = [
    (Resource::RLIMIT_CPU, CPU_SECS),
    (Resource::RLIMIT_DATA, DATA),
    (Resource::RLIMIT_FSIZE, FILE),
    (Resource::RLIMIT_NOFILE, FILES),
    (Resource::RLIMIT_NPROC, TASKS),
    (Resource::RLIMIT_CORE, CORE),
];

/// For this process and all that it starts. Where the host's own limit is lower, that one stays.
///
/// # Errors
/// The kernel takes none: then nothing is run.
pub(super) fn set() -> io::Result<()> {
    for (resource, limit) in LIMITS {
        let (_, hard) = getrlimit(resource)?;
        let limit = if hard == RLIM_INFINITY { limit } else { limit.min(hard) };
        setrlimit(resource, limit, limit)?;
    }
    // A kernel without it has no such choice to make.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    Ok(())
}
