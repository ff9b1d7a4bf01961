use std::{
    io::Read,
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    process::{Command, Stdio},
};

use super::*;

const ALL_HELP: [Help; 3] = [Help::Nothing, Help::PidfdOpen, Help::PeerPidfd];

#[test]
fn our_own_socket_pair_is_us() {
    let (one, _other) = UnixStream::pair().unwrap();
    let us = credentials(one.as_fd()).unwrap();
    assert_eq!(us.pid.unwrap().get(), std::process::id());
    assert_eq!((us.uid, us.gid), (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw()));
    for help in ALL_HELP {
        let hold = hold(one.as_fd(), us.pid.unwrap(), help).unwrap();
        assert_eq!(hold.is_alive().unwrap(), (help > Help::Nothing).then_some(true), "{hold:?}");
    }
}

#[test]
fn groups_are_all_there_however_many() {
    let (one, _other) = UnixStream::pair().unwrap();
    let found = groups(one.as_fd()).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap();
    let own: Vec<u32> = line.split_whitespace().map(|group| group.parse().unwrap()).collect();
    assert_eq!(found, own);
    // For a buffer that is too small the kernel reports how much there is.
    if !own.is_empty() {
        assert_eq!(read_groups(one.as_fd(), &mut []), Err((Errno::ERANGE, own.len())));
    }
}

const MEETING_PLACE: &str = "NODEWELL_TEST_CONNECT_TO";

/// Not a test: what the child of the others does. It ends with its standard input.
#[test]
#[ignore = "run as a process of its own by the other tests"]
fn child() {
    let Some(path) = std::env::var_os(MEETING_PLACE) else { return };
    let _connected = UnixStream::connect(path).unwrap();
    let _ = std::io::stdin().read(&mut [0; 1]);
}

/// A socket whose other end was connected by a process of its own.
fn connected_by_a_child() -> (UnixStream, std::process::Child) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "peer::tests::child"]).env(MEETING_PLACE, &path);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    (listener.accept().unwrap().0, child)
}

#[test]
fn a_process_that_ended_is_not_alive() {
    for help in ALL_HELP {
        let (socket, mut child) = connected_by_a_child();
        let pid = credentials(socket.as_fd()).unwrap().pid.unwrap();
        assert_eq!(pid.get(), child.id());
        let hold = hold(socket.as_fd(), pid, help).unwrap();
        let known = help > Help::Nothing;
        assert_eq!(hold.is_alive().unwrap(), known.then_some(true), "{help:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(hold.is_alive().unwrap(), known.then_some(false), "{help:?}");
    }
}

#[test]
fn a_process_that_was_waited_for_is_gone() {
    for help in [Help::PidfdOpen, Help::PeerPidfd] {
        let (socket, mut child) = connected_by_a_child();
        let pid = credentials(socket.as_fd()).unwrap().pid.unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        let hold = hold(socket.as_fd(), pid, help).unwrap();
        assert_eq!(hold.is_alive().unwrap(), Some(false), "{help:?} {hold:?}");
    }
}
