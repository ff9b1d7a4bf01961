//! What a program writes: the first of it is stored, the rest is read and dropped, so that it never waits for us.

use std::{cell::RefCell, rc::Rc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    task::JoinHandle,
    time::timeout,
};

/// As much as a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// A pipe that is read until its end.
pub(super) struct Pipe {
    stored: Rc<RefCell<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Pipe {
    /// Stores the first `limit_bytes` of what comes.
    pub(super) fn read(from: impl AsyncRead + Unpin + 'static, limit_bytes: usize) -> Self {
        let stored = Rc::new(RefCell::new(Vec::new()));
        let reading = tokio::task::spawn_local(drain(from, Rc::clone(&stored), limit_bytes));
        Self { stored, reading }
    }

    /// What was stored; waits for the end of the pipe no longer than `within`.
    pub(super) async fn finish(mut self, within: Duration) -> Vec<u8> {
        let _ = timeout(within, &mut self.reading).await;
        self.stored.take()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn drain(mut from: impl AsyncRead + Unpin, stored: Rc<RefCell<Vec<u8>>>, limit_bytes: usize) {
    let mut chunk = vec![0; limit_bytes.max(512)];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        let mut stored = stored.borrow_mut();
        let room = limit_bytes.saturating_sub(stored.len());
        stored.extend_from_slice(&chunk[..read.min(room)]);
        // A program that writes more than we store may write a lot more.
        if stored.len() == limit_bytes && chunk.len() < CHUNK_BYTES {
            chunk.resize(CHUNK_BYTES, 0);
        }
    }
}
