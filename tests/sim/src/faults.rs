//! What goes wrong in a seed, and when.

use std::time::Duration;

use nodewell_remedy::{api::HOLD, time::Moment};

use crate::{
    random::Random,
    scene::{Kind, Scene},
    truth::{Manner, Truth},
};

/// When the one node of a plain story fails.
pub const PLAIN_AT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    PowerLoss(String),
    Hang(String),
    Wake(String),
    Cut(String),
    Heal(String),
    KubeletDies(String),
    ZoneCut(String),
    ZonePower(String),
    PersonPowersOn(String),
    PersonCordons(String),
    PersonAborts(String),
    PersonHolds(String),
    PersonDeletesRecord(String),
    PersonDeletesNode(String),
    Stop,
    Go,
    ApiDown(Duration),
    ReplicaCut(usize, Duration),
    Freeze(usize, Duration),
    Deaf(usize, Duration),
    Kill(usize),
    /// The end of all trouble.
    Mend,
    /// Whoever is off without a record is switched on by a person.
    Restore,
}

/// The whole plan, in the order of time.
#[must_use]
pub fn plan(scene: &Scene) -> Vec<(Moment, Fault)> {
    let mut random = Random::new(scene.seed ^ 0xFA17);
    let mut plan = match scene.kind {
        Kind::Plain => vec![(Moment(PLAIN_AT), Fault::PowerLoss("n-0004".into()))],
        Kind::Large => vec![
            (Moment(Duration::from_secs(20)), Fault::PowerLoss("n-0004".into())),
            (Moment(Duration::from_secs(60)), Fault::ZoneCut("z-1".into())),
        ],
        Kind::Mixed => several(scene, &mut random, 8),
        Kind::Wild => several(scene, &mut random, 40),
    };
    plan.push((Moment(scene.trouble), Fault::Mend));
    plan.push((Moment(scene.trouble + Duration::from_secs(120)), Fault::Restore));
    plan.sort_by_key(|(at, _)| *at);
    plan
}

fn several(scene: &Scene, random: &mut Random, most: u64) -> Vec<(Moment, Fault)> {
    let end = scene.trouble.as_millis().try_into().unwrap_or(180_000);
    let count = random.between(1, most);
    (0..count).map(|_| (Moment(random.millis(20_000, end)), one(scene, random))).collect()
}

fn one(scene: &Scene, random: &mut Random) -> Fault {
    let number = scene.control_planes as u64 + random.below(scene.nodes as u64);
    let node = format!("n-{number:04}");
    let zone = format!("z-{}", random.below(scene.zones as u64));
    let replica = usize::try_from(random.below(scene.replicas as u64)).unwrap_or(0);
    match random.below(40) {
        0..=4 => Fault::PowerLoss(node),
        5..=7 => Fault::Hang(node),
        8 => Fault::Wake(node),
        9..=12 => Fault::Cut(node),
        13 => Fault::Heal(node),
        14 | 15 => Fault::KubeletDies(node),
        16 => Fault::ZoneCut(zone),
        17 => Fault::ZonePower(zone),
        18 => Fault::PersonPowersOn(node),
        19 => Fault::PersonCordons(node),
        20 => Fault::PersonAborts(node),
        21 => Fault::PersonHolds(node),
        22 => Fault::PersonDeletesRecord(node),
        23 => Fault::PersonDeletesNode(node),
        24 => Fault::Stop,
        25 => Fault::Go,
        26 => Fault::ApiDown(random.secs(1, 40)),
        27..=29 => Fault::ReplicaCut(replica, random.secs(1, 40)),
        30..=32 => Fault::Freeze(replica, random.secs(1, 40)),
        33 => Fault::Deaf(replica, random.secs(5, 60)),
        _ => Fault::Kill(replica),
    }
}

impl Truth {
    /// BMCs have their ways from the start.
    pub fn spoil(&mut self) {
        let rate = match self.scene.kind {
            Kind::Plain | Kind::Large => 0,
            Kind::Mixed => 150,
            Kind::Wild => 400,
        };
        let mut random = Random::new(self.scene.seed ^ 0xB3C);
        for machine in self.machines.values_mut() {
            if random.chance(rate) {
                machine.bmc.manner = manner(&mut random);
            }
        }
    }

