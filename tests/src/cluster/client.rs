//! A client for API servers that hides nothing: every answer is its code and its body.

use http_body_util::BodyExt;
use hyper::{Method, Request, header};
use kube::{
    Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{runtime::block_on, wait::PATIENCE};

/// The header with which the agent asks for metadata only.
const ACCEPT_METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// One request.
#[derive(Debug, Clone)]
pub struct Call {
    method: Method,
    path: String,
    content_type: &'static str,
    accept: &'static str,
    body: Vec<u8>,
}

impl Call {
    fn new(method: Method, path: &str, content_type: &'static str, body: &Value) -> Self {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        Self { method, path: path.to_owned(), content_type, accept: "application/json", body }
    }

    #[must_use]
    pub fn get(path: &str) -> Self {
        Self::new(Method::GET, path, "application/json", &Value::Null)
    }

    #[must_use]
    pub fn delete(path: &str) -> Self {
        Self::new(Method::DELETE, path, "application/json", &Value::Null)
    }

    #[must_use]
    pub fn post(path: &str, body: &Value) -> Self {
        Self::new(Method::POST, path, "application/json", body)
    }

    #[must_use]
    pub fn apply(path: &str, body: &Value) -> Self {
        Self::new(Method::PATCH, path, "application/apply-patch+yaml", body)
    }

    #[must_use]
    pub fn strategic_merge(path: &str, body: &Value) -> Self {
        Self::new(Method::PATCH, path, "application/strategic-merge-patch+json", body)
    }

    #[must_use]
    pub fn merge(path: &str, body: &Value) -> Self {
        Self::new(Method::PATCH, path, "application/merge-patch+json", body)
    }

    fn request(&self) -> Request<Body> {
        Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header(header::CONTENT_TYPE, self.content_type)
            .header(header::ACCEPT, self.accept)
            .body(Body::from(self.body.clone()))
            .unwrap()
    }

    /// The same with a content type that no server knows.
    #[must_use]
    pub fn as_nonsense(self) -> Self {
        Self { content_type: "application/nonsense", ..self }
    }

    /// The same, asking for metadata only.
    #[must_use]
    pub fn metadata_only(self) -> Self {
        Self { accept: ACCEPT_METADATA, ..self }
    }
}

/// A connection of one identity.
#[derive(Clone)]
pub struct Client(kube::Client);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// # Panics
    /// If the kubeconfig is none.
    #[must_use]
    pub fn new(kubeconfig: &Value) -> Self {
        let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig.clone()).unwrap();
        block_on(async {
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
            config.default_retry = false;
            Self(kube::Client::try_from(config).unwrap())
        })
    }

    /// A header of the answer; empty if there was no answer, or none such.
    #[must_use]
    pub fn header(&self, call: &Call, name: &str) -> String {
        let answer = block_on(async { timeout(PATIENCE, self.0.send(call.request())).await });
        let header = answer.ok().and_then(Result::ok).and_then(|answer| answer.headers().get(name).cloned());
        header.and_then(|value| value.to_str().map(str::to_owned).ok()).unwrap_or_default()
    }

    /// The code and the JSON of the answer; code 0 and the reason if there was none.
    #[must_use]
    pub fn call(&self, call: &Call) -> (u16, Value) {
        let request = call.request();
        let exchange = async {
            let answer = self.0.send(request).await.map_err(|error| error.to_string())?;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
            let text = || Value::from(String::from_utf8_lossy(&body));
            Ok((code, serde_json::from_slice(&body).unwrap_or_else(|_| text())))
        };
        let answer = block_on(async { timeout(PATIENCE, exchange).await });
        answer.unwrap_or_else(|late| Err(late.to_string())).unwrap_or_else(|error: String| (0, error.into()))
    }

    /// Asks for a watch and hands each event of it on as it comes, until the server ends it; nothing if it does not answer.
    ///
    /// # Panics
    /// If what comes is not JSON in lines.
    pub async fn follow(&self, call: &Call, mut take: impl FnMut(Value)) {
        let Ok(answer) = self.0.send(call.request()).await else { return };
        let mut body = answer.into_body();
        let mut rest = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            rest.extend(frame.into_data().unwrap_or_default());
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                take(serde_json::from_slice(&line).unwrap());
            }
        }
    }
}
