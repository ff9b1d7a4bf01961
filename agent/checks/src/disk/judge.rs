//! What readings mean: each disk against its own baseline, and the account of all of them.

mod assessment;
mod ata;
mod card;
mod history;
mod nvme;
mod phy;
mod pools;
mod raid;
mod scsi;
mod self_test;

use std::collections::BTreeMap;

use nodewell_model::{Hardware, Name};
use serde_json::Value;

use super::{
    baseline::{Baseline, ReadTime},
    reading::{DiskReading, Health},
    sas_phy, thin_pool, zpool,
};
use crate::{
    disk::DiskSettings,
    probe::{
        Answer, DeviceEvent, Findings, Judge, Now, PollError, ReadError, Round, State, UnknownReason, Verdict, unknown,
    },
};
use assessment::Assessment;
use history::DiskHistory;

const CONDITION: &str = "DiskUnhealthy";

/// Judges in the check process.
pub struct DiskJudge {
    history: DiskHistory,
    /// How each device is that has been asked since this process began.
    known: BTreeMap<String, Known>,
}

/// The latest verdict on a device.
struct Known {
    state: State,
    class: Class,
    /// The RAID card behind which it is; it is listed with that.
    part_of: Option<String>,
}

impl Known {
    fn of(class: Class, state: State) -> Self {
        Self { state, class, part_of: None }
    }

    /// Its class is what it answered, or what it was, or what its name is that of.
    fn read(device: &str, health: &Health, before: Option<Self>, state: State) -> Self {
        let class = Class::shown(health).or(before.map(|before| before.class));
        Self::of(class.unwrap_or_else(|| Class::of_name(device)), state)
    }

    /// A phy has no state of its own.
    fn is_counted(&self) -> bool {
        self.class != Class::Phy
    }

    /// Of what a RAID controller has, only its volumes have a device.
    fn is_device(&self) -> bool {
        self.class == Class::Disk || (self.class == Class::Volume && self.part_of.is_none())
    }

    /// Volumes of pods come and go on a node, so that a disk is reported only if something was wrong with it, or if it
    /// hung on a SATA or SAS bus (or on what looks like one), where disks drop off.
    fn gone(&self, device: &str, now: &Now) -> Option<DeviceEvent> {
        let (key, last) = match &self.state {
            _ if !self.is_device() => return None,
            State::Healthy { .. } if !device.starts_with("sd") => return None,
            State::Healthy { .. } => return Some(DeviceEvent::of("DiskGone", device, &[], now.wall)),
            State::Unknown { message, .. } => ("DiskGone/unknown", message.clone()),
            State::Faulty(faults) => {
                let faults: Vec<_> =
                    faults.iter().map(|fault| format!("{}: {}", fault.reason, fault.message)).collect();
                ("DiskGone/faulty", faults.join("; "))
            }
        };
        Some(DeviceEvent::of(key, device, &[("last", &last)], now.wall))
    }
}

/// What people count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Disk,
    Array,
    Map,
    ThinPool,
    Zpool,
    Phy,
    /// A RAID card, its slots and its volumes.
    Card,
    Slot,
    Volume,
}

impl DiskJudge {
    #[must_use]
    pub fn new(_settings: DiskSettings) -> Self {
        Self { history: DiskHistory::default(), known: BTreeMap::new() }
    }

    /// Forgets what is not there any more, and reports disks whose problems end by that.
    fn list(&mut self, listed: &[String], now: &Now, findings: &mut Findings) {
        let is_gone = |device: &String, known: &Known| !listed.contains(known.part_of.as_ref().unwrap_or(device));
        let gone = self.known.extract_if(.., |device, known| is_gone(device, known));
        findings.events.extend(gone.filter_map(|(device, known)| known.gone(&device, now)));
    }

