//! Runs the checks of one worker group: asks their devices in rounds, by a worker process, and lets each check's judge
//! decide what the answers mean.
//!
//! A *round* asks every device of one check once. While devices are *released* (`nodewell release`) no worker runs, so
//! that this process has none of them open, and their conditions are Unknown.

mod drivers;
mod hw_counters_share;
mod inventory_share;
mod orders;
mod poll_loop;
mod tick;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nodewell_checks::{Check, pod_names::PodNames};
use tokio::time::Instant;

use crate::{
    check_process::{
        Group, WorkerGroup,
        memory::{keep_program, lock_rounds, trim},
        release::{Release, ReleaseFile},
        report::{ConditionReporter, Link},
        state_file::StateFile,
        status_line::StatusLine,
        worker::{client::WorkerClient, process::SelfExec, protocol::WorkerConfig, stuck::WorkerIdentity},
    },
    hw_counters::HwCountersFile,
    inventory::InventoryFiles,
    runtime::{notify, pace},
};

use drivers::{Change, Drivers};
use hw_counters_share::HwCountersShare;
use inventory_share::InventoryShare;
use orders::Orders;
use poll_loop::{PollLoop, PollTiming};
use tick::{Watched, whole_millis};

pub(crate) use drivers::has_gpu_driver;

/// What a runner is made of.
#[derive(Debug, Clone)]
pub(super) struct RunnerPlan {
    pub(super) group: Group,
    pub(super) worker_group: WorkerGroup,
    pub(super) worker_config: WorkerConfig,
    /// Where its checks store their state; `None`: nowhere.
    pub(super) state_dir: Option<PathBuf>,
    /// Beside it its devices are released: the agent's, but for the agent of a scan.
    pub(super) release_socket: PathBuf,
    pub(super) pod_names: PodNames,
    /// Where its inventory is shown, beside the agent's own socket.
    pub(super) inventory_files: InventoryFiles,
    /// The same for what drivers count and no check judges.
    pub(super) hw_counters_file: HwCountersFile,
    /// In place of every check's own: for tests.
    pub(super) interval: Option<Duration>,
    pub(super) deadline: Option<Duration>,
}

/// Runs one worker group.
pub(super) struct Runner<'a> {
    plan: RunnerPlan,
    status_line: StatusLine,
    worker_client: WorkerClient,
    poll_loops: Vec<PollLoop>,
    condition_reporter: ConditionReporter<'a, &'static Check>,
    drivers: Drivers,
    orders: Orders,
    /// Of devices that a person can ask for.
    release_file: Option<ReleaseFile>,
    inventory_share: InventoryShare,
    hw_counters_share: HwCountersShare,
    is_released: bool,
    /// Once every check has been judged since the start.
    is_trimmed: bool,
}

impl<'a> Runner<'a> {
    /// Nothing is asked before [`Runner::run`].
    pub(super) fn new(plan: RunnerPlan, link: &'a Link, status_line: StatusLine) -> Self {
        let worker_client = WorkerClient::new(
            Box::new(SelfExec { worker_group: plan.worker_group, socket: plan.release_socket.clone() }),
            plan.worker_config.clone(),
        );
        let wanted = plan.worker_group.checks().filter(|check| (check.is_enabled)(&plan.worker_config.settings));
        let poll_loops: Vec<PollLoop> = wanted.map(|check| plan.poll_loop(check)).collect();
        let drivers = Drivers::new(plan.group, &plan.worker_config.roots);
        let release_file = (plan.group != Group::Check).then(|| ReleaseFile::of(&plan.release_socket, plan.group));
        let released = release_file.as_ref().map(|file| file.path().to_owned());
        let accepted = poll_loops.iter().any(PollLoop::has_inventory).then(|| plan.inventory_files.accepted_path());
        let files = released.into_iter().chain(accepted);
        let orders = Orders::in_folders(files.filter_map(|file| file.parent().map(Path::to_owned)).collect());
        let inventory_share = InventoryShare::new(plan.inventory_files.clone());
        let hw_counters_share = HwCountersShare::new(plan.hw_counters_file.clone());
        Self {
            plan,
            status_line,
            worker_client,
            poll_loops,
            condition_reporter: ConditionReporter::new(link),
            drivers,
            orders,
            release_file,
            inventory_share,
            hw_counters_share,
            is_released: false,
            is_trimmed: false,
        }
    }

