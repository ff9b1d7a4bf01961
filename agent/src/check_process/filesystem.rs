//! Ends problems of filesystems and block devices by looking at the host: a read-only filesystem has recovered when it
//! is gone, or when it takes writes and has counted no further error. No log line reports that.
//!
//! A *problem* is an entry of the agent's ledger, its account of what is wrong; it holds while at least one reporter
//! claims it (`condition`, `reason`, `subject`).

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_checks::probe::ReadError;
use nodewell_client::ClientError;
use nodewell_faults::message;
use nodewell_model::{
    Event, Name, Severity, SubjectKey,
    api::{ClearRequest, ConditionProblem, ProblemVersion},
    view::ProblemView,
};
use nodewell_rules::rule::RecoveryCheck;
use tokio::time::Instant;

use crate::{
    check_process::{
        filesystem::{
            probe::{ProbeResult, Probes},
            reading::FilesystemReading,
            verdict::{FilesystemHistory, FilesystemVerdict, PROOF_AFTER},
        },
        report::Link,
        status_line::StatusLine,
    },
    detectors::proof::HostRoots,
    runtime::clock,
};

mod probe;
mod reading;
mod verdict;

/// How often it looks while something is broken; it does not look at all while nothing is.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How soon it looks again while a write is under way; one that takes longer is looked at with the others.
const PROBE_WAIT: Duration = Duration::from_millis(100);
/// Problems that begin one after the other are looked at together.
const MIN_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Looks after the problems that a rule raised whose `clears` has `check = …` ([`RecoveryCheck`]).
pub(super) struct FilesystemCheck {
    roots: HostRoots,
    status_line: StatusLine,
    probes: Probes,
    problems: BTreeMap<WatchedProblem, ProblemState>,
}

/// A problem that a look at the host can end, by what identifies it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct WatchedProblem {
    condition: Name,
    reason: Name,
    subject: Option<String>,
    device: String,
}

/// What the agent's socket shows of it.
#[derive(Debug, Clone)]
struct ReportedProblem {
    check: RecoveryCheck,
    id: String,
    since: Timestamp,
    version: ProblemVersion,
}

/// What the looks so far have shown.
#[derive(Debug)]
struct ProblemState {
    history: FilesystemHistory,
    version: ProblemVersion,
    /// Whether it was reported that this process may not write there; then a new mount is the only evidence.
    is_denied: bool,
    /// Why the agent did not take the evidence; logged once.
    refused: Option<String>,
    /// Why the host could not be looked at; logged once.
    unread: Option<ReadError>,
}

/// Readings of one look: problems of one device share one, because a probe answers once.
type Readings = BTreeMap<(String, RecoveryCheck), Result<FilesystemReading, ReadError>>;

impl FilesystemCheck {
    pub(super) const IDLE: &str = "nothing to look after";

    pub(super) fn new(roots: HostRoots, status_line: StatusLine) -> Self {
        Self { roots, status_line, probes: Probes::default(), problems: BTreeMap::new() }
    }

    /// Looks whenever there is something to look at; never returns. `mounts` is the reporter of the check of mounts,
    /// which may claim the same problems.
    pub(super) async fn run(mut self, link: &Link, mounts: Option<&Link>) {
        loop {
            let looked = Instant::now();
            let answered = match link.problems().await {
                Ok(problems) => {
                    self.look(link, mounts, &problems).await;
                    true
                }
                // The link logs it, and wakes this loop when the agent is back.
                Err(error) => {
                    tracing::debug!(%error, "the problems were not read");
                    false
                }
            };
            let idle = answered && self.problems.is_empty();
            let pause = if self.probes.have_begun() { PROBE_WAIT } else { LOOK_EVERY };
            tokio::select! {
                () = link.problem_change() => tokio::time::sleep_until(looked + MIN_LOOK_INTERVAL).await,
                () = tokio::time::sleep(pause), if !idle => {}
            }
        }
    }

    async fn look(&mut self, link: &Link, mounts: Option<&Link>, problems: &[ConditionProblem]) {
        let broken: BTreeMap<WatchedProblem, ReportedProblem> = problems.iter().filter_map(watched).collect();
        self.problems.retain(|watched, _| broken.contains_key(watched));
        let mut readings = Readings::new();
        for (watched, reported) in broken {
            if let FilesystemVerdict::Over(evidence) = self.judge(link, &watched, &reported, &mut readings) {
                // The heartbeat of `mounts` would claim the problem again. If it still holds, the next round of that
                // check claims it.
                if let Some((mounts, subject)) = mounts.zip(watched.subject.clone()) {
                    mounts.forget(&SubjectKey::of(watched.condition.clone(), subject));
                }
                self.end(link, &watched, reported, evidence).await;
            }
        }
        self.status_line.work(self.summary());
    }

