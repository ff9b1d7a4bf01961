//! An answer without an end, line by line.

use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{ClientError, connection::Connection};

/// The longest line taken: an event is at most a few kilobytes.
const LINE_LIMIT_BYTES: usize = 256 * 1024;

/// Lines as they come. Dropping it ends the connection.
pub struct Lines {
    _connection: Connection,
    body: Incoming,
    rest: Vec<u8>,
    /// Up to here `rest` has no newline.
    searched: usize,
}

impl Lines {
    pub(crate) fn new(connection: Connection, body: Incoming) -> Self {
        Self { _connection: connection, body, rest: Vec::new(), searched: 0 }
    }

    /// The next line without its newline; `None` once the agent has ended the stream. May be cancelled without
    /// losing a line.
    pub async fn next_line(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.rest.len() > LINE_LIMIT_BYTES {
                return Err(ClientError::LongLine { limit_bytes: LINE_LIMIT_BYTES });
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.rest.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Err(ClientError::broken(&error)),
                None => return Ok(None),
            }
        }
    }

    fn take_line(&mut self) -> Option<String> {
        let Some(found) = self.rest[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.rest.len();
            return None;
        };
        let end = self.searched + found;
        let line = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.rest.drain(..=end);
        self.searched = 0;
        Some(line)
    }
}
