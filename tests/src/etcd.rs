//! A real etcd of three members on loopback, over TLS with client certificates, as control planes have it.

use std::{ffi::OsString, time::Duration};

use nix::sys::signal::Signal;
use nodewell_kit::free_port;
use tempfile::TempDir;

use crate::{
    cluster::Cluster,
    process::Process,
    real::{self, RealServer},
};

const MEMBERS: usize = 3;
const LIFE: Duration = Duration::from_secs(3600);

/// The members; none runs at first. All end when dropped.
#[derive(Debug)]
pub struct Etcd {
    folder: TempDir,
    authority: String,
    /// Client and peer.
    ports: [(u16, u16); MEMBERS],
    members: [Option<Process>; MEMBERS],
}

impl Etcd {
    /// # Panics
    /// If there is no place for temporary files.
    #[must_use]
    pub fn prepare(cluster: &Cluster) -> Self {
        let real: &RealServer = cluster.as_real();
        let folder = TempDir::with_prefix("nodewell-etcd-").unwrap();
        real.write_etcd_certificate(folder.path());
        real.write_certificate("controller", folder.path(), LIFE);
        let ports = [(); MEMBERS].map(|()| (free_port(), free_port()));
        let authority = real.authority().display().to_string();
        Self { folder, authority, ports, members: [const { None }; MEMBERS] }
    }

    /// The controller's `[etcd]`.
    #[must_use]
    pub fn config(&self) -> String {
        let endpoints = self.ports.map(|(client, _)| format!("https://127.0.0.1:{client}"));
        let (cert, key) = (self.path("client.crt"), self.path("client.key"));
        format!("[etcd]\nendpoints = {endpoints:?}\nca = {:?}\ncert = {cert:?}\nkey = {key:?}\n", self.authority)
    }

    /// # Panics
    /// If it cannot be started.
    pub fn start(&mut self, member: usize) {
        let (client, peer) = self.ports[member];
        let (client, peer) = (format!("https://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let all: Vec<String> = (0..)
            .zip(self.ports)
            .map(|(number, (_, peer)): (usize, _)| format!("m{number}=http://127.0.0.1:{peer}"))
            .collect();
        let flags = [
            format!("--name=m{member}"),
            format!("--data-dir={}", self.path(&format!("m{member}"))),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster={}", all.join(",")),
            "--client-cert-auth".to_owned(),
            format!("--trusted-ca-file={}", self.authority),
            format!("--cert-file={}", self.path("etcd.crt")),
            format!("--key-file={}", self.path("etcd.key")),
            // Nothing here outlives the machine.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        let argv: Vec<OsString> =
            [real::binary("etcd").into_os_string()].into_iter().chain(flags.map(OsString::from)).collect();
        let log = self.folder.path().join(format!("m{member}.log"));
        self.members[member] = Some(Process::start(&argv, &log).unwrap());
    }

    /// # Panics
    /// If it does not run.
    pub fn signal(&self, member: usize, signal: Signal) {
        self.members[member].as_ref().unwrap().signal(signal);
    }

    /// SIGKILL.
    pub fn kill(&mut self, member: usize) {
        self.members[member] = None;
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}
