//! A client that writes what gRPC's Go library writes, byte for byte where `h2`'s own client cannot.

use std::time::Duration;

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Builder,
    time::timeout,
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// Answers with what it was asked.
struct Echo;

impl Service for Echo {
    fn call(&self, method: &str, message: &[u8]) -> Result<Vec<u8>, Status> {
        Ok([method.as_bytes(), b" ", message].concat())
    }
}

struct Client(UnixStream);

impl Client {
    async fn connect(path: &std::path::Path) -> Self {
        let mut client = Self(UnixStream::connect(path).await.unwrap());
        client.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        client.write(SETTINGS, 0, 0, &[]).await;
        client
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u8, payload: &[u8]) {
        let head = [0, 0, u8::try_from(payload.len()).unwrap(), kind, flags, 0, 0, 0, stream];
        self.0.write_all(&[&head, payload].concat()).await.unwrap();
    }

    /// Gives the message of the answer, or the first frame of this stream that is none.
    async fn call(&mut self, stream: u8, fields: &[u8], message: &[u8]) -> Result<Vec<u8>, String> {
        self.write(HEADERS, END_HEADERS, stream, fields).await;
        self.write(DATA, END_STREAM, stream, &framed(message)).await;
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.unwrap();
            let mut payload = vec![0; usize::from(head[2])];
            self.0.read_exact(&mut payload).await.unwrap();
            match (head[3], head[8]) {
                (DATA, id) if id == stream => return Ok(unframed(payload).unwrap()),
                (HEADERS, id) if id == stream => {}
                (kind, id) if id == stream => return Err(format!("frame {kind}: {payload:?}")),
                _ => {}
            }
        }
    }
}

#[test]
fn a_client_that_names_the_sockets_path_as_authority_is_answered() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("reg.sock");
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        drop(tokio::spawn(serve(UnixListener::bind(&path).unwrap(), Arc::new(Echo))));
        let mut client = Client::connect(&path).await;
        // Method and scheme; path, authority, content-type and te in literals that both ends remember.
        let first =
            b"\x83\x86\x44\x05/echo\x41\x17%2Fvar%2Flib%2Freg.sock\x5f\x10application/grpc\x40\x02te\x08trailers";
        let answer = timeout(PATIENCE, client.call(1, first, b"one")).await.unwrap();
        assert_eq!(answer, Ok(b"/echo one".to_vec()));
        // The same by their places in the table.
        let second = b"\x83\x86\xc1\xc0\xbf\xbe";
        let answer = timeout(PATIENCE, client.call(3, second, b"two")).await.unwrap();
        assert_eq!(answer, Ok(b"/echo two".to_vec()));
    });
}
