//! What one request goes through: credentials, TLS, TCP. Our own stack instead of kube's: that one leaves Nagle's
//! algorithm on, which holds every second write back until the server's delayed ACK (40 ms), retries 429 and 503 behind
//! our back, logs every failure as an error, and waits for a dead connection as long as the kernel does: a quarter of
//! an hour. And it would bring YAML and JSONPath into locked memory.

use std::time::Duration;

use hyper::{
    Request, Uri,
    header::{AUTHORIZATION, HeaderValue, InvalidHeaderValue},
    http::uri::{InvalidUri, PathAndQuery},
};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use nodewell_tls::{Shown, TlsError, Trust, client_config};
use tokio_rustls::rustls::pki_types::{InvalidDnsNameError, ServerName};
use tower::ServiceExt;

use super::{
    api_client::{ApiClient, RequestBody},
    resolver::Resolver,
};
use crate::identity::{Cluster, Credentials};

/// The kernel sends a lost SYN again after one second: a client that tries so often finds within two that the network
/// is back.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that the other side's kernel has not confirmed for so long never will be: a slow server confirms them at once.
/// They were sent again after 0.2, 0.6, 1.4 and 3 s; the next time would be after 6.2 s.
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_secs(4);
/// An idle connection is asked after so long, and has the time above to answer: a dead one is noticed within 15 s. The
/// kernel does it; no task is woken.
const ASK_IDLE_AFTER: Duration = Duration::from_secs(9);

type Build = Box<dyn Fn() -> ApiClient + Send + Sync>;

/// Why no client can be made of credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableCredentials {
    #[error("server {server:?} is no URL: {source}")]
    Server { server: String, source: InvalidUri },
    #[error("server {server:?} names no scheme or no host, as in https://10.0.0.1:6443")]
    Incomplete { server: String },
    #[error("proxy-url is not supported")]
    Proxy,
    #[error("tls-server-name: {0}")]
    ServerName(InvalidDnsNameError),
    #[error("the token cannot be sent: {0}")]
    Token(InvalidHeaderValue),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Makes clients from credentials that were read once.
pub(super) struct ClientFactory(Build);

impl ClientFactory {
    pub(super) fn new(credentials: &Credentials, resolver: Resolver) -> Result<Self, UnusableCredentials> {
        let Credentials { cluster, secret } = credentials;
        if cluster.proxy_url.is_some() {
            return Err(UnusableCredentials::Proxy);
        }
        let https = https(credentials, resolver)?;
        let server = base_of(&cluster.server)?;
        let token = secret.token.as_ref().map(|token| bearer(token)).transpose().map_err(UnusableCredentials::Token)?;
        Ok(Self(Box::new(move || {
            // The server closes what it does not want to keep (a kube-apiserver after 90 s).
            let service: legacy::Client<_, RequestBody> =
                legacy::Client::builder(TokioExecutor::new()).pool_idle_timeout(None).build(https.clone());
            let (server, token) = (server.clone(), token.clone());
            ApiClient::new(service.map_request(move |request| addressed(request, &server, token.as_ref())))
        })))
    }

    /// For one that was made elsewhere.
    pub(super) fn given(client: ApiClient) -> Self {
        Self(Box::new(move || client.clone()))
    }

    /// A client with connections of its own.
    pub(super) fn client(&self) -> ApiClient {
        (self.0)()
    }
}

fn https(
    credentials: &Credentials,
    resolver: Resolver,
) -> Result<HttpsConnector<HttpConnector<Resolver>>, UnusableCredentials> {
    let Credentials { cluster, secret } = credentials;
    let shown = secret.certificate.as_ref().map(|keyed| Shown { certificate: &keyed.certificate, key: &keyed.key });
    let config = client_config(trust(cluster), shown)?;
    let builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
    let builder = match &cluster.tls_server_name {
        Some(name) => {
            let name = ServerName::try_from(name.clone()).map_err(UnusableCredentials::ServerName)?;
            builder.with_server_name_resolver(FixedServerNameResolver::new(name))
        }
        None => builder,
    };
    Ok(builder.enable_http1().wrap_connector(tcp(resolver)))
}

fn trust(cluster: &Cluster) -> Trust<'_> {
    match &cluster.authority {
        _ if cluster.insecure_skip_tls_verify == Some(true) => Trust::Unverified,
        Some(authority) => Trust::Authorities(&authority.0),
        None => Trust::HostAuthorities,
    }
}

/// The server's address, which may have a path.
fn base_of(server: &str) -> Result<Uri, UnusableCredentials> {
    let invalid = |source| UnusableCredentials::Server { server: server.to_owned(), source };
    let base: Uri = server.parse().map_err(invalid)?;
    if base.scheme().is_none() || base.authority().is_none() {
        return Err(UnusableCredentials::Incomplete { server: server.to_owned() });
    }
    Ok(base)
}

fn bearer(token: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The request for a path, as one to `server`.
fn addressed(mut request: Request<RequestBody>, server: &Uri, token: Option<&HeaderValue>) -> Request<RequestBody> {
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    let path = format!("{}{path}", server.path().trim_end_matches('/'));
    let mut parts = server.clone().into_parts();
    parts.path_and_query = path.parse().ok();
    // A path behind a path is one, and scheme and host are there.
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    if let Some(token) = token {
        request.headers_mut().insert(AUTHORIZATION, token.clone());
    }
    request
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(server: &str, path: &str) -> String {
        let request = Request::get(path).body(RequestBody::default()).unwrap();
        addressed(request, &base_of(server).unwrap(), None).uri().to_string()
    }

    #[test]
    fn a_path_is_asked_of_the_server_and_behind_its_own_path() {
        let path = "/api/v1/nodes/n1/status?fieldManager=nodewell";
        assert_eq!(asked("https://10.0.0.1:6443", path), format!("https://10.0.0.1:6443{path}"));
        assert_eq!(asked("https://[::1]:6443/", path), format!("https://[::1]:6443{path}"));
        assert_eq!(asked("https://rancher/k8s/clusters/c-1/", path), format!("https://rancher/k8s/clusters/c-1{path}"));
    }

    #[test]
    fn a_token_is_a_header_that_no_log_shows() {
        let request = Request::get("/").body(RequestBody::default()).unwrap();
        let request = addressed(request, &Uri::from_static("https://h"), Some(&bearer("secret").unwrap()));
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer secret");
        assert!(!format!("{:?}", request.headers()).contains("secret"));
        assert!(bearer("line\nbreak").is_err());
    }

    #[test]
    fn an_address_without_scheme_or_host_is_named() {
        for server in ["10.0.0.1:6443", "/k8s", "localhost", "https://", "http s://h"] {
            let error = base_of(server).unwrap_err().to_string();
            assert!(error.starts_with(&format!("server {server:?}")), "{error}");
        }
    }

    #[test]
    fn the_authority_is_passed_over_only_where_the_kubeconfig_says_so() {
        let authority = Some(k8s_openapi::ByteString(b"PEM".to_vec()));
        let cluster = |authority, insecure_skip_tls_verify| Cluster {
            server: "https://h".to_owned(),
            authority,
            tls_server_name: None,
            insecure_skip_tls_verify,
            proxy_url: None,
        };
        assert_eq!(trust(&cluster(authority.clone(), None)), Trust::Authorities(b"PEM"));
        assert_eq!(trust(&cluster(authority.clone(), Some(false))), Trust::Authorities(b"PEM"));
        assert_eq!(trust(&cluster(authority, Some(true))), Trust::Unverified);
        assert_eq!(trust(&cluster(None, None)), Trust::HostAuthorities);
    }
}
