//! The lines of one watch.

use std::{collections::VecDeque, marker::PhantomData};

use http_body_util::BodyExt;
use hyper::body::Bytes;
use kube::client::Body;
use nodewell_reconcile::api_error::ApiError;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::kube::Wire;

/// One object of the cluster; etcd takes 1.5 MiB at most.
const LINE_LIMIT_BYTES: usize = 8 << 20;
/// A watch is asked for this long; then it goes on with another one.
pub(super) const LIFE_SECS: u64 = 290;
/// `storage.NewTooLargeResourceVersionError`, whatever its code: a store that went back has not come so far.
const TOO_LARGE: &str = "Too large resource version";

/// What a line contains; the text is the resourceVersion from which to go on.
pub(super) enum Change<T> {
    Applied(T, String),
    Deleted(T, String),
    Bookmark(String),
    /// 410: too long ago; or a version that this store has not come to.
    Forgotten,
    /// It cannot be read, or the server gave up.
    Broken(String),
}

impl<T> Change<T> {
    pub(super) fn version(&self) -> Option<&str> {
        match self {
            Self::Applied(_, at) | Self::Deleted(_, at) | Self::Bookmark(at) => Some(at),
            Self::Forgotten | Self::Broken(_) => None,
        }
    }
}

/// Versions are numbers; what is none is taken as it comes.
pub(super) fn is_before(version: &str, known: &str) -> bool {
    version.parse::<u128>().ok().zip(known.parse().ok()).is_some_and(|(new, known)| new < known)
}

/// The server refuses to watch from that version.
pub(super) fn forgot(error: &ApiError) -> bool {
    match error {
        ApiError::Refused { code, message } => *code == 410 || message.contains(TOO_LARGE),
        ApiError::NoAnswer(message) => message.contains(TOO_LARGE),
        _ => false,
    }
}

/// An open watch.
pub(super) struct Changes<T> {
    body: Body,
    buffer: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    of: PhantomData<T>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: Version,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WatchError {
    code: u16,
    message: String,
}

impl<T: DeserializeOwned> Changes<T> {
    /// Changes since `version`, with bookmarks.
    pub(super) async fn open(wire: &Wire, path: &str, version: &str) -> Result<Self, ApiError> {
        let query = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={LIFE_SECS}");
        let body = wire.open(&format!("{path}?{query}&resourceVersion={version}")).await?;
        Ok(Self { body, buffer: Vec::new(), lines: VecDeque::new(), of: PhantomData })
    }

    /// Nothing at the end.
    pub(super) async fn next(&mut self) -> Option<Change<T>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(read(&line));
            }
            match self.body.frame().await? {
                Ok(frame) => self.take(&frame.into_data().unwrap_or_default()),
                // A connection that ends is an end like another: the next watch goes on from the last version.
                Err(_) => return None,
            }
            if self.buffer.len() > LINE_LIMIT_BYTES {
                return Some(Change::Broken(format!("a line of more than {LINE_LIMIT_BYTES} bytes")));
            }
        }
    }

    fn take(&mut self, bytes: &Bytes) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.buffer.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.lines.push_back(std::mem::take(&mut self.buffer));
            }
        }
    }
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Change<T> {
    let broken = |error: serde_json::Error| Change::Broken(format!("a line cannot be read: {error}"));
    let line: Line<'_> = match serde_json::from_slice(line) {
        Ok(line) => line,
        Err(error) => return broken(error),
    };
    if line.kind == "ERROR" {
        let error: WatchError = serde_json::from_str(line.object.get()).unwrap_or_default();
        let forgotten = error.code == 410 || error.message.contains(TOO_LARGE);
        return if forgotten { Change::Forgotten } else { Change::Broken(error.message) };
    }
    let version = match serde_json::from_str::<Versioned>(line.object.get()) {
        Ok(object) => object.metadata.resource_version,
        Err(error) => return broken(error),
    };
    if line.kind == "BOOKMARK" {
        return Change::Bookmark(version);
    }
    match serde_json::from_str(line.object.get()) {
        Err(error) => broken(error),
        Ok(object) if line.kind == "DELETED" => Change::Deleted(object, version),
        Ok(object) => Change::Applied(object, version),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn kind(line: &str) -> &'static str {
        match read::<Value>(line.as_bytes()) {
            Change::Applied(..) => "applied",
            Change::Deleted(..) => "deleted",
            Change::Bookmark(_) => "bookmark",
            Change::Forgotten => "forgotten",
            Change::Broken(_) => "broken",
        }
    }

    #[test]
    fn lines_are_distinguished() {
        let object = "{\"metadata\":{\"resourceVersion\":\"7\"}}";
        for (line, expected) in [
            (format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n"), "applied"),
            (format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}"), "applied"),
            (format!("{{\"type\":\"DELETED\",\"object\":{object}}}"), "deleted"),
            (format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}"), "bookmark"),
            ("{\"type\":\"ERROR\",\"object\":{\"code\":410}}".to_owned(), "forgotten"),
            (
                "{\"type\":\"ERROR\",\"object\":{\"code\":504,\"message\":\"Timeout: Too large resource version: 9, current: 7\"}}"
                    .to_owned(),
                "forgotten",
            ),
            ("{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"x\"}}".to_owned(), "broken"),
            ("{\"type\":\"ADDED\",\"object\":{}}".to_owned(), "broken"),
            ("{\"type\":\"ADD".to_owned(), "broken"),
        ] {
            assert_eq!(kind(&line), expected, "{line}");
        }
    }
}
