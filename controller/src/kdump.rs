//! Hears by UDP which nodes write crash dumps. Senders are not authenticated there, so that it is believed only as far
//! as to wait: `kdumpWait` of the policy is the longest, once for each fence.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use nodewell_power::kdump::{Addresses, Packet, Socket};
use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_remediation::time::Moment;
use tokio::time::sleep;

use crate::tally::Tally;

/// Which node has which address is looked up again after so long, when a packet arrives.
const ADDRESSES: Duration = Duration::from_secs(5);
/// After so many packets in a row everything else has its turn. What a flood brings beyond that, the kernel drops.
const BURST: u32 = 64;
const PAUSE: Duration = Duration::from_millis(20);
/// A taken port, or a socket that fails, is tried again.
const RETRY: Duration = Duration::from_secs(30);
/// Ignored packets are logged, all of such a while in one line.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// What came so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of nodes.
    pub of_nodes: u64,
    /// Messages from addresses that no Node has.
    pub of_strangers: u64,
    /// What is no message: another length, magic number or version.
    pub malformed: u64,
}

/// Listens at `address` for as long as it is polled. An address that cannot be had is logged, and stops nothing.
pub async fn run(address: Option<SocketAddr>, cache: &Cache, clock: Clock, tally: &Tally) -> Infallible {
    let Some(address) = address else { return std::future::pending().await };
    let mut listener = Listener::new(cache.clone(), clock);
    loop {
        match Socket::bind(address).await {
            Ok(socket) => {
                tracing::info!(%address, "hears which nodes write crash dumps");
                let error = listen(&socket, &mut listener, tally).await;
                tracing::error!(%address, %error, retry = ?RETRY, "crash dumps are not heard: the socket failed");
            }
            Err(error) => {
                tracing::error!(%address, %error, retry = ?RETRY, "crash dumps are not heard: the address cannot be had");
            }
        }
        sleep(RETRY).await;
    }
}

/// Until the socket fails.
pub async fn listen(socket: &Socket, listener: &mut Listener, tally: &Tally) -> std::io::Error {
    loop {
        for _ in 0..BURST {
            match socket.next().await {
                Ok(packet) => listener.handle(packet),
                Err(error) => return error,
            }
            tally.dumps(listener.counts);
        }
        sleep(PAUSE).await;
    }
}

/// Sorts what comes, and reports nodes to the cache.
#[derive(Debug)]
pub struct Listener {
    cache: Cache,
    clock: Clock,
    addresses: Addresses,
    looked_up: Option<Moment>,
    counts: Counts,
    /// When ignored packets were last logged, and the counts then.
    logged: Option<(Moment, Counts)>,
}

impl Listener {
    #[must_use]
    pub fn new(cache: Cache, clock: Clock) -> Self {
        let (addresses, counts) = (Addresses::default(), Counts::default());
        Self { cache, clock, addresses, looked_up: None, counts, logged: None }
    }

    /// What came so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts one packet, and reports the nodes that it is from.
    pub fn handle(&mut self, packet: Packet) {
        let now = self.clock.moment();
        if !packet.is_message {
            self.counts.malformed += 1;
            return self.complain(packet, now);
        }
        self.look_up(now);
        let nodes = self.addresses.nodes(packet.from);
        nodes.iter().for_each(|node| self.cache.dumps(node));
        if nodes.is_empty() {
            self.counts.of_strangers += 1;
            return self.complain(packet, now);
        }
        self.counts.of_nodes += 1;
        tracing::debug!(from = %packet.from, ?nodes, "a crash dump is being written");
    }

    fn look_up(&mut self, now: Moment) {
        if self.looked_up.is_none_or(|at| now.since(at) >= ADDRESSES) {
            self.looked_up = Some(now);
            self.addresses = self.cache.with(|snapshot| Addresses::of(snapshot.nodes.values()));
        }
    }

    fn complain(&mut self, packet: Packet, now: Moment) {
        let before = self.logged.map_or_else(Counts::default, |(_, counts)| counts);
        if self.logged.is_some_and(|(at, _)| now.since(at) < LOG_INTERVAL) {
            return;
        }
        self.logged = Some((now, self.counts));
        let malformed = self.counts.malformed - before.malformed;
        let of_strangers = self.counts.of_strangers - before.of_strangers;
        tracing::warn!(last = %packet.from, malformed, of_strangers, "packets at the port of crash dumps were ignored");
    }
}
