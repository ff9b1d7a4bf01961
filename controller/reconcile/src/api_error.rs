//! Why a call to the API server brought nothing.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 404, or a precondition named another object of that name.
    #[error("it is not there")]
    NotFound,
    /// 409: another client was first.
    #[error("it was changed by another client: {0}")]
    Conflict(String),
    /// 429 of an eviction: a disruption budget refuses it for now.
    #[error("not now: {message}")]
    EvictionRefused { message: String, retry: Option<Duration> },
    /// Any other refusal; nothing was done.
    #[error("{message} (HTTP {code})")]
    Refused { code: u16, message: String },
    /// No answer, none that can be read, or one that is not the API server's: it may have been done.
    #[error("no answer: {0}")]
    NoAnswer(String),
}
