//! What is asked: an endpoint or a unit, as an operator writes it down.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What is asked of one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    Http(HttpTarget),
    Tcp(SocketAddr),
    /// A socket that takes a connection.
    Unix(PathBuf),
    /// A container runtime, by the Container Runtime Interface v1.
    Cri(PathBuf),
    /// Docker's own socket.
    Docker(PathBuf),
    /// A unit of systemd.
    Unit(String),
}

/// A page that is there with a status of 200 to 399, as for the kubelet's own probes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpTarget {
    pub at: At,
    pub path: String,
    /// Asked where the first is not known (404): an older version's.
    pub fallback: Option<String>,
}

/// Where something listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// What an address is not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    #[error("{0:?} is not a URL such as http://127.0.0.1:8080/healthz")]
    NotAUrl(String),
    #[error("https is not asked: use tcp, or the service's plain port on the loopback")]
    Https,
    #[error(
        "{0:?} is neither an IP address and port nor localhost and port: no name is looked up, because DNS may be what fails"
    )]
    NotAnAddress(String),
    #[error("{0:?} is not an absolute path, nor unix:// and one")]
    NotAPath(String),
}

impl HttpTarget {
    /// `http://127.0.0.1:10248/healthz`
    ///
    /// # Errors
    /// For anything else; the message is for the author of the configuration.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        if url.starts_with("https://") {
            return Err(TargetError::Https);
        }
        let not_a_url = || TargetError::NotAUrl(url.to_owned());
        let rest = url.strip_prefix("http://").ok_or_else(not_a_url)?;
        let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        // What a request line takes, and nothing that ends it.
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) || path.contains('#') {
            return Err(not_a_url());
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        Ok(Self { at: At::Tcp(socket_address(&host)?), path: path.to_owned(), fallback: None })
    }

    #[must_use]
    pub fn with_fallback(self, path: &str) -> Self {
        Self { fallback: Some(path.to_owned()), ..self }
    }
}

/// `127.0.0.1:2379`, `[::1]:2379`, `localhost:2379`
///
/// # Errors
/// For anything else.
pub fn socket_address(text: &str) -> Result<SocketAddr, TargetError> {
    let named = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let local = named.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    local.or_else(|| text.parse().ok()).ok_or_else(|| TargetError::NotAnAddress(text.to_owned()))
}

/// `/run/a.sock`, `unix:///run/a.sock`
///
/// # Errors
/// For anything else.
pub fn socket_path(text: &str) -> Result<PathBuf, TargetError> {
    let path = text.strip_prefix("unix://").unwrap_or(text);
    let is_path = path.len() > 1 && path.starts_with('/') && !path.contains('\0');
    is_path.then(|| path.into()).ok_or_else(|| TargetError::NotAPath(text.to_owned()))
}

impl fmt::Display for At {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(out, "http://{address}"),
            Self::Unix(path) => write!(out, "{}", path.display()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(target) => write!(out, "{}{}", target.at, target.path),
            Self::Tcp(address) => write!(out, "{address}"),
            Self::Unix(path) | Self::Cri(path) | Self::Docker(path) => write!(out, "{}", path.display()),
            Self::Unit(name) => out.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_without_looking_up_names() {
        let shown = |url: &str| HttpTarget::parse(url).map(|target| Target::Http(target).to_string());
        assert_eq!(shown("http://127.0.0.1:10248/healthz").unwrap(), "http://127.0.0.1:10248/healthz");
        assert_eq!(shown("http://localhost").unwrap(), "http://127.0.0.1:80/");
        assert_eq!(shown("http://[::1]:8080/a?b=c").unwrap(), "http://[::1]:8080/a?b=c");
        assert_eq!(shown("https://127.0.0.1/"), Err(TargetError::Https));
        for wrong in
            ["127.0.0.1:80", "http://example.com/", "http://127.0.0.1:80/a b", "http://1.2.3.4:99999/", "http://"]
        {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
        assert_eq!(socket_path("unix:///run/a.sock").unwrap(), PathBuf::from("/run/a.sock"));
        assert!(socket_path("run/a.sock").is_err());
        assert!(socket_address("etcd:2379").is_err());
    }
}
