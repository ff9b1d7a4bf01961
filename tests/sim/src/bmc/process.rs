//! An agent's process, and the supervisor that ends it with the term at the latest.

use nodewell_reconcile::lease_deadline::LeaseDeadline;
use nodewell_remediation::{action::Failed, facts::Node, time::Moment};
use tokio::time::sleep;

use super::{Act, SimPower};
use crate::{oracle::Agent, scenario::Mutation, truth::Shared};

/// An agent's process, which ends when this is dropped.
struct Process {
    truth: Shared,
    agent: Agent,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Self::On(_) => "on",
            Self::Off(_) => "off",
            Self::Reap => "reap",
        }
    }
}

impl Process {
    fn begin(power: &SimPower, node: &Node, act: Act, lease_deadline: &LeaseDeadline) -> Self {
        let until = lease_deadline.until();
        let number = power.truth.borrow_mut().oracle.next_agent();
        let agent =
            Agent { number, node: node.name.clone(), replica: power.replica, epoch: lease_deadline.epoch, until };
        power.truth.borrow_mut().agent_begins(&agent, act.name());
        Self { truth: power.truth.clone(), agent }
    }

    /// Its supervisor ends it when it hears of no renewal.
    fn prolong(&self, until: Moment) {
        let mut truth = self.truth.borrow_mut();
        let same = truth.oracle.agents.iter_mut().filter(|agent| agent.number == self.agent.number);
        same.for_each(|agent| agent.until = until);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.truth.borrow_mut().oracle.agents.retain(|agent| agent.number != self.agent.number);
    }
}

impl SimPower {
    pub(super) async fn run(&self, node: &Node, act: Act, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        if !lease_deadline.is_ahead(self.truth.borrow().now()) {
            return Err(Failed::NotBegun("the term is over".into()));
        }
        let process = Process::begin(self, node, act, lease_deadline);
        if self.mutation() == Mutation::OutlivesTerm {
            return self.run_for_ever(node, act, process).await;
        }
        let mut lease_deadline = lease_deadline.clone();
        let work = self.work(node, act, lease_deadline.epoch);
        tokio::pin!(work);
        loop {
            let (now, until) = (self.truth.borrow().now(), lease_deadline.until());
            process.prolong(until);
            tokio::select! {
                biased;
                moved = lease_deadline.moved() => if !moved { return Err(Failed::InDoubt("the term ended".into())) },
                () = sleep(until.since(now)) => return Err(Failed::InDoubt("the term ended".into())),
                done = &mut work => return done,
            }
        }
    }

    /// Without a supervisor: the replica that started it may be dead, and it goes on.
    async fn run_for_ever(&self, node: &Node, act: Act, process: Process) -> Result<(), Failed> {
        process.prolong(Moment(std::time::Duration::MAX));
        let (power, node) = (self.clone(), node.clone());
        let task = tokio::task::spawn_local(async move {
            let done = power.work(&node, act, process.agent.epoch).await;
            drop(process);
            done
        });
        task.await.unwrap_or_else(|_| Err(Failed::InDoubt("it was ended".into())))
    }
}
