//! `make soak`: faults are planted one after another in a real cluster, chosen by a seed. Each has to be found, acted
//! on as the documents have it, and over in time; whatever else is done or reported meanwhile has no cause, and is
//! wrong.

pub mod act;
pub mod choice;
mod evidence;
pub mod fault;
mod known_state;
pub mod memory;
pub mod outcome;
pub mod percentile;
mod plant;
pub mod policies;
pub mod read;
pub mod report;
pub mod setting;
pub mod sum;
pub mod trial;
pub mod watch;
pub mod well;

use std::{
    fmt::Display,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use self::{
    act::Planted,
    choice::{Choice, Choices, READS_KERNEL_LOG, Target},
    fault::Fault,
    memory::{Footprint, LOOKS},
    outcome::{Outcome, Run},
    setting::Setting,
    trial::{Miss, Trial, wait},
    watch::Watch,
    well::Before,
};
use crate::{
    cluster::{Cluster, Plan, step},
    identity,
    manifests::{SHOP, TAIL},
    shop::POD,
};

/// Every check has looked, and memory has come to rest.
const SETTLED: Duration = Duration::from_secs(180);
/// A storm's cooldown is a minute, in which no policy begins anything: all nodes were silent at once.
const AFTER_STORM: Duration = Duration::from_secs(90);
const SOON: Duration = Duration::from_secs(120);
/// After so many faults memory is taken for the start again: what a process keeps once from its first work is no leak.
const FIRST: usize = 10;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub seed: u64,
    /// No fault is planted after that.
    pub lasts: Duration,
    /// So many at most.
    pub faults: Option<usize>,
    /// So many have to be planted, where that is asked for.
    pub least: Option<usize>,
}

impl Order {
    /// So many faults are a proof, unless fewer are asked for.
    pub const PROOF: usize = 100;

    /// How many have to be planted.
    #[must_use]
    pub fn at_least(&self) -> usize {
        self.least.unwrap_or_else(|| self.faults.map_or(Self::PROOF, |most| most.min(Self::PROOF)))
    }
}

/// A line of progress on stderr. A terminal that is gone is no reason to end.
fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Brings a cluster up and soaks it until the time is over, or `stop` is set. The report's text is on stderr before the
/// cluster ends.
///
/// # Panics
/// If the cluster does not come up.
#[must_use]
pub fn run(order: Order, stop: &AtomicBool) -> Run {
    let setting = Setting::here();
    let plan = Plan { kernel_log: Some(READS_KERNEL_LOG), ..Plan::default() };
    let mut cluster = Cluster::start(plan);
    cluster.install();
    step("identities of the agents' own", || identity::enroll(&cluster));
    [policies::dead_nodes().as_str(), &policies::readonly_filesystems(), SHOP, TAIL]
        .iter()
        .for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    let mut soak = Soak::new(order, setting, stop);
    let ended = soak.settle(&cluster).and_then(|before| soak.soak(&mut cluster, &before, plan.workers));
    let run = soak.finish(&cluster, ended);
    evidence::keep_report(&run);
    end(cluster);
    run
}

/// A machine that does not end takes nothing from what was found.
fn end(cluster: Cluster) {
    if catch_unwind(AssertUnwindSafe(|| drop(cluster))).is_err() {
        say("soak: the cluster did not end in order; the next one removes what is left of it");
    }
}

/// One run, and what came of it.
struct Soak<'a> {
    order: Order,
    setting: Setting,
    stop: &'a AtomicBool,
    begun: (Timestamp, Instant),
    outcomes: Vec<Outcome>,
    watch: Option<Watch>,
    /// How many findings counted when evidence was looked at last.
    known: usize,
    memory: Footprint,
}

impl<'a> Soak<'a> {
    fn new(order: Order, setting: Setting, stop: &'a AtomicBool) -> Self {
        let begun = (Timestamp::now(), Instant::now());
        let memory = Footprint::default();
        Self { order, setting, stop, begun, outcomes: Vec::new(), watch: None, known: 0, memory }
    }

    /// Waits until the cluster has come to rest, and looks how it is then.
    fn settle(&mut self, cluster: &Cluster) -> Result<Before, Miss> {
        say(format!("soak: seed {}; the cluster settles for {} s", self.order.seed, SETTLED.as_secs()));
        wait(self.stop, SETTLED, || None::<()>)?;
        let runs = wait(self.stop, SOON, || cluster.api().ready_on(POD))?;
        runs.ok_or_else(|| format!("{POD} is not ready"))?;
        let before = wait(self.stop, SOON, || Before::of(cluster).filter(|before| before.differs(cluster).is_none()))?;
        let before = before.ok_or_else(|| "the cluster is not well before anything is planted".to_owned())?;
        self.memory.start = self.memory.at_rest(cluster, LOOKS);
        self.watch = Some(Watch::start(cluster));
        self.begun = (Timestamp::now(), Instant::now());
        Ok(before)
    }

