//! The controller's side of a [`supervisor`](crate::supervisor): starts it, sends each renewal to it, reads its report.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use nodewell_reconcile::lease_deadline::LeaseDeadline;
use nodewell_remediation::time::Moment;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Semaphore,
    time::timeout,
};

use crate::{
    program,
    supervisor::{Job, Report, boottime_millis},
};

/// All that a program of ours gets to see, whatever the controller was started with: `PCMK_service` in it would switch the
/// agents' timeouts off.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// Beyond a run's deadline, for its supervisor to end it and to report.
const MARGIN: Duration = Duration::from_secs(10);
/// A supervisor's report: two outputs, each byte of which may take six in JSON.
const REPORT_FACTOR: usize = 12;
const REPORT_BASE: usize = 4096;

/// Questions at once: Python is 30 MiB each. Acts do not wait for them.
const READS: usize = 32;

/// The controller's clock: `CLOCK_BOOTTIME`, from its own fixed point.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// Starts programs under supervisors.
#[derive(Clone)]
pub struct Runner {
    /// Our own program.
    supervisor: PathBuf,
    /// By which it is a supervisor.
    own_args: Vec<String>,
    clock: Clock,
    reads: Arc<Semaphore>,
    ca_file: Option<PathBuf>,
}

/// One run. It may hold secrets: no `Debug`.
pub struct Run {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Beside `LANG` and `PATH`.
    pub env: BTreeMap<String, String>,
    pub stdin: String,
    pub deadline: Duration,
    pub limit_bytes: usize,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoReport {
    /// Certainly nothing was started.
    #[error("not started: {0}")]
    NotStarted(String),
    /// The supervisor was lost: what it ran may have acted, and has ended with it.
    #[error("its supervisor was lost: {0}")]
    Lost(String),
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("supervisor", &self.supervisor).finish_non_exhaustive()
    }
}

impl Runner {
    /// `supervisor own_args…` must run [`crate::supervisor::main`] with no argument more; stages add theirs.
    #[must_use]
    pub fn new(supervisor: PathBuf, own_args: Vec<String>, clock: Clock) -> Self {
        Self { supervisor, own_args, clock, reads: Arc::new(Semaphore::new(READS)), ca_file: None }
    }

    /// The same, where BMCs' certificates are those of the authorities in this file.
    #[must_use]
    pub fn trusting(self, ca_file: Option<PathBuf>) -> Self {
        Self { ca_file, ..self }
    }

    /// The file of authorities, as long as no user but root, or ours, could have changed it.
    ///
    /// # Errors
    /// Which user could.
    pub(crate) fn ca_file(&self) -> Result<Option<&Path>, String> {
        let Some(file) = &self.ca_file else { return Ok(None) };
        program::check_file(file).map_err(|refused| format!("[fencing] ca-file: {refused}"))?;
        Ok(Some(file))
    }

    /// The present, by the controller's clock.
    #[must_use]
    pub fn now(&self) -> Moment {
        (self.clock)()
    }

