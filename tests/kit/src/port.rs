//! Ports for programs that are told theirs.

use std::{
    net::{Ipv4Addr, TcpListener, UdpSocket},
    ops::Range,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// Below those that the kernel gives to whoever names none, so that it gives them to nobody.
const PORTS: Range<u32> = 10_000..32_000;
/// How far apart two processes begin; no test process needs more at a time.
const STRIDE: u32 = 500;

static GIVEN: AtomicU32 = AtomicU32::new(0);

/// A port, of TCP and UDP, on which nobody listens and which nobody is given after this.
///
/// What `bind` to port 0 names is free once the socket is closed, and the kernel may name it to the next who asks.
///
/// # Panics
/// If every port is taken.
#[must_use]
pub fn free_port() -> u16 {
    let begin = process::id().wrapping_mul(STRIDE);
    let next = || begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
    let port = || u16::try_from(PORTS.start + next() % (PORTS.end - PORTS.start)).unwrap();
    (PORTS).map(|_| port()).find(|port| is_free(*port)).expect("no port is free")
}

/// As many.
///
/// # Panics
/// If every port is taken.
#[must_use]
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    [(); COUNT].map(|()| free_port())
}

fn is_free(port: u16) -> bool {
    let all = (Ipv4Addr::UNSPECIFIED, port);
    TcpListener::bind(all).is_ok() && UdpSocket::bind(all).is_ok()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, thread};

    use super::*;

    #[test]
    fn none_is_given_twice() {
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(free_ports::<50>)).collect();
        let given: BTreeSet<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(given.len(), 200);
    }

    #[test]
    fn one_that_is_taken_is_passed_over() {
        let next = free_port() + 1;
        // Beside other tests the next may be theirs by now.
        if let Ok(_taken) = UdpSocket::bind((Ipv4Addr::LOCALHOST, next)) {
            assert!(!is_free(next));
        }
    }
}
