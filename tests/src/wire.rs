//! A wire between an agent in a network namespace of its own and the server: cut, packets vanish without an error.

use std::{ffi::OsString, net::SocketAddr, process::Command};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::runtime::{block_on, runtime};

/// The namespace, its link, and the relay at this end of it. All gone when dropped.
#[derive(Debug)]
pub struct Wire {
    name: String,
    address: SocketAddr,
    relay: JoinHandle<()>,
}

impl Wire {
    /// A wire at whose other end `server` is reached.
    ///
    /// # Panics
    /// If this machine makes no namespaces.
    #[must_use]
    pub fn to(server: SocketAddr) -> Self {
        let (name, host) = (format!("nw{}", std::process::id()), own_address());
        let (near, far) = (format!("{name}h"), format!("{name}a"));
        ip(&["netns", "add", &name]);
        ip(&["link", "add", &near, "type", "veth", "peer", "name", &far, "netns", &name]);
        ip(&["addr", "add", &format!("{host}/24"), "dev", &near]);
        ip(&["link", "set", &near, "up"]);
        ip(&["-n", &name, "addr", "add", &format!("{}2/24", host.trim_end_matches('1')), "dev", &far]);
        ip(&["-n", &name, "link", "set", &far, "up"]);
        // Known for good, so that a cut wire gives no sign: not even that the address does not answer.
        let hardware = std::fs::read_to_string(format!("/sys/class/net/{near}/address")).unwrap();
        let known = ["lladdr", hardware.trim(), "nud", "permanent", "dev", far.as_str()];
        ip(&[&["-n", &name, "neigh", "replace", &host][..], &known[..]].concat());
        // On all addresses: the one of the wire comes and goes.
        let listener = block_on(TcpListener::bind("0.0.0.0:0")).unwrap();
        let address = SocketAddr::new(host.parse().unwrap(), listener.local_addr().unwrap().port());
        Self { name, address, relay: runtime().spawn(relay(listener, server)) }
    }

    /// Where the server is, seen from the namespace.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The start of a command line: what follows runs at the far end.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        vec!["nsenter".into(), format!("--net=/run/netns/{}", self.name).into(), "--".into()]
    }

    /// From now on packets vanish.
    pub fn cut(&self) {
        ip(&["addr", "del", &format!("{}/24", self.address.ip()), "dev", &format!("{}h", self.name)]);
    }

    /// They arrive again.
    pub fn join(&self) {
        ip(&["addr", "add", &format!("{}/24", self.address.ip()), "dev", &format!("{}h", self.name)]);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.relay.abort();
        // The link goes with its far end.
        ip(&["netns", "del", &self.name]);
    }
}

/// Why this machine has no wires.
pub(crate) fn unmet() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("needs root".to_owned());
    }
    let there = Command::new("ip").args(["netns", "list"]).output().is_ok_and(|output| output.status.success());
    (!there).then(|| "needs `ip netns`".to_owned())
}

/// One process has one wire.
fn own_address() -> String {
    format!("10.213.{}.1", std::process::id() % 250)
}

pub(crate) fn ip(args: &[&str]) {
    let output = Command::new("ip").args(args).output().unwrap();
    assert!(output.status.success(), "ip {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
}

pub(crate) async fn relay(listener: TcpListener, server: SocketAddr) {
    while let Ok((mut near, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut far = TcpStream::connect(server).await?;
            copy_bidirectional(&mut near, &mut far).await
        });
    }
}
