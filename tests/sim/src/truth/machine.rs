//! A machine and its BMC.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{snapshot::PowerState, time::Moment};

use super::{Restart, Supply, Truth};
use crate::scenario::Theme;

#[derive(Debug, Clone)]
pub struct Machine {
    pub name: String,
    pub zone: String,
    pub on: bool,
    /// How often it was booted; the boot id is made of it.
    pub boots: u64,
    pub booted: Moment,
    /// How long from power to a kubelet.
    pub boot_takes: Duration,
    /// It does nothing any more, but could again.
    pub hung: bool,
    /// It does not reach the API server, nor is it reached.
    pub cut: bool,
    /// The kubelet is dead; what it started lives on.
    pub kubelet_dead: bool,
    /// It never comes up again by itself.
    pub broken: bool,
    /// Ready, and a monitor reports that its kernel is stuck; another boot helps.
    pub ill: bool,
    /// It cannot reach the storage `san`.
    pub storage_cut: bool,
    /// Which Node object of its name is its own, or would be.
    pub generation: u64,
    /// Its Node was deleted; its kubelet makes another one then.
    pub registers: Option<Moment>,
    /// The provider has taken it away.
    pub reaped: bool,
    pub provider: Provider,
    /// What runs: pods' UIDs and which identity each is.
    pub running: BTreeMap<String, String>,
    /// When its kubelet saw that what runs is to end, by the pod's UID.
    pub ending: BTreeMap<String, Moment>,
    /// Its kubelet has done all that there is to do about its pods.
    pub settled: Option<Settled>,
    /// A reboot that it announced.
    pub restart: Option<Restart>,
    pub bmc: Bmc,
    /// It has a second fencing level.
    pub supply: Option<Supply>,
    pub renewed: Moment,
    /// What follows from it no controller can know.
    pub excuse: Option<Excuse>,
}

/// By which state of its pods, and whether its Node was out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub version: u64,
    pub is_tainted: bool,
}

/// Why what is done to a machine that runs is not the controller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excuse {
    /// A person deleted its Node.
    Deleted,
    /// Its BMC reported Off while it was silent for as long as the policy asks. It was heard again since then, or its
    /// BMC reported On.
    Lied { woke: Option<Moment>, read_on: Option<Moment> },
}

/// A replica that looks before an act has seen after so long that a machine woke, or that its BMC reports On.
const NOTICED: Duration = Duration::from_secs(4);
/// It carries out an order of ours; all else is done by other actors.
pub(super) const ITS_BMC: &str = "its BMC";
/// One that flaps reports Off so often less one, and then On.
const TURNS: usize = 4;

#[derive(Debug, Clone)]
pub struct Bmc {
    pub manner: Manner,
    /// Its last order takes effect then.
    pub pending: Option<(Moment, bool)>,
    /// By itself it turns the machine on then.
    pub restores: Option<Moment>,
    /// How often it was asked.
    pub asked: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Honest,
    /// Carries out an order after so long; confirms it at once.
    Slow(Duration),
    /// Never answers.
    Hangs,
    /// Answers, and carries out no order.
    Refuses,
    /// Answers OK and does nothing.
    Pretends,
    /// Reports Off, whatever is so.
    ReadsOff,
    /// The same, and a client that turns it on waits for On until the time is over.
    StuckOff,
    /// Answers OK and does nothing; reports Off and On by turns, each for so long, or for some questions where that is
    /// nothing.
    Flaps(Duration),
    /// Takes its next order, and carries it out or not; never answers from then on.
    SilentAfterOrder(bool),
    /// Carries out each order, and turns the machine on again so long after it was turned off.
    Restores(Duration),
    /// Needs so long for each reading.
    SlowReads(Duration),
    /// Needs so long for everything: for each reading, for each answer to an order, and for what it was ordered to do.
    AnswersLate(Duration),
    /// Its address is another machine's by now.
    Stranger,
    /// One of two methods is dead; the other one has turned its supply off, or not yet. The machine runs on the first.
    HalfDead(bool),
}

/// How the provider's plug-in answers for a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Takes it away, reports so, and the Node goes; maybe another machine comes under its name.
    Honest,
    /// Reports so and does nothing.
    Lies,
    /// Answers nothing, does nothing.
    Hangs,
    /// Answers nothing in time, and does it so much later.
    Late(Duration),
    Refuses,
}

