//! What one request goes through: credentials, TLS, TCP. Our own stack instead of kube's: that one leaves Nagle's
//! algorithm on, which holds every second write back until the server's delayed ACK (40 ms), retries 429 and 503 behind
//! our back, logs every failure as an error, and waits for a dead connection as long as the kernel does: a quarter of
//! an hour.

use std::time::Duration;

use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt},
};
use tower::{BoxError, ServiceExt};

use super::resolver::Resolver;

/// The kernel sends a lost SYN again after one second: a client that tries so often finds within two that the network
/// is back.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that the other side's kernel has not confirmed for so long never will be: a slow server confirms them at once.
/// They were sent again after 0.2, 0.6, 1.4 and 3 s; the next time would be after 6.2 s.
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_secs(4);
/// An idle connection is asked after so long, and has the time above to answer: a dead one is noticed within 15 s. The
/// kernel does it; no task is woken.
const ASK_IDLE_AFTER: Duration = Duration::from_secs(9);

type Build = Box<dyn Fn() -> Client + Send + Sync>;

/// Makes clients from credentials that were read once.
pub(super) struct ClientFactory(Build);

impl ClientFactory {
    pub(super) fn new(config: Config, resolver: Resolver) -> kube::Result<Self> {
        let https = config.rustls_https_connector_with_connector(tcp(resolver))?;
        let headers = config.extra_headers_layer()?;
        let auth = config.auth_layer()?;
        Ok(Self(Box::new(move || {
            // The server closes what it does not want to keep (a kube-apiserver after 90 s).
            let service: legacy::Client<_, Body> =
                legacy::Client::builder(TokioExecutor::new()).pool_idle_timeout(None).build(https.clone());
            // The credentials' layer fails with boxed errors only.
            let builder = ClientBuilder::new(service.map_err(BoxError::from), config.default_namespace.clone());
            let builder = builder.with_layer(&headers);
            match &auth {
                Some(auth) => builder.with_layer(auth).with_layer(&config.base_uri_layer()).build(),
                None => builder.with_layer(&config.base_uri_layer()).build(),
            }
        })))
    }

    /// For one that was made elsewhere.
    pub(super) fn given(client: Client) -> Self {
        Self(Box::new(move || client.clone()))
    }

    /// A client with connections of its own.
    pub(super) fn client(&self) -> Client {
        (self.0)()
    }
}

fn tcp(resolver: Resolver) -> HttpConnector<Resolver> {
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(ASK_IDLE_AFTER));
    connector.set_keepalive_interval(Some(UNCONFIRMED_TIMEOUT));
    connector.set_tcp_user_timeout(Some(UNCONFIRMED_TIMEOUT));
    connector
}
