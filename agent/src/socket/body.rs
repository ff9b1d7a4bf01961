//! Request bodies: JSON of a bounded size within a bounded time, read into a type or rejected with the field's name.

use std::{error::Error, time::Duration};

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Request, StatusCode,
    body::{Body, Bytes},
    header::CONTENT_TYPE,
};
use nodewell_model::text::cut;
use serde::de::DeserializeOwned;

use super::{SocketLimits, answer::Rejection};

/// So much of the beginning and of the end of a long quotation is returned.
const QUOTED_BYTES: usize = 200;

type BoxError = Box<dyn Error + Send + Sync>;

/// The body of `request` as a `T`.
pub(super) async fn read<T, B>(request: Request<B>, limits: &SocketLimits) -> Result<T, Rejection>
where
    T: DeserializeOwned,
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    parse(&bytes(request, limits).await?)
}

/// The body of `request`, which declares that it is JSON.
pub(super) async fn bytes<B>(request: Request<B>, limits: &SocketLimits) -> Result<Bytes, Rejection>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    must_be_json(request.headers())?;
    collect(request.into_body(), limits.body_bytes, limits.body_timeout).await
}

fn must_be_json(headers: &HeaderMap) -> Result<(), Rejection> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let error = format!(
        "the body must be JSON and declared as such; send the header \"Content-Type: application/json\" (it was {given:?})"
    );
    Err(Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error))
}

async fn collect<B>(body: B, limit_bytes: usize, limit: Duration) -> Result<Bytes, Rejection>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    // A declared length is judged before a byte is read.
    if usize::try_from(body.size_hint().lower()).map_or(true, |length| length > limit_bytes) {
        return Err(too_large(limit_bytes));
    }
    match tokio::time::timeout(limit, Limited::new(body, limit_bytes).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit_bytes)),
        Ok(Err(error)) => Err(Rejection::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}"))),
        Err(_) => {
            let error = format!("the body did not come within {} s", limit.as_secs_f32());
            Err(Rejection::new(StatusCode::REQUEST_TIMEOUT, error))
        }
    }
}

fn too_large(limit_bytes: usize) -> Rejection {
    let error = format!("the body is longer than {limit_bytes} bytes; send less at a time");
    Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, error)
}

/// Reads once without an account of the way, which costs as much again; only an error needs it.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Rejection> {
    serde_json::from_slice(bytes).or_else(|_| parse_and_locate(bytes))
}

/// Names the field that is wrong.
fn parse_and_locate<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Rejection> {
    let reject = |field: &str, error: &serde_json::Error| {
        let error = format!("{}: {}", shortened(field), shortened(&error.to_string()));
        Rejection::new(StatusCode::BAD_REQUEST, error)
    };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = match error.path().to_string() {
            root if root == "." => "the body".to_owned(),
            path => format!("field `{path}`"),
        };
        reject(&field, error.inner())
    })?;
    json.end().map_err(|error| reject("after the JSON value", &error))?;
    Ok(value)
}

/// An error quotes what was sent, which may be the whole body: its beginning and its end show what is wrong.
fn shortened(words: &str) -> String {
    if words.len() <= 2 * QUOTED_BYTES {
        return words.to_owned();
    }
    let end = words.ceil_char_boundary(words.len() - QUOTED_BYTES);
    format!("{} … {}", cut(words, QUOTED_BYTES), &words[end..])
}
