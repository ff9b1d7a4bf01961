//! Fence agents, BMCs and the provider's plug-in as one replica uses them, and its network to the nodes.

mod process;
mod readings;

use std::{future::Future, time::Duration};

use nodewell_reconcile::{lease_deadline::LeaseDeadline, power::Power, reach::Prober};
use nodewell_remediation::{
    action::Failed,
    api::fence::Blocker,
    facts::Node,
    snapshot::{FenceLevel, FencePlan, FenceScope, Level, PowerState},
};
use tokio::time::sleep;

use crate::{
    faults::Fault,
    scenario::{Mutation, Theme},
    truth::{Bmc, Manner, Outlets, Provider, SAN, Shared},
};

/// Agents give up by themselves after so long.
const LONGEST: Duration = Duration::from_secs(20);
/// An agent that its supervisor does not end takes so long.
const OUTLIVING: u64 = 45_000;

#[derive(Debug, Clone)]
pub struct SimPower {
    pub truth: Shared,
    pub replica: usize,
}

/// What a process is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    On(Level),
    Off(Level),
    Reap,
}

impl SimPower {
    fn manner(&self, node: &Node) -> Manner {
        let truth = self.truth.borrow();
        let alive = truth.machines.get(&node.name).filter(|machine| machine.has_current());
        alive.map_or(Manner::Hangs, |machine| machine.bmc.manner)
    }

    fn outlets(&self, node: &Node) -> Outlets {
        let truth = self.truth.borrow();
        let supply = truth.machines.get(&node.name).and_then(|machine| machine.supply.as_ref());
        supply.map_or(Outlets::Hangs, |supply| supply.manner)
    }

    fn delay(&self, low: u64, high: u64) -> Duration {
        let mut truth = self.truth.borrow_mut();
        truth.steps += 1;
        truth.random.millis(low, high)
    }

    fn mutation(&self) -> Mutation {
        self.truth.borrow().scenario.mutation
    }

    /// What an agent does once it runs.
    async fn work(&self, node: &Node, act: Act, epoch: u64) -> Result<(), Failed> {
        let slowest = if self.mutation() == Mutation::OutlivesTerm { OUTLIVING } else { 3000 };
        sleep(self.delay(200, slowest)).await;
        match act {
            Act::Reap => self.take_away(node, epoch).await,
            Act::On(Level::FIRST) => self.switch(node, true, epoch).await,
            Act::Off(Level::FIRST) => self.switch(node, false, epoch).await,
            Act::On(_) => self.switch_outlets(node, true, epoch).await,
            Act::Off(_) => self.switch_outlets(node, false, epoch).await,
        }
    }

