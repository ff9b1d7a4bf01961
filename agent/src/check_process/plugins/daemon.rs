//! The plug-ins that report under one name: starts those that are due, receives their results, reports them.

use std::{rc::Rc, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_checks::{
    plugin::{
        PluginStates, Schedule,
        schedule::{Timing, first},
        states::{Now, RunReport},
    },
    probe::Findings,
};
use nodewell_client::{Client, random};
use nodewell_rules::plugin::PluginMonitor;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use super::{
    StopRequest,
    confinement::Confinement,
    run::{Finished, Job},
};
use crate::check_process::{
    report::{ConditionReporter, Link, Unreached},
    status_line::StatusLine,
};

/// Events of plug-ins that have no condition are reported under this key: [`ConditionReporter`] has one for each plug-in.
const EVENTS: usize = usize::MAX;

/// At a stop, for what runs.
const ENDED_WITHIN: Duration = Duration::from_millis(1500);

/// What one reporter runs, and what it knows of it.
pub(super) struct Daemon {
    name: Arc<str>,
    jobs: Vec<Rc<Job>>,
    schedule: Schedule,
    states: PluginStates,
    confinement: Rc<Confinement>,
    began: Instant,
    runs: JoinSet<(usize, Finished)>,
    stop: watch::Sender<bool>,
    skipped: u64,
}

impl Daemon {
    pub(super) fn new(name: Arc<str>, monitors: Vec<PluginMonitor>, confinement: Rc<Confinement>) -> Self {
        let mut schedule = Schedule::default();
        for monitor in &monitors {
            let times = monitor
                .tasks
                .iter()
                .map(|task| Timing { interval: task.interval, first: first(task.interval, random()) });
            schedule.add(monitor.concurrency, times);
        }
        let jobs = monitors.iter().flat_map(|monitor| &monitor.tasks).filter_map(Job::of).map(Rc::new).collect();
        Self {
            name,
            jobs,
            schedule,
            states: PluginStates::new(&monitors),
            confinement,
            began: Instant::now(),
            runs: JoinSet::new(),
            stop: watch::Sender::new(false),
            skipped: 0,
        }
    }

    /// Works until it is asked to end; what runs then is ended, too.
    pub(super) async fn run(
        mut self,
        client: Client,
        status_line: StatusLine,
        mut asked: watch::Receiver<StopRequest>,
    ) {
        let link = Link::new(client, &self.name, status_line);
        // Of plug-ins no state is saved.
        link.inherit();
        let mut condition_reporter = ConditionReporter::new(&link);
        let request = tokio::select! {
            () = self.work(&mut condition_reporter) => StopRequest::Retain,
            request = stop_request(&mut asked) => request,
        };
        self.end_runs().await;
        match request {
            StopRequest::Withdraw => link.withdraw().await,
            StopRequest::None | StopRequest::Retain => link.finish().await,
        }
    }

    /// Ends what runs, with all that it has started; what hangs in the kernel is not waited for.
    async fn end_runs(&mut self) {
        self.stop.send_replace(true);
        let all_ended = async {
            while let Some(ended) = self.runs.join_next().await {
                if let Ok((task, Finished { stuck: Some(stuck), .. })) = ended {
                    self.runs.spawn_local(async move { (task, stuck.gone().await) });
                }
            }
        };
        if timeout(ENDED_WITHIN, all_ended).await.is_err() {
            tracing::warn!(daemon = &*self.name, "a plug-in hangs in the kernel and is left behind");
        }
        self.runs.shutdown().await;
    }

    async fn work(&mut self, condition_reporter: &mut ConditionReporter<'_, usize>) {
        loop {
            self.start_due();
            let next = self.schedule.next().map(|due| self.began + due);
            tokio::select! {
                Some(ended) = self.runs.join_next() => {
                    // One that panicked would never end for the schedule: then its daemon is started again.
                    let Ok((task, finished)) = ended else { return };
                    self.ended(task, finished, condition_reporter).await;
                }
                () = sleep_until(next.unwrap_or(self.began)), if next.is_some() => {}
            }
        }
    }

    fn start_due(&mut self) {
        while let Some(start) = self.schedule.start(self.began.elapsed()) {
            self.note_skipped(start.task, start.skipped);
            let Some(job) = self.jobs.get(start.task).cloned() else { return };
            let confinement = Rc::clone(&self.confinement);
            let (task, stop) = (start.task, self.stop.subscribe());
            self.runs.spawn_local(async move { (task, job.run(&confinement, stop).await) });
        }
    }

    async fn ended(&mut self, task: usize, finished: Finished, condition_reporter: &mut ConditionReporter<'_, usize>) {
        let Finished { result, stuck } = finished;
        if let Some(result) = result {
            let now = Now { since_start: self.began.elapsed(), wall: Timestamp::now() };
            if let Some(run_report) = self.states.observe(task, result, now) {
                report(condition_reporter, run_report).await;
            }
        }
        // What cannot be ended runs on: its task does not start again before that is gone.
        match stuck {
            Some(stuck) => drop(self.runs.spawn_local(async move { (task, stuck.gone().await) })),
            None => {
                let skipped = self.schedule.ended(task, self.began.elapsed());
                self.note_skipped(task, skipped);
            }
        }
    }

    fn note_skipped(&mut self, task: usize, skipped: u64) {
        self.skipped += skipped;
        if skipped > 0 {
            let plugin = self.jobs.get(task).map(|job| job.name()).unwrap_or_default();
            let in_all = self.skipped;
            tracing::debug!(
                daemon = &*self.name,
                plugin,
                skipped,
                in_all,
                "runs were skipped: the one before took longer"
            );
        }
    }
}

async fn report(condition_reporter: &mut ConditionReporter<'_, usize>, run_report: RunReport) {
    let RunReport { verdict, events, all_reported } = run_report;
    if !events.is_empty() {
        condition_reporter.report(EVENTS, Findings { events, ..Findings::default() }, &Unreached::Rest).await;
    }
    if let Some((number, verdict)) = verdict {
        condition_reporter
            .report(number, Findings { verdicts: vec![verdict], ..Findings::default() }, &Unreached::Rest)
            .await;
    }
    if all_reported {
        condition_reporter.all_reported();
    }
}

/// Returns when it is asked to end; the sender is dropped only when all is.
async fn stop_request(asked: &mut watch::Receiver<StopRequest>) -> StopRequest {
    match asked.wait_for(|request| *request != StopRequest::None).await {
        Ok(request) => *request,
        Err(_) => StopRequest::Retain,
    }
}
