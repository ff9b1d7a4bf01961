//! TLS with a BMC: by the authorities of a file or the host's, or, as BMCs leave the factory, with any peer. An impostor
//! could then learn the password, as he could from the agent; he could not have another machine turned off by it.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use nodewell_tls::Unverified;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, client::Resumption, crypto::ring, pki_types::ServerName},
};

/// The host's authorities are some 150 certificates: they are read once in so long and not for each question.
const HOST_AGE: Duration = Duration::from_secs(600);

/// Which certificates are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust<'a> {
    /// Those that the host's authorities signed.
    HostAuthorities,
    /// Those that an authority in this file signed, and no other's.
    AuthoritiesOf(&'a Path),
    /// `ssl_insecure`.
    Unverified,
}

pub(super) async fn connect(stream: TcpStream, host: &str, trust: Trust<'_>) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(config(trust)?).connect(name, stream).await
}

fn config(trust: Trust<'_>) -> io::Result<Arc<ClientConfig>> {
    static HOST: Mutex<Option<(Instant, Arc<ClientConfig>)>> = Mutex::new(None);
    if trust != Trust::HostAuthorities {
        return made(trust).map(Arc::new);
    }
    let mut host = HOST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, config)) = &*host
        && at.elapsed() < HOST_AGE
    {
        return Ok(Arc::clone(config));
    }
    let config = Arc::new(made(trust)?);
    *host = Some((Instant::now(), Arc::clone(&config)));
    Ok(config)
}

fn made(trust: Trust<'_>) -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = match trust {
        Trust::HostAuthorities => builder.with_root_certificates(roots()).with_no_client_auth(),
        Trust::AuthoritiesOf(file) => builder.with_root_certificates(roots_of(file)?).with_no_client_auth(),
        Trust::Unverified => {
            let verifier = Arc::new(Unverified(provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    // Who answers is looked at each time.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn roots_of(file: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_certs_from_paths(Some(file), None).certs);
    if roots.is_empty() {
        return Err(io::Error::other(format!("[fencing] ca-file: {} has no certificate (PEM)", file.display())));
    }
    Ok(roots)
}

/// Without any, no certificate is taken.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