    fn judge(
        &mut self,
        link: &Link,
        watched: &WatchedProblem,
        reported: &ReportedProblem,
        readings: &mut Readings,
    ) -> FilesystemVerdict {
        let reading = readings
            .entry((watched.device.clone(), reported.check))
            .or_insert_with(|| FilesystemReading::take(&self.roots, &watched.device, reported.check, &mut self.probes))
            .clone();
        let now = clock::boottime();
        let state = self.problems.entry(watched.clone()).or_insert_with(|| ProblemState::new(reported, link.since()));
        if state.version != reported.version {
            state.version = reported.version;
            state.history.failed_again(now);
        }
        // A look that failed has shown nothing: it neither ends the problem nor begins its history.
        let reading = match reading {
            Ok(reading) => reading,
            Err(error) => {
                state.cannot_look(watched, error);
                return FilesystemVerdict::Stays;
            }
        };
        state.unread = None;
        if reading.probe == ProbeResult::Denied && !std::mem::replace(&mut state.is_denied, true) {
            link.send_event(denied(&watched.device));
        }
        state.history.judge(reading, now)
    }

    async fn end(&mut self, link: &Link, watched: &WatchedProblem, reported: ReportedProblem, evidence: String) {
        let WatchedProblem { condition, reason, subject, device } = watched.clone();
        let request = ClearRequest {
            condition,
            reason: Some(reason.clone()),
            subject,
            id: Some(reported.id),
            evidence: Some(evidence.clone()),
            if_unchanged_since: Some(reported.version),
        };
        match link.clear(&request).await {
            // It was raised again, or another client ended it: the next look shows which.
            Ok(0) => {}
            Ok(_) => {
                tracing::info!(%reason, device, evidence, "the problem is over");
                self.problems.remove(watched);
            }
            Err(error) => self.refused(watched, &error),
        }
    }

    /// It is tried again with the next look.
    fn refused(&mut self, watched: &WatchedProblem, error: &ClientError) {
        let Some(state) = self.problems.get_mut(watched) else { return };
        let why = error.to_string();
        if state.refused.as_ref() != Some(&why) {
            tracing::warn!(reason = %watched.reason, device = watched.device, %error, "the agent did not end the problem");
            state.refused = Some(why);
        }
    }

    fn summary(&self) -> String {
        let Some((first, state)) = self.problems.iter().next() else { return Self::IDLE.to_owned() };
        let mut line = format!("looks after {} problem(s); {} on {}", self.problems.len(), first.reason, first.device);
        if state.is_denied {
            line.push_str(": no right to write there");
        }
        if let Some(error) = &state.unread {
            line.push_str(&format!(": cannot look: {error}"));
        }
        if let Some(why) = &state.refused {
            line.push_str(&format!(": cannot end it: {why}"));
        }
        line
    }
}

impl ProblemState {
    /// A problem that was there before we listened is history: what has failed just now may still take a write.
    fn new(reported: &ReportedProblem, since: Timestamp) -> Self {
        let is_old =
            since.duration_since(reported.since) > jiff::SignedDuration::try_from(PROOF_AFTER).unwrap_or_default();
        let history = FilesystemHistory::new(is_old);
        Self { history, version: reported.version, is_denied: false, refused: None, unread: None }
    }

    fn cannot_look(&mut self, watched: &WatchedProblem, error: ReadError) {
        if self.unread.as_ref() != Some(&error) {
            tracing::warn!(reason = %watched.reason, device = watched.device, %error, "cannot look; the problem stays");
            self.unread = Some(error);
        }
    }
}

const WRITE_PROBE_DENIED: &str = "WriteProbeDenied";

/// What people should know of a check process that runs without the rights it was made for.
fn denied(device: &str) -> Event {
    let message = message(WRITE_PROBE_DENIED, &[("device", &device)]);
    tracing::warn!(device, "{message}");
    Event {
        severity: Severity::Warn,
        timestamp: clock::now().wall,
        reason: Name::fixed(WRITE_PROBE_DENIED),
        message,
        subject: Some(device.to_owned()),
        seen_by: None,
    }
}

/// `None` for a problem that no look of this check ends.
fn watched(problem: &ConditionProblem) -> Option<(WatchedProblem, ReportedProblem)> {
    let check = problem.check.as_deref().and_then(RecoveryCheck::named)?;
    // Recovered devices are reported by their own monitors.
    if check == RecoveryCheck::DeviceRecovered || problem.problem.test {
        return None;
    }
    let subject = problem.problem.subject.clone();
    let watched = WatchedProblem {
        condition: problem.condition.clone(),
        reason: problem.problem.reason.clone(),
        device: subject.clone().or_else(|| device_in(&problem.problem.message))?,
        subject,
    };
    let ProblemView { id, since, .. } = &problem.problem;
    Some((watched, ReportedProblem { check, id: id.clone(), since: *since, version: problem.version() }))
}

/// The device in the kernel's own message, `EXT4-fs (sda1): …` or `BTRFS error (device sdb): …`: Node Problem
/// Detector's rules capture no subject.
fn device_in(message: &str) -> Option<String> {
    let (_, rest) = message.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let device = inside.strip_prefix("device ").unwrap_or(inside).split(' ').next()?;
    let plain = device.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    (plain && !device.is_empty()).then(|| device.trim_end_matches(':').to_owned())
}

#[cfg(test)]
mod tests;
