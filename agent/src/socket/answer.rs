//! Answers: JSON with a newline at its end, so that `curl` leaves a clean prompt; rejections state what to do.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use http_body_util::Full;
use hyper::{
    Response, StatusCode,
    body::{Body, Bytes, Frame, SizeHint},
    header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use nodewell_model::api::ErrorView;
use serde::Serialize;

use super::follow::Follower;

pub(super) type Answer = Response<AnswerBody>;

/// What an answer carries.
pub(super) enum AnswerBody {
    Whole(Full<Bytes>),
    /// Events as they come, without an end.
    Follow(Follower),
}

/// A request that was not done, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) status: StatusCode,
    pub(super) error: String,
    /// The methods that the path takes, for a 405.
    pub(super) allow: Option<&'static str>,
    /// When asking again may help.
    pub(super) retry_after_secs: Option<u32>,
}

impl Rejection {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), allow: None, retry_after_secs: None }
    }

    /// One that passes: the same request may be accepted in so many seconds.
    pub(super) fn for_now(status: StatusCode, error: impl Into<String>, retry_after_secs: u32) -> Self {
        Self { retry_after_secs: Some(retry_after_secs), ..Self::new(status, error) }
    }

    pub(super) fn answer(self) -> Answer {
        let mut answer = json(self.status, &ErrorView { error: self.error });
        let headers = answer.headers_mut();
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(secs) = self.retry_after_secs {
            headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.status == StatusCode::PAYLOAD_TOO_LARGE || self.status == StatusCode::REQUEST_TIMEOUT {
            // The rest of the body will not be read: the connection is of no more use.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

/// `value` as JSON.
pub(super) fn json<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    // Our views have string keys and finite numbers only: they always serialise.
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    with_type(status, "application/json", AnswerBody::Whole(Full::new(Bytes::from(text))))
}

/// One JSON object a line, for as long as the peer listens.
pub(super) fn stream(follower: Follower) -> Answer {
    with_type(StatusCode::OK, "application/x-ndjson", AnswerBody::Follow(follower))
}

fn with_type(status: StatusCode, content_type: &'static str, body: AnswerBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Follow(follower) => follower.poll_lines(context).map(|lines| Some(Ok(Frame::data(lines)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Follow(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Follow(_) => SizeHint::default(),
        }
    }
}
