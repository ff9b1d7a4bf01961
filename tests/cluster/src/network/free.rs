//! A network that this machine has nothing in: no address, and no route, which may be a VPN's.

use std::net::Ipv4Addr;

/// Routes of less than that are ways to everything, as a default route is.
const SHORTEST: u32 = 8;

#[derive(Debug, Clone, Copy)]
struct Subnet {
    address: u32,
    length: u32,
}

impl Subnet {
    /// Of `10.77.0.0/24`, or of an address alone.
    fn of(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
        (SHORTEST..=32).contains(&length).then_some(Self { address: address.to_bits(), length })
    }

    fn overlaps(self, other: Self) -> bool {
        let bits = 32 - self.length.min(other.length);
        self.address >> bits == other.address >> bits
    }
}

/// The first three numbers of its addresses; `used` is what `ip` lists of addresses and routes.
#[must_use]
pub fn prefix(used: &str) -> Option<String> {
    let used: Vec<Subnet> = used.split_whitespace().filter_map(Subnet::of).collect();
    let mut all =
        ["10.77", "172.29", "192.168"].into_iter().flat_map(|two| (0..250).map(move |third| format!("{two}.{third}")));
    all.find(|prefix| {
        let own = Subnet::of(&format!("{prefix}.0/24"));
        own.is_some_and(|own| !used.iter().any(|used| used.overlaps(own)))
    })
}
