//! Probes of the node's services and of its operator's. They run in the check process `check` and report under a name
//! of their own, `services`. All are asked beside each other, so that one that hangs delays no other.

mod npd_health_checks;
mod schedule;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use nodewell_checks::{
    service::{Moment, Observation, Observer, ServiceProbe, ServiceSettings, ServicesJudge, service_probes},
    systemd::Manager,
};
use nodewell_client::Line;
use tokio::{
    sync::Mutex,
    task::{Id, JoinError, JoinSet},
    time::Instant,
};

use crate::{
    check_process::{
        report::{ConditionReporter, Link, Unreached},
        state_file::StateFile,
        status_line::StatusLine,
    },
    runtime::clock,
};

use schedule::Schedule;

pub use npd_health_checks::npd_health_checks;

/// The name under which it reports (`source`), and of its state file.
pub(super) const NAME: &str = "services";

/// All services that are looked after.
pub(super) struct Services {
    link: Link,
    /// Borrowed by [`Services::run`] for as long as it runs.
    work: Mutex<Work>,
}

/// What is to be looked after.
pub(super) struct ServicesPlan<'a> {
    pub(super) settings: &'a ServiceSettings,
    /// Health checks of Node Problem Detector's configuration.
    pub(super) npd_health_checks: Vec<ServiceProbe>,
    /// Where it stores its state; `None`: nowhere.
    pub(super) state_dir: Option<&'a Path>,
}

struct Work {
    judge: ServicesJudge,
    observer: Arc<Observer>,
    state_file: Option<StateFile>,
    schedule: Schedule,
    observations: JoinSet<Observation>,
    /// The service that each task looks at.
    asked: BTreeMap<Id, usize>,
}

impl Services {
    /// Must be called within a runtime. Nothing is asked before [`Services::run`].
    pub(super) fn new(line: Line, plan: ServicesPlan<'_>, status_line: StatusLine) -> Self {
        let ServicesPlan { settings, npd_health_checks, state_dir } = plan;
        let checks: Vec<ServiceProbe> = service_probes(settings).into_iter().chain(npd_health_checks).collect();
        let work = Work {
            schedule: Schedule::new(checks.len()),
            judge: ServicesJudge::new(checks),
            observer: Arc::new(Observer { manager: Manager::system(), root: "/".into() }),
            state_file: state_dir.map(|folder| StateFile::named(folder, NAME)),
            observations: JoinSet::new(),
            asked: BTreeMap::new(),
        };
        Self { link: Link::followed(line, NAME, status_line), work: Mutex::new(work) }
    }

    /// What it reports by.
    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Looks and reports, over and over; never returns.
    pub(super) async fn run(&self, status_line: &StatusLine) {
        let mut work = self.work.lock().await;
        let mut condition_reporter = ConditionReporter::new(&self.link);
        work.load(&mut condition_reporter).await;
        // Where there is none to look at, nothing is to come.
        if work.judge.is_decided() {
            condition_reporter.all_reported();
        }
        loop {
            let Some((n, observation)) = work.next().await else { continue };
            work.observe(n, &observation);
            work.report(&mut condition_reporter).await;
            status_line.part(NAME, work.judge.summary());
        }
    }

    /// The last report, at a stop.
    pub(super) async fn finish(self) {
        self.link.finish().await;
    }
}

impl Work {
    async fn load(&mut self, condition_reporter: &mut ConditionReporter<'_, ()>) {
        let Some(state_file) = &mut self.state_file else { return };
        let saved = state_file.load().await;
        if let Some(judge) = saved.judge {
            self.judge.load(judge);
        }
        condition_reporter.load((), saved.reported);
    }

    /// Starts looks that are due, and returns one that has ended; `None`: none has yet.
    async fn next(&mut self) -> Option<(usize, Observation)> {
        for n in self.schedule.due(Instant::now()) {
            let (observer, check) = (Arc::clone(&self.observer), self.judge.check(n).clone());
            let last = self.judge.last_target(n);
            let task = self.observations.spawn(async move { observer.observation(&check, last).await });
            self.asked.insert(task.id(), n);
        }
        tokio::select! {
            Some(ended) = self.observations.join_next_with_id() => self.ended(ended),
            () = self.schedule.wait() => None,
        }
    }

    /// A look that ended unasked has a fault of ours; the next one comes all the same.
    fn ended(&mut self, ended: Result<(Id, Observation), JoinError>) -> Option<(usize, Observation)> {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let n = self.asked.remove(&id)?;
        match ended {
            Ok((_, observation)) => Some((n, observation)),
            Err(error) => {
                tracing::error!(service = self.judge.check(n).name, %error, "a look ended unasked, will look again");
                self.schedule.plan(n, self.judge.check(n).timing.interval);
                None
            }
        }
    }

    fn observe(&mut self, n: usize, observation: &Observation) {
        self.judge.observe(n, observation, &now());
        self.schedule.plan(n, self.judge.pause(n));
    }

    async fn report(&mut self, condition_reporter: &mut ConditionReporter<'_, ()>) {
        let rest = if self.judge.is_decided() { Unreached::Nothing } else { Unreached::Rest };
        condition_reporter.report((), self.judge.findings(), &rest).await;
        if rest == Unreached::Nothing {
            condition_reporter.all_reported();
        }
        if let Some(state_file) = &mut self.state_file {
            state_file.save(Some(self.judge.save()), condition_reporter.reported(()));
        }
    }
}

fn now() -> Moment {
    let boot_id = clock::boot_id().map(|id| id.to_string()).unwrap_or_default();
    Moment { wall: jiff::Timestamp::now(), monotonic: clock::monotonic(), boot_id }
}
