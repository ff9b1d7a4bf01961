//! Names of API servers: asked of the system on one thread at most, and remembered, so that an outage of the DNS or a
//! disk that hangs under the resolver's libraries does not cut us off from a server that we know.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    net::{SocketAddr, ToSocketAddrs},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
    vec,
};

use hyper_util::client::legacy::connect::dns::Name;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tower::Service;

/// Past this we go by what we know, where we know something.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Looks names up. Clones share what they know.
#[derive(Clone)]
pub(super) struct Resolver {
    known: Arc<Mutex<BTreeMap<String, Vec<SocketAddr>>>>,
    /// A lookup cannot be called off: one that hangs must not collect threads.
    thread: Arc<Semaphore>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self { known: Arc::default(), thread: Arc::new(Semaphore::new(1)) }
    }
}

type Lookup = Pin<Box<dyn Future<Output = io::Result<vec::IntoIter<SocketAddr>>> + Send>>;

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Lookup;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Lookup {
        let resolver = self.clone();
        Box::pin(async move { resolver.look_up(name.as_str(), system).await.map(Vec::into_iter) })
    }
}

/// As the host looks names up.
fn system(host: &str) -> io::Result<Vec<SocketAddr>> {
    // The port is put in by the connector.
    Ok((host, 0).to_socket_addrs()?.collect())
}

impl Resolver {
    async fn look_up(&self, host: &str, ask: fn(&str) -> io::Result<Vec<SocketAddr>>) -> io::Result<Vec<SocketAddr>> {
        match self.ask(host.to_owned(), ask).await {
            Ok(addresses) if !addresses.is_empty() => {
                self.lock().insert(host.to_owned(), addresses.clone());
                Ok(addresses)
            }
            failed => self.lock().get(host).cloned().map_or(failed, Ok),
        }
    }

    async fn ask(&self, host: String, ask: fn(&str) -> io::Result<Vec<SocketAddr>>) -> io::Result<Vec<SocketAddr>> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the lookup of its name hangs");
        let asked = async {
            let permit = self.thread.clone().acquire_owned().await.map_err(io::Error::other)?;
            let lookup = spawn_blocking(move || {
                let _permit = permit;
                ask(&host)
            });
            lookup.await.map_err(io::Error::other)?
        };
        timeout(TIMEOUT, asked).await.map_err(late)?
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<SocketAddr>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(_: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from(([10, 0, 0, 1], 0))])
    }

    #[tokio::test]
    async fn what_was_known_stands_in_for_a_lookup_that_fails() {
        let resolver = Resolver::default();
        let fails = |_: &str| Err(io::Error::other("no DNS"));
        assert!(resolver.look_up("api", fails).await.is_err());
        assert_eq!(resolver.look_up("api", found).await.unwrap().len(), 1);
        assert_eq!(resolver.look_up("api", fails).await.unwrap(), found("").unwrap());
        assert!(resolver.look_up("other", fails).await.is_err());
    }

    #[tokio::test]
    async fn a_lookup_that_hangs_holds_one_thread_and_delays_no_caller() {
        let resolver = Resolver::default();
        assert_eq!(resolver.look_up("api", found).await.unwrap().len(), 1);
        // As if a thread were out there and did not come back.
        let _gone = resolver.thread.clone().acquire_owned().await.unwrap();
        tokio::time::pause();
        assert_eq!(resolver.look_up("api", found).await.unwrap(), found("").unwrap());
        assert_eq!(resolver.look_up("other", found).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
