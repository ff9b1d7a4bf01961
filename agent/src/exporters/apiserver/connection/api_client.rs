//! A client of one API server: takes a request for a path, and knows whose server that is and who asks.

use std::{fmt, io};

use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Body, Bytes},
};
use tower::{BoxError, Service, ServiceExt, util::BoxCloneSyncService};

/// What is sent.
pub type RequestBody = Full<Bytes>;
/// What comes back.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;

/// Clones share their connections.
#[derive(Clone)]
pub struct ApiClient(BoxCloneSyncService<Request<RequestBody>, Response<AnswerBody>, BoxError>);

impl ApiClient {
    /// By `service`, which gets requests without scheme, host and credentials.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let boxed = |response: Response<B>| response.map(|body| body.map_err(io::Error::other).boxed_unsync());
        Self(BoxCloneSyncService::new(service.map_response(boxed).map_err(Into::into)))
    }

    pub(crate) async fn send(&self, request: Request<RequestBody>) -> Result<Response<AnswerBody>, BoxError> {
        self.0.clone().oneshot(request).await
    }
}

impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiClient")
    }
}
