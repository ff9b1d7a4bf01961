//! The families of devices that one team of a check process looks after: asks in rounds, by a worker process, and lets
//! each family's judge decide what the answers mean.

pub(super) mod course;
mod desk;
mod drivers;
pub(super) mod keeping;
mod leftovers;
mod pause;
mod process;
pub(super) mod speaker;

use std::{path::PathBuf, time::Duration};

use crate::satellite::family::Family;
use tokio::time::{Instant, sleep};

use crate::{
    runtime::notify,
    satellite::{Group, Team, link::Link, protocol::Brief, words::Words},
};

use course::Course;
use desk::Desk;
use drivers::{Change, Drivers};
use keeping::Keeping;
use leftovers::Us;
use process::OwnProgram;
use speaker::Speaker;

pub(crate) use drivers::GPU_DRIVERS;
pub use pause::{Pause, PauseError, PauseFile};

/// How often it looks whether it is to pause, whether a stuck reader is gone, whether a driver came or went.
const TICK: Duration = Duration::from_secs(2);

/// What a crew is made of.
#[derive(Debug, Clone)]
pub(super) struct CrewPlan {
    pub(super) group: Group,
    pub(super) team: Team,
    pub(super) brief: Brief,
    /// Where its families store their state; `None`: nowhere.
    pub(super) state_dir: Option<PathBuf>,
    /// The agent's.
    pub(super) socket: PathBuf,
    /// In place of every family's own: for tests.
    pub(super) interval: Option<Duration>,
    pub(super) deadline: Option<Duration>,
}

/// One team at work.
pub(super) struct Crew<'a> {
    plan: CrewPlan,
    words: Words,
    desk: Desk,
    courses: Vec<Course>,
    speaker: Speaker<'a, Family>,
    drivers: Drivers,
    pauses: PauseFile,
    paused: bool,
    /// Whether everything was judged once.
    is_settled: bool,
}

impl<'a> Crew<'a> {
    /// Nothing is asked before [`Crew::run`].
    pub(super) fn new(plan: CrewPlan, link: &'a Link, words: Words) -> Self {
        let desk = Desk::new(Box::new(OwnProgram { team: plan.team, socket: plan.socket.clone() }), plan.brief.clone());
        let wanted = plan.team.families().iter().filter(|family| family.is_enabled(&plan.brief.settings));
        let courses = wanted.map(|family| plan.course(*family)).collect();
        let drivers = Drivers::new(plan.group, &plan.brief.roots);
        let pauses = PauseFile::of(&plan.socket, plan.group);
        Self {
            plan,
            words,
            desk,
            courses,
            speaker: Speaker::new(link),
            drivers,
            pauses,
            paused: false,
            is_settled: false,
        }
    }

    /// Asks and reports. It returns only where another process has to take over, which must find all that was reported.
    pub(super) async fn run(mut self) {
        self.resume().await;
        loop {
            if self.tend().await == Tended::MustEnd {
                self.release().await;
                return self.speaker.hold();
            }
            match self.next_due() {
                Some((at, n)) if !self.paused && at <= Instant::now() => self.round(n).await,
                due => self.between(due.map(|(at, _)| at)).await,
            }
        }
    }

    /// Continues where an earlier run ended.
    async fn resume(&mut self) {
        let proc = &self.plan.brief.roots.proc;
        self.desk.leftovers.find(proc, &Us::new(self.plan.team, proc)).await;
        for course in &mut self.courses {
            self.speaker.resume(course.family, course.resume().await);
        }
        self.say_whether_all();
    }

    fn say_whether_all(&mut self) {
        if !self.courses.iter().all(|course| course.was_judged) {
            return;
        }
        self.speaker.all_said();
        if !std::mem::replace(&mut self.is_settled, true) {
            // Without it the start's code stays as well: not worth a message.
            let _ = nodewell_sys::memory::let_go_of_code();
        }
    }

    /// The family that is due first.
    fn next_due(&self) -> Option<(Instant, usize)> {
        self.courses.iter().enumerate().map(|(n, course)| (course.due, n)).min()
    }

    async fn round(&mut self, n: usize) {
        let course = &mut self.courses[n];
        let pauses = &self.pauses;
        let Some(findings) = course.round(&mut self.desk, || pauses.now().is_some()).await else { return };
        if course.is_absent && self.courses.iter().all(|course| course.is_absent) {
            self.desk.release(self.courses[n].family).await;
        }
        let course = &mut self.courses[n];
        self.speaker.tell(course.family, findings, &course.rest).await;
        course.keep(self.speaker.said(course.family));
        self.say_whether_all();
        self.words.part(self.plan.team.as_str(), self.summary());
    }

    /// Until the next round: what devices report by themselves, if they do.
    async fn between(&mut self, due: Option<Instant>) {
        let due = due.filter(|_| !self.paused);
        let pause = due.map_or(TICK, |at| at.saturating_duration_since(Instant::now()).min(TICK));
        match self.courses.iter_mut().find(|course| course.listens()).filter(|_| !self.paused) {
            Some(course) => {
                if let Some(findings) = course.listen(&mut self.desk, pause).await {
                    self.speaker.tell(course.family, findings, &course.rest).await;
                    course.keep(self.speaker.said(course.family));
                }
            }
            None => sleep(pause).await,
        }
    }

    /// Looks after the worker: pauses, drivers, those left over.
    async fn tend(&mut self) -> Tended {
        if self.desk.leftovers.reap() {
            self.hurry();
        }
        match self.drivers.change() {
            Change::None => {}
            Change::Came if notify::is_service() => {
                tracing::info!("a GPU driver came; the service restarts, for the right to its devices");
                return Tended::MustEnd;
            }
            Change::Came | Change::Went => {
                tracing::info!("a GPU driver came or went; the GPUs are read again");
                self.release().await;
                self.hurry();
            }
        }
        match self.pauses.now() {
            Some(pause) => self.pause(&pause).await,
            None if std::mem::take(&mut self.paused) => {
                tracing::info!("goes on after a pause");
                self.hurry();
            }
            None => {}
        }
        Tended::GoesOn
    }

    async fn pause(&mut self, pause: &Pause) {
        if !std::mem::replace(&mut self.paused, true) {
            tracing::info!(until = %pause.until, "paused");
            self.release().await;
        }
        self.speaker.pause(pause);
        self.words.part(self.plan.team.as_str(), pause.to_string());
    }

    async fn release(&mut self) {
        if let Some(course) = self.courses.first() {
            self.desk.release(course.family).await;
        }
    }

    fn hurry(&mut self) {
        self.courses.iter_mut().for_each(Course::hurry);
    }

    fn summary(&self) -> String {
        let known = self.courses.iter().filter_map(Course::summary);
        known.chain(self.desk.leftovers.summary()).collect::<Vec<_>>().join("; ")
    }
}

impl CrewPlan {
    fn course(&self, family: Family) -> Course {
        let mut pace = family.pace(&self.brief.settings);
        pace.interval = self.interval.unwrap_or(pace.interval);
        pace.deadline = self.deadline.unwrap_or(pace.deadline);
        let keeping = self.state_dir.as_deref().map(|folder| Keeping::start(folder, family));
        Course::new(family, (pace, family.judge(&self.brief.settings)), keeping)
    }
}

/// Whether this process can go on.
#[derive(Debug, PartialEq, Eq)]
enum Tended {
    GoesOn,
    /// systemd resolves the unit's `DeviceAllow=` only at a start: a driver that comes later has devices outside of it.
    MustEnd,
}
