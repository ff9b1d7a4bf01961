//! One run, from its start until nothing of it is left.

use std::{
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::{sys::signal::Signal, unistd::Pid};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::unix::pipe,
    process::{Child, Command},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    BECOME, Ending, Job, Report, descendants,
    job::{NOT_STARTED, NOT_STARTED_STATUS, boottime_millis},
};

/// Between asking an agent to end and making it.
const GRACE_MILLIS: u64 = 1_000;
/// Timers stand still while the machine sleeps, so the clock is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// For what is killed to be gone, and for its pipes to be read to their end.
const LAST: Duration = Duration::from_secs(3);

type JobLines = Lines<BufReader<pipe::Receiver>>;

pub(super) async fn watch(stdin: pipe::Receiver) -> Report {
    let mut lines = BufReader::new(stdin).lines();
    let line = match lines.next_line().await {
        Ok(Some(line)) => line,
        _ => return Report::not_started("no job was given"),
    };
    let job: Job = match serde_json::from_str(&line) {
        Ok(job) => job,
        Err(error) => return Report::not_started(format!("the job cannot be read at column {}", error.column())),
    };
    if boottime_millis() >= job.until_millis {
        return Report::not_started("the leader's time was over before it was begun");
    }
    match spawn(&job) {
        Ok(child) => run(child, job, lines).await,
        Err(error) => Report::not_started(error.to_string()),
    }
}

fn spawn(job: &Job) -> std::io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.args(&job.own_args).arg(BECOME).arg(std::process::id().to_string());
    command.arg(&job.program).args(&job.args).env_clear().envs(&job.env).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

async fn run(mut child: Child, job: Job, lines: JobLines) -> Report {
    let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw) else {
        return Report::not_started("it has no process");
    };
    let outputs = [
        child.stdout.take().map(|pipe| Output::read(pipe, job.limit_bytes)),
        child.stderr.take().map(|pipe| Output::read(pipe, job.limit_bytes)),
    ];
    if let Some(mut stdin) = child.stdin.take() {
        let text = job.stdin;
        // One that does not read it ends by itself or by its deadline.
        tokio::spawn(async move { drop(stdin.write_all(text.as_bytes()).await) });
    }
    let mut times = Times::new(job.deadline, job.until_millis);
    let ended = until_its_end(&mut child, pid, &mut times, lines).await;
    let died = descendants::end(pid).await;
    let [stdout, stderr] = outputs;
    let (stdout, stderr) = (Output::end(stdout).await, Output::end(stderr).await);
    let ending = if died { ending(ended, &stderr.0) } else { Ending::Immortal };
    Report { ending, cut: stdout.1 || stderr.1, stdout: stdout.0, stderr: stderr.0, took: Duration::ZERO }
}

enum Ended {
    Itself(ExitStatus),
    ByUs(Ending),
}

fn ending(ended: Ended, stderr: &str) -> Ending {
    let status = match ended {
        Ended::ByUs(ending) => return ending,
        Ended::Itself(status) => status,
    };
    match (status.code(), stderr.strip_prefix(NOT_STARTED)) {
        (Some(code), Some(why)) if code == i32::from(NOT_STARTED_STATUS) => Ending::NotStarted(why.trim().to_owned()),
        (Some(code), _) => Ending::Exited(code),
        (None, _) => Ending::Signalled(status.signal().unwrap_or_default()),
    }
}

/// Waits for its end, or brings it about.
async fn until_its_end(child: &mut Child, pid: Pid, times: &mut Times, mut lines: JobLines) -> Ended {
    let mut asked: Option<Ending> = None;
    loop {
        tokio::select! {
            biased;
            line = lines.next_line() => match line {
                Ok(Some(line)) => times.heard(&line),
                // The controller has gone, or has given it up.
                _ => return kill(child, pid, asked.unwrap_or(Ending::LeaseDeadline)).await,
            },
            status = child.wait() => return match (asked, status) {
                (Some(ending), _) => Ended::ByUs(ending),
                (None, Ok(status)) => Ended::Itself(status),
                (None, Err(_)) => Ended::ByUs(Ending::Immortal),
            },
            () = sleep(LOOK_EVERY.min(times.left())) => {}
        }
        if let Some(over) = times.over(GRACE_MILLIS) {
            return kill(child, pid, asked.unwrap_or(over)).await;
        }
        if let (None, Some(over)) = (&asked, times.over(0)) {
            descendants::signal(pid, Signal::SIGTERM);
            asked = Some(over);
        }
    }
}

async fn kill(child: &mut Child, pid: Pid, ending: Ending) -> Ended {
    descendants::signal(pid, Signal::SIGKILL);
    match timeout(LAST, child.wait()).await {
        Ok(Ok(_)) => Ended::ByUs(ending),
        _ => Ended::ByUs(Ending::Immortal),
    }
}

/// Until when it may run, all in milliseconds of `CLOCK_BOOTTIME`.
struct Times {
    deadline: u64,
    until: u64,
}

impl Times {
    fn new(deadline: Duration, until: u64) -> Self {
        let span = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        Self { deadline: boottime_millis().saturating_add(span), until }
    }

    fn heard(&mut self, line: &str) {
        if let Some(until) = line.strip_prefix("until ").and_then(|text| text.trim().parse().ok()) {
            self.until = until;
        }
    }

    /// What is over, this long after an agent was to be asked to end. The lease deadline leaves room for asking before
    /// it; its own deadline is when it is asked.
    fn over(&self, later: u64) -> Option<Ending> {
        let now = boottime_millis();
        if now.saturating_add(GRACE_MILLIS) >= self.until.saturating_add(later) {
            return Some(Ending::LeaseDeadline);
        }
        (now >= self.deadline.saturating_add(later)).then_some(Ending::TimedOut)
    }

    fn left(&self) -> Duration {
        let next = self.deadline.min(self.until);
        Duration::from_millis(next.saturating_sub(boottime_millis()).max(1))
    }
}

/// What was read of an output.
#[derive(Default)]
struct OutputRead {
    bytes: Vec<u8>,
    /// There was more.
    is_cut: bool,
}

/// An output being read; the rest beyond the limit is read and thrown away.
struct Output {
    read: Arc<Mutex<OutputRead>>,
    task: JoinHandle<()>,
}

impl Output {
    fn read(mut pipe: impl AsyncRead + Unpin + Send + 'static, limit: usize) -> Self {
        let read = Arc::new(Mutex::new(OutputRead::default()));
        let into = Arc::clone(&read);
        let task = tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
                let mut read = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = limit.saturating_sub(read.bytes.len()).min(count);
                read.bytes.extend_from_slice(&buffer[..room]);
                read.is_cut |= room < count;
            }
        });
        Self { read, task }
    }

    async fn end(output: Option<Self>) -> (String, bool) {
        let Some(mut output) = output else { return (String::new(), false) };
        if timeout(LAST, &mut output.task).await.is_err() {
            output.task.abort();
        }
        let read = output.read.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&read.bytes).into_owned(), read.is_cut)
    }
}