    /// Asks and reports. It returns only where another process has to take over, which must find all that was reported.
    pub(super) async fn run(mut self) {
        self.load().await;
        lock_rounds(self.plan.worker_group);
        // Its process is the one that runs on every node.
        if self.plan.worker_group == WorkerGroup::Check {
            keep_program();
        }
        loop {
            if self.maintain().await == Maintenance::MustEnd {
                self.end_worker().await;
                return self.condition_reporter.retain_on_stop();
            }
            match self.next_due() {
                Some((at, n)) if !self.is_released && at <= Instant::now() => self.round(n).await,
                due => self.between(due.map(|(at, _)| at)).await,
            }
        }
    }

    /// Loads the state of an earlier run, and finds its stuck workers.
    async fn load(&mut self) {
        let proc = &self.plan.worker_config.roots.proc;
        self.worker_client.stuck.find(proc, &WorkerIdentity::new(self.plan.worker_group, proc)).await;
        for poll_loop in &mut self.poll_loops {
            self.condition_reporter.load(poll_loop.check, poll_loop.load().await);
        }
        self.note_whether_all_is_reported();
    }

    fn note_whether_all_is_reported(&mut self) {
        if !self.poll_loops.iter().all(|poll_loop| poll_loop.was_judged) {
            return;
        }
        self.condition_reporter.all_reported();
        if !std::mem::replace(&mut self.is_trimmed, true) {
            trim();
        }
    }

    /// The check that is due first.
    fn next_due(&self) -> Option<(Instant, usize)> {
        self.poll_loops.iter().enumerate().map(|(n, poll_loop)| (poll_loop.due, n)).min()
    }

    async fn round(&mut self, n: usize) {
        let poll_loop = &mut self.poll_loops[n];
        let release_file = self.release_file.as_ref();
        let is_released = || release_file.is_some_and(|file| file.now().is_some());
        let Some(findings) = poll_loop.round(&mut self.worker_client, is_released).await else {
            return;
        };
        if poll_loop.is_absent && self.poll_loops.iter().all(|poll_loop| poll_loop.is_absent) {
            self.worker_client.end(self.poll_loops[n].check).await;
        }
        let poll_loop = &mut self.poll_loops[n];
        self.condition_reporter.report(poll_loop.check, findings, &poll_loop.unreached).await;
        poll_loop.save(self.condition_reporter.reported(poll_loop.check));
        if let Some(view) = poll_loop.inventory_view() {
            self.inventory_share.show(&view);
        }
        if let Some(view) = poll_loop.hw_counters() {
            self.hw_counters_share.show(&view);
        }
        self.note_whether_all_is_reported();
        self.status_line.part(self.plan.worker_group.as_str(), self.summary());
    }

    /// Until the next round: what devices report by themselves, if they do.
    async fn between(&mut self, due: Option<Instant>) {
        let now = Instant::now();
        let look = pace::next(now, self.watched().every());
        let until = due.filter(|_| !self.is_released).map_or(look, |at| at.min(look));
        match self.poll_loops.iter_mut().find(|poll_loop| poll_loop.listens()).filter(|_| !self.is_released) {
            Some(poll_loop) => {
                let pause = whole_millis(until - now);
                if let Some(findings) = poll_loop.listen(&mut self.worker_client, pause).await {
                    self.condition_reporter.report(poll_loop.check, findings, &poll_loop.unreached).await;
                    poll_loop.save(self.condition_reporter.reported(poll_loop.check));
                }
            }
            None => tokio::select! {
                () = self.orders.news() => {}
                () = pace::sleep_until(until) => {}
            },
        }
    }