impl Machine {
    /// The provider's name of this very machine.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("sim://{}/{}", self.name, self.generation)
    }

    #[must_use]
    pub fn node_uid(&self) -> String {
        format!("uid-{}-{}", self.name, self.generation)
    }

    #[must_use]
    pub fn boot_id(&self) -> String {
        format!("{}-boot-{}", self.name, self.boots)
    }

    /// The kubelet runs.
    #[must_use]
    pub fn is_alive(&self, now: Moment) -> bool {
        self.on && !self.hung && !self.kubelet_dead && !self.broken && now.since(self.booted) >= self.boot_takes
    }

    /// It answers over the network.
    #[must_use]
    pub fn answers(&self, now: Moment) -> bool {
        self.on && !self.hung && !self.cut && !self.broken && now.since(self.booted) >= self.boot_takes
    }

    /// What its BMC reports; or the switch of its storage, where that is what is cut.
    pub fn power_state(&mut self, storage: bool, now: Moment) -> PowerState {
        let on = if storage { !self.storage_cut } else { self.on };
        self.bmc.asked += 1;
        let on = match self.bmc.manner {
            _ if !self.has_current() => return PowerState::Unknown,
            Manner::Hangs | Manner::Stranger => return PowerState::Unknown,
            Manner::HalfDead(turned) if turned || !on => return PowerState::Unknown,
            Manner::ReadsOff | Manner::StuckOff => false,
            Manner::Flaps(span) => self.flaps_on(span, now),
            _ => on,
        };
        if on { PowerState::On } else { PowerState::Off }
    }

    /// Its BMC is alive, and it may run.
    #[must_use]
    pub fn has_current(&self) -> bool {
        self.supply.as_ref().is_none_or(Supply::is_live)
    }

    pub(super) fn begin_boot(&mut self, now: Moment, takes: Duration) {
        (self.booted, self.boot_takes) = (now, takes);
        self.boots += 1;
        (self.hung, self.ill, self.kubelet_dead) = (false, false, false);
    }

    /// Nothing runs any more.
    pub(super) fn end_boot(&mut self) {
        self.running.clear();
        self.ending.clear();
        self.settled = None;
        self.excuse = None;
    }

    /// Its power goes before it is back: by us, or by another actor, who makes it another story.
    fn lose_restart(&mut self, is_ours: bool) {
        self.restart =
            self.restart.filter(|_| is_ours).map(|restart| Restart { is_down: true, is_fenced: true, ..restart });
    }

    fn flaps_on(&self, span: Duration, now: Moment) -> bool {
        match now.0.as_millis().checked_div(span.as_millis()) {
            Some(turn) => turn % 2 == 1,
            None => self.bmc.asked.is_multiple_of(TURNS),
        }
    }

    /// Its BMC reports what is not so.
    #[must_use]
    pub fn has_liar(&self) -> bool {
        matches!(self.bmc.manner, Manner::ReadsOff | Manner::StuckOff | Manner::Flaps(_))
    }

    /// Whatever is done to it now follows from what no replica can know.
    #[must_use]
    pub fn is_excused(&self, now: Moment) -> bool {
        let known = |at: Option<Moment>| at.is_some_and(|at| now.since(at) > NOTICED);
        match self.excuse {
            None => false,
            Some(Excuse::Deleted) => true,
            Some(Excuse::Lied { woke, read_on }) => !known(woke) && !known(read_on),
        }
    }
}

impl Truth {
    /// Turns a machine on or off, now.
    pub fn switch(&mut self, name: &str, on: bool, by: &str) {
        let was_on = self.machines.get(name).map(|machine| machine.on);
        let now = self.now();
        let boot_takes = self.random.secs(15, 50);
        if on && by == "a person" {
            self.plug_in(name);
        }
        let able = |machine: &&mut Machine| machine.on != on && !(on && (machine.reaped || !machine.has_current()));
        let Some(machine) = self.machines.get_mut(name).filter(able) else { return };
        machine.on = on;
        machine.boot_takes = boot_takes;
        (machine.hung, machine.ill) = (false, false);
        if on {
            machine.begin_boot(now, boot_takes);
        } else {
            machine.end_boot();
            machine.lose_restart(by == ITS_BMC);
        }
        self.note(format!("{name}: power {} by {by}", if on { "on" } else { "off" }));
        if was_on != Some(on) {
            self.switched(name, on, by == ITS_BMC);
        }
    }

    pub(super) fn run_bmc(&mut self, name: &str) {
        let now = self.now();
        let Some(machine) = self.machines.get_mut(name) else { return };
        let restores = machine.bmc.restores.take_if(|at| *at <= now).is_some();
        if let Some((_, on)) = machine.bmc.pending.take_if(|(at, _)| *at <= now) {
            self.turn(name, on);
        }
        if restores {
            self.restored(name);
        }
    }

    /// Its BMC's power restore policy.
    fn restored(&mut self, name: &str) {
        let was_off = self.machines.get(name).is_some_and(|machine| !machine.on);
        let manner = self.machines.get(name).map(|machine| machine.bmc.manner);
        if let Some(Manner::Restores(after)) = manner.filter(|_| was_off) {
            self.count(&format!("bmc restored-after-{}s", after.as_secs()));
        }
        self.switch(name, true, "its BMC's restore policy");
    }

    /// A BMC, or a switch of the storage, carries out its order.
    pub fn turn(&mut self, name: &str, on: bool) {
        if self.scenario.theme != Theme::Storage {
            return self.switch(name, on, ITS_BMC);
        }
        let Some(machine) = self.machines.get_mut(name) else { return };
        machine.settled = None;
        self.runs_changed = true;
        if std::mem::replace(&mut machine.storage_cut, !on) == on {
            self.switched(name, on, true);
        }
        self.note(format!("{name}: storage {}", if on { "restored" } else { "cut off" }));
    }
}
