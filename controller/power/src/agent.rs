//! Fence agents: ClusterLabs' programs `fence_*`, by their protocol of `key=value` lines on stdin.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use nodewell_reconcile::lease_deadline::LeaseDeadline;
use nodewell_remediation::{
    action::Failed,
    method::{AgentAction, FenceAgent, ValidatedMethod},
    snapshot::PowerState,
};

use crate::{
    identity::Protocol,
    program,
    runner::{NoReport, Run, Runner},
    scrub::scrub,
    supervisor::{Ending, Report},
};

/// Python's start on a busy host; measured at 0.1 to 0.3 s.
const METADATA_DEADLINE: Duration = Duration::from_secs(20);
const METADATA_BYTES: usize = 256 * 1024;
/// By which Python's `requests` has its authorities.
const CA_VARIABLE: &str = "REQUESTS_CA_BUNDLE";
/// The exit status of off, as `fencing.py` has it.
const OFF: i32 = 2;
const HINT: &str = "; off is believed if the agent prints \"Status: OFF\" and nothing else of its status";
/// An agent prints a few lines.
const OUTPUT_BYTES: usize = 16 * 1024;

/// The agents of one folder.
#[derive(Debug)]
pub struct Agents {
    folder: PathBuf,
    runner: Runner,
    /// By name, with the file they were read from.
    read: Mutex<BTreeMap<String, (Stamp, FenceAgent)>>,
}

/// Another file, or another content of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(u64, u64, i64, i64, u64);

/// Options with their secrets. No `Debug`.
#[derive(Clone)]
pub struct Options {
    /// By the agent's own names.
    pub values: BTreeMap<String, String>,
    /// Those of the values that are not to be shown.
    pub secrets: Vec<String>,
}

/// What an agent reports of the power.
#[derive(Debug, Clone)]
pub struct Answer {
    pub state: PowerState,
    /// Why it is unknown.
    pub why: Option<String>,
    /// For how long the agent ran.
    pub took: Duration,
}

impl Answer {
    pub(crate) fn none(why: String) -> Self {
        Self { state: PowerState::Unknown, why: Some(why), took: Duration::ZERO }
    }
}

impl Agents {
    #[must_use]
    pub fn new(folder: PathBuf, runner: Runner) -> Self {
        Self { folder, runner, read: Mutex::default() }
    }