    fn answered(&mut self, device: String, answer: Answer, now: &Now, findings: &mut Findings) {
        let known = match answer.and_then(|reading| reading.parse::<DiskReading>()).map_err(from_error) {
            Ok(reading) => {
                self.assess_parts(&device, &reading, now, findings);
                let state = self.assess(&device, &reading, now, findings);
                Known::read(&device, &reading.health, self.known.remove(&device), state)
            }
            Err(Some(unknown)) => {
                self.set_parts(&device, &unknown);
                let before = self.known.remove(&device);
                let before = before.unwrap_or_else(|| Known::of(Class::of_name(&device), unknown.clone()));
                Known { state: unknown, ..before }
            }
            // Gone between the list and the question: the same as when the next list has it not.
            Err(None) => {
                let known = self.known.remove(&device);
                self.known.retain(|_, part| part.part_of.as_ref() != Some(&device));
                findings.events.extend(known.and_then(|known| known.gone(&device, now)));
                return;
            }
        };
        self.known.insert(device, known);
    }

    fn assess(&mut self, device: &str, reading: &DiskReading, now: &Now, findings: &mut Findings) -> State {
        let (baseline, moment) = self.history.of(device, &reading.identity, now);
        let mut found = assessed(device, reading, baseline, moment);
        if found.is_known() {
            baseline.save_faults(&found.faults);
        }
        findings.events.append(&mut found.events);
        let condition = Class::shown(&reading.health).unwrap_or(Class::Disk).condition();
        let subject = zpool::pool(device).unwrap_or(device);
        findings.recoveries.extend(found.recovery_evidence(condition, subject, reading.asked));
        found.state()
    }
}

fn assessed(device: &str, reading: &DiskReading, baseline: &mut Baseline, moment: ReadTime) -> Assessment {
    let mut found = Assessment::of(device, &reading.identity, moment);
    match &reading.health {
        Health::Nvme(reading) => nvme::assess(reading, baseline, moment, &mut found),
        Health::Ata(reading) => ata::assess(reading, baseline, moment, &mut found),
        Health::Scsi(reading) => scsi::assess(reading, baseline, moment, &mut found),
        Health::Array(reading) => raid::assess_array(reading, baseline, &mut found),
        Health::Map(reading) => raid::assess_map(reading, baseline, &mut found),
        Health::Volume(reading) => raid::assess_volume(reading, baseline, moment, &mut found),
        Health::Pool(reading) => pools::assess_thin(reading, baseline, moment, &mut found),
        Health::Zpool { state } => pools::assess_zpool(state, baseline, moment, &mut found),
        Health::Phy(reading) => phy::assess(reading, baseline, moment, &mut found),
        Health::Card(reading) => card::assess(reading, baseline, &mut found),
        Health::Stopped { state } => stopped(state, &mut found),
        // What it had it has still: it was not asked.
        Health::Asleep => {
            found.faults = baseline.saved_faults();
            found.set_healthy("DiskUnhealthy/healthy-asleep", &[]);
        }
        Health::Plain { why } => found.set_healthy("DiskUnhealthy/healthy-unread", &[("why", why)]),
    }
    found
}

/// `offline` is what the kernel's error handling leaves behind when nothing helped; the other states pass.
fn stopped(state: &str, found: &mut Assessment) {
    match state {
        "offline" | "transport-offline" => found.fault("DiskOffline", &[("state", &state)]),
        _ => found.set_unknown(State::not_answering("DeviceNotAnswering/disk", &[("state", &state)])),
    }
}

impl Judge for DiskJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let mut findings = Findings::default();
        match round.listed.map_err(from_error) {
            Ok(listed) => self.list(&listed, &round.now, &mut findings),
            Err(None) => self.known.clear(),
            // Without a list it is unknown which disks there are, and the state of those that were.
            Err(Some(unknown)) => self.known.values_mut().for_each(|known| known.state = unknown.clone()),
        }
        for (device, answer) in round.answers {
            self.answered(device, answer, &round.now, &mut findings);
        }
        self.history.prune(&self.known);
        let counted = self.known.iter().filter(|(_, known)| known.is_counted());
        findings.verdicts = counted.map(|(device, known)| verdict(device, known)).collect();
        findings.hardware = hardware(&self.known);
        findings
    }

    fn save(&mut self) -> Option<Value> {
        self.history.save()
    }

    fn load(&mut self, saved: Value) {
        self.history.load(saved);
    }
}