    /// Runs it to its end. With a lease deadline it ends at that deadline at the latest; without, by its own: reading
    /// does no harm. Dropping the future ends it as well.
    ///
    /// # Errors
    /// Nothing was started, or its end is unknown.
    pub async fn run(&self, run: Run, lease_deadline: Option<&LeaseDeadline>) -> Result<Report, NoReport> {
        if lease_deadline.is_some_and(|lease_deadline| !lease_deadline.is_ahead(self.now())) {
            return Err(NoReport::NotStarted("the leader's time is over".to_owned()));
        }
        let permit = if lease_deadline.is_none() {
            Some(self.reads.acquire().await.map_err(|error| lost(&error))?)
        } else {
            None
        };
        let began = self.now();
        let (report_within, limit) = (run.deadline + MARGIN, run.limit_bytes * REPORT_FACTOR + REPORT_BASE);
        let mut child = self.spawn()?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(NoReport::NotStarted("no pipes".to_owned()));
        };
        let mut line = serde_json::to_string(&self.job(run, lease_deadline)).map_err(|error| lost(&error))?;
        line.push('\n');
        let written = timeout(MARGIN, stdin.write_all(line.as_bytes())).await;
        written
            .map_err(|_| NoReport::Lost("its supervisor does not listen".to_owned()))?
            .map_err(|error| lost(&error))?;
        let text = timeout(report_within, self.attend(stdin, stdout, limit, lease_deadline.cloned())).await;
        let text = text
            .map_err(|_| NoReport::Lost(format!("no report within {report_within:?}")))?
            .map_err(|error| lost(&error))?;
        let reaped = timeout(MARGIN, child.wait()).await;
        drop((reaped, permit));
        Ok(Report { took: self.now().since(began), ..read_report(&text)? })
    }

    fn spawn(&self) -> Result<Child, NoReport> {
        let mut command = Command::new(&self.supervisor);
        command.args(&self.own_args).env_clear().env("LANG", "C").env("PATH", PATH).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        command.spawn().map_err(|error| NoReport::NotStarted(format!("{}: {error}", self.supervisor.display())))
    }

    fn job(&self, run: Run, lease_deadline: Option<&LeaseDeadline>) -> Job {
        let mut env = run.env;
        env.insert("LANG".to_owned(), "C".to_owned());
        env.insert("PATH".to_owned(), PATH.to_owned());
        Job {
            until_millis: lease_deadline.map_or(u64::MAX, |lease_deadline| self.until_millis(lease_deadline)),
            program: run.program,
            args: run.args,
            env,
            stdin: run.stdin,
            deadline: run.deadline,
            limit_bytes: run.limit_bytes,
            own_args: self.own_args.clone(),
        }
    }

    /// The clocks are read in this order so that a pause between the two makes it earlier, never later.
    fn until_millis(&self, lease_deadline: &LeaseDeadline) -> u64 {
        let boottime = boottime_millis();
        let left = lease_deadline.until().since(self.now());
        boottime.saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    }

    /// Passes renewals on until the supervisor has reported and closed its end.
    async fn attend(
        &self,
        stdin: ChildStdin,
        mut stdout: ChildStdout,
        limit: usize,
        mut lease_deadline: Option<LeaseDeadline>,
    ) -> std::io::Result<Vec<u8>> {
        let (mut text, mut stdin) = (Vec::new(), Some(stdin));
        let mut buffer = vec![0; 16 * 1024];
        loop {
            tokio::select! {
                count = stdout.read(&mut buffer) => match count? {
                    0 => break,
                    count if text.len() + count > limit => return Err(std::io::Error::other("its report is too long")),
                    count => text.extend_from_slice(&buffer[..count]),
                },
                moved = moved(&mut lease_deadline), if stdin.is_some() => {
                    let until = lease_deadline.as_ref().filter(|_| moved).map(|deadline| self.until_millis(deadline));
                    let line = until.map(|until| format!("until {until}\n"));
                    match (line, stdin.as_mut()) {
                        // A supervisor that does not listen any more is about to report.
                        (Some(line), Some(pipe)) => drop(pipe.write_all(line.as_bytes()).await),
                        // The term is over: its end is the agent's.
                        _ => stdin = None,
                    }
                }
            }
        }
        Ok(text)
    }
}

/// A supervisor's report. Of one that is cut nothing is believed.
pub(crate) fn read_report(text: &[u8]) -> Result<Report, NoReport> {
    serde_json::from_slice(text).map_err(|error| lost(&error))
}

async fn moved(lease_deadline: &mut Option<LeaseDeadline>) -> bool {
    match lease_deadline {
        Some(lease_deadline) => lease_deadline.moved().await,
        None => std::future::pending().await,
    }
}

fn lost(error: &impl fmt::Display) -> NoReport {
    NoReport::Lost(error.to_string())
}