    /// One fault after another, so that each act has one cause.
    fn soak(&mut self, cluster: &mut Cluster, before: &Before, workers: u8) -> Result<(), Miss> {
        let mut rest = Duration::ZERO;
        for (choice, number) in Choices::new(self.order.seed, workers).zip(1..) {
            if self.order.faults.is_some_and(|faults| number > faults) {
                return Ok(());
            }
            self.check_watch()?;
            if number == FIRST + 1 {
                self.take_start_again(cluster)?;
            }
            let pause = choice.pause.max(rest);
            if self.begun.1.elapsed() + pause >= self.order.lasts {
                return Ok(());
            }
            wait(self.stop, pause, || None::<()>)?;
            self.one(cluster, before, choice, number)?;
            rest = if choice.fault == Fault::ApiServerAway { AFTER_STORM } else { Duration::ZERO };
        }
        Ok(())
    }

    /// Where time is left for more than that.
    fn take_start_again(&mut self, cluster: &Cluster) -> Result<(), Miss> {
        if self.begun.1.elapsed() + SETTLED * 2 >= self.order.lasts {
            return Ok(());
        }
        say(format!("soak: memory comes to rest for {} s, and is the start from here on", SETTLED.as_secs()));
        wait(self.stop, SETTLED, || None::<()>)?;
        let start = self.memory.at_rest(cluster, LOOKS);
        self.memory.start.extend(start);
        Ok(())
    }

    fn one(&mut self, cluster: &mut Cluster, before: &Before, choice: Choice, number: usize) -> Result<(), Miss> {
        let node = self.node_of(cluster, choice.target)?;
        // A leader has no node that may be acted on.
        let of_node = (choice.fault != Fault::LeaderKilled).then(|| node.clone());
        self.plant(Planted { fault: choice.fault, node: of_node, is_over: false });
        let at = Timestamp::now();
        let mut trial = Trial::new(choice, node, before, self.stop);
        let ended = harmless(|| plant::plant(cluster, &mut trial));
        self.memory.look(cluster);
        let Some(outcome) = Outcome::of(number, at, trial, ended) else { return Err(Miss::Ended) };
        say(outcome.line());
        let is_missed = outcome.missed.is_some();
        self.outcomes.push(outcome);
        self.gather(cluster, &number.to_string(), is_missed);
        if is_missed {
            harmless(|| {
                cluster.start_api_server_if_away();
                known_state::restore(cluster, before, self.stop)
            })?;
        }
        self.watch.iter().for_each(Watch::over);
        Ok(())
    }

    /// Evidence of a fault that was missed, and of what counts among the findings since the last time.
    fn gather(&mut self, cluster: &Cluster, name: &str, is_missed: bool) {
        let found = self.watch.as_ref().map_or(0, Watch::wrong);
        if is_missed || found > self.known {
            let seed = self.order.seed;
            let gathered =
                harmless(|| evidence::gather(cluster, seed, name).map_err(|why| Miss::Missed(why.to_string())));
            if let Err(Miss::Missed(why)) = gathered {
                say(format!("soak: not all evidence could be gathered: {why}"));
            }
        }
        self.known = found;
    }

    /// Where it is planted now.
    fn node_of(&self, cluster: &Cluster, target: Target) -> Result<String, Miss> {
        match target {
            Target::Worker(number) | Target::ControlPlane { reporter: number } => Ok(format!("w{number}")),
            Target::ShopsNode { or } => {
                let node = wait(self.stop, SOON, || cluster.api().ready_on(POD))?;
                let node =
                    node.ok_or_else(|| Miss::Missed(format!("{POD} is ready nowhere, and nothing is planted")))?;
                Ok(if node == format!("w{READS_KERNEL_LOG}") { format!("w{or}") } else { node })
            }
        }
    }

    /// Without it all further faults would show nothing.
    fn check_watch(&self) -> Result<(), Miss> {
        let is_alive = self.watch.as_ref().is_some_and(Watch::is_alive);
        if is_alive { Ok(()) } else { Err(Miss::Missed("what looks at the cluster has died".to_owned())) }
    }

    fn plant(&self, planted: Planted) {
        self.watch.iter().for_each(|watch| watch.plant(planted.clone()));
    }

    fn finish(mut self, cluster: &Cluster, ended: Result<(), Miss>) -> Run {
        let lasted = self.begun.1.elapsed();
        // The end is measured as the start was.
        let ended = ended.and_then(|()| wait(self.stop, SETTLED, || None::<()>)).and_then(|_| self.check_watch());
        let ended = match ended {
            Ok(()) => None,
            Err(Miss::Ended) => Some("by a signal".to_owned()),
            Err(Miss::Missed(why)) => Some(why),
        };
        // Of one that ended early it is not judged.
        let looks = if ended.is_none() { LOOKS } else { 1 };
        self.memory.end = self.memory.at_rest(cluster, looks);
        self.gather(cluster, "end", false);
        let (powers_off, looks) = self.watch.as_ref().map_or((0, 0), Watch::counts);
        Run {
            seed: self.order.seed,
            setting: self.setting,
            begun: self.begun.0,
            lasted,
            at_least: self.order.at_least(),
            outcomes: self.outcomes,
            findings: self.watch.as_ref().map(Watch::findings).unwrap_or_default(),
            powers_off,
            looks,
            memory: self.memory,
            ended,
        }
    }
}

/// A step of the harness that fails is a miss of this fault, and not the end of the run.
fn harmless(act: impl FnOnce() -> Result<(), Miss>) -> Result<(), Miss> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Miss::Missed(text.unwrap_or("a step of the harness failed").to_owned()))
    })
}
