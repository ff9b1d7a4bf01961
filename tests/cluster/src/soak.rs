//! `make soak`: faults are planted one after another in a real cluster, chosen by a seed. Each has to be found, acted
//! on as the documents have it, and over in time; whatever else is done or reported meanwhile has no cause, and is
//! wrong.

pub mod act;
pub mod choice;
pub mod fault;
mod known_state;
pub mod memory;
pub mod outcome;
pub mod percentile;
mod plant;
pub mod policies;
pub mod report;
pub mod trial;
pub mod watch;
pub mod well;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use self::{
    act::Planted,
    choice::{Choice, Choices, READS_KERNEL_LOG, Target},
    fault::Fault,
    memory::{Footprint, of_machines},
    outcome::{Outcome, Run},
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

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub seed: u64,
    /// No fault is planted after that.
    pub lasts: Duration,
    /// So many at most.
    pub faults: Option<usize>,
}

impl Order {
    /// So many faults are a proof, unless fewer are asked for.
    pub const PROOF: usize = 100;

    /// How many have to be planted.
    #[must_use]
    pub fn at_least(&self) -> usize {
        self.faults.map_or(Self::PROOF, |most| most.min(Self::PROOF))
    }
}

/// Brings a cluster up and soaks it until the time is over, or `stop` is set.
///
/// # Panics
/// If the cluster does not come up.
#[must_use]
pub fn run(order: Order, stop: &AtomicBool) -> Run {
    let plan = Plan { kernel_log: Some(READS_KERNEL_LOG), ..Plan::default() };
    let mut cluster = Cluster::start(plan);
    cluster.install();
    step("identities of the agents' own", || identity::enroll(&cluster));
    [policies::dead_nodes().as_str(), &policies::readonly_filesystems(), SHOP, TAIL]
        .iter()
        .for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    let mut soak = Soak::new(order, stop);
    let ended = soak.settle(&cluster).and_then(|before| soak.soak(&mut cluster, &before, plan.workers));
    soak.finish(&cluster, ended)
}

/// One run, and what came of it.
struct Soak<'a> {
    order: Order,
    stop: &'a AtomicBool,
    begun: (Timestamp, Instant),
    outcomes: Vec<Outcome>,
    watch: Option<Watch>,
    memory: Footprint,
}

impl<'a> Soak<'a> {
    fn new(order: Order, stop: &'a AtomicBool) -> Self {
        let begun = (Timestamp::now(), Instant::now());
        Self { order, stop, begun, outcomes: Vec::new(), watch: None, memory: Footprint::default() }
    }

    /// Waits until the cluster has come to rest, and looks how it is then.
    fn settle(&mut self, cluster: &Cluster) -> Result<Before, Miss> {
        eprintln!("soak: seed {}; the cluster settles for {} s", self.order.seed, SETTLED.as_secs());
        wait(self.stop, SETTLED, || None::<()>)?;
        let runs = wait(self.stop, SOON, || cluster.api().ready_on(POD))?;
        runs.ok_or_else(|| format!("{POD} is not ready"))?;
        let before = wait(self.stop, SOON, || Before::of(cluster).filter(|before| before.differs(cluster).is_none()))?;
        let before = before.ok_or_else(|| "the cluster is not well before anything is planted".to_owned())?;
        let memory = of_machines(cluster);
        self.memory.see(&memory);
        self.memory.start = memory;
        self.watch = Some(Watch::start(cluster));
        self.begun = (Timestamp::now(), Instant::now());
        Ok(before)
    }

    /// One fault after another, so that each act has one cause.
    fn soak(&mut self, cluster: &mut Cluster, before: &Before, workers: u8) -> Result<(), Miss> {
        let mut rest = Duration::ZERO;
        for (choice, number) in Choices::new(self.order.seed, workers).zip(1..) {
            let is_enough = self.order.faults.is_some_and(|faults| number > faults);
            if is_enough || self.begun.1.elapsed() + choice.pause.max(rest) >= self.order.lasts {
                return Ok(());
            }
            wait(self.stop, choice.pause.max(rest), || None::<()>)?;
            self.one(cluster, before, choice, number)?;
            rest = if choice.fault == Fault::ApiServerAway { AFTER_STORM } else { Duration::ZERO };
        }
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
        self.memory.see(&of_machines(cluster));
        let Some(outcome) = Outcome::of(number, at, trial, ended) else { return Err(Miss::Ended) };
        eprintln!("{}", outcome.line());
        let is_missed = outcome.missed.is_some();
        self.outcomes.push(outcome);
        if is_missed {
            cluster.start_api_server_if_away();
            harmless(|| known_state::restore(cluster, before, self.stop))?;
        }
        self.watch.iter().for_each(Watch::over);
        Ok(())
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

    fn plant(&self, planted: Planted) {
        self.watch.iter().for_each(|watch| watch.plant(planted.clone()));
    }

    fn finish(mut self, cluster: &Cluster, ended: Result<(), Miss>) -> Run {
        let lasted = self.begun.1.elapsed();
        let ended = match ended {
            // The end is measured as the start was.
            Ok(()) => wait(self.stop, SETTLED, || None::<()>).err().map(|_| "by a signal".to_owned()),
            Err(Miss::Ended) => Some("by a signal".to_owned()),
            Err(Miss::Missed(why)) => Some(why),
        };
        let end = catch_unwind(AssertUnwindSafe(|| of_machines(cluster))).unwrap_or_default();
        self.memory.see(&end);
        self.memory.end = end;
        let (powers_off, looks) = self.watch.as_ref().map_or((0, 0), Watch::counts);
        Run {
            seed: self.order.seed,
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
