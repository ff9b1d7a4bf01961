//! A machine with a BMC and, at the second level, the outlets that it hangs on.

use std::time::Duration;

use super::{
    course::dead,
    fixture::Fixture,
    parts::{level, plan},
};
use crate::{
    action::{Action, Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::fence::{Confirmation, IntendedOp, Intent, Phase},
    fence::{Next, apply_outcome, levels},
    snapshot::{FenceLevel, FencePlan, Level, PowerReading, PowerState},
};

pub(super) const BMC: Level = Level(1);
pub(super) const PDU: Level = Level(2);

/// What one of the ways to its power does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Honest,
    /// It answers nothing.
    Silent,
    /// It takes orders and does nothing.
    Disobeys,
    /// It falls silent with the next order, which it carries out or does not.
    SilentAfterOrder,
    /// It reports On, whatever is so.
    ReadsOn,
}

pub(super) struct Rack {
    pub(super) fixture: Fixture,
    pub(super) bmc: Manner,
    pub(super) pdu: Manner,
    pub(super) outlets: bool,
    /// The machine starts with its outlets.
    pub(super) starts_with_power: bool,
    pub(super) readings: Vec<PowerReading>,
    /// What was ordered, and by which level.
    pub(super) orders: Vec<(Level, bool)>,
    pub(super) warned: Vec<String>,
}

impl Rack {
    /// A machine that is dead and On.
    pub(super) fn new(bmc: Manner, pdu: Manner) -> Self {
        let mut fixture = dead();
        let pdu_level = FenceLevel { asks_machine: false, ..level("pdu") };
        fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![level("ipmi"), pdu_level], ..plan() }));
        Self {
            fixture,
            bmc,
            pdu,
            outlets: true,
            starts_with_power: true,
            readings: Vec::new(),
            orders: Vec::new(),
            warned: Vec::new(),
        }
    }

    /// The feed of its outlets is gone: they are On, and the BMC is dead with the machine.
    pub(super) fn lose_feed(&mut self) {
        self.bmc = Manner::Silent;
        self.fixture.turn(false);
    }

    fn read(&self, level: Level) -> PowerState {
        let (manner, on) = if level == BMC { (self.bmc, self.fixture.powered) } else { (self.pdu, self.outlets) };
        match manner {
            Manner::Silent => PowerState::Unknown,
            Manner::ReadsOn => PowerState::On,
            Manner::SilentAfterOrder | Manner::Honest | Manner::Disobeys if on => PowerState::On,
            // A BMC without power answers nothing.
            _ if level == BMC && !self.outlets => PowerState::Unknown,
            _ => PowerState::Off,
        }
    }

    /// As the executor reads for an act: the machine's own On, by a level before, is On.
    fn read_for_act(&self, level: Level) -> PowerState {
        if level == PDU && self.read(BMC) == PowerState::On { PowerState::On } else { self.read(level) }
    }

    pub(super) fn look(&mut self) {
        let now = self.fixture.now.moment;
        let scopes = levels::to_read(Some(&self.fixture.fence.status), Some(&self.fixture.gathered), now);
        for level in scopes.into_iter().map(|scope| scope.level) {
            let state = self.read(level);
            let unanswered = &mut self.fixture.gathered.unanswered;
            match state {
                PowerState::Unknown => drop(unanswered.entry(level).or_insert(now)),
                _ => drop(unanswered.remove(&level)),
            }
            self.readings.push(PowerReading { at: now, level, asks_machine: level == BMC, state });
        }
        self.fixture.gathered.power.clone_from(&self.readings);
    }

    fn turn(&mut self, level: Level, on: bool) {
        self.orders.push((level, on));
        let manner = if level == BMC { &mut self.bmc } else { &mut self.pdu };
        match *manner {
            Manner::Silent | Manner::Disobeys | Manner::ReadsOn => return,
            Manner::SilentAfterOrder => return *manner = Manner::Silent,
            Manner::Honest => {}
        }
        if level == PDU {
            self.outlets = on;
            if !on || self.starts_with_power {
                self.fixture.turn(on);
            }
        } else if self.outlets {
            self.fixture.turn(on);
        }
    }

    fn perform(&mut self, op: &Op) -> Outcome {
        let level = self.fixture.fence.status.level;
        match op {
            Op::Irreversible(IrreversibleOp::PowerOff) => {
                self.turn(level, false);
                match self.read_for_act(level) {
                    PowerState::Off => Ok(Done::Off(self.confirmation())),
                    PowerState::On | PowerState::Unknown => Err(Failed::Timeout(Duration::from_secs(20))),
                }
            }
            Op::Irreversible(IrreversibleOp::PowerOn) => {
                self.turn(level, true);
                Ok(Done::Yes)
            }
            Op::Reversible(ReversibleOp::ReadPower { times }) => {
                Ok(Done::Power(vec![self.read_for_act(level); *times as usize]))
            }
            op => self.fixture.perform(op),
        }
    }

    /// The end of this act is unknown.
    pub(super) fn in_doubt(&mut self, op: IntendedOp) {
        let fixture = &mut self.fixture;
        let status = &mut fixture.fence.status;
        status.phase = Phase::InDoubt;
        status.intent = Some(Intent { op, epoch: fixture.epoch, at: fixture.now.wall, pods: 0 });
    }

    fn confirmation(&self) -> Confirmation {
        Confirmation {
            at: self.fixture.now.wall,
            reads: 2,
            by: Vec::new(),
            boot_id: String::new(),
            already_off: false,
            epoch: self.fixture.epoch,
        }
    }

    /// A second a round, until `done`.
    pub(super) fn run(&mut self, rounds: u32, done: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..rounds {
            if done(self) {
                return true;
            }
            self.fixture.pass(Duration::from_secs(1));
            self.look();
            match self.fixture.next() {
                Next::Act(Action::Save { fence, why }) => {
                    self.warned.extend(why.warning.then_some(why.message));
                    self.fixture.store(*fence);
                }
                Next::Act(Action::Perform { op, .. }) => {
                    let outcome = self.perform(&op);
                    let fixture = &mut self.fixture;
                    let (fence, _) = apply_outcome(&fixture.fence, &op, &outcome, fixture.epoch, fixture.now);
                    fixture.store(fence);
                }
                _ => {}
            }
        }
        done(self)
    }

    pub(super) fn releases(&mut self, rounds: u32) -> bool {
        self.run(rounds, |rack| rack.fixture.fence.status.released > 0)
    }

    pub(super) fn warns(&self, text: &str) -> bool {
        self.warned.iter().any(|message| message.contains(text))
    }
}

pub(super) fn at(phase: Phase) -> impl Fn(&Rack) -> bool {
    move |rack| rack.fixture.phase() == phase
}
