//! gRPC over HTTP/2 (`grpc/grpc` doc/PROTOCOL-HTTP2.md): unary calls without an argument, answers of bounded size.

use std::future::Future;

use h2::{
    RecvStream,
    client::{Builder, SendRequest},
};
use hyper::{HeaderMap, Request, StatusCode, body::Bytes, header::CONTENT_TYPE};
use nodewell_model::text;

use super::{Down, stream::Stream};

/// Ours have some hundred bytes; a `Status` that is not verbose too.
const MESSAGE_LIMIT_BYTES: usize = 64 * 1024;
const HEADERS_LIMIT_BYTES: u32 = 16 * 1024;
/// A message of no fields, in its frame: not compressed, four bytes of length.
const NOTHING: [u8; 5] = [0; 5];
const FRAME_BYTES: usize = NOTHING.len();
/// The code for "the server does not know the method".
const UNIMPLEMENTED: &str = "12";
const WORDS_LIMIT_BYTES: usize = 300;

pub(super) struct Client(SendRequest<Bytes>);

/// A client, and what has to be polled beside its calls: it returns when the connection ends.
pub(super) async fn connect(stream: Box<dyn Stream>) -> Result<(Client, impl Future<Output = Down>), Down> {
    let mut builder = Builder::new();
    builder.enable_push(false).max_header_list_size(HEADERS_LIMIT_BYTES);
    let (sender, connection) = builder.handshake(stream).await.map_err(|error| broken(&error))?;
    let ended = async {
        match connection.await {
            Ok(()) => Down::wrong("ended the connection"),
            Err(error) => broken(&error),
        }
    };
    Ok((Client(sender), ended))
}

impl Client {
    /// The answer's message.
    pub(super) async fn call(&mut self, method: &str) -> Result<Vec<u8>, Down> {
        let request = Request::post(format!("http://localhost{method}"))
            .header("te", "trailers")
            .header(CONTENT_TYPE, "application/grpc")
            .body(())
            .map_err(|error| Down::wrong(error.to_string()))?;
        let mut ready = self.0.clone().ready().await.map_err(|error| broken(&error))?;
        let (response, mut sending) = ready.send_request(request, false).map_err(|error| broken(&error))?;
        sending.send_data(Bytes::from_static(&NOTHING), true).map_err(|error| broken(&error))?;
        let (head, body) = response.await.map_err(|error| broken(&error))?.into_parts();
        if head.status != StatusCode::OK {
            return Err(Down::wrong(format!("speaks HTTP/2, but no gRPC: {}", head.status)));
        }
        // An error without a message has its status among the headers.
        status_of(&head.headers)?;
        message(body).await
    }
}

async fn message(mut body: RecvStream) -> Result<Vec<u8>, Down> {
    let mut frame = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.map_err(|error| broken(&error))?;
        if frame.len() + data.len() > MESSAGE_LIMIT_BYTES {
            return Err(Down::wrong(format!("its answer has more than {MESSAGE_LIMIT_BYTES} bytes")));
        }
        body.flow_control().release_capacity(data.len()).map_err(|error| broken(&error))?;
        frame.extend_from_slice(&data);
    }
    let trailers = body.trailers().await.map_err(|error| broken(&error))?;
    trailers.as_ref().map_or(Ok(()), status_of)?;
    unframed(frame)
}

fn unframed(mut frame: Vec<u8>) -> Result<Vec<u8>, Down> {
    let length = frame.first_chunk::<FRAME_BYTES>().filter(|head| head[0] == 0);
    let length = length.and_then(|head| usize::try_from(u32::from_be_bytes([head[1], head[2], head[3], head[4]])).ok());
    if length != frame.len().checked_sub(FRAME_BYTES) {
        return Err(Down::wrong("its answer is no message of gRPC"));
    }
    Ok(frame.split_off(FRAME_BYTES))
}

fn status_of(headers: &HeaderMap) -> Result<(), Down> {
    let Some(status) = headers.get("grpc-status") else { return Ok(()) };
    let message = headers.get("grpc-message").map(|value| text::message(value.as_bytes())).unwrap_or_default();
    let words = text::cut(&message, WORDS_LIMIT_BYTES);
    match status.to_str() {
        Ok("0") => Ok(()),
        Ok(UNIMPLEMENTED) => Err(Down::wrong(format!("does not speak the Container Runtime Interface v1: {words}"))),
        status => Err(Down::wrong(format!("answers with gRPC status {}: {words}", status.unwrap_or("?")))),
    }
}

fn broken(error: &h2::Error) -> Down {
    Down::wrong(format!("no answer of gRPC: {error}"))
}
