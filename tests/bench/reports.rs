//! How many reports an external daemon gets through the socket, and how long one takes.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use nodewell_tests::agent::Plan;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    task::JoinSet,
    time::sleep_until,
};

use crate::{
    daemon::Daemon,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
};

/// Connections of the one pool.
const CONNECTIONS: usize = 16;
/// Conditions that the daemon reports.
const SUBJECTS: u64 = 64;
/// Reports in one request, where a client batches.
const BATCH: u64 = 16;
const TARGET_PER_SECOND: f64 = 20_000.0;
/// A steady stream of so many a second, and what the slowest hundredth of it may take.
const STEADY_PER_SECOND: u32 = 1_000;
const TARGET_P99_MILLIS: f64 = 5.0;
/// No bound of the socket is what is measured.
const NO_LIMITS: &str = "[journal]\nenabled = false\n[socket]\nrate = 1000000\nburst = 1000000\n";

/// What a report contains.
#[derive(Debug, Clone, Copy)]
enum ReportKind {
    /// That the daemon lives.
    Heartbeat,
    /// An Event.
    Event,
    /// A problem that is still there.
    Confirmation,
    /// A problem that comes or goes.
    Change,
    /// One after the other.
    Mixed,
}

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let daemon = Daemon::start(Plan::new("bench-reports").config(NO_LIMITS));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let load = Load { daemon: &daemon, runtime, window: Duration::from_secs(setting.times(3, 1) as u64) };
    let rounds = setting.times(5, 3);
    let mut rows = load.throughput("reports/s over the socket, one a request, all kinds", ReportKind::Mixed, 1, rounds);
    rows[0] = rows[0].clone().at_least(TARGET_PER_SECOND);
    for (what, kind) in [
        ("heartbeats", ReportKind::Heartbeat),
        ("events", ReportKind::Event),
        ("problems still there", ReportKind::Confirmation),
        ("problems that come or go", ReportKind::Change),
    ] {
        rows.extend(load.throughput(&format!("  only {what}"), kind, 1, setting.times(3, 1)));
    }
    rows.extend(load.throughput(&format!("  {BATCH} a request, all kinds"), ReportKind::Mixed, BATCH, rounds));
    rows.push(load.steady());
    rows.push(Row::new("  peak RSS after all of it", daemon.usage().peak_mib(), Unit::MebiBytes));
    rows
}

/// A reporter and the agent it reports to.
struct Load<'a> {
    daemon: &'a Daemon,
    runtime: tokio::runtime::Runtime,
    window: Duration,
}

impl Load<'_> {
    /// Reports a second, and what the agent's CPU needs for one.
    fn throughput(&self, measure: &str, kind: ReportKind, batch: u64, rounds: usize) -> Vec<Row> {
        let (mut rates, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (start, cpu) = (Instant::now(), self.daemon.usage().cpu());
            let reports = self.runtime.block_on(self.flood(kind, batch));
            let (took, cpu) = (start.elapsed().as_secs_f64(), self.daemon.usage().cpu() - cpu);
            rates.push(reports / took);
            costs.push(cpu.as_secs_f64() * 1e6 / reports);
        }
        vec![
            Row::median(measure, &Samples::new(rates), Unit::PerSecond),
            Row::median("    the agent's CPU for one", &Samples::new(costs), Unit::Micros),
        ]
    }

    /// Every connection sends its next request when the answer is there; how many reports were taken.
    async fn flood(&self, kind: ReportKind, batch: u64) -> f64 {
        let end = Instant::now() + self.window;
        let mut lanes = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let socket = self.daemon.socket();
            lanes.spawn(async move {
                let mut connection = Connection::open(&socket).await;
                let mut taken = 0_u32;
                while Instant::now() < end {
                    connection.report(kind, batch).await;
                    taken += 1;
                }
                f64::from(taken)
            });
        }
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        let batch = batch as f64;
        lanes.join_all().await.into_iter().sum::<f64>() * batch
    }

    /// Each report is due at its own moment, whatever became of the one before; timed from that moment.
    fn steady(&self) -> Row {
        let count = u32::try_from(self.window.as_secs()).unwrap() * STEADY_PER_SECOND;
        let start = tokio::time::Instant::now() + Duration::from_millis(10);
        let times = self.runtime.block_on(async {
            let mut lanes = JoinSet::new();
            for lane in 0..u32::try_from(CONNECTIONS).unwrap() {
                lanes.spawn(punctual(self.daemon.socket(), start, (lane..count).step_by(CONNECTIONS)));
            }
            lanes.join_all().await.concat()
        });
        let samples = Samples::millis(&times);
        Row::new(format!("a report at {STEADY_PER_SECOND}/s: p99"), samples.p99(), Unit::Millis)
            .beside(format!("median {:.2} ms, max {:.2} ms, n = {}", samples.median(), samples.max(), samples.len()))
            .at_most(TARGET_P99_MILLIS)
    }
}

