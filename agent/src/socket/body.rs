//! Request bodies: JSON of a bounded size within a bounded time, read into a type or refused with the field's name.

use std::{error::Error, time::Duration};

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Request, StatusCode,
    body::{Body, Bytes},
    header::CONTENT_TYPE,
};
use serde::de::DeserializeOwned;

use super::{Limits, answer::Refusal};

type BoxError = Box<dyn Error + Send + Sync>;

/// The body of `request` as a `T`.
pub(super) async fn read<T, B>(request: Request<B>, limits: &Limits) -> Result<T, Refusal>
where
    T: DeserializeOwned,
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    parse(&bytes(request, limits).await?)
}

/// The body of `request`, which says that it is JSON.
pub(super) async fn bytes<B>(request: Request<B>, limits: &Limits) -> Result<Bytes, Refusal>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    must_be_json(request.headers())?;
    collect(request.into_body(), limits.body_bytes, limits.body_timeout).await
}

fn must_be_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let error = format!(
        "the body must be JSON and say so; send the header \"Content-Type: application/json\" (it was {given:?})"
    );
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error))
}

async fn collect<B>(body: B, limit_bytes: usize, limit: Duration) -> Result<Bytes, Refusal>
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
        Ok(Err(error)) => Err(Refusal::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}"))),
        Err(_) => {
            let error = format!("the body did not come within {} s", limit.as_secs_f32());
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, error))
        }
    }
}

fn too_large(limit_bytes: usize) -> Refusal {
    let error = format!("the body is longer than {limit_bytes} bytes; send less at a time");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, error)
}

/// Names the field that is wrong.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = match error.path().to_string() {
            root if root == "." => "the body".to_owned(),
            path => format!("field `{path}`"),
        };
        Refusal::new(StatusCode::BAD_REQUEST, format!("{place}: {}", error.inner()))
    })?;
    json.end().map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("after the JSON value: {error}")))?;
    Ok(value)
}
