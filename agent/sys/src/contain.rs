//! A program of other people as a child that can be found and ended whole: a session of its own, limits, no descriptor
//! but the three that it is given, a cgroup if there is one.
#![allow(unsafe_code)]

use std::{
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::Command,
};

/// What the kernel is to end first, were memory to run out: we are protected, and what we start must not be.
const OOM_SCORE_ADJ: &[u8] = b"500\n";

/// What one process of the child's may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rlimits {
    /// Memory of its own that it may write to: `RLIMIT_DATA` counts heap and private mappings (Linux 4.7).
    pub memory_bytes: u64,
    pub cpu_secs: u64,
    /// The largest file that it may write.
    pub file_bytes: u64,
    pub open_files: u64,
}

/// How a child is kept together.
#[derive(Debug)]
pub struct Containment {
    pub rlimits: Rlimits,
    /// The file `cgroup.procs` of the cgroup that it enters, open for writing.
    pub cgroup: Option<OwnedFd>,
}

/// From now on a process whose parent ends becomes a child of ours: what detaches itself is found (`prctl(2)`,
/// `PR_SET_CHILD_SUBREAPER`). We have to wait for it.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: numbers only.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
}

/// Lets `command` start its program contained.
pub fn contain(command: &mut Command, containment: Containment) {
    // SAFETY: the closure runs in the child between fork and exec, where only async-signal-safe calls may be made. It
    // makes system calls on values that it owns, and neither allocates nor locks; an error is a number.
    unsafe { command.pre_exec(move || enter(&containment)) };
}

fn enter(containment: &Containment) -> io::Result<()> {
    // SAFETY: takes no argument; a fresh child is no group's leader, so that it always succeeds.
    checked(unsafe { libc::setsid() })?;
    end_first();
    if let Some(cgroup) = &containment.cgroup {
        // SAFETY: two bytes of a constant.
        let written = unsafe { libc::write(cgroup.as_raw_fd(), b"0\n".as_ptr().cast(), 2) };
        if written != 2 {
            return Err(io::Error::last_os_error());
        }
    }
    let Rlimits { memory_bytes, cpu_secs, file_bytes, open_files } = containment.rlimits;
    limit(libc::RLIMIT_DATA, memory_bytes)?;
    limit(libc::RLIMIT_CPU, cpu_secs)?;
    limit(libc::RLIMIT_FSIZE, file_bytes)?;
    limit(libc::RLIMIT_NOFILE, open_files)?;
    limit(libc::RLIMIT_CORE, 0)?;
    reset_signals();
    close_descriptors();
    Ok(())
}

/// Before exec, so that what the program starts at once is not as protected as we are. Where that cannot be set, the
/// program is run all the same.
fn end_first() {
    // SAFETY: a constant path.
    let file = unsafe { libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if file >= 0 {
        // SAFETY: the bytes of a constant, to a descriptor that was opened for them and is closed for good.
        unsafe {
            libc::write(file, OOM_SCORE_ADJ.as_ptr().cast(), OOM_SCORE_ADJ.len());
            libc::close(file);
        }
    }
}

/// Never above what we have ourselves: raising a limit would need a privilege.
fn limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let mut ours = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a structure of ours that lives through the call.
    checked(unsafe { libc::getrlimit(resource, &raw mut ours) })?;
    let most = most.min(ours.rlim_max);
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: as above.
    checked(unsafe { libc::setrlimit(resource, &raw const limit) })
}

/// What we ignore the program would ignore, too: a broken pipe.
fn reset_signals() {
    // SAFETY: numbers only, and a signal set of ours.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGHUP, libc::SIG_DFL);
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// All but the three standard ones end with exec.
fn close_descriptors() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: numbers only; nothing is closed before exec, so that Rust's own pipe still reports how exec went.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked != 0 {
        // Before Linux 5.11. What is open lies below the limit that was set a moment ago, or was opened by us with
        // O_CLOEXEC.
        for descriptor in 3..1024 {
            // SAFETY: numbers only; one that is not open is refused.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

fn checked(answer: libc::c_int) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt,
        process::{Output, Stdio},
    };

    use super::*;

    fn limits() -> Rlimits {
        Rlimits { memory_bytes: 64 << 20, cpu_secs: 5, file_bytes: 1 << 20, open_files: 64 }
    }

    fn sh(script: &str) -> Output {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).stdin(Stdio::null());
        contain(&mut command, Containment { rlimits: limits(), cgroup: None });
        command.output().unwrap()
    }

    #[test]
    fn a_child_leads_its_own_session_and_has_its_limits() {
        let out = sh(
            "ulimit -Hn; ulimit -Hc; read _ _ _ _ group session _ </proc/self/stat; test $session != $PPID && echo own",
        );
        assert_eq!(String::from_utf8_lossy(&out.stdout), "64\n0\nown\n");
    }

    /// A plug-in that forks in its first moment may not leave a process that the kernel would spare.
    #[test]
    fn what_it_starts_at_once_is_ended_first_too() {
        let own = "read own </proc/self/oom_score_adj";
        let out = sh(&format!("{own}; (read child </proc/self/oom_score_adj; echo $own $child)"));
        assert_eq!(String::from_utf8_lossy(&out.stdout), "500 500\n");
    }

    #[test]
    fn nothing_that_we_have_open_is_inherited() {
        // Without O_CLOEXEC, as a library might open it.
        let leak = nix::fcntl::open("/dev/null", nix::fcntl::OFlag::O_RDONLY, nix::sys::stat::Mode::empty()).unwrap();
        let out = sh(&format!("test -e /proc/self/fd/{} && echo leaked; exit 0", leak.as_raw_fd()));
        assert_eq!(String::from_utf8_lossy(&out.stdout), "");
    }

    #[test]
    fn too_large_a_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let out = sh(&format!("head -c 5000000 /dev/zero > {}", path.display()));
        assert!(out.status.code() != Some(0) || out.status.signal().is_some());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    }
}
