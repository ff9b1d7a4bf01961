//! What a fault does to machines, replicas and the API server.

use nodewell_remediation::api::{SKIP_REMEDIATION, policy::OffUntil};

use super::{Fault, Person, stories::liar};
use crate::{
    clocks,
    random::Random,
    scenario::{Kind, SECOND, Theme},
    truth::{Machine, Manner, Outlets, Provider, Supply, Truth},
};

impl Truth {
    /// BMCs and the provider have their ways from the start.
    pub fn spoil(&mut self) {
        let rate = match self.scenario.kind {
            Kind::Plain | Kind::Large => 0,
            Kind::Mixed => 150,
            Kind::Wild => 400,
        };
        let mut random = Random::new(self.scenario.seed ^ 0xB3C);
        for machine in self.machines.values_mut() {
            if random.chance(rate) {
                machine.bmc.manner = manner(&mut random);
            }
            if random.chance(rate * 2) {
                machine.provider = provider(&mut random);
            }
        }
        let mut random = Random::new(self.scenario.seed ^ 0x50CCE7);
        for machine in self.machines.values_mut().filter(|_| self.scenario.has_outlets) {
            machine.supply = Some(Supply::new(&mut random));
        }
    }

    /// Does it, and counts it if it made a difference.
    pub fn befall(&mut self, fault: &Fault) {
        self.note(format!("FAULT {fault:?}"));
        if self.happen(fault) {
            self.count(&fault.kind());
        }
    }

    fn happen(&mut self, fault: &Fault) -> bool {
        let now = self.now();
        match fault {
            Fault::PowerLoss(node) => return self.loses_power(node),
            Fault::Hang(node) => return self.machine(node, |machine| machine.hung = true),
            Fault::Wake(node) => return self.machine(node, |machine| machine.hung = false),
            Fault::Cut(node) => return self.machine(node, |machine| machine.cut = true),
            Fault::Heal(node) => return self.machine(node, |machine| machine.cut = false),
            Fault::KubeletDies(node) => return self.machine(node, |machine| machine.kubelet_dead = true),
            Fault::Breaks(node) => return self.machine(node, |machine| machine.broken = true),
            Fault::BecomesUnhealthy(node) => return self.machine(node, |machine| machine.ill = true),
            Fault::Lies(node, manner) => return self.machine(node, |machine| machine.bmc.manner = *manner),
            Fault::OutletsChange(node, manner) => return self.outlets(node, *manner),
            Fault::LosesFeed(node) => return self.feed(node, false),
            Fault::FeedBack(node) => return self.feed(node, true),
            Fault::Restarts(node, takes, by) => return self.restarts(node, *takes, *by),
            Fault::VolumesStay(node) => return self.store.undetachable.insert(node.clone()),
            Fault::VolumesGo(node) => return self.store.undetachable.remove(node),
            Fault::ClockStep(wall, seconds) => {
                clocks::step(*wall, *seconds);
                self.stepped = true;
            }
            Fault::DeletesRecordIn(phase) => self.lie_in_wait(*phase),
            Fault::ZoneCut(zone) => self.zone(zone).iter().for_each(|node| {
                self.machine(node, |machine| machine.cut = true);
            }),
            Fault::ZonePower(zone) => self.zone(zone).iter().for_each(|node| {
                self.loses_power(node);
            }),
            Fault::EtcdStops(host) => return self.etcd.stopped.insert(host.clone()),
            Fault::EtcdRuns(host) => return self.etcd.stopped.remove(host),
            Fault::Stop => self.store.set_stopped(true, now),
            Fault::Go => self.store.set_stopped(false, now),
            Fault::ApiDown(span) => self.store.down = now.plus(*span),
            Fault::ReplicaCut(replica, span) => self.replicas[*replica].cut = now.plus(*span),
            Fault::Freeze(replica, span) => self.replicas[*replica].frozen = now.plus(*span),
            Fault::Deaf(replica, span) => {
                let replica = &mut self.replicas[*replica];
                (replica.deaf_from, replica.deaf) = (now, now.plus(*span));
            }
            Fault::Kill(replica) => self.replicas[*replica].doomed = true,
            Fault::StoreBack(age, away) => return self.goes_back(*age, *away),
            Fault::Person(what, node) => return self.person(*what, node),
            Fault::Edit(edit) => self.edit_policy(*edit),
            Fault::Mend => self.mend(),
            Fault::Restore => self.restore(),
        }
        true
    }

