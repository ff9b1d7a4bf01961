//! A connection, made; the kernel's error when it is not.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

use super::{Down, DownKind};
use crate::service::target::At;

/// Bytes both ways.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) async fn connect(at: &At) -> Result<Box<dyn Stream>, Down> {
    let connected: io::Result<Box<dyn Stream>> = match at {
        At::Tcp(address) => TcpStream::connect(address).await.map(|stream| Box::new(stream) as Box<dyn Stream>),
        At::Unix(path) => UnixStream::connect(path).await.map(|stream| Box::new(stream) as Box<dyn Stream>),
    };
    connected.map_err(|error| of_connect(at, &error))
}

fn of_connect(at: &At, error: &io::Error) -> Down {
    let is_folder = matches!(at, At::Unix(path) if path.is_dir());
    let (kind, message) = match error.kind() {
        // connect(2) reports "connection refused" of whatever is no socket.
        _ if is_folder => (DownKind::Wrong, "is a directory, not a socket".to_owned()),
        io::ErrorKind::NotFound => (DownKind::Gone, "there is no socket".to_owned()),
        io::ErrorKind::ConnectionRefused => (DownKind::Gone, "nothing listens (connection refused)".to_owned()),
        // The queue of a listener that accepts nothing is full: a Unix socket reports that at once.
        io::ErrorKind::WouldBlock => (DownKind::NoAnswer, "takes no more connections".to_owned()),
        _ => (DownKind::Wrong, format!("cannot connect: {error}")),
    };
    Down { kind, message }
}
