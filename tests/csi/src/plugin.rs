//! The driver as a program on a node: its socket, and the one by which the kubelet finds it.

#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use thiserror::Error;
use tokio::{net::UnixListener, sync::watch};

use crate::{DRIVER, driver::Driver, grpc::serve, registration::Registration};

/// What ends the program.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{}: {error}; the kubelet's folder has to be there, and to be root's", path.display())]
    Socket { path: PathBuf, error: io::Error },
    /// It is registered when its socket is made again, as systemd does by starting the program again.
    #[error("the kubelet has not registered the driver: {0}")]
    Refused(String),
}

/// What it is started with.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// The Node's name.
    pub node: String,
    /// Where each volume is a folder.
    pub volumes: PathBuf,
    /// The kubelet's folder.
    pub kubelet: PathBuf,
}

impl Plugin {
    /// The driver's socket.
    #[must_use]
    pub fn endpoint(&self) -> PathBuf {
        self.kubelet.join("plugins").join(DRIVER).join("csi.sock")
    }

    /// The socket by which the kubelet finds it.
    #[must_use]
    pub fn registry(&self) -> PathBuf {
        self.kubelet.join("plugins_registry").join(format!("{DRIVER}-reg.sock"))
    }

    /// Serves until a socket breaks, or the kubelet refuses the driver.
    ///
    /// # Errors
    /// Which of these it was.
    pub async fn run(self) -> Result<Infallible, Error> {
        let (endpoint, registry) = (self.endpoint(), self.registry());
        let (refusal, mut refused) = watch::channel(None);
        // The kubelet asks the driver as soon as it has found it.
        let driver = serve(listen(&endpoint)?, Arc::new(Driver { node: self.node, volumes: self.volumes }));
        let registration = Arc::new(Registration { endpoint: endpoint.clone(), refusal });
        let registration = serve(listen(&registry)?, registration);
        tokio::select! {
            error = driver => Err(Error::Socket { path: endpoint, error }),
            error = registration => Err(Error::Socket { path: registry, error }),
            why = refused.wait_for(Option::is_some) => {
                Err(Error::Refused(why.ok().and_then(|why| why.clone()).unwrap_or_default()))
            }
        }
    }
}

/// In place of the socket that an earlier run has left.
fn listen(path: &Path) -> Result<UnixListener, Error> {
    let failed = |error| Error::Socket { path: path.to_owned(), error };
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    UnixListener::bind(path).map_err(failed)
}
