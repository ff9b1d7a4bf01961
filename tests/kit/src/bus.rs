//! The server's end of a D-Bus connection, for tests that answer as systemd does, or not.

use std::os::unix::net::UnixStream;

use zbus::{Guid, MessageStream, connection::Builder};

/// The calls that the client at the other end of `stream` makes.
///
/// # Panics
/// If the client does not authenticate.
pub async fn serve_bus(stream: UnixStream) -> MessageStream {
    let builder = Builder::unix_stream(stream).server(Guid::generate()).p2p();
    builder.build_message_stream().await.unwrap()
}
