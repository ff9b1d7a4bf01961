//! Fence agents and BMCs as one replica uses them, and its network to the nodes.

use std::{future::Future, time::Duration};

use nodewell_reconcile::{lifeline::Lifeline, power::Power, reach::Prober};
use nodewell_remedy::{
    action::Failed,
    facts::Node,
    snapshot::{FencePlan, PowerState},
    time::Moment,
};
use tokio::time::sleep;

use crate::{
    oracle::Agent,
    scene::Mutation,
    truth::{Manner, Shared},
};

/// Agents give up by themselves after so long.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub struct SimPower {
    pub truth: Shared,
    pub replica: usize,
}

/// An agent's process, which ends when this is dropped.
struct Process {
    truth: Shared,
    agent: Agent,
}

impl Process {
    fn begin(power: &SimPower, node: &str, life: &Lifeline, act: &str) -> Self {
        let until = life.until();
        let agent = Agent { node: node.to_owned(), replica: power.replica, epoch: life.epoch, until };
        power.truth.borrow_mut().agent_begins(&agent, act);
        Self { truth: power.truth.clone(), agent }
    }

    /// Its supervisor ends it when it hears of no renewal.
    fn prolong(&mut self, until: Moment) {
        let mut truth = self.truth.borrow_mut();
        for agent in truth.oracle.agents.iter_mut().filter(|agent| **agent == self.agent) {
            agent.until = until;
        }
        self.agent.until = until;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.truth.borrow_mut().oracle.agents.retain(|agent| *agent != self.agent);
    }
}

impl SimPower {
    fn manner(&self, node: &Node) -> Manner {
        self.truth.borrow().machines.get(&node.name).map_or(Manner::Hangs, |machine| machine.bmc.manner)
    }

    fn delay(&self, low: u64, high: u64) -> Duration {
        let mut truth = self.truth.borrow_mut();
        truth.steps += 1;
        truth.random.millis(low, high)
    }

    async fn order(&self, node: &Node, on: bool, life: &Lifeline) -> Result<Vec<String>, Failed> {
        if !life.holds(self.truth.borrow().now()) {
            return Err(Failed::NotBegun("the term is over".into()));
        }
        let act = if on { "on" } else { "off" };
        let mut process = Process::begin(self, &node.name, life, act);
        if !on {
            self.truth.borrow_mut().off_begins(&node.name);
        }
        let mut life = life.clone();
        let work = self.work(node, on);
        tokio::pin!(work);
        loop {
            let (now, until) = (self.truth.borrow().now(), life.until());
            process.prolong(until);
            tokio::select! {
                biased;
                moved = life.moved() => if !moved { return Err(Failed::InDoubt("the term ended".into())) },
                () = sleep(until.since(now)) => return Err(Failed::InDoubt("the term ended".into())),
                done = &mut work => return done,
            }
        }
    }

    async fn work(&self, node: &Node, on: bool) -> Result<Vec<String>, Failed> {
        sleep(self.delay(200, 3000)).await;
        match self.manner(node) {
            Manner::Hangs => {
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Manner::Refuses => return Err(Failed::Refused("made up".into())),
            Manner::Pretends | Manner::SaysOff => {}
            Manner::Slow(late) => self.tell(node, on, late),
            Manner::Honest => self.tell(node, on, Duration::ZERO),
        }
        sleep(self.delay(10, 1000)).await;
        Ok(vec!["ipmi".into()])
    }

    /// The BMC has it now, whatever becomes of the agent.
    fn tell(&self, node: &Node, on: bool, late: Duration) {
        let mut truth = self.truth.borrow_mut();
        let at = truth.now().plus(late);
        if !on {
            truth.turned_off(&node.name);
        }
        if late.is_zero() {
            truth.switch(&node.name, on, "its BMC");
        } else if let Some(machine) = truth.machines.get_mut(&node.name) {
            machine.bmc.pending = Some((at, on));
        }
    }
}

impl Power for SimPower {
    async fn plan(&self, node: &Node) -> Result<FencePlan, String> {
        sleep(self.delay(50, 500)).await;
        let identity = (self.manner(node) != Manner::Hangs).then_some(Ok(()));
        Ok(FencePlan { power_management: vec!["ipmi".into()], longest: LONGEST, identity, ..FencePlan::default() })
    }

    async fn read(&self, node: &Node) -> PowerState {
        sleep(self.delay(50, 400)).await;
        if self.manner(node) == Manner::Hangs {
            sleep(Duration::from_secs(10)).await;
        }
        let mut truth = self.truth.borrow_mut();
        let state = match truth.scene.mutation {
            Mutation::FalseOff => PowerState::Off,
            _ => truth.machines.get(&node.name).map_or(PowerState::Unknown, crate::truth::Machine::power),
        };
        truth.power_was_read(&node.name, state);
        state
    }

    fn off(&self, node: &Node, life: &Lifeline) -> impl Future<Output = Result<Vec<String>, Failed>> {
        self.order(node, false, life)
    }

    fn on(&self, node: &Node, life: &Lifeline) -> impl Future<Output = Result<Vec<String>, Failed>> {
        self.order(node, true, life)
    }

    async fn methods(&self, _node: &Node, _names: &[String], _life: &Lifeline) -> Result<(), Failed> {
        Err(Failed::Refused("there are none".into()))
    }

    async fn reap(&self, _node: &Node, _life: &Lifeline) -> Result<(), Failed> {
        Err(Failed::Refused("there is no provider".into()))
    }
}

impl Prober for SimPower {
    async fn reaches(&self, node: &Node) -> bool {
        sleep(self.delay(1, 20)).await;
        let truth = self.truth.borrow();
        let now = truth.now();
        let reaches = truth.replicas[self.replica].cut <= now;
        reaches && truth.machines.get(&node.name).is_some_and(|machine| machine.answers(now))
    }
}
