//! The descriptors of socket activation, which systemd opened for the agent: the listening socket and the kernel log,
//! distinguished by name.

use std::os::fd::{AsFd, OwnedFd};

use nix::sys::{
    socket::{AddressFamily, SockaddrLike, SockaddrStorage, getsockname, getsockopt, sockopt},
    stat::{fstat, major, minor},
};
use nodewell_sys::activation::{ActivatedDescriptor, take_activated_descriptors};

/// What the units in `systemd/` call them; the second is systemd's own choice where a unit names nothing.
const LISTENER: [&str; 2] = ["socket", "nodewell.socket"];
const KERNEL_LOG: [&str; 2] = ["kmsg", "nodewell-kmsg.socket"];
/// `/dev/kmsg` by any name (`Documentation/admin-guide/devices.txt`).
const KERNEL_LOG_DEVICE: (u64, u64) = (1, 11);
const S_IFMT: u32 = nix::libc::S_IFMT;
const S_IFCHR: u32 = nix::libc::S_IFCHR;

/// The descriptors of socket activation, as far as they are what their names claim.
#[derive(Debug, Default)]
pub struct Activated {
    /// A listening Unix socket. A client that connects while no agent runs waits in its queue.
    pub listener: Option<OwnedFd>,
    /// The kernel log. The service manager keeps it open too: its position is whatever an agent before us left.
    pub kernel_log: Option<OwnedFd>,
    /// Descriptors that are of no use, for the log.
    complaints: Vec<String>,
}

impl Activated {
    /// Takes everything. Must be the first thing that `main` does.
    #[must_use]
    pub fn take() -> Self {
        let mut activated = Self::default();
        match take_activated_descriptors() {
            Ok(descriptors) => descriptors.into_iter().for_each(|one| activated.sort_in(one)),
            Err(error) => activated.complaints.push(format!("the descriptors from systemd cannot be taken: {error}")),
        }
        activated
    }

    /// Logs what was of no use. The agent opens such things itself, where it may.
    pub fn log_complaints(&self) {
        self.complaints.iter().for_each(|complaint| tracing::warn!("{complaint}"));
    }

    fn sort_in(&mut self, ActivatedDescriptor { name, descriptor }: ActivatedDescriptor) {
        let fits = |names: [&str; 2]| names.contains(&name.as_str());
        if fits(LISTENER) && self.listener.is_none() && is_unix_listener(&descriptor) {
            self.listener = Some(descriptor);
        } else if fits(KERNEL_LOG) && self.kernel_log.is_none() && is_kernel_log(&descriptor) {
            self.kernel_log = Some(descriptor);
        } else {
            let wanted = "\"socket\" is a listening Unix stream socket, \"kmsg\" is /dev/kmsg, one of each";
            self.complaints.push(format!("the descriptor {name:?} from systemd is not used: {wanted}"));
        }
    }
}

fn is_unix_listener(descriptor: &OwnedFd) -> bool {
    use std::os::fd::AsRawFd;
    let family = getsockname::<SockaddrStorage>(descriptor.as_raw_fd()).ok().and_then(|address| address.family());
    family == Some(AddressFamily::Unix)
        && getsockopt(descriptor, sockopt::SockType) == Ok(nix::sys::socket::SockType::Stream)
        && getsockopt(descriptor, sockopt::AcceptConn) == Ok(true)
}

/// Whether it is the kernel's own log, and not what a container may have in its place.
pub(crate) fn is_kernel_log(descriptor: &impl AsFd) -> bool {
    fstat(descriptor.as_fd()).is_ok_and(|found| {
        found.st_mode & S_IFMT == S_IFCHR && (major(found.st_rdev), minor(found.st_rdev)) == KERNEL_LOG_DEVICE
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        os::unix::net::{UnixDatagram, UnixListener, UnixStream},
    };

    use super::*;

    fn sorted(given: Vec<(&str, OwnedFd)>) -> Activated {
        let mut activated = Activated::default();
        for (name, descriptor) in given {
            activated.sort_in(ActivatedDescriptor { name: name.to_owned(), descriptor });
        }
        activated
    }

    #[test]
    fn a_listener_is_known_by_its_name_and_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        for (index, name) in LISTENER.into_iter().enumerate() {
            let listener = UnixListener::bind(folder.path().join(index.to_string())).unwrap();
            assert!(sorted(vec![(name, listener.into())]).listener.is_some());
        }
        let (one, other) = UnixStream::pair().unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let odd = sorted(vec![
            ("socket", one.into()),
            ("socket", UnixDatagram::unbound().unwrap().into()),
            ("socket", tcp.into()),
            ("other", other.into()),
        ]);
        assert!(odd.listener.is_none());
        assert_eq!(odd.complaints.len(), 4, "{:?}", odd.complaints);
    }

    #[test]
    fn only_the_device_itself_is_the_kernel_log() {
        let odd =
            sorted(vec![("kmsg", File::open("/dev/null").unwrap().into()), ("kmsg", File::open("/").unwrap().into())]);
        assert!(odd.kernel_log.is_none());
        assert!(odd.complaints[0].contains("\"kmsg\""), "{:?}", odd.complaints);
        // Not every user may open the real one.
        if let Ok(device) = File::open("/dev/kmsg") {
            assert!(sorted(vec![("kmsg", device.into())]).kernel_log.is_some());
        }
    }

    #[test]
    fn the_first_of_two_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let bind = |name: &str| OwnedFd::from(UnixListener::bind(folder.path().join(name)).unwrap());
        let activated = sorted(vec![("socket", bind("a")), ("nodewell.socket", bind("b"))]);
        assert!(activated.listener.is_some());
        assert_eq!(activated.complaints.len(), 1);
    }
}