    fn watched(&self) -> Watched {
        Watched {
            is_released: self.is_released,
            has_stuck: !self.worker_client.stuck.are_none(),
            // A person releases groups of devices (`nodewell release`), which a worker of the same name holds.
            has_releasable: self.release_file.is_some() && self.worker_client.has_worker(),
            has_drivers: self.drivers.are_followed(),
            // Who waits for what devices report by themselves hears of nothing else meanwhile.
            is_told: self.orders.are_watched() && !self.poll_loops.iter().any(PollLoop::listens),
        }
    }

    /// Looks after memory and the worker: whether devices are released, drivers, stuck workers.
    async fn maintain(&mut self) -> Maintenance {
        self.orders.watch();
        if self.worker_client.stuck.reap() {
            self.poll_all_now();
        }
        match self.drivers.change() {
            Change::None => {}
            Change::Came if notify::is_service() => {
                tracing::info!("a GPU driver came; the service restarts, for the right to its devices");
                return Maintenance::MustEnd;
            }
            Change::Came | Change::Went => {
                tracing::info!("a GPU driver came or went; the GPUs are read again");
                self.end_worker().await;
                self.poll_all_now();
            }
        }
        self.accept_inventory();
        match self.release_file.as_ref().and_then(ReleaseFile::now) {
            Some(release) => self.release(&release).await,
            None if std::mem::take(&mut self.is_released) => {
                tracing::info!("reads its devices again");
                self.poll_all_now();
            }
            None => {}
        }
        Maintenance::GoesOn
    }

    /// A person waits for what comes of it: what takes it looks again at once.
    fn accept_inventory(&mut self) {
        // The groups of devices have none, and look for no file.
        let Some(inventory) = self.poll_loops.iter_mut().find(|poll_loop| poll_loop.shows_inventory()) else { return };
        let Some(acceptance) = self.inventory_share.acceptance() else { return };
        if !inventory.accept(&acceptance) {
            return;
        }
        tracing::info!(by = %acceptance.by, names = ?acceptance.names, "hardware is accepted as it is");
        for poll_loop in &mut self.poll_loops {
            if poll_loop.shows_inventory() || poll_loop.accept(&acceptance) {
                poll_loop.poll_now();
            }
        }
        self.inventory_share.took(acceptance);
    }

    async fn release(&mut self, release: &Release) {
        if !std::mem::replace(&mut self.is_released, true) {
            tracing::info!(until = %release.until, "released");
            self.end_worker().await;
        }
        self.condition_reporter.release(release);
        self.status_line.part(self.plan.worker_group.as_str(), release.to_string());
    }

    async fn end_worker(&mut self) {
        if let Some(poll_loop) = self.poll_loops.first() {
            self.worker_client.end(poll_loop.check).await;
        }
    }

    fn poll_all_now(&mut self) {
        self.poll_loops.iter_mut().for_each(PollLoop::poll_now);
    }

    fn summary(&self) -> String {
        let known = self.poll_loops.iter().filter_map(PollLoop::summary);
        known.chain(self.worker_client.stuck.summary()).collect::<Vec<_>>().join("; ")
    }
}

impl RunnerPlan {
    fn poll_loop(&self, check: &'static Check) -> PollLoop {
        let settings = &self.worker_config.settings;
        let interval = self.interval.unwrap_or_else(|| (check.interval)(settings));
        let deadline = self.deadline.unwrap_or_else(|| (check.deadline)(settings));
        let state_file = self.state_dir.as_deref().map(|folder| StateFile::of_check(folder, check));
        PollLoop::new(check, PollTiming { interval, deadline }, (check.judge)(settings, &self.pod_names), state_file)
    }
}

/// Whether this process can go on.
#[derive(Debug, PartialEq, Eq)]
enum Maintenance {
    GoesOn,
    /// systemd resolves the unit's `DeviceAllow=` only at a start: a driver that comes later has devices outside of it.
    MustEnd,
}
