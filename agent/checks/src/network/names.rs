//! Asks the node's resolver whether it answers. A call of `getaddrinfo(3)` cannot be ended: it gets a thread of its own, one
//! at a time, which ends by itself when the resolver gives up. So does reading a kubeconfig, whose disk may hang.

use std::{
    collections::BTreeSet,
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::probe::{ReadError, attribute};
use nodewell_sys::names::{LookupError, resolve};

use super::{reading::NamesReading, routes};
use crate::network::NetworkSettings;

/// A round waits for no longer: others are read by the same worker. A slower answer is used in a later round.
const WAIT: Duration = Duration::from_millis(500);
/// More than the 5 s that glibc gives a dead server before it asks the next one.
const LATE_AFTER: Duration = Duration::from_secs(8);
/// While it answers, a question a minute: ten thousand nodes are 170 a second to their servers.
const REST: Duration = Duration::from_secs(60);

/// A name's lookup: the system's, or a test's.
pub(super) type Lookup = fn(&str) -> Result<(), LookupError>;

/// Asks the resolver.
#[derive(Debug)]
pub(super) struct Resolver {
    proc: PathBuf,
    names: Names,
    lookup: Lookup,
    wait: Duration,
    late_after: Duration,
    pending: Option<Question>,
    last: Option<(Instant, Answer)>,
    serial: u64,
}

/// `None`: there is nothing to ask.
type Answer = Option<NamesReading>;

/// Where names come from.
#[derive(Debug, Clone)]
struct Names {
    configured: Option<Vec<String>>,
    kubeconfigs: Vec<PathBuf>,
}

/// One that was put and is not answered yet.
#[derive(Debug)]
struct Question {
    began: Instant,
    /// The first name, once it is known.
    name: Arc<OnceLock<String>>,
    receiver: Receiver<Answer>,
}

impl Resolver {
    pub(super) fn new(proc: PathBuf, settings: &NetworkSettings) -> Self {
        Self {
            proc,
            names: Names { configured: settings.names.clone(), kubeconfigs: settings.kubeconfigs.clone() },
            lookup: resolve,
            wait: WAIT,
            late_after: LATE_AFTER,
            pending: None,
            last: None,
            serial: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn looking_up(mut self, lookup: Lookup, wait: Duration, late_after: Duration) -> Self {
        (self.lookup, self.wait, self.late_after) = (lookup, wait, late_after);
        self
    }

    /// Whether there may be anything to ask.
    pub(super) fn has_names(&self) -> bool {
        self.names.configured.as_ref().map_or(!self.names.kubeconfigs.is_empty(), |names| !names.is_empty())
    }

    /// What is known by now: of serial 0 nothing yet, of the serial before nothing new.
    pub(super) fn ask(&mut self) -> Result<NamesReading, ReadError> {
        if !self.rests()
            && let Some(answer) = self.answer()
        {
            self.note(answer)?;
        }
        match &self.last {
            None => Ok(NamesReading::default()),
            Some((_, Some(reading))) => Ok(reading.clone()),
            Some((_, None)) => Err(ReadError::Gone { what: "a name to ask for".to_owned() }),
        }
    }

    fn rests(&self) -> bool {
        let is_healthy = |answer: &Answer| answer.as_ref().is_none_or(|reading| reading.error.is_none());
        self.last.as_ref().is_some_and(|(at, answer)| at.elapsed() < REST && is_healthy(answer))
    }

    /// `None`: nothing new.
    fn answer(&mut self) -> Option<Answer> {
        let question = self.pending.take().or_else(|| Question::put(self.names.clone(), self.lookup))?;
        match question.receiver.recv_timeout(self.wait) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => {
                let late = self.late(&question);
                self.pending = Some(question);
                late.map(Some)
            }
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// A thread that still reads files from a disk that hangs has asked no server yet.
    fn late(&self, question: &Question) -> Answer {
        let name = question.name.get().filter(|_| question.began.elapsed() >= self.late_after)?.clone();
        let millis = u64::try_from(question.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let error = Some(format!("no answer within {} s", self.late_after.as_secs()));
        Some(NamesReading { serial: 0, name, error, millis })
    }

    fn note(&mut self, mut answer: Answer) -> Result<(), ReadError> {
        if let Some(reading) = &mut answer {
            if reading.error.is_none() && u128::from(reading.millis) >= self.late_after.as_millis() {
                reading.error = Some(format!("answered only after {} s", reading.millis / 1_000));
            }
            if reading.error.is_some() && !may_send(&self.proc) {
                let message = "this process may not use the node's network".to_owned();
                return Err(ReadError::Unsupported { message });
            }
            self.serial += 1;
            reading.serial = self.serial;
        }
        self.last = Some((Instant::now(), answer));
        Ok(())
    }
}

impl Question {
    fn put(names: Names, lookup: Lookup) -> Option<Self> {
        let (sender, receiver) = sync_channel(1);
        let name = Arc::new(OnceLock::new());
        let asked = Arc::clone(&name);
        let work = move || {
            let names = names.find();
            let answer = names.first().map(|first| {
                asked.get_or_init(|| first.clone());
                first_answer(&names, lookup)
            });
            // The receiver may be gone.
            drop(sender.send(answer));
        };
        thread::Builder::new().name("resolver".to_owned()).spawn(work).ok()?;
        Some(Self { began: Instant::now(), name, receiver })
    }
}

impl Names {
    /// The operator's, or the API server's: its kubeconfig may come and change at any time.
    fn find(&self) -> Vec<String> {
        let found = || self.kubeconfigs.iter().find_map(|path| fs::read_to_string(path).ok());
        let server = || found().as_deref().and_then(server_name);
        self.configured.clone().unwrap_or_else(|| server().into_iter().collect())
    }
}

/// One name that is answered shows that a server answers.
fn first_answer(names: &[String], lookup: Lookup) -> NamesReading {
    let mut last = NamesReading::default();
    for name in names {
        let began = Instant::now();
        let error = match lookup(name) {
            Ok(()) | Err(LookupError::NoSuchName) => None,
            Err(LookupError::Failed { message }) => Some(message),
        };
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        last = NamesReading { serial: 0, name: name.clone(), error, millis };
        if last.error.is_none() {
            break;
        }
    }
    last
}

/// Whether this process is in the node's network and may send: a sandbox is no outage. What it sends to itself goes through
/// the same filters (systemd's `IPAddressDeny=`).
fn may_send(proc: &Path) -> bool {
    let is_nodes = devices(&proc.join("self/net")) == devices(&routes::folder(proc));
    let sends = || UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"?", socket.local_addr()?));
    is_nodes && sends().is_ok()
}

/// The interfaces that a network has; empty where they are not listed.
fn devices(folder: &Path) -> BTreeSet<String> {
    let text = attribute::text(&folder.join("dev")).ok().flatten().unwrap_or_default();
    text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

/// The host of the first `server: https://HOST:PORT` of a kubeconfig, in YAML or JSON, if it is a name that has to be asked for.
fn server_name(kubeconfig: &str) -> Option<String> {
    let after = kubeconfig.split("server").skip(1);
    let url = after
        .map(|text| text.trim_start_matches(['"', '\'', ':', ' ']))
        .find_map(|text| text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")))?;
    let is_name = |byte: char| byte.is_ascii_alphanumeric() || byte == '-' || byte == '.';
    let host = url.split(|byte| !is_name(byte)).next()?;
    // An IPv4 address ends in a digit, a domain does not (RFC 1123 2.1).
    let is_address = host.ends_with(|byte: char| byte.is_ascii_digit());
    let is_asked = !host.is_empty() && host.len() <= 253 && !is_address && host != "localhost";
    is_asked.then(|| host.to_owned())
}

#[cfg(test)]
mod tests;