    pub fn befall(&mut self, fault: &Fault) {
        let now = self.now();
        self.note(format!("FAULT {fault:?}"));
        match fault {
            Fault::PowerLoss(node) => self.switch(node, false, "a fault"),
            Fault::PersonPowersOn(node) => self.switch(node, true, "a person"),
            Fault::Hang(node) => self.machine(node, |machine| machine.hung = true),
            Fault::Wake(node) => self.machine(node, |machine| machine.hung = false),
            Fault::Cut(node) => self.machine(node, |machine| machine.cut = true),
            Fault::Heal(node) => self.machine(node, |machine| machine.cut = false),
            Fault::KubeletDies(node) => self.machine(node, |machine| machine.kubelet_dead = true),
            Fault::ZoneCut(zone) => {
                self.zone(zone).iter().for_each(|node| self.machine(node, |machine| machine.cut = true))
            }
            Fault::ZonePower(zone) => self.zone(zone).iter().for_each(|node| self.switch(node, false, "a fault")),
            Fault::Stop => self.store.set_stopped(true, now),
            Fault::Go => self.store.set_stopped(false, now),
            Fault::ApiDown(span) => self.store.down = now.plus(*span),
            Fault::ReplicaCut(replica, span) => self.replicas[*replica].cut = now.plus(*span),
            Fault::Freeze(replica, span) => self.replicas[*replica].frozen = now.plus(*span),
            Fault::Deaf(replica, span) => self.replicas[*replica].deaf = now.plus(*span),
            Fault::Kill(replica) => self.replicas[*replica].doomed = true,
            Fault::Mend => self.mend(),
            Fault::Restore => self.restore(),
            _ => self.person(fault),
        }
    }

    fn person(&mut self, fault: &Fault) {
        let now = self.now();
        match fault {
            Fault::PersonCordons(node) if self.store.nodes.get(node).is_some_and(|node| !node.unschedulable) => {
                self.store.edit_node(node, now, |node| node.unschedulable = true);
                self.oracle.persons.insert(node.clone());
            }
            Fault::PersonHolds(node) => {
                self.store.edit_node(node, now, |node| {
                    node.annotations.insert(HOLD.into(), "hands off".into());
                });
            }
            Fault::PersonAborts(node) => {
                if let Some(mut fence) = self.store.fences.get(node).cloned() {
                    fence.spec.abort = true;
                    self.store.put_fence(fence, now);
                }
            }
            Fault::PersonDeletesRecord(node) => self.store.remove_fence(node, now),
            Fault::PersonDeletesNode(node) => self.delete_node(node),
            _ => {}
        }
    }

    fn machine(&mut self, name: &str, change: impl FnOnce(&mut crate::truth::Machine)) {
        if let Some(machine) = self.machines.get_mut(name) {
            change(machine);
        }
    }

    fn zone(&self, zone: &str) -> Vec<String> {
        self.machines.values().filter(|machine| machine.zone == zone).map(|machine| machine.name.clone()).collect()
    }

    fn mend(&mut self) {
        let now = self.now();
        self.store.set_stopped(false, now);
        for machine in self.machines.values_mut() {
            (machine.cut, machine.hung, machine.kubelet_dead, machine.broken) = (false, false, false, false);
            machine.bmc.manner = Manner::Honest;
        }
        let names: Vec<String> = self.store.nodes.keys().cloned().collect();
        for name in names {
            self.store.edit_node(&name, now, |node| drop(node.annotations.remove(HOLD)));
        }
    }

    fn restore(&mut self) {
        let fences = &self.store.fences;
        let lies_off = |machine: &&crate::truth::Machine| !machine.on && !fences.contains_key(&machine.name);
        let off: Vec<String> = self.machines.values().filter(lies_off).map(|machine| machine.name.clone()).collect();
        for name in off {
            self.switch(&name, true, "a person");
        }
    }
}

fn manner(random: &mut Random) -> Manner {
    match random.below(6) {
        0 => Manner::Hangs,
        1 => Manner::Refuses,
        2 => Manner::Pretends,
        3 => Manner::SaysOff,
        _ => Manner::Slow(random.secs(1, 30)),
    }
}
