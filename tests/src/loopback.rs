//! A network namespace that has its loopback alone, for programs whose ports are fixed: there these are free, and a
//! server of this machine answers at the address that it has outside.

use std::{
    ffi::OsString,
    fs::File,
    net::{self, SocketAddr},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use nix::sched::{CloneFlags, setns};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    runtime::{block_on, runtime},
    wire::{ip, relay},
};

/// The namespace, and the relay to the server. Both gone when dropped.
#[derive(Debug)]
pub struct Loopback {
    name: String,
    relay: Option<JoinHandle<()>>,
}

impl Loopback {
    /// A new one, on which `server` is reached.
    ///
    /// # Panics
    /// If this machine makes no namespaces.
    #[must_use]
    pub fn with(server: SocketAddr) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("nwl{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        ip(&["netns", "add", &name]);
        // From here on its end removes it.
        let mut made = Self { name, relay: None };
        ip(&["-n", &made.name, "link", "set", "lo", "up"]);
        // A socket stays where it was opened; who accepts on it is outside.
        let listener = made.inside(|| net::TcpListener::bind(server)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = block_on(async { TcpListener::from_std(listener) }).unwrap();
        made.relay = Some(runtime().spawn(relay(listener, server)));
        made
    }

    /// The start of a command line: what follows runs in there.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        vec!["nsenter".into(), format!("--net={}", path(&self.name)).into(), "--".into()]
    }

    /// Sockets that `act` opens are in there.
    ///
    /// # Panics
    /// If it does.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        inside(&self.name, act)
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.relay.iter().for_each(JoinHandle::abort);
        ip(&["netns", "del", &self.name]);
    }
}

fn inside<T: Send>(name: &str, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        // Of a thread it is the thread's own namespace, and this thread ends there.
        let entered = scope.spawn(|| {
            setns(File::open(path(name)).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            act()
        });
        entered.join().unwrap()
    })
}

fn path(name: &str) -> String {
    format!("/run/netns/{name}")
}
