//! A server of gRPC over HTTP/2 (`grpc/grpc` doc/PROTOCOL-HTTP2.md): unary calls over a Unix socket.

#[cfg(test)]
mod tests;

use std::{io, sync::Arc};

use h2::{RecvStream, server::SendResponse};
use hyper::{
    HeaderMap, Request, Response,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use tokio::{
    io::{duplex, join},
    net::{UnixListener, UnixStream},
    task::JoinSet,
};

use crate::{authority, wire::Malformed};

/// A kubelet's requests have some hundred bytes.
const MESSAGE_LIMIT_BYTES: usize = 64 * 1024;
/// As much as a frame has.
const PASSED_BYTES: usize = 16 * 1024;
/// Not compressed, four bytes of length.
const FRAME_BYTES: usize = 5;

/// Why a call fails, as the client is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    code: Code,
    message: String,
}

/// Of gRPC's codes those that are answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument = 3,
    NotFound = 5,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Internal = 13,
}

impl Status {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<Malformed> for Status {
    fn from(malformed: Malformed) -> Self {
        Self::new(Code::InvalidArgument, malformed.to_string())
    }
}

/// What a socket serves.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers `/package.Service/Method`.
    fn call(&self, method: &str, message: &[u8]) -> Result<Vec<u8>, Status>;
}

/// Serves until the socket breaks; gives why.
pub(crate) async fn serve(listener: UnixListener, service: Arc<impl Service>) -> io::Error {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(&service)))),
            Err(error) => return error,
        }
    }
}

/// A client that breaks the protocol loses its connection, and calls again.
async fn converse(stream: UnixStream, service: Arc<impl Service>) -> Result<(), h2::Error> {
    let (sent, answers) = stream.into_split();
    let (client, server) = duplex(PASSED_BYTES);
    // It ends with the connection.
    let mut passing = JoinSet::new();
    passing.spawn(authority::pass(sent, client));
    let mut connection = h2::server::handshake(join(server, answers)).await?;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        // The connection has to be polled for the request's message to come.
        drop(tokio::spawn(answer(request, respond, Arc::clone(&service))));
    }
    Ok(())
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    service: Arc<impl Service>,
) -> Result<(), h2::Error> {
    let (head, body) = request.into_parts();
    let received = received(body).await?;
    let answered = received.and_then(|message| service.call(head.uri.path(), &message));
    let mut response = Response::new(());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    match answered {
        Ok(message) => {
            let mut sending = respond.send_response(response, false)?;
            sending.send_data(framed(&message), false)?;
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from_static("0"));
            sending.send_trailers(trailers)
        }
        Err(status) => {
            response.headers_mut().insert("grpc-status", HeaderValue::from(status.code as u16));
            response.headers_mut().insert("grpc-message", percent_encoded(&status.message));
            respond.send_response(response, true).map(drop)
        }
    }
}

async fn received(mut body: RecvStream) -> Result<Result<Vec<u8>, Status>, h2::Error> {
    let mut frame = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        if frame.len() + data.len() > MESSAGE_LIMIT_BYTES {
            return Ok(Err(Status::new(Code::InvalidArgument, "the message is too long")));
        }
        frame.extend_from_slice(&data);
    }
    Ok(unframed(frame))
}

fn unframed(mut frame: Vec<u8>) -> Result<Vec<u8>, Status> {
    let head = frame.first_chunk::<FRAME_BYTES>().filter(|head| head[0] == 0);
    let length = head.and_then(|head| usize::try_from(u32::from_be_bytes([head[1], head[2], head[3], head[4]])).ok());
    if length.is_none() || length != frame.len().checked_sub(FRAME_BYTES) {
        return Err(Status::new(Code::InvalidArgument, "not one message of gRPC that is not compressed"));
    }
    Ok(frame.split_off(FRAME_BYTES))
}

fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).expect("answers are short").to_be_bytes();
    Bytes::from([&[0], &length[..], message].concat())
}

/// As the protocol has it for what is no printable ASCII.
fn percent_encoded(text: &str) -> HeaderValue {
    let encode = |byte: u8| match byte {
        b'%' | 0..0x20 | 0x7f.. => format!("%{byte:02X}"),
        _ => char::from(byte).to_string(),
    };
    let encoded: String = text.bytes().map(encode).collect();
    HeaderValue::try_from(encoded).expect("printable ASCII is a header's value")
}
