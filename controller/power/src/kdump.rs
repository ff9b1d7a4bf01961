//! Crash dumps: a node that writes one says so by UDP (`fence_kdump_send`). Whoever can send with its address can say so
//! too, so that this is believed only as far as to wait: it never counts as being fenced.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
};

use nodewell_remedy::{facts::Node, time::Moment};
use tokio::net::UdpSocket;

/// The port of `fence_kdump`.
pub const PORT: u16 = 7410;
const MAGIC: u32 = 0x1B30_2A40;
const VERSION: u32 = 1;
const MESSAGE_BYTES: usize = 8;
/// Addresses remembered; a cluster has fewer nodes.
const ADDRESSES: usize = 20_000;

/// The messages of all nodes. `fence_kdump` awaits one node and takes the port for itself.
#[derive(Debug)]
pub struct Listener {
    socket: UdpSocket,
}

impl Listener {
    /// # Errors
    /// The address is taken or not ours.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { socket: UdpSocket::bind(address).await? })
    }

    /// # Errors
    /// As the kernel has it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The sender of the next message that is one. Cancel safe.
    ///
    /// # Errors
    /// The socket's own; what is no message is passed over.
    pub async fn next(&self) -> io::Result<IpAddr> {
        let mut buffer = [0; MESSAGE_BYTES + 1];
        loop {
            let (count, from) = self.socket.recv_from(&mut buffer).await?;
            if is_message(&buffer[..count]) {
                return Ok(from.ip().to_canonical());
            }
        }
    }
}

/// Two numbers in the order of the sender's machine, which need not be ours.
#[must_use]
pub fn is_message(bytes: &[u8]) -> bool {
    let Ok(&[a, b, c, d, e, f, g, h]) = <&[u8; MESSAGE_BYTES]>::try_from(bytes) else { return false };
    let little = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let big = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    [little, big].contains(&(MAGIC, VERSION))
}

/// Who said when that it dumps.
#[derive(Debug, Clone, Default)]
pub struct Dumps {
    heard: BTreeMap<IpAddr, Moment>,
}

impl Dumps {
    /// Strangers beyond the limit are not remembered: a flood of made-up addresses holds nobody's fence for them.
    pub fn heard(&mut self, from: IpAddr, now: Moment) {
        if self.heard.len() < ADDRESSES || self.heard.contains_key(&from) {
            self.heard.insert(from, now);
        }
    }

    /// Forgets what was said before `oldest`.
    pub fn forget(&mut self, oldest: Moment) {
        self.heard.retain(|_, at| *at >= oldest);
    }

    /// When this node last said it, by any of its addresses.
    #[must_use]
    pub fn of(&self, node: &Node) -> Option<Moment> {
        let addresses = node.addresses.iter().filter_map(|text| text.parse::<IpAddr>().ok());
        addresses.filter_map(|address| self.heard.get(&address.to_canonical())).max().copied()
    }
}