    fn loses_power(&mut self, name: &str) -> bool {
        let was_on = self.machines.get(name).is_some_and(|machine| machine.on);
        self.switch(name, false, "a fault");
        was_on
    }

    fn outlets(&mut self, name: &str, manner: Outlets) -> bool {
        let supply = self.machines.get_mut(name).and_then(|machine| machine.supply.as_mut());
        supply.map(|supply| supply.manner = manner).is_some()
    }

    fn machine(&mut self, name: &str, change: impl FnOnce(&mut Machine)) -> bool {
        self.machines.get_mut(name).map(change).is_some()
    }

    fn zone(&self, zone: &str) -> Vec<String> {
        let workers = self.machines.values().filter(|machine| machine.name.starts_with("n-"));
        workers.filter(|machine| machine.zone == zone).map(|machine| machine.name.clone()).collect()
    }

    fn mend(&mut self) {
        let now = self.now();
        self.store.set_stopped(false, now);
        self.mend_policy();
        self.etcd.stopped.clear();
        for machine in self.machines.values_mut() {
            (machine.cut, machine.hung, machine.kubelet_dead, machine.broken) = (false, false, false, false);
            machine.ill = false;
            machine.bmc.manner = Manner::Honest;
            machine.provider = Provider::Honest;
            machine.supply.iter_mut().for_each(|supply| supply.manner = Outlets::Honest);
        }
        let all: Vec<String> = self.machines.keys().cloned().collect();
        for name in all {
            self.feed(&name, true);
        }
        let names: Vec<String> = self.store.nodes.keys().cloned().collect();
        for name in names {
            self.store.edit_node(&name, now, |node| drop(node.annotations.remove(SKIP_REMEDIATION)));
        }
        self.let_records_go();
    }

    /// A person comes for what the controller cannot bring back, and deletes nothing from then on: whom nothing turns on
    /// any more would lie off to the end.
    fn restore(&mut self) {
        self.lying_in_wait.clear();
        let fences = &self.store.fences;
        // A record that only isolates is none that would turn it on.
        let is_free = |name: &String| fences.get(name).is_none_or(|fence| fence.spec.policy == SECOND);
        let lies_off = |machine: &&Machine| {
            let left_off = self.scenario.leave_off || self.scenario.theme == Theme::Provider;
            !machine.on && (left_off || is_free(&machine.name))
        };
        let off: Vec<String> = self.machines.values().filter(lies_off).map(|machine| machine.name.clone()).collect();
        let cut: Vec<String> =
            self.machines.values().filter(|machine| machine.storage_cut).map(|machine| machine.name.clone()).collect();
        for name in off {
            self.switch(&name, true, "a person");
        }
        self.give_back();
        for name in cut {
            self.switch(&name, false, "a person");
            self.switch(&name, true, "a person");
        }
    }

    /// What was left off at the limit of its power cycles: by its own boot where the policy has it so.
    fn give_back(&mut self) {
        let at_limit = self.store.fences.values().filter(|fence| fence.status.at_limit);
        let names: Vec<String> = at_limit.map(|fence| fence.spec.node_name.clone()).collect();
        for name in names {
            match self.scenario.off_until {
                OffUntil::HealthyBoot => self.switch(&name, true, "a person"),
                OffUntil::Released => {
                    self.befall(&Fault::Person(Person::Releases, name));
                }
            }
        }
    }
}

fn manner(random: &mut Random) -> Manner {
    match random.below(8) {
        0 => Manner::Hangs,
        1 => Manner::Refuses,
        2 => Manner::Pretends,
        3 | 4 => liar(random),
        _ => Manner::Slow(random.secs(1, 30)),
    }
}

fn provider(random: &mut Random) -> Provider {
    match random.below(4) {
        0 => Provider::Lies,
        1 => Provider::Hangs,
        2 => Provider::Late(random.secs(5, 60)),
        _ => Provider::Refuses,
    }
}
