//! Where a Secret's values may be sent, and for which nodes: the Secret itself names both, for a client that may write ConfigMaps
//! could otherwise have any password sent to an address of its own.

use std::{collections::BTreeMap, net::IpAddr};

use nodewell_remediation::method::{ValidatedMethod, destinations};

const BINDING: [&str; 2] = ["address", "node"];
/// Any node, if the Secret names it so; an address has no such word.
const ANY: &str = "*";
/// A network of more addresses than these is a wildcard by another name: 10.0.0.0/16, fd00::/48.
const LEAST_PREFIX_V4: u32 = 16;
const LEAST_PREFIX_V6: u32 = 48;

/// What is in the Secret beside its binding.
///
/// # Errors
/// It is not bound to the node, or not to every address that the method names.
pub(super) fn unbound(
    mut data: BTreeMap<String, Vec<u8>>,
    node: &str,
    call: &ValidatedMethod,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let bound = BINDING.map(|key| data.remove(key).map(|text| String::from_utf8_lossy(&text).to_ascii_lowercase()));
    if data.is_empty() {
        return Ok(data);
    }
    let wanted = destinations(call);
    let [address, nodes] = &bound;
    let listed = |text: &Option<String>, is_it: &dyn Fn(&str) -> bool| {
        text.as_deref().is_some_and(|text| text.split_whitespace().any(is_it))
    };
    let is_here = wanted.iter().all(|one| listed(address, &|bound| bound == one || is_in(bound, one)));
    if is_here && listed(nodes, &|bound| bound == node || bound == ANY) {
        return Ok(data);
    }
    Err(format!(
        "method {}: Secret {} is not given to {} for {node}: it is bound to {} for {}; if it belongs there, give it the keys \
         address: {:?} and node: {node:?} (stringData)",
        call.name,
        call.secret,
        wanted.join(" "),
        address.as_deref().unwrap_or("no address"),
        nodes.as_deref().unwrap_or("no node"),
        wanted.join(" ")
    ))
}

/// Whether an address is in a network (`10.0.9.0/24`). A name is in none, and a port that is written makes it no address.
fn is_in(network: &str, address: &str) -> bool {
    let parsed = network.split_once('/').and_then(|(base, prefix)| Some((base.parse().ok()?, prefix.parse().ok()?)));
    let address = address.trim_start_matches('[').trim_end_matches(']').parse();
    let (Some((base, prefix)), Ok(address)) = (parsed, address) else { return false };
    match (base, address) {
        (IpAddr::V4(base), IpAddr::V4(address)) if (LEAST_PREFIX_V4..=u32::BITS).contains(&prefix) => {
            let host_bits = u32::BITS - prefix;
            base.to_bits().checked_shr(host_bits) == address.to_bits().checked_shr(host_bits)
        }
        (IpAddr::V6(base), IpAddr::V6(address)) if (LEAST_PREFIX_V6..=u128::BITS).contains(&prefix) => {
            let host_bits = u128::BITS - prefix;
            base.to_bits().checked_shr(host_bits) == address.to_bits().checked_shr(host_bits)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn an_address_is_in_a_network_and_a_name_in_none() {
        for (network, address) in [
            ("10.0.9.0/24", "10.0.9.255"),
            ("10.0.9.7/32", "10.0.9.7"),
            ("10.0.0.0/16", "10.0.255.1"),
            ("fd00:9::/64", "fd00:9::1"),
            ("fd00:9::/64", "[fd00:9::1]"),
            ("fd00:9::/64", "fd00:9::ffff:1"),
            ("fd00:9::/48", "fd00:9:0:5::1"),
        ] {
            assert!(is_in(network, address), "{network} {address}");
        }
        for (network, address) in [
            ("10.0.9.0/24", "10.0.10.1"),
            ("10.0.9.0/24", "10.0.9.1:8443"),
            ("10.0.9.0/24", "bmc-1"),
            ("10.0.9.7/32", "10.0.9.8"),
            ("10.0.9.0/33", "10.0.9.1"),
            ("10.0.9.0/", "10.0.9.1"),
            ("10.0.9.0", "10.0.9.0"),
            ("fd00:9::/64", "10.0.9.1"),
            ("fd00:9::/64", "fd00:9:0:1::1"),
            ("fd00:9::/48", "fd00:9:1::1"),
            ("::/48", "10.0.9.1"),
        ] {
            assert!(!is_in(network, address), "{network} {address}");
        }
    }

    #[test]
    fn a_network_is_no_wildcard() {
        for network in ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/15"] {
            assert!(!is_in(network, "10.0.0.1"), "{network}");
        }
        for network in ["::/0", "fd00::/47"] {
            assert!(!is_in(network, "fd00::1"), "{network}");
        }
    }
}
