//! Crash dumps: a node that writes one reports it by UDP (`fence_kdump_send`). Any host that can send with its address
//! can report it too. So this is believed only as far as to wait: it never counts as being fenced.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
};

use nodewell_remediation::facts::Node;
use tokio::net::UdpSocket;

/// The port of `fence_kdump`.
pub const PORT: u16 = 7410;
const MAGIC: u32 = 0x1B30_2A40;
const VERSION: u32 = 1;
const MESSAGE_BYTES: usize = 8;

/// Something that came, whatever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Who sent it, as far as UDP can know.
    pub from: IpAddr,
    /// Eight bytes, the magic number and version 1; anything else is no message.
    pub is_message: bool,
}

/// Where the messages of all nodes arrive. `fence_kdump` awaits one node and takes the port for itself.
#[derive(Debug)]
pub struct Socket {
    udp: UdpSocket,
}

impl Socket {
    /// # Errors
    /// The address is taken or not ours.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { udp: UdpSocket::bind(address).await? })
    }

    /// # Errors
    /// As the kernel has it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// What comes next. Cancel safe.
    ///
    /// # Errors
    /// The socket's own.
    pub async fn next(&self) -> io::Result<Packet> {
        let mut buffer = [0; MESSAGE_BYTES + 1];
        let (count, from) = self.udp.recv_from(&mut buffer).await?;
        Ok(Packet { from: from.ip().to_canonical(), is_message: is_message(&buffer[..count]) })
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

/// Which node has which address. Of two nodes with one address both are meant: to wait for one too many costs a
/// minute.
#[derive(Debug, Clone, Default)]
pub struct Addresses(BTreeMap<IpAddr, Vec<String>>);

impl Addresses {
    /// Names that are no addresses are left out: no resolver is asked for them.
    #[must_use]
    pub fn of<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> Self {
        let mut all: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
        for node in nodes {
            for address in node.addresses.iter().filter_map(|text| text.parse::<IpAddr>().ok()) {
                let names = all.entry(address.to_canonical()).or_default();
                if names.last() != Some(&node.name) {
                    names.push(node.name.clone());
                }
            }
        }
        Self(all)
    }

    /// The nodes with this address; none of a stranger's.
    #[must_use]
    pub fn nodes(&self, from: IpAddr) -> &[String] {
        self.0.get(&from.to_canonical()).map_or(&[], Vec::as_slice)
    }
}
