//! `metrics-address`: an address, or `off`.

use std::{
    net::{Ipv4Addr, SocketAddr},
    str::FromStr,
};

use nodewell_settings::kind::Word;

const PORT: u16 = 20259;

/// Where Prometheus finds the metrics, if anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsAddress(pub Option<SocketAddr>);

impl MetricsAddress {
    pub(super) const KIND: Word<Self> = Word {
        takes: "an address and port, or \"off\"",
        read: str::parse,
        shown: |Self(address)| address.map_or_else(|| "off".to_owned(), |address| address.to_string()),
    };
}

impl Default for MetricsAddress {
    fn default() -> Self {
        Self(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))))
    }
}

impl FromStr for MetricsAddress {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word == "off" {
            return Ok(Self(None));
        }
        let wrong = |_| format!("{word:?} is neither \"off\" nor an address and port such as 127.0.0.1:20259");
        word.parse().map(|address| Self(Some(address))).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both may be on one node, and it ends where one of its two ports is taken.
    #[test]
    fn node_problem_detectors_ports_are_left_to_it() {
        let MetricsAddress(Some(usual)) = MetricsAddress::default() else { panic!("metrics are on") };
        assert!(usual.ip().is_loopback() && ![20256, 20257].contains(&usual.port()), "{usual}");
    }
}
