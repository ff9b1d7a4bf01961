//! Keywords for addresses that are listened at.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

use nodewell_power::kdump;

/// An address, with or without its port, or the keyword `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KdumpListen {
    Off,
    At(SocketAddr),
}

impl KdumpListen {
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Off => None,
            Self::At(address) => Some(address),
        }
    }

    pub(super) fn shown(&self) -> String {
        self.address().map_or_else(|| "off".to_owned(), |address| address.to_string())
    }
}

impl FromStr for KdumpListen {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word == "off" {
            return Ok(Self::Off);
        }
        let whole = word.parse::<SocketAddr>().ok();
        let bare = || word.trim_matches(['[', ']']).parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, kdump::PORT));
        let wrong = || format!("{word:?} is neither \"off\" nor an address such as \"10.0.0.1\" or \"[::]:7410\"");
        whole.or_else(bare).map(Self::At).ok_or_else(wrong)
    }
}

/// An address, or the keyword `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsListen {
    Off,
    At(SocketAddr),
}

impl MetricsListen {
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Off => None,
            Self::At(address) => Some(address),
        }
    }

    pub(super) fn shown(&self) -> String {
        self.address().map_or_else(|| "off".to_owned(), |address| address.to_string())
    }
}

impl Default for MetricsListen {
    fn default() -> Self {
        Self::At(SocketAddr::from((Ipv4Addr::LOCALHOST, 20258)))
    }
}

impl FromStr for MetricsListen {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word == "off" {
            return Ok(Self::Off);
        }
        let wrong = |_| format!("{word:?} is neither \"off\" nor an address and port such as 127.0.0.1:20258");
        word.parse().map(Self::At).map_err(wrong)
    }
}
