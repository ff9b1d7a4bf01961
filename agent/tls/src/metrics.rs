//! `[metrics-tls]`, of the agent and of the controller: how a Prometheus that is not on the host reads their metrics,
//! and which clients may.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nodewell_settings::{
    Key, ReadKeys, Report, Table,
    kind::{Maybe, Path},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Semaphore,
    task::spawn_blocking,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{ServerError, ServerFiles};

/// It takes milliseconds, the reading of the files included.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The table's values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricsTls {
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub client_ca: Option<PathBuf>,
}

impl Table for MetricsTls {
    const NAME: &'static str = "[metrics-tls]";
    const ABOUT: &'static str = "Metrics over TLS, for a Prometheus on another host; all files are PEM, and are read \
                                 for each connection, so that renewed ones need no restart.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("cert", |it| &mut it.cert, Maybe(Path))
                .help("The certificate that is shown, with its chain; if unset, there is no TLS.")
                .example(r#""/etc/nodewell/tls/metrics.crt""#),
            Self::key("key", |it| &mut it.key, Maybe(Path))
                .help("Of that certificate; the service's user has to be able to read it.")
                .example(r#""/etc/nodewell/tls/metrics.key""#),
            Self::key("client-ca", |it| &mut it.client_ca, Maybe(Path))
                .help(
                    "Clients have to show a certificate that an authority in this file signed; if unset, any may read.",
                )
                .example(r#""/etc/nodewell/tls/prometheus-ca.crt""#),
        ]
    }

    /// A certificate without its key would be no TLS, and an authority without both would guard nothing.
    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        let has = |key| read.section.has(key);
        if has("cert") != has("key") || (has("client-ca") && !has("cert")) {
            report.error(read.section.at, "[metrics-tls] takes cert and key together, and client-ca only beside them");
        }
    }
}

impl MetricsTls {
    /// Nothing: the metrics are served without TLS.
    #[must_use]
    pub fn files(&self) -> Option<ServerFiles> {
        let (certificate, key) = (self.cert.clone()?, self.key.clone()?);
        Some(ServerFiles { certificate, key, client_authority: self.client_ca.clone() })
    }

    /// The same as what serves by them. Files that cannot be used are logged now, and read again for each connection.
    #[must_use]
    pub fn guard(&self) -> Option<TlsGuard> {
        let guard =
            TlsGuard { files: self.files()?, turn: Arc::new(Semaphore::new(1)), is_logged: AtomicBool::new(false) };
        let _ = guard.usable(guard.files.acceptor());
        Some(guard)
    }
}

/// What lets clients in. With files that cannot be used it lets none in: without TLS nothing is served.
#[derive(Debug)]
pub struct TlsGuard {
    files: ServerFiles,
    /// A disk that answers nothing holds one thread, however many ask.
    turn: Arc<Semaphore>,
    /// That they cannot be used was logged.
    is_logged: AtomicBool,
}

impl TlsGuard {
    /// The stream to talk over; nothing for a client that is no client of TLS, shows no certificate that is taken, or
    /// stalls.
    pub async fn let_in<S>(&self, stream: S) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = async { self.acceptor().await?.accept(stream).await.ok() };
        timeout(HANDSHAKE_TIMEOUT, handshake).await.ok()?
    }

    /// Files are read on a thread of their own: the disk below them may be the one that is dead.
    async fn acceptor(&self) -> Option<TlsAcceptor> {
        let (turn, files) = (Arc::clone(&self.turn).acquire_owned().await.ok()?, self.files.clone());
        let reading = spawn_blocking(move || {
            let read = files.acceptor();
            drop(turn);
            read
        });
        self.usable(reading.await.ok()?)
    }

    fn usable(&self, read: Result<TlsAcceptor, ServerError>) -> Option<TlsAcceptor> {
        match read {
            Ok(acceptor) => {
                self.is_logged.store(false, Ordering::Relaxed);
                Some(acceptor)
            }
            Err(error) => {
                if !self.is_logged.swap(true, Ordering::Relaxed) {
                    tracing::error!(%error, "no metrics: [metrics-tls] names a file that cannot be used");
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, path::Path as FilePath, sync::mpsc, thread};

    use nodewell_settings::read_text;
    use tokio::time::sleep;

    use super::*;

    fn read(text: &str) -> Result<MetricsTls, String> {
        let mut table = MetricsTls::default();
        match read_text(&mut table, FilePath::new("c.toml"), text) {
            Ok(_) => Ok(table),
            Err(diagnostics) => Err(diagnostics[0].to_string()),
        }
    }

    #[test]
    fn a_half_set_table_is_an_error_and_not_plain_text() {
        assert!(read("").unwrap().guard().is_none());
        let pair = "cert = \"/c\"\nkey = \"/k\"\n";
        assert_eq!(read(pair).unwrap().files().unwrap().client_authority, None);
        let whole = read(&format!("{pair}client-ca = \"/a\"\n")).unwrap();
        assert_eq!(whole.files().unwrap().client_authority.as_deref(), Some(FilePath::new("/a")));
        let guard = whole.guard().unwrap();
        assert!(guard.usable(guard.files.acceptor()).is_none(), "with files that are not there it lets no client in");
        for half in ["cert = \"/c\"\n", "key = \"/k\"\n", "client-ca = \"/a\"\n"] {
            let refused = read(half).unwrap_err();
            assert!(refused.contains("takes cert and key together"), "{refused}");
        }
    }

    /// A pipe that has no writer answers as a dead disk does.
    #[tokio::test]
    async fn files_that_answer_nothing_hold_no_other_task() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("cert");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let files = ServerFiles { certificate: pipe.clone(), key: pipe.clone(), client_authority: None };
        let guard = TlsGuard { files, turn: Arc::new(Semaphore::new(1)), is_logged: AtomicBool::new(false) };
        let (another_ran, ran) = mpsc::channel();
        let writer = thread::spawn(move || {
            _ = ran.recv_timeout(Duration::from_mins(1));
            OpenOptions::new().write(true).open(&pipe)
        });
        tokio::select! {
            biased;
            _ = guard.let_in(tokio::io::duplex(64).0) => panic!("it waited for the files"),
            () = sleep(Duration::from_millis(1)) => another_ran.send(()).unwrap(),
        }
        // The thread that reads ends with its writer.
        assert!(writer.join().unwrap().is_ok());
    }
}
