//! One HTTP/1.1 connection over the socket, ended when it is dropped.

use std::path::Path;

use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::{net::UnixStream, task::JoinHandle};

use crate::ClientError;

/// The sending half, and the task that moves the bytes.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Connection {
    pub(crate) async fn open(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).await.map_err(|error| ClientError::connecting(path, error))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| ClientError::broken(&error))?;
        let driver = tokio::spawn(async move {
            // A caller that waits for the answer gets the error from the sender or the body.
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError> {
        self.sender.ready().await.map_err(|error| ClientError::broken(&error))?;
        self.sender.send_request(request).await.map_err(|error| ClientError::broken(&error))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
