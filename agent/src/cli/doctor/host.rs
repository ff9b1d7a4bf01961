//! What the machine's own files and libraries allow this user.

use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use nix::{fcntl::OFlag, unistd};
use nodewell_model::BootId;
use nodewell_sys::{
    journal::{Journal, JournalError, JournalLibrary},
    proc::mountinfo,
};

use super::check::Check;
use crate::{config::KERNEL_LOG, runtime::activation::is_kernel_log};

/// Where to look.
pub(super) struct Host {
    pub(super) kmsg: PathBuf,
    pub(super) proc: PathBuf,
    pub(super) library: String,
}

impl Host {
    /// This machine.
    pub(super) fn this() -> Self {
        Self { kmsg: KERNEL_LOG.into(), proc: "/proc".into(), library: JournalLibrary::NAME.to_owned() }
    }

    pub(super) fn examine(&self) -> Vec<Check> {
        vec![self.kernel_log(), self.boot_id(), self.mounts(), self.journal()]
    }

    fn kernel_log(&self) -> Check {
        let opened = fs::OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&self.kmsg);
        kernel_log(&self.kmsg, opened)
    }

    fn boot_id(&self) -> Check {
        let path = self.proc.join("sys/kernel/random/boot_id");
        match fs::read_to_string(&path).ok().as_deref().and_then(BootId::parse) {
            Some(id) => Check::ok("boot id", id.to_string()),
            None => Check::fail(
                "boot id",
                format!("{} cannot be read", path.display()),
                "mount procfs: without it records of two boots cannot be distinguished",
            ),
        }
    }

    fn mounts(&self) -> Check {
        let path = self.proc.join("self/mountinfo");
        match mountinfo::read(&self.proc) {
            Ok(mounts) => Check::ok("mounts", format!("{} in {}", mounts.len(), path.display())),
            Err(error) => Check::fail(
                "mounts",
                format!("{} cannot be read: {error}", path.display()),
                "mount procfs: without it the node's filesystems cannot be distinguished from pods' volumes",
            ),
        }
    }

    fn journal(&self) -> Check {
        let name = "journal";
        let library = match JournalLibrary::load(&self.library) {
            Ok(library) => Arc::new(library),
            Err(error) => {
                return Check::warn(
                    name,
                    error.to_string(),
                    "install libsystemd0 (Debian) or systemd-libs (Fedora); conditions from the journal are Unknown until then",
                );
            }
        };
        match newest_entry(library) {
            Ok(true) => Check::ok(name, format!("can be read (as {})", user())),
            Ok(false) => Check::warn(
                name,
                format!("{} sees no entry", user()),
                "is systemd-journald running? Otherwise add the user to the group systemd-journal",
            ),
            Err(error) => Check::warn(name, error.to_string(), "see: journalctl --verify"),
        }
    }
}

fn kernel_log(path: &Path, opened: io::Result<fs::File>) -> Check {
    let (name, shown) = ("kernel log", path.display());
    match opened {
        Ok(log) if path == Path::new(KERNEL_LOG) && !is_kernel_log(&log) => Check::warn(
            name,
            format!("{shown} is not the kernel log but a stand-in"),
            "in a container, the host's device must be passed in; what the kernel reports is Unknown until then",
        ),
        Ok(_) => Check::ok(name, format!("{shown} can be read (as {})", user())),
        // Under systemd the agent gets the device as an open descriptor: what this user may is not its limit.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !unistd::geteuid().is_root() => Check::warn(
            name,
            format!("{} may not read {shown}", user()),
            "ask as the agent's user or with sudo; the agent itself says below whether it can",
        ),
        Err(error) => Check::fail(
            name,
            format!("{shown} cannot be read: {error}"),
            "it takes root or CAP_SYSLOG; in a container, the device must be passed in",
        ),
    }
}

fn newest_entry(library: Arc<JournalLibrary>) -> Result<bool, JournalError> {
    let mut journal = Journal::open(library)?;
    journal.seek_tail()?;
    journal.step_back()
}

fn user() -> String {
    let uid = unistd::geteuid();
    unistd::User::from_uid(uid).ok().flatten().map_or_else(|| format!("uid {uid}"), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::CheckVerdict;

    #[test]
    fn a_machine_without_anything_fails_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host {
            kmsg: folder.path().join("kmsg"),
            proc: folder.path().join("proc"),
            library: "libnodewell-missing.so.0".to_owned(),
        };
        let checks = host.examine();
        let verdicts: Vec<CheckVerdict> = checks.iter().map(|check| check.verdict).collect();
        assert_eq!(verdicts, [CheckVerdict::Fail, CheckVerdict::Fail, CheckVerdict::Fail, CheckVerdict::Warn]);
        assert!(checks.iter().all(|check| !check.advice.is_empty()));
    }

    #[test]
    fn a_stand_in_for_the_kernel_log_is_named() {
        let verdict = |path: &str| kernel_log(Path::new(path), fs::File::open("/dev/null")).verdict;
        assert_eq!((verdict(KERNEL_LOG), verdict("/var/log/kern")), (CheckVerdict::Warn, CheckVerdict::Ok));
    }

    #[test]
    fn a_fake_proc_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let random = folder.path().join("sys/kernel/random");
        fs::create_dir_all(&random).unwrap();
        fs::write(random.join("boot_id"), "01234567-89ab-cdef-0123-456789abcdef\n").unwrap();
        let host = Host { proc: folder.path().to_owned(), ..Host::this() };
        assert_eq!(host.boot_id(), Check::ok("boot id", "0123456789abcdef0123456789abcdef"));
    }
}
