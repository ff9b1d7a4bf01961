//! One seed, from the beginning to its end or to the first thing that must not be.

use std::{cell::RefCell, rc::Rc, time::Duration};

use tokio::{task::LocalSet, time::sleep};

use crate::{
    clocks::{self, Wall},
    faults,
    oracle::monotone,
    replica::lives,
    scenario::Scenario,
    tally::Tally,
    truth::{Shared, Truth},
};

/// What came of a seed.
#[derive(Debug, Clone)]
pub struct Report {
    pub scenario: Scenario,
    pub violations: Vec<String>,
    pub trace: Vec<String>,
    pub steps: u64,
    pub offs: u64,
    pub released: u64,
    pub mutations: u64,
    /// What was done to nodes and pods, in order.
    pub deeds: Vec<String>,
    pub tally: Tally,
}

impl Report {
    /// What a person needs to see it again.
    #[must_use]
    pub fn replay(&self) -> String {
        let lines = short(&self.trace);
        let last = lines.len().saturating_sub(250);
        format!(
            "seed {}: {:?}\n{}\n{}\nAgain: NODEWELL_SIM_FIRST_SEED={} NODEWELL_SIM_SEEDS=1 cargo test -p nodewell-sim sim",
            self.scenario.seed,
            self.scenario,
            lines[last..].join("\n"),
            self.violations.join("\n"),
            self.scenario.seed,
        )
    }
}

/// A node with 300 pods has a line for each; some of them will do.
fn short(trace: &[String]) -> Vec<&str> {
    let of_pod = |line: &str| [" releases pod ", " evicts pod "].into_iter().find(|what| line.contains(what));
    let mut lines: Vec<&str> = Vec::new();
    let (mut before, mut same) = (None, 0);
    for line in trace {
        let what = of_pod(line);
        same = if what == before { same + 1 } else { 0 };
        if what.is_none() || same < 8 {
            lines.push(line);
        }
        before = what;
    }
    lines
}

/// Plays a scenario. The same scenario gives the same report, to the last line.
///
/// # Panics
/// If the machine has no threads left for a runtime.
#[must_use]
pub fn play(scenario: Scenario) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing of the machine");
    let local = LocalSet::new();
    local.block_on(&runtime, story(scenario))
}

async fn story(scenario: Scenario) -> Report {
    clocks::begin(scenario.skew);
    let truth: Shared = Rc::new(RefCell::new(Truth::new(scenario.clone(), clocks::clock(Wall::ApiServer))));
    monotone::begin(&scenario);
    truth.borrow_mut().spoil();
    truth.borrow_mut().tick();
    let replicas: Vec<_> = (0..scenario.replicas)
        .map(|number| tokio::task::spawn_local(lives(truth.clone(), number, clocks::clock(Wall::Replica(number)))))
        .collect();
    pass(&truth, &scenario).await;
    replicas.iter().for_each(tokio::task::JoinHandle::abort);
    report(&truth.borrow(), scenario)
}

async fn pass(truth: &Shared, scenario: &Scenario) {
    let mut plan = faults::plan(scenario).into_iter().peekable();
    loop {
        sleep(Duration::from_millis(500)).await;
        let mut truth = truth.borrow_mut();
        let now = truth.now();
        while let Some((_, fault)) = plan.next_if(|(at, _)| *at <= now) {
            truth.befall(&fault);
        }
        truth.tick();
        let is_over = truth.is_over();
        if is_over {
            truth.check_end();
        }
        if is_over || !truth.oracle.violations.is_empty() {
            return;
        }
    }
}

fn report(truth: &Truth, scenario: Scenario) -> Report {
    let mut tally = truth.tally.clone();
    (0..monotone::asked()).for_each(|_| tally.count("cluster decisions-asked-again"));
    Report {
        scenario,
        violations: truth.oracle.violations.clone(),
        trace: truth.trace.clone(),
        steps: truth.steps,
        offs: truth.oracle.offs,
        released: truth.oracle.released,
        mutations: truth.oracle.mutations,
        deeds: truth.oracle.deeds.clone(),
        tally,
    }
}
