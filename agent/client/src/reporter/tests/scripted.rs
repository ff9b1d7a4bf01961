//! The whole reporter against an agent that answers by script and notes what it received.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use nodewell_model::Status;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use super::*;
use crate::{Client, Discarded, Line, Reporter, ReporterSettings};

const DEADLINE: Duration = Duration::from_secs(10);

/// What the agent does with one report.
#[derive(Debug, Clone, Copy)]
enum Act {
    Take,
    Refuse(&'static str),
    /// Hangs up without an answer.
    HangUp,
    /// Answers, and hangs up.
    TakeAndClose,
}

#[derive(Default)]
struct Received {
    reports: Vec<Status>,
    connections: usize,
    /// Reports after which the connection was to end.
    last_ones: usize,
}

impl Received {
    fn note(&mut self, report: Status, is_last: bool) {
        self.reports.push(report);
        self.last_ones += usize::from(is_last);
    }
}

struct Agent {
    _folder: TempDir,
    path: PathBuf,
    received: Arc<Mutex<Received>>,
}

/// Plays `script`, then takes everything.
fn agent(script: &'static [Act]) -> Agent {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let received = Arc::new(Mutex::new(Received::default()));
    let notes = Arc::clone(&received);
    tokio::spawn(async move {
        let mut script = script.iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            notes.lock().unwrap().connections += 1;
            while let Some((report, is_last)) = read_report(&mut stream).await {
                notes.lock().unwrap().note(report, is_last);
                if !answer(&mut stream, *script.next().unwrap_or(&Act::Take)).await {
                    break;
                }
            }
        }
    });
    Agent { _folder: folder, path, received }
}

/// The report, and whether the connection is to end with its answer.
async fn read_report(stream: &mut UnixStream) -> Option<(Status, bool)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some((serde_json::from_slice(&body).unwrap(), head.contains("connection: close")))
}

/// Returns whether the connection goes on.
async fn answer(stream: &mut UnixStream, act: Act) -> bool {
    let taken = r#"{"durable":false,"instance":"a"}"#;
    let (status, body) = match act {
        Act::HangUp => return false,
        Act::Take | Act::TakeAndClose => ("200 OK", taken),
        Act::Refuse(status) => (status, r#"{"error":"no"}"#),
    };
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.is_ok() && !matches!(act, Act::TakeAndClose)
}

fn settings() -> ReporterSettings {
    ReporterSettings { batch_for: Duration::from_millis(1), ..ReporterSettings::new("raid") }
}

fn start(agent: &Agent) -> (Reporter, Arc<Mutex<Vec<Discarded>>>) {
    let discarded = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&discarded);
    let reporter = Reporter::start(Client::new(&agent.path), settings(), move |lost| notes.lock().unwrap().push(lost));
    (reporter, discarded)
}

/// One of several of a process, which reports at once.
fn start_on(line: &Line, source: &str) -> Reporter {
    let settings = ReporterSettings { batch_for: Duration::ZERO, ..ReporterSettings::new(source) };
    Reporter::start(line.clone(), settings, |_| panic!("nothing is lost"))
}

async fn flushed(reporter: &Reporter) {
    tokio::time::timeout(DEADLINE, reporter.flushed()).await.expect("it is answered in time");
}

#[tokio::test]
async fn one_that_has_much_to_report_keeps_its_connection() {
    let agent = agent(&[]);
    let (reporter, _) = start(&agent);
    for n in 0..20 {
        reporter.event(event(Severity::Info, n));
        flushed(&reporter).await;
    }
    assert!(reporter.finish(DEADLINE).await);
    let received = agent.received.lock().unwrap();
    assert_eq!(received.connections, 2, "after the first report there was no more to come, as far as it knew");
    assert_eq!(received.reports.iter().map(|report| report.events.len()).sum::<usize>(), 20);
    assert!(received.reports.last().unwrap().last);
}

#[tokio::test]
async fn reporters_of_one_process_send_in_turn_and_the_last_ends_the_connection() {
    let agent = agent(&[]);
    let line = Line::from(Client::new(&agent.path));
    let reporters = ["disk", "gpu", "raid"].map(|source| start_on(&line, source));
    for reporter in &reporters {
        flushed(reporter).await;
    }
    let received = agent.received.lock().unwrap();
    assert_eq!((received.connections, received.reports.len(), received.last_ones), (1, 3, 1));
}

#[tokio::test]
async fn one_that_is_not_answered_holds_up_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let line = Line::from(Client::new(&path));
    let _unanswered = start_on(&line, "disk");
    let (mut silent, _) = tokio::time::timeout(DEADLINE, listener.accept()).await.unwrap().unwrap();
    assert_eq!(read_report(&mut silent).await.unwrap().0.source, "disk");
    let answered = start_on(&line, "gpu");
    // Sooner than the first one gives up.
    let accepted = tokio::time::timeout(DEADLINE / 2, listener.accept()).await.expect("it does not wait");
    let (mut stream, _) = accepted.unwrap();
    let (report, is_last) = read_report(&mut stream).await.unwrap();
    assert_eq!((report.source.as_str(), is_last), ("gpu", true));
    assert!(answer(&mut stream, Act::Take).await);
    flushed(&answered).await;
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_by_an_agent_that_breaks_off() {
    let agent = agent(&[
        Act::HangUp,
        Act::Refuse("503 Service Unavailable\r\nRetry-After: 0"),
        Act::TakeAndClose,
        Act::Refuse("429 Too Many Requests"),
        Act::HangUp,
        Act::HangUp,
    ]);
    let (reporter, discarded) = start(&agent);
    for n in 0..5 {
        reporter.event(event(Severity::Info, n));
        flushed(&reporter).await;
    }
    let received = agent.received.lock().unwrap();
    let mut by_id = std::collections::BTreeMap::new();
    for report in &received.reports {
        let known = by_id.insert(report.id.clone().unwrap(), report.clone());
        assert!(known.is_none_or(|known| known == *report), "an id names one report");
    }
    let events: usize = by_id.values().map(|report| report.events.len()).sum();
    assert_eq!((events, discarded.lock().unwrap().len()), (5, 0));
}

#[tokio::test]
async fn the_owner_hears_of_what_is_refused_for_good() {
    let agent = agent(&[Act::Take, Act::Refuse("413 Payload Too Large"), Act::Take]);
    let (reporter, discarded) = start(&agent);
    flushed(&reporter).await;
    reporter.event(event(Severity::Info, 1));
    flushed(&reporter).await;
    reporter.event(event(Severity::Info, 2));
    flushed(&reporter).await;
    let discarded = discarded.lock().unwrap();
    assert_eq!(discarded.len(), 1);
    assert_eq!(
        (discarded[0].report.events[0].message.as_str(), discarded[0].error.to_string().as_str()),
        ("1", "no (HTTP 413)")
    );
}

#[tokio::test]
async fn an_agent_that_comes_later_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let reporter = Reporter::start(Client::new(&path), settings(), |_| panic!("nothing is lost"));
    reporter.set(broken("md0"));
    tokio::time::sleep(Duration::from_millis(30)).await;
    let listener = UnixListener::bind(&path).unwrap();
    let (mut stream, _) = tokio::time::timeout(DEADLINE, listener.accept()).await.unwrap().unwrap();
    let (report, _) = read_report(&mut stream).await.unwrap();
    assert!(report.full && report.conditions == [broken("md0")]);
}