    async fn switch(&self, node: &Node, on: bool, epoch: u64) -> Result<(), Failed> {
        let manner = self.manner(node);
        self.truth.borrow_mut().count(&format!("bmc {}", name(&manner)));
        match manner {
            Manner::Hangs => {
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Manner::Refuses => return Err(Failed::Refused("made up".into())),
            Manner::StuckOff if on => {
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Manner::Stranger => return Err(strangers()),
            Manner::HalfDead(_) => {
                self.change(node, |bmc| bmc.manner = Manner::HalfDead(!on));
                sleep(self.delay(10, 1000)).await;
                return Err(Failed::InDoubt("the first method did its part, the second one does not answer".into()));
            }
            Manner::SilentAfterOrder(obeys) => {
                if obeys {
                    self.answer(node, on, Duration::ZERO, epoch);
                }
                self.change(node, |bmc| bmc.manner = Manner::Hangs);
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Manner::Pretends | Manner::ReadsOff | Manner::StuckOff | Manner::Flaps(_) => {}
            Manner::Slow(late) => self.answer(node, on, late, epoch),
            Manner::AnswersLate(late) => {
                self.answer(node, on, late, epoch);
                sleep(late.min(LONGEST)).await;
                if late > LONGEST {
                    return Err(Failed::Timeout(LONGEST));
                }
            }
            Manner::Restores(after) => {
                self.answer(node, on, Duration::ZERO, epoch);
                let at = self.truth.borrow().now().plus(after);
                self.change(node, |bmc| bmc.restores = (!on).then_some(at));
            }
            Manner::Honest | Manner::SlowReads(_) => self.answer(node, on, Duration::ZERO, epoch),
        }
        sleep(self.delay(10, 1000)).await;
        Ok(())
    }

    fn change(&self, node: &Node, change: impl FnOnce(&mut Bmc)) {
        let mut truth = self.truth.borrow_mut();
        if let Some(machine) = truth.machines.get_mut(&node.name) {
            change(&mut machine.bmc);
        }
    }

    /// Before an agent is begun.
    fn check_own(&self, node: &Node, scope: &FenceScope) -> Result<(), Failed> {
        let is_strangers = scope.level == Level::FIRST && self.manner(node) == Manner::Stranger;
        if is_strangers { Err(strangers()) } else { Ok(()) }
    }

    async fn switch_outlets(&self, node: &Node, on: bool, epoch: u64) -> Result<(), Failed> {
        let manner = self.outlets(node);
        self.truth.borrow_mut().count(&format!("outlets {}", name(&manner)));
        match manner {
            Outlets::Hangs => {
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Outlets::SilentAfterOrder => {
                self.truth.borrow_mut().befall(&Fault::OutletsChange(node.name.clone(), Outlets::Hangs));
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Outlets::Pretends => {}
            Outlets::Honest => {
                let mut truth = self.truth.borrow_mut();
                truth.act_lands(&node.name, if on { "on" } else { "off" }, epoch);
                if !on {
                    truth.turned_off(&node.name);
                }
                truth.turn_outlets(&node.name, on);
            }
        }
        sleep(self.delay(10, 1000)).await;
        Ok(())
    }

    /// The BMC has it now, whatever becomes of the agent.
    fn answer(&self, node: &Node, on: bool, late: Duration, epoch: u64) {
        let mut truth = self.truth.borrow_mut();
        let at = truth.now().plus(late);
        truth.act_lands(&node.name, if on { "on" } else { "off" }, epoch);
        if !on {
            truth.turned_off(&node.name);
        }
        if late.is_zero() {
            truth.turn(&node.name, on);
        } else if let Some(machine) = truth.machines.get_mut(&node.name) {
            machine.bmc.pending = Some((at, on));
        }
    }

    async fn take_away(&self, node: &Node, epoch: u64) -> Result<(), Failed> {
        let provider = self.provider(node);
        self.truth.borrow_mut().count(&format!("provider {}", name(&provider)));
        match provider {
            Provider::Hangs => {
                sleep(LONGEST).await;
                return Err(Failed::Timeout(LONGEST));
            }
            Provider::Refuses => return Err(Failed::Refused("made up".into())),
            Provider::Late(late) => {
                let mut truth = self.truth.borrow_mut();
                let at = truth.now().plus(late);
                truth.provider.take_later(&node.provider_id, at);
                return Err(Failed::InDoubt("the provider did not say".into()));
            }
            Provider::Lies => {}
            Provider::Honest => {
                let mut truth = self.truth.borrow_mut();
                truth.act_lands(&node.name, "reap", epoch);
                truth.take_away(&node.name);
            }
        }
        sleep(self.delay(10, 1000)).await;
        Ok(())
    }

    /// A machine that is not there any more is gone, whichever machine bears its name by now.
    fn provider(&self, node: &Node) -> Provider {
        let truth = self.truth.borrow();
        let machine = truth.machines.get(&node.name);
        let same = machine.filter(|machine| machine.provider_id() == node.provider_id && !machine.reaped);
        same.map_or(Provider::Lies, |machine| machine.provider)
    }

    fn cuts_storage(&self) -> bool {
        self.truth.borrow().scenario.theme == Theme::Storage
    }
}

fn strangers() -> Failed {
    Failed::NotBegun("its identity is another machine's".into())
}

/// `Slow(3s)` is `Slow`.
fn name(manner: &impl std::fmt::Debug) -> String {
    let text = format!("{manner:?}");
    text.split('(').next().unwrap_or_default().to_owned()
}

impl Power for SimPower {
    async fn plan(&self, node: &Node) -> Result<FencePlan, Blocker> {
        sleep(self.delay(50, 500)).await;
        let identity = match self.manner(node) {
            Manner::Hangs => None,
            Manner::Stranger => {
                self.truth.borrow_mut().count("bmc Stranger");
                Some(Err("it reports another system UUID".to_owned()))
            }
            _ => Some(Ok(())),
        };
        let storage_only = self.cuts_storage().then(|| SAN.to_owned());
        let methods = vec![if storage_only.is_some() { "fabric" } else { "ipmi" }.to_owned()];
        let mut levels = vec![FenceLevel { methods, longest: LONGEST, identity, asks_machine: true }];
        if self.truth.borrow().scenario.has_outlets {
            let identity = (self.outlets(node) != Outlets::Hangs).then_some(Ok(()));
            levels.push(FenceLevel { methods: vec!["pdu".into()], longest: LONGEST, identity, asks_machine: false });
        }
        Ok(FencePlan { levels, storage_only, ..FencePlan::default() })
    }

    async fn read(&self, node: &Node, scope: &FenceScope) -> PowerState {
        if scope.storage.is_some() != self.cuts_storage() {
            return PowerState::Unknown;
        }
        self.truth.borrow_mut().power_was_asked(&node.name);
        sleep(self.delay(50, 400)).await;
        if scope.level > Level::FIRST {
            return self.read_outlets(node).await;
        }
        match self.manner(node) {
            Manner::Hangs => sleep(Duration::from_secs(10)).await,
            Manner::SlowReads(late) | Manner::AnswersLate(late) => self.reads_late(late).await,
            _ => {}
        }
        self.truth.borrow_mut().read_power(&node.name)
    }

    async fn off(
        &self,
        node: &Node,
        scope: &FenceScope,
        lease_deadline: &LeaseDeadline,
    ) -> Result<Vec<String>, Failed> {
        self.check_own(node, scope)?;
        self.run(node, Act::Off(scope.level), lease_deadline).await.map(|()| vec!["ipmi".into()])
    }

    async fn on(&self, node: &Node, scope: &FenceScope, lease_deadline: &LeaseDeadline) -> Result<Vec<String>, Failed> {
        self.check_own(node, scope)?;
        self.run(node, Act::On(scope.level), lease_deadline).await.map(|()| vec!["ipmi".into()])
    }

    async fn methods(&self, _node: &Node, _names: &[String], _life: &LeaseDeadline) -> Result<(), Failed> {
        Err(Failed::Refused("there are none".into()))
    }

    fn reap(&self, node: &Node, lease_deadline: &LeaseDeadline) -> impl Future<Output = Result<(), Failed>> {
        self.run(node, Act::Reap, lease_deadline)
    }
}

impl Prober for SimPower {
    async fn reaches(&self, node: &Node) -> bool {
        sleep(self.delay(1, 20)).await;
        let truth = self.truth.borrow();
        let now = truth.now();
        let reaches = truth.replicas[self.replica].cut <= now && truth.host_is_well(self.replica, now);
        reaches && truth.machines.get(&node.name).is_some_and(|machine| machine.answers(now))
    }
}
