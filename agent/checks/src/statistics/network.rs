//! `/proc/net/dev`: what interfaces count (net/core/net-procfs.c).
//!
//! Not by the procfs crate: an interface's name may be any bytes but blanks, `/` and `:`, and it wants text.

use super::{Truncated, count, name};

/// A node has tens of interfaces of its own; each pod adds one.
const MOST: usize = 512;
/// How the ends of pods' cables are called by Calico, Cilium, Docker and most others, AWS, Azure, kube-router, and VMs'.
const POD_SIDES: [&str; 9] = ["veth", "cali", "lxc", "eni", "azv", "tap", "vnet", "nodelocaldns", "dummy"];

/// One interface and what it has counted, received first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    counts: [u64; 16],
}

/// A column of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    RxBytes,
    RxPackets,
    RxErrors,
    RxDropped,
    RxFifo,
    RxFrame,
    RxCompressed,
    RxMulticast,
    TxBytes,
    TxPackets,
    TxErrors,
    TxDropped,
    TxFifo,
    TxCollisions,
    TxCarrier,
    TxCompressed,
}

impl Interface {
    #[must_use]
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    /// Whether its name shows that a pod is at the other end.
    #[must_use]
    pub fn is_pod_side(&self) -> bool {
        POD_SIDES.iter().any(|prefix| self.name.starts_with(prefix))
    }
}

/// Reads the file's text: no name twice, and not more than 512 interfaces, the node's own first.
#[must_use]
pub fn parse(bytes: &[u8]) -> Truncated<Interface> {
    let mut found: Vec<Interface> = bytes.split(|byte| *byte == b'\n').filter_map(interface).collect();
    found.sort_by(|a, b| (a.is_pod_side(), &a.name).cmp(&(b.is_pod_side(), &b.name)));
    found.dedup_by(|a, b| a.name == b.name);
    Truncated::new(found, MOST)
}

fn interface(line: &[u8]) -> Option<Interface> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (label, counts) = (line[..colon].trim_ascii(), &line[colon + 1..]);
    let words: Option<Vec<u64>> = std::str::from_utf8(counts).ok()?.split_ascii_whitespace().map(count).collect();
    let is_name = !label.is_empty() && !label.iter().any(u8::is_ascii_whitespace);
    Some(Interface { name: name(label), counts: words?.try_into().ok()? }).filter(|_| is_name)
}
