//! One `GET` of HTTP/1.1. Of the answer only the beginning is read: a status and some text for people.

use std::pin::pin;

use http_body_util::{BodyExt, Empty};
use hyper::{
    Request, StatusCode,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use nodewell_model::text;

use super::{Down, stream};
use crate::service::target::At;

/// Status line and headers of a health endpoint have some hundred bytes; hyper takes no less than 8 KiB for a limit.
const HEADERS_LIMIT_BYTES: usize = 16 * 1024;
/// The kubelet's list of failed checks has some hundred bytes.
const BODY_LIMIT_BYTES: usize = 4 * 1024;
const LINE_LIMIT_BYTES: usize = 200;
const AGENT: &str = concat!("nodewell/", env!("CARGO_PKG_VERSION"));

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpResponse {
    pub(super) status: StatusCode,
    /// The first line of the body, fit to show.
    pub(super) first_line: String,
}

pub(super) async fn get(at: &At, path: &str) -> Result<HttpResponse, Down> {
    let stream = TokioIo::new(stream::connect(at).await?);
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEADERS_LIMIT_BYTES);
    let (sender, connection) = builder.handshake(stream).await.map_err(|error| broken(&error))?;
    let mut exchange = pin!(exchange(sender, request(at, path)?));
    tokio::select! {
        response = &mut exchange => response,
        ended = connection => match ended {
            Ok(()) => exchange.await,
            Err(error) => Err(broken(&error)),
        },
    }
}

fn request(at: &At, path: &str) -> Result<Request<Empty<Bytes>>, Down> {
    let host = match at {
        At::Tcp(address) => address.to_string(),
        At::Unix(_) => "localhost".to_owned(),
    };
    let request = Request::get(path).header(header::HOST, host).header(header::USER_AGENT, AGENT);
    let closing = request.header(header::CONNECTION, "close");
    closing.body(Empty::new()).map_err(|error| Down::wrong(error.to_string()))
}

async fn exchange(mut sender: SendRequest<Empty<Bytes>>, request: Request<Empty<Bytes>>) -> Result<HttpResponse, Down> {
    let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
    let status = response.status();
    // A status is an answer. The body is read only where it shows what is wrong.
    let is_healthy = status.is_success() || status.is_redirection();
    let body = if is_healthy { Vec::new() } else { beginning(response.into_body()).await };
    Ok(HttpResponse { status, first_line: first_line(&body) })
}

/// As much as there is and as may be read; a body that breaks off is as long as it is.
async fn beginning(mut body: Incoming) -> Vec<u8> {
    let mut read = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            let room = BODY_LIMIT_BYTES - read.len();
            read.extend_from_slice(&data[..data.len().min(room)]);
        }
        if read.len() == BODY_LIMIT_BYTES {
            break;
        }
    }
    read
}

/// The kubelet's list begins with what is healthy: the line that names what is not is worth more.
fn first_line(body: &[u8]) -> String {
    let reported = text::message(body);
    let lines = || reported.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("[-]")).or_else(|| lines().next()).unwrap_or_default();
    text::cut(line, LINE_LIMIT_BYTES).to_owned()
}

fn broken(error: &hyper::Error) -> Down {
    use std::error::Error;
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Down::wrong(format!("no answer of HTTP: {error}{cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_reports_what_is_wrong_is_shown() {
        let body = b"[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n";
        assert_eq!(first_line(body), "[-]syncloop failed: reason withheld");
        assert_eq!(first_line(b"\n not well \nmore"), "not well");
        assert_eq!(first_line(b""), "");
        assert!(first_line(&[0xff; 4096]).len() <= LINE_LIMIT_BYTES);
    }
}