/// Sends the reports with these numbers at their moments; how late each answer was.
async fn punctual(socket: PathBuf, start: tokio::time::Instant, numbers: impl Iterator<Item = u32>) -> Vec<Duration> {
    let mut connection = Connection::open(&socket).await;
    let mut times = Vec::new();
    for number in numbers {
        let due = start + Duration::from_secs(1) * number / STEADY_PER_SECOND;
        sleep_until(due).await;
        connection.report(ReportKind::Mixed, 1).await;
        times.push(due.elapsed());
    }
    times
}

/// One connection that stays open. It knows what the answer to a report looks like, and reads no further than it must.
struct Connection {
    stream: UnixStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

static REPORT: AtomicU64 = AtomicU64::new(0);

impl Connection {
    async fn open(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).await.expect("it listens");
        Self { stream, request: Vec::new(), answer: vec![0; 4096] }
    }

    async fn report(&mut self, kind: ReportKind, batch: u64) {
        let body = body(kind, batch);
        self.request.clear();
        let head = "POST /v1/status HTTP/1.1\r\nHost: nodewell\r\nContent-Type: application/json\r\nContent-Length: ";
        self.request.extend_from_slice(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes());
        self.stream.write_all(&self.request).await.expect("the agent reads");
        let mut filled = 0;
        // The answer is one JSON object and a newline.
        while !self.answer[..filled].ends_with(b"}\n") {
            let count = self.stream.read(&mut self.answer[filled..]).await.expect("the agent answers");
            assert!(count > 0, "the agent hung up: {}", String::from_utf8_lossy(&self.answer[..filled]));
            filled += count;
        }
        let answer = &self.answer[..filled];
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(answer));
    }
}

fn body(kind: ReportKind, batch: u64) -> String {
    if batch == 1 {
        return report(kind, REPORT.fetch_add(1, Ordering::Relaxed));
    }
    let reports: Vec<String> = (0..batch).map(|_| report(kind, REPORT.fetch_add(1, Ordering::Relaxed))).collect();
    format!("[{}]", reports.join(","))
}

fn report(kind: ReportKind, number: u64) -> String {
    let kinds = [ReportKind::Heartbeat, ReportKind::Event, ReportKind::Confirmation, ReportKind::Change];
    let kind = match kind {
        ReportKind::Mixed => kinds[(number % 4) as usize],
        one => one,
    };
    let mut text = format!(r#"{{"source":"bench-daemon","id":"{number}","ttl":180"#);
    let time = "2026-11-21T02:03:04.567Z";
    // Subjects that are confirmed never change, so that a confirmation is one.
    let subject = number / 4 % SUBJECTS;
    let _ = match kind {
        ReportKind::Event => write!(
            text,
            r#","events":[{{"severity":"warn","timestamp":"{time}","reason":"BenchEvent","message":"event {number} of the bench","subject":"e{subject}"}}]"#
        ),
        ReportKind::Confirmation => write!(
            text,
            r#","conditions":[{{"type":"DiskUnhealthy","status":"True","transition":"{time}","reason":"BenchFault","message":"the same as before","subject":"d{subject}"}}]"#
        ),
        ReportKind::Change => write!(
            text,
            r#","conditions":[{{"type":"KernelUnhealthy","status":"{}","transition":"{time}","reason":"BenchChange","message":"change {number}","subject":"c{subject}"}}]"#,
            if (number / 4 / SUBJECTS).is_multiple_of(2) { "True" } else { "False" }
        ),
        ReportKind::Heartbeat | ReportKind::Mixed => Ok(()),
    };
    text.push('}');
    text
}
