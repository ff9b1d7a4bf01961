//! Why the agent could not be asked, worded so that a person knows what to do next.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// What went wrong between us and the agent.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No socket, or no process behind it.
    #[error("nothing answers on {}: is nodewelld running? See: systemctl status nodewell", path.display())]
    NotRunning { path: PathBuf },
    /// The socket's file or folder does not let us in.
    #[error("no permission to connect to {}: try sudo, or look at the modes of the file and its folder", path.display())]
    Permission { path: PathBuf },
    #[error("cannot connect to {}: {source}", path.display())]
    Connect { path: PathBuf, source: io::Error },
    #[error("nodewelld on {} did not answer within {} s: it is overloaded or stopped; see: systemctl status nodewell", path.display(), after.as_secs_f32())]
    Timeout { path: PathBuf, after: Duration },
    /// The agent answered, and refused.
    #[error("{error} (HTTP {code})")]
    Status {
        code: u16,
        error: String,
        /// When it asks to be asked again.
        retry_after: Option<Duration>,
    },
    /// The connection ended in the middle.
    #[error("the connection to nodewelld broke: {message}; it stopped, or has too many connections open")]
    Broken { message: String },
    /// Another version, or another program.
    #[error("the answer to {target} is not what this version understands: {source}")]
    BadAnswer { target: String, source: serde_json::Error },
    /// A line of a stream that is longer than any event.
    #[error("a line of the answer is longer than {limit_bytes} bytes: this is not a nodewelld")]
    LongLine { limit_bytes: usize },
    #[error("{target:?} is not a path and query")]
    Target { target: String },
    #[error("the request cannot be written as JSON: {0}")]
    Request(serde_json::Error),
}

impl ClientError {
    pub(crate) fn connecting(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Self::NotRunning { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            _ => Self::Connect { path, source },
        }
    }

    pub(crate) fn broken(error: &hyper::Error) -> Self {
        Self::Broken { message: error.to_string() }
    }

    /// How long the agent asked to wait, if it did.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Status { retry_after, .. } = self { *retry_after } else { None }
    }

    /// Whether asking again may help: the agent was not there, was busy, or went away.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::NotRunning { .. } | Self::Connect { .. } | Self::Timeout { .. } | Self::Broken { .. } => true,
            Self::Status { code, .. } => matches!(code, 408 | 429 | 503),
            _ => false,
        }
    }
}
