//! Who reports an event, by its source: monitors and check processes of ours and root are trusted with the node's whole
//! account; any other user or unit is a peer, whose reports have a share.

/// Units of our own check processes, which may report for any part of the node.
pub(crate) const CHECK_PROCESS_UNITS: [&str; 3] =
    ["nodewell-check.service", "nodewell-disk.service", "nodewell-gpu.service"];

/// The user or unit behind `source`, if it is a peer.
pub(crate) fn peer(source: &str) -> Option<&str> {
    let (_, principal) = source.split_once('@')?;
    (principal != "root" && !CHECK_PROCESS_UNITS.contains(&principal)).then_some(principal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_who_reports_over_the_socket_and_is_neither_root_nor_ours() {
        for (source, whose) in [
            ("kernel-monitor", None),
            ("disk@nodewell-disk.service", None),
            ("raid@root", None),
            ("raid@raid-monitor.service", Some("raid-monitor.service")),
            ("a@b@uid:7", Some("b@uid:7")),
            ("@uid:7", Some("uid:7")),
            ("x@", Some("")),
        ] {
            assert_eq!(peer(source), whose, "{source}");
        }
    }
}
