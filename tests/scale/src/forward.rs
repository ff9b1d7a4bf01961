//! A forwarder before the real server: counts the bytes on the wire, and breaks off when the server shall be away.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinSet,
    time::Instant,
};

use crate::meter::{Meter, Traffic};

/// Bytes are counted under this name; requests cannot be seen inside TLS.
pub const WIRE: &str = "wire";
const CHUNK_BYTES: usize = 16 << 10;

/// The meter that counts, and since when.
#[derive(Debug, Clone)]
pub struct Counter {
    pub meter: Arc<Meter>,
    pub start: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl Counter {
    fn count(&self, direction: Direction, bytes: u64) {
        let (bytes_up, bytes_down) = match direction {
            Direction::Up => (bytes, 0),
            Direction::Down => (0, bytes),
        };
        self.meter.count(self.start.elapsed(), WIRE, Traffic { requests: 0, bytes_up, bytes_down });
    }
}

/// Forwards `from` to `to` while `open` is true; while it is not, nothing listens and every connection is closed.
pub async fn forward(from: SocketAddr, to: SocketAddr, mut open: watch::Receiver<bool>, counter: Counter) {
    loop {
        if open.wait_for(|open| *open).await.is_err() {
            return;
        }
        let Ok(listener) = TcpListener::bind(from).await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        tokio::select! {
            () = accept(&listener, to, &counter) => {}
            closed = open.wait_for(|open| !*open) => if closed.is_err() { return },
        }
    }
}

/// Dropped, it takes its connections along.
async fn accept(listener: &TcpListener, to: SocketAddr, counter: &Counter) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(connect(stream, to, counter.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(client: TcpStream, to: SocketAddr, counter: Counter) {
    let Ok(server) = TcpStream::connect(to).await else { return };
    // The delays of a second TCP connection are not ours to measure.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (client_reads, client_writes) = client.into_split();
    let (server_reads, server_writes) = server.into_split();
    tokio::join!(
        copy(client_reads, server_writes, &counter, Direction::Up),
        copy(server_reads, client_writes, &counter, Direction::Down),
    );
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, counter: &Counter, direction: Direction) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        counter.count(direction, count as u64);
        if to.write_all(&chunk[..count]).await.is_err() {
            return;
        }
    }
}