    /// The agent's own metadata; read again only when its file is another.
    ///
    /// # Errors
    /// There is none that may be run, or its metadata cannot be read.
    pub async fn metadata(&self, name: &str) -> Result<FenceAgent, String> {
        let path = self.folder.join(name);
        program::check(&path).map_err(|refused| format!("not run: {refused}"))?;
        let stamp = stamp(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some((of, agent)) = self.cache().get(name)
            && *of == stamp
        {
            return Ok(agent.clone());
        }
        let run = Run {
            program: path,
            args: Vec::new(),
            env: BTreeMap::new(),
            stdin: "action=metadata\n".to_owned(),
            deadline: METADATA_DEADLINE,
            limit_bytes: METADATA_BYTES,
        };
        let report = self.runner.run(run, None).await.map_err(|error| error.to_string())?;
        if report.ending != Ending::Exited(0) {
            return Err(format!("it does not report its metadata: {}", complaint(&report, &[])));
        }
        let agent = FenceAgent::parse(report.stdout.trim()).map_err(|error| error.to_string())?;
        self.cache().insert(name.to_owned(), (stamp, agent.clone()));
        Ok(agent)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (Stamp, FenceAgent)>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Off or on. Ok means only that the agent reported success.
    ///
    /// # Errors
    /// [`Failed::NotBegun`] only if nothing was executed.
    pub async fn perform(
        &self,
        call: &ValidatedMethod,
        action: AgentAction,
        options: &Options,
        lease_deadline: &LeaseDeadline,
    ) -> Result<(), Failed> {
        let run = self.run(call, action, options).map_err(Failed::NotBegun)?;
        let named = |text: &str| format!("{} ({}) {}: {text}", call.name, call.agent, action.name());
        let report = match self.runner.run(run, Some(lease_deadline)).await {
            Ok(report) => report,
            Err(NoReport::NotStarted(why)) => return Err(Failed::NotBegun(named(&why))),
            Err(error @ NoReport::Lost(_)) => return Err(Failed::InDoubt(named(&error.to_string()))),
        };
        tracing::info!(method = call.name, agent = call.agent, action = action.name(), ending = ?report.ending, "fence agent ended");
        let output = complaint(&report, &options.secrets);
        match report.ending {
            Ending::Exited(0) => Ok(()),
            Ending::Exited(_) => Err(Failed::Refused(named(&output))),
            Ending::TimedOut => Err(Failed::Timeout(call.longest)),
            Ending::NotStarted(why) => Err(Failed::NotBegun(named(&why))),
            Ending::Signalled(_) | Ending::LeaseDeadline | Ending::Immortal => Err(Failed::InDoubt(named(&output))),
        }
    }

    /// The power state that the agent reports.
    pub async fn status(&self, call: &ValidatedMethod, options: &Options) -> Answer {
        let report = match self.run(call, AgentAction::Status, options) {
            Ok(run) => self.runner.run(run, None).await,
            Err(why) => return Answer::none(why),
        };
        let report = match report {
            Ok(report) => report,
            Err(error) => return Answer::none(error.to_string()),
        };
        let (state, took) = (state(&report), report.took);
        let why = (state == PowerState::Unknown).then(|| {
            let hint = if report.ending == Ending::Exited(OFF) { HINT } else { "" };
            complaint(&report, &options.secrets) + hint
        });
        Answer { state, why, took }
    }

    fn run(&self, call: &ValidatedMethod, action: AgentAction, options: &Options) -> Result<Run, String> {
        let path = self.folder.join(&call.agent);
        program::check(&path).map_err(|refused| format!("{} is not run: {refused}", call.agent))?;
        Ok(Run {
            program: path,
            args: Vec::new(),
            env: self.environment(call)?,
            stdin: stdin(action, options)?,
            deadline: call.longest,
            limit_bytes: OUTPUT_BYTES,
        })
    }

    /// `fence_redfish` has no option for authorities. Agents of clouds would take these for their provider's, and get none.
    fn environment(&self, call: &ValidatedMethod) -> Result<BTreeMap<String, String>, String> {
        let ca_file = if Protocol::of(&call.agent) == Protocol::Redfish { self.runner.ca_file()? } else { None };
        Ok(ca_file.map(|file| (CA_VARIABLE.to_owned(), file.display().to_string())).into_iter().collect())
    }
}

fn stamp(path: &std::path::Path) -> std::io::Result<Stamp> {
    let found = fs::metadata(path)?;
    Ok(Stamp(found.dev(), found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
}

/// One option on each line: a line end in a value would be another option.
fn stdin(action: AgentAction, options: &Options) -> Result<String, String> {
    let mut text = format!("action={}\n", action.name());
    for (name, value) in &options.values {
        if value.contains(['\n', '\r', '\0']) {
            return Err(format!("the option {name} has a line end in it; take it out of the Secret"));
        }
        text.push_str(&format!("{name}={value}\n"));
    }
    Ok(text)
}

/// 0 is on, 2 is off, all else is unknown (`fencing.py`); so is a status that contradicts what was printed with it. Off
/// has to be printed too, as `fencing.py` does: 2 is also how a shell ends that cannot fork, and Python's `argparse`.
pub(crate) fn state(report: &Report) -> PowerState {
    let prints = |state: &str| {
        let line = format!("Status: {state}");
        report.stdout.lines().any(|printed| printed.trim().eq_ignore_ascii_case(&line))
    };
    match report.ending {
        Ending::Exited(0) if !prints("OFF") => PowerState::On,
        Ending::Exited(OFF) if prints("OFF") && !prints("ON") => PowerState::Off,
        _ => PowerState::Unknown,
    }
}

/// What went wrong, without secrets.
pub(crate) fn complaint(report: &Report, secrets: &[String]) -> String {
    let output = scrub(&format!("{}\n{}", report.stdout, report.stderr), report.cut, secrets);
    let how = match &report.ending {
        Ending::Exited(status) => format!("exit status {status}"),
        Ending::Signalled(signal) => format!("ended by signal {signal}"),
        Ending::TimedOut => "no end within its time; it was ended".to_owned(),
        Ending::LeaseDeadline => "ended, because the leader's time was over".to_owned(),
        Ending::NotStarted(why) => format!("not started: {why}"),
        Ending::Immortal => "it cannot be killed: it waits in the kernel".to_owned(),
    };
    if output.is_empty() { how } else { format!("{how}; it printed: {output}") }
}
