//! What one request goes through: credentials, TLS, TCP, and a count of the answers. Our own stack instead of kube's:
//! that one repeats requests behind our back when the server answers 429 (which is how a disruption budget refuses),
//! leaves Nagle's algorithm on, and waits for a dead connection as long as the kernel does, a quarter of an hour.

use std::{error::Error as _, path::Path, sync::Arc, time::Duration};

use hyper::Request;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt},
    config::{KubeConfigOptions, Kubeconfig},
};
use tower::{BoxError, service_fn};

use super::{
    counted::{Asked, Requests},
    wire::with_sources,
};

/// A lost SYN is sent again after one second: two tries.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that the other side's kernel has not confirmed for so long never will be.
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_secs(4);
/// An idle connection (a quiet watch) is asked after so long; with the time above a dead one is noticed within 9 s, so
/// that a blind controller knows it before any node's Lease looks stale.
const ASK_IDLE_AFTER: Duration = Duration::from_secs(5);

/// What the unit passes in for a file that is not there (`SetCredential=`).
const ABSENT: &str = "absent";

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{path}: cannot be read as a kubeconfig: {source}; name another by `kubeconfig` or --kubeconfig")]
    Kubeconfig { path: String, source: kube::config::KubeconfigError },
    #[error(
        "/etc/nodewell/controller.kubeconfig is not there, so there is no way to the API server; write it as in \
         docs/remediation.md (First steps), then: systemctl restart nodewell-controller"
    )]
    Absent,
    #[error(
        "no kubeconfig was named and none is found ({0}); name one by --kubeconfig FILE, by `kubeconfig` in the \
         configuration, or in the variable KUBECONFIG"
    )]
    NotFound(String),
    #[error("the kubeconfig's credentials cannot be used: {0}")]
    Credentials(#[from] kube::Error),
}

/// A client by `kubeconfig`, or by what this machine offers (`KUBECONFIG`, `~/.kube/config`, a pod's service account).
/// Reads files, and runs an exec plug-in if the file names one; sends nothing.
pub async fn connect(kubeconfig: Option<&Path>, requests: Arc<Requests>) -> Result<Client, ConnectError> {
    let config = match kubeconfig {
        Some(path) => of_file(path).await?,
        None => Config::infer().await.map_err(|error| ConnectError::NotFound(error.to_string()))?,
    };
    client(config, requests)
}

/// A client by this configuration.
pub fn client(config: Config, requests: Arc<Requests>) -> Result<Client, ConnectError> {
    let https = config.rustls_https_connector_with_connector(tcp())?;
    let (headers, auth) = (config.extra_headers_layer()?, config.auth_layer()?);
    let service: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(https);
    let service = service_fn(move |request: Request<Body>| {
        let (asked, requests) = (Asked::of(&request), Arc::clone(&requests));
        let server = server(&request);
        let answer = service.request(request);
        async move {
            let answer = answer.await;
            requests.count(asked, answer.as_ref().map_or(0, |response| response.status().as_u16()));
            answer.map_err(|error| BoxError::from(unanswered(&server, &error)))
        }
    });
    let builder = ClientBuilder::new(service, config.default_namespace.clone()).with_layer(&headers);
    Ok(match &auth {
        Some(auth) => builder.with_layer(auth).with_layer(&config.base_uri_layer()).build(),
        None => builder.with_layer(&config.base_uri_layer()).build(),
    })
}

/// `https://10.0.0.1:6443`: which server did not answer is half of the message.
fn server(request: &Request<Body>) -> String {
    let uri = request.uri();
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    format!("{}://{authority}", uri.scheme_str().unwrap_or("http"))
}

/// What lies under the client's own `client error (Connect)`, if anything does.
fn unanswered(server: &str, error: &legacy::Error) -> String {
    let why = error.source().map_or_else(|| error.to_string(), with_sources);
    format!("{server}: {why}")
}

async fn of_file(path: &Path) -> Result<Config, ConnectError> {
    let failed = |source| ConnectError::Kubeconfig { path: path.display().to_string(), source };
    if std::fs::read_to_string(path).is_ok_and(|text| text.trim() == ABSENT) {
        return Err(ConnectError::Absent);
    }
    let read = Kubeconfig::read_from(path).map_err(failed)?;
    Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(failed)
}

fn tcp() -> HttpConnector {
    let mut connector = HttpConnector::new();
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

    #[tokio::test]
    async fn a_unit_without_a_kubeconfig_says_which_file_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, ABSENT).unwrap();
        let error = of_file(&file).await.unwrap_err();
        assert!(matches!(error, ConnectError::Absent));
        for part in ["/etc/nodewell/controller.kubeconfig is not there", "systemctl restart nodewell-controller"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let unit = include_str!("../../../systemd/nodewell-controller.service");
        assert!(unit.contains(&format!("\nSetCredential=kubeconfig:{ABSENT}\n")), "the unit passes in another text");
        assert!(!unit.contains("\nConditionPathExists="), "a condition that is not met is silent");
        std::fs::write(&file, "").unwrap();
        assert!(!matches!(of_file(&file).await, Err(ConnectError::Absent)));
    }
}
