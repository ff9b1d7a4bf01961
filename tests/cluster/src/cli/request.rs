//! One request of a command to the process that holds the cluster: a line there, an answer back, over a socket that
//! root alone may use.

use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    time::Duration,
};

use nix::sys::socket::UnixAddr;

/// A command asks at once.
const ASKED: Duration = Duration::from_secs(5);
/// What an answer begins with.
const DONE: &str = "done ";
const REFUSED: &str = "refused ";

fn socket() -> PathBuf {
    super::folder().join("socket")
}

/// Asks for `verb` of `machine`.
///
/// # Errors
/// Why it was not done.
pub(super) fn ask(verb: &str, machine: &str) -> Result<String, String> {
    let mut stream = connect().ok_or("no cluster is up: `make cluster` brings one up")?;
    let mut answer = String::new();
    let exchange = writeln!(stream, "{verb} {machine}").and_then(|()| stream.read_to_string(&mut answer));
    exchange.map_err(|error| format!("the cluster does not answer: {error}"))?;
    match (answer.strip_prefix(DONE), answer.strip_prefix(REFUSED)) {
        (Some(done), _) => Ok(done.to_owned()),
        (_, Some(reason)) => Err(reason.to_owned()),
        _ => Err(format!("the cluster ended before it answered; see {}", super::folder().join("log").display())),
    }
}

/// # Errors
/// If no socket can be bound where the cluster's would be: better before the cluster than after it.
pub(super) fn check_socket() -> Result<(), String> {
    let path = socket();
    let name = UnixAddr::new(&path).map(drop);
    name.map_err(|error| format!("{}: {error}; a socket's path has at most 107 bytes: move the clone", path.display()))
}

/// A connection to the process that holds a cluster, if there is one.
pub(super) fn connect() -> Option<UnixStream> {
    UnixStream::connect(socket()).ok()
}

/// Takes requests until one is answered with nothing more to do.
pub(super) fn serve(mut answer: impl FnMut(&str, &str) -> Answer) -> std::io::Result<()> {
    let path = socket();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    super::hold::report("is up");
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let mut line = String::new();
        // A client that sends nothing keeps no other one waiting for long.
        let asked = stream.set_read_timeout(Some(ASKED)).and_then(|()| BufReader::new(&stream).read_line(&mut line));
        if asked.is_err() {
            continue;
        }
        let (verb, machine) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let (text, is_last) = match answer(verb, machine.trim()) {
            Answer::Done(text) => (format!("{DONE}{text}"), false),
            Answer::Refused(reason) => (format!("{REFUSED}{reason}"), false),
            Answer::Last(text) => (format!("{DONE}{text}"), true),
        };
        // A client that went away has no use for it.
        let _ = (&stream).write_all(text.as_bytes());
        if is_last {
            break;
        }
    }
    fs::remove_file(path)
}

/// What a request came to.
#[derive(Debug)]
pub(super) enum Answer {
    Done(String),
    Refused(String),
    /// Done, and nothing is served any more.
    Last(String),
}
