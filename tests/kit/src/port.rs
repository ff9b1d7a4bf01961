//! Ports for programs that are given theirs.

use std::{
    env, fs,
    fs::OpenOptions,
    mem,
    ops::Range,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// Below those that the kernel gives by itself (32768 and more, unless an administrator has changed it), above those of
/// Kubernetes and ours.
const PORTS: Range<u32> = 20_300..32_300;
/// How far apart the processes of one test run begin; none needs more at a time.
const STRIDE: u32 = 600;
/// All that has a port on this machine, IPv4 and IPv6.
const TABLES: [&str; 4] = ["/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"];

static GIVEN: AtomicU32 = AtomicU32::new(0);

/// A free port of TCP and UDP; no other caller gets it while this process runs, in whichever process it asks.
///
/// What `bind` to port 0 names is free once the socket is closed, and the kernel may name it to the next who asks. A socket of
/// ours that only tried the port would live on in children that other threads are starting.
///
/// # Panics
/// If every port is taken.
#[must_use]
pub fn free_port() -> u16 {
    let begin = process::id().wrapping_mul(STRIDE);
    let next = || begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
    let port = |_| u16::try_from(PORTS.start + next() % (PORTS.end - PORTS.start)).unwrap();
    PORTS.map(port).find(|port| is_free(*port) && reserve(*port)).expect("no port is free")
}

/// As many.
///
/// # Panics
/// If every port is taken.
#[must_use]
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    [(); COUNT].map(|()| free_port())
}

/// Between the look at the tables and the bind another test could take it. Where no file can be written the look has to do.
fn reserve(port: u16) -> bool {
    let folder = env::temp_dir().join("nodewell-test-ports");
    let _ = fs::create_dir_all(&folder);
    let Ok(file) = OpenOptions::new().create(true).append(true).open(folder.join(port.to_string())) else {
        return true;
    };
    let is_ours = file.try_lock().is_ok();
    // Locked until this process ends.
    if is_ours {
        mem::forget(file);
    }
    is_ours
}

fn is_free(port: u16) -> bool {
    TABLES.iter().all(|table| !has(&fs::read_to_string(table).unwrap_or_default(), port))
}

/// `proc_net_tcp(5)`: the second field is the local address, `0100007F:0277`.
fn has(table: &str, port: u16) -> bool {
    let end = format!(":{port:04X}");
    table.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|local| local.ends_with(&end))
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        net::{TcpListener, UdpSocket},
        thread,
    };

    use super::*;

    /// A lock is the file's that was opened: to this process its own looks like another's.
    #[test]
    fn what_was_given_can_be_reserved_by_no_other() {
        assert!(!reserve(free_port()));
    }

    #[test]
    fn none_is_given_twice() {
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(free_ports::<50>)).collect();
        let given: BTreeSet<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(given.len(), 200);
    }

    #[test]
    fn a_listener_has_the_port() {
        let [tcp, udp, free] = free_ports();
        let _tcp = TcpListener::bind(("0.0.0.0", tcp)).unwrap();
        let _udp = UdpSocket::bind(("127.0.0.1", udp)).unwrap();
        assert_eq!([tcp, udp, free].map(is_free), [false, false, true]);
    }
}