fn verdict(device: &str, known: &Known) -> Verdict {
    let (condition, subject) = (Name::fixed(known.class.condition()), zpool::pool(device).unwrap_or(device));
    Verdict { condition, subject: subject.to_owned(), state: known.state.clone() }
}

/// `None`: it is not there.
fn from_error(error: PollError) -> Option<State> {
    match error {
        PollError::Read(ReadError::Gone { .. }) => None,
        error => Some(unknown(&error)),
    }
}

/// `4 disks: 1 failing`.
fn hardware(known: &BTreeMap<String, Known>) -> Vec<Hardware> {
    let mut classes: BTreeMap<Class, Hardware> = BTreeMap::new();
    for Known { state, class, .. } in known.values().filter(|known| known.is_counted()) {
        let line = classes.entry(*class).or_insert_with(|| Hardware {
            class: class.names().0.to_owned(),
            total: 0,
            states: BTreeMap::new(),
            ..Hardware::default()
        });
        line.total += 1;
        if let Some(name) = state_name(state, *class) {
            *line.states.entry(name.to_owned()).or_default() += 1;
        }
    }
    classes.into_values().collect()
}

fn state_name(state: &State, class: Class) -> Option<&'static str> {
    match state {
        State::Healthy { .. } => None,
        State::Faulty(_) => Some(class.names().1),
        State::Unknown { reason: UnknownReason::NotAnswering, .. } => Some("not answering"),
        State::Unknown { .. } => Some("unreadable"),
    }
}

impl Class {
    /// By what a device answered; a disk that sleeps, or cannot be asked, does not show what it is.
    fn shown(health: &Health) -> Option<Self> {
        match health {
            Health::Nvme(_) | Health::Ata(_) | Health::Scsi(_) | Health::Plain { .. } => Some(Self::Disk),
            Health::Array(_) => Some(Self::Array),
            Health::Map(_) => Some(Self::Map),
            Health::Pool(_) => Some(Self::ThinPool),
            Health::Zpool { .. } => Some(Self::Zpool),
            Health::Volume(_) => Some(Self::Volume),
            Health::Phy(_) => Some(Self::Phy),
            Health::Card(_) => Some(Self::Card),
            Health::Asleep | Health::Stopped { .. } => None,
        }
    }

    fn of_name(device: &str) -> Self {
        match device {
            pool if zpool::pool(pool).is_some() => Self::Zpool,
            pool if thin_pool::is_number(pool) => Self::ThinPool,
            array if array.starts_with("md") => Self::Array,
            map if map.starts_with("dm-") => Self::Map,
            phy if sas_phy::is_name(phy) => Self::Phy,
            // An address on the PCI bus.
            card if card.contains(':') => Self::Card,
            _ => Self::Disk,
        }
    }

    /// A ZFS pool that is suspended has a rule of the kernel log, whose condition this is.
    fn condition(self) -> &'static str {
        match self {
            Self::Zpool => "VolumeUnhealthy",
            _ => CONDITION,
        }
    }

    /// What they are called, and one that is faulty.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Disk => ("disks", "failing"),
            Self::Array => ("disk arrays", "degraded"),
            Self::Map => ("multipath disks", "degraded"),
            Self::ThinPool => ("thin pools", "failing"),
            Self::Zpool => ("ZFS pools", "degraded"),
            Self::Phy => ("SAS phys", "failing"),
            Self::Card => ("RAID controllers", "failing"),
            Self::Slot => ("RAID disks", "failing"),
            Self::Volume => ("RAID volumes", "degraded"),
        }
    }
}

#[cfg(test)]
mod tests;
