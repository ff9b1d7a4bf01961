//! Processes that are not what their number, their cgroup or their user claims.

use std::{fs, os::unix::net::UnixStream};

use tempfile::TempDir;

use super::*;

/// A procfs in which our own process is whatever it is made to be.
struct Tree(TempDir);

const UNIT: &str = "1:name=systemd:/system.slice/raid-monitor.service\n0::/system.slice/raid-monitor.service\n";

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let me = std::process::id().to_string();
        fs::create_dir(tree.0.path().join(&me)).unwrap();
        std::os::unix::fs::symlink(&me, tree.0.path().join("self")).unwrap();
        tree.write("cgroup", UNIT).uid(nix::unistd::geteuid().as_raw()).stat(100, 0)
    }

    fn write(self, file: &str, text: &str) -> Self {
        fs::write(self.0.path().join("self").join(file), text).unwrap();
        self
    }

    fn uid(self, uid: u32) -> Self {
        self.write("status", &format!("Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t7\n"))
    }

    fn stat(self, start_ticks: u64, flags: u64) -> Self {
        self.write("stat", &format!("7 (x) S 1 7 7 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {start_ticks} 0\n"))
    }

    /// The agent itself lives on the host, whatever the peer is made to be.
    fn host(&self, help: Help) -> Arc<Host> {
        Arc::new(Host { home: Home::of("0::/system.slice/nodewell.service\n"), ..Host::new(self.0.path(), help) })
    }

    fn peer(&self, help: Help) -> Peer {
        let (one, _other) = UnixStream::pair().unwrap();
        Peer::of(&one, &self.host(help)).unwrap()
    }

    fn owner(&self) -> CgroupOwner {
        self.peer(Help::PeerPidfd).owner()
    }
}

const ALL_HELP: [Help; 3] = [Help::Nothing, Help::PidfdOpen, Help::PeerPidfd];

#[test]
fn a_unit_is_known_by_whatever_help_the_kernel_gives() {
    let tree = Tree::new();
    for help in ALL_HELP {
        let peer = tree.peer(help);
        assert_eq!(&**peer.identity().principal(), "raid-monitor.service", "{help:?}");
        assert!(peer.identity().is_unit("raid-monitor.service") && peer.identity().is_user(peer.uid()));
    }
}

#[test]
fn a_process_that_lets_its_first_thread_end_leaves_no_container() {
    // What cgroup v1 shows then: the root cgroup.
    let tree = Tree::new().write("cgroup", "1:name=systemd:/\n").stat(100, 0x4);
    assert_eq!(tree.owner(), CgroupOwner::Unknown("its first thread has ended"));
}

#[test]
fn a_pid_namespace_of_its_own_is_a_container_whatever_its_cgroup_is_called() {
    let nested = "Uid:\t0\t0\t0\t0\nNSpid:\t7\t1\n";
    let tree = Tree::new().write("status", nested);
    assert_eq!(tree.owner(), CgroupOwner::Container("raid-monitor.service".into()));
    let tree = tree.write("cgroup", "0::/\n");
    assert!(matches!(tree.owner(), CgroupOwner::Container(_)));
    assert!(!tree.peer(Help::PeerPidfd).identity().is_root());
}

#[test]
fn a_number_that_changed_hands_is_noticed() {
    let tree = Tree::new();
    // Without pidfds the start time shows it.
    let peer = tree.peer(Help::Nothing);
    let tree = tree.stat(101, 0);
    assert_eq!(peer.owner(), GONE);
    // Without the socket's own pidfd a change of the user shows it; with it, a process may change its user.
    let tree = tree.uid(4711);
    for help in [Help::Nothing, Help::PidfdOpen] {
        assert_eq!(tree.peer(help).owner(), CgroupOwner::Unknown("its process has another user by now"), "{help:?}");
    }
    assert_eq!(tree.owner(), CgroupOwner::Unit("raid-monitor.service".into()));
}

#[test]
fn what_cannot_be_read_is_no_known_peer() {
    for file in ["cgroup", "status", "stat"] {
        let tree = Tree::new();
        let host = tree.host(Help::PeerPidfd);
        fs::remove_file(tree.0.path().join("self").join(file)).unwrap();
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&one, &host).unwrap();
        assert_eq!(peer.owner(), HIDDEN, "{file}");
        assert!(!peer.identity().is_user(peer.uid()) && peer.identity().shut_out().is_some());
    }
}

#[test]
fn a_procfs_of_another_pid_namespace_shows_nothing() {
    let tree = Tree::new();
    fs::remove_file(tree.0.path().join("self")).unwrap();
    std::os::unix::fs::symlink("1", tree.0.path().join("self")).unwrap();
    assert!(matches!(tree.owner(), CgroupOwner::Unknown(_)));
}

#[test]
fn an_identity_is_looked_up_once() {
    let tree = Tree::new();
    let peer = tree.peer(Help::PeerPidfd);
    assert!(peer.identity().is_unit("raid-monitor.service"));
    let tree = tree.write("cgroup", "0::/kubepods/podx\n");
    assert!(peer.identity().is_unit("raid-monitor.service"));
    assert_eq!(tree.owner(), CgroupOwner::Container("podx".into()));
}
