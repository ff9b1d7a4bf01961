//! HAProxy, before two API servers.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use nodewell_tests::wait::until_within;

pub(crate) const PROGRAM: &str = "/usr/sbin/haproxy";
const CONFIG: &str = include_str!("../../files/haproxy.cfg");
/// It looks each second, and believes the second look.
const SEEN: Duration = Duration::from_secs(30);
/// Where a row of its statistics, which are CSV, has the name and the state of a server.
const NAME: usize = 1;
const STATUS: usize = 17;

/// Its files' folder.
#[derive(Debug)]
pub(super) struct Balancer<'a>(pub(super) &'a Path);

impl Balancer<'_> {
    /// Writes its configuration; gives its flags.
    pub(super) fn configure(&self) -> Vec<String> {
        let path = self.0.join("haproxy.cfg");
        fs::write(&path, CONFIG.replace("@SOCKET@", &self.socket().display().to_string())).unwrap();
        vec!["-db".to_owned(), "-f".to_owned(), path.display().to_string()]
    }

    /// Waits until it would send requests to each server: one that is ready is not in use yet.
    #[track_caller]
    pub(super) fn wait_all_up(&self) {
        until_within(SEEN, "the balancer uses all servers", || {
            let statistics = self.statistics().ok()?;
            // The first row names the columns.
            let mut states = statistics.lines().skip(1).filter_map(state).peekable();
            states.peek()?;
            states.all(|state| state == "UP").then_some(())
        });
    }

    fn statistics(&self) -> io::Result<String> {
        let mut socket = UnixStream::connect(self.socket())?;
        socket.write_all(b"show stat\n")?;
        let mut text = String::new();
        socket.read_to_string(&mut text)?;
        Ok(text)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("haproxy.socket")
    }
}

/// Of a row of a server: sums of the two sides have names in capitals.
fn state(row: &str) -> Option<&str> {
    let fields: Vec<&str> = row.split(',').collect();
    let name = fields.get(NAME)?;
    name.starts_with(|first: char| first.is_ascii_lowercase()).then(|| fields.get(STATUS).copied())?
}
