//! RAID cards: each disk by its slot, each volume, the battery of the cache, all as the firmware reports them.

use nodewell_message::MessageArgs;

use super::{Class, DiskJudge, Known, assessment::Assessment};
use crate::{
    disk::{
        baseline::{Baseline, Counter, ReadTime},
        megaraid::{
            memory::{Lack, Loss, LostDisk},
            reading::{CardDisk, CardReading, Member, Volume, VolumeHealth, disk_state},
        },
        reading::{DiskReading, Health, Identity},
    },
    probe::{Fault, Findings, Now, State},
};

/// What only a disk's own data can show, or end.
const BY_DATA: [&str; 4] = ["RaidDiskFailed", "RaidDiskUnusable", "RaidDiskPredictsFailure", MEDIA_ERRORS];
const MEDIA_ERRORS: &str = "RaidDiskMediaErrors";
const BATTERY: &str = "RaidBatteryFailed";

impl DiskJudge {
    /// The disks and volumes behind a card have states of their own.
    pub(super) fn assess_parts(&mut self, name: &str, reading: &DiskReading, now: &Now, findings: &mut Findings) {
        let Health::Card(card) = &reading.health else { return };
        let (baseline, moment) = self.history.of(name, &reading.identity, now);
        let lost = baseline.card.get_or_insert_default().look(card);
        self.clear_parts(name, card);
        for disk in card.disks.read().into_iter().flatten() {
            self.assess_disk(name, card, disk, now, findings);
        }
        for lost in &lost {
            let subject = slot(name, &lost.slot);
            let mut found = Assessment::of(&subject, &lost.identity, moment);
            assess_lost(lost, &mut found);
            findings.events.append(&mut found.events);
            if !found.faults.is_empty() {
                self.insert_part(name, subject, Class::Slot, found.state());
            }
        }
        for volume in card.volumes.read().into_iter().flatten() {
            let subject = format!("{name} volume {}", volume.target);
            self.insert_part(name, subject, Class::Volume, volume_state(volume, card, &lost));
        }
    }

    fn assess_disk(&mut self, name: &str, card: &CardReading, disk: &CardDisk, now: &Now, findings: &mut Findings) {
        let subject = slot(name, &disk.slot);
        let identity = disk.info.read().map(|info| info.identity.clone()).unwrap_or_default();
        let (baseline, moment) = self.history.of(&subject, &behind_card(&identity), now);
        let mut found = Assessment::of(&subject, &identity, moment);
        judge_disk(card, disk, baseline, moment, &mut found);
        if found.is_known() {
            baseline.save_faults(&found.faults);
        }
        findings.events.append(&mut found.events);
        self.insert_part(name, subject, Class::Slot, found.state());
    }

    fn insert_part(&mut self, card: &str, subject: String, class: Class, state: State) {
        self.known.insert(subject, Known { part_of: Some(card.to_owned()), ..Known::of(class, state) });
    }

    /// What a list that was read does not have any more is forgotten; without a list the state is unknown.
    fn clear_parts(&mut self, name: &str, card: &CardReading) {
        let is_unread = |class| match class {
            Class::Slot => card.disks.read().is_none(),
            Class::Volume => card.volumes.read().is_none(),
            _ => false,
        };
        self.known.retain(|_, known| known.part_of.as_deref() != Some(name) || is_unread(known.class));
        self.set_parts(name, &State::unreadable(&"the card's list of them"));
    }

    /// All parts of a card are in this state.
    pub(super) fn set_parts(&mut self, name: &str, state: &State) {
        for known in self.known.values_mut().filter(|known| known.part_of.as_deref() == Some(name)) {
            known.state = state.clone();
        }
    }
}

fn slot(card: &str, slot: &str) -> String {
    format!("{card} slot {slot}")
}

/// What a disk's history is found by. One that the card passes through (JBOD, HBA mode) is a disk of the kernel's too, with
/// the same serial number, and its counters there are others: one history for both would see them grow.
fn behind_card(Identity { serial, .. }: &Identity) -> Identity {
    let serial = if serial.is_empty() { String::new() } else { format!("{serial} behind a RAID card") };
    Identity { serial, ..Identity::default() }
}

/// The card itself: whether it gives its lists, and the battery.
pub(super) fn assess(card: &CardReading, baseline: &mut Baseline, found: &mut Assessment) {
    if let Some(Some(battery)) = found.carried(&card.battery, &[BATTERY]).map(Option::as_ref)
        && let Some(key) = baseline.card.get_or_insert_default().battery(battery)
    {
        found.faults.push(Fault::of(key, &[]));
    }
    let disks = found.need(&card.disks).map_or(0, Vec::len);
    let volumes = found.need(&card.volumes).map_or(0, Vec::len);
    if found.is_known() {
        found.set_healthy("DiskUnhealthy/healthy-card", &[("disks", &disks), ("volumes", &volumes)]);
    }
    found.retain_unread(baseline);
}

fn judge_disk(card: &CardReading, disk: &CardDisk, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    found.need(&disk.info);
    if let Some(state) = card.state_of(disk) {
        judge_state(state, card, disk, found);
    }
    if let Some(info) = found.carried(&disk.info, &BY_DATA) {
        if info.predicted_failures > 0 {
            found.fault("RaidDiskPredictsFailure", &[("count", &info.predicted_failures)]);
        }
        let growth = baseline.counted(Counter::MediaErrors, info.media_errors, moment);
        found.growth(MEDIA_ERRORS, growth);
        if info.other_errors > 0 {
            found.note("DiskUnhealthy/figure-other-errors", &[("count", &info.other_errors)]);
        }
    }
    found.retain_unread(baseline);
}

/// "Offline" is what an operator may make of a disk, and what QEMU calls each of its disks: it counts where a volume shows it.
fn judge_state(state: u16, card: &CardReading, disk: &CardDisk, found: &mut Assessment) {
    match state {
        disk_state::FAILED => return found.fault("RaidDiskFailed", &[]),
        disk_state::UNCONFIGURED_BAD => return found.fault("RaidDiskUnusable", &[]),
        disk_state::OFFLINE => {
            if let Some(volume) = broken_volume(card, disk.device) {
                return found.fault("RaidDiskFailed/offline", &[("volume", &volume.label())]);
            }
        }
        _ => {}
    }
    let rebuilt = disk.info.read().and_then(|info| info.rebuild_percent);
    match rebuilt {
        Some(percent) => found.note("DiskUnhealthy/figure-rebuild", &[("percent", &percent)]),
        None => found.note("DiskUnhealthy/figure-slot", &[("state", &state_name(state))]),
    }
}

fn broken_volume(card: &CardReading, device: u16) -> Option<&Volume> {
    let targets = card.volumes_of(device)?;
    let mut volumes = card.volumes.read()?.iter().filter(|volume| targets.contains(&volume.target));
    volumes.find(|volume| matches!(volume.health(), VolumeHealth::Degraded | VolumeHealth::Offline))
}

/// As storcli shows it, in whole words.
fn state_name(state: u16) -> String {
    let known = match state {
        disk_state::UNCONFIGURED_GOOD => "unconfigured good",
        disk_state::UNCONFIGURED_BAD => "unconfigured bad",
        disk_state::HOT_SPARE => "hot spare",
        disk_state::OFFLINE => "offline",
        disk_state::FAILED => "failed",
        disk_state::REBUILD => "rebuild",
        disk_state::ONLINE => "online",
        disk_state::COPYBACK => "copyback",
        disk_state::JBOD => "JBOD",
        other => return format!("{other:#x}"),
    };
    known.to_owned()
}

fn assess_lost(lost: &LostDisk, found: &mut Assessment) {
    match &lost.loss {
        Loss::Missing(Lack::Volume(volume)) => found.fault("RaidDiskMissing", &[("volume", volume)]),
        Loss::Missing(Lack::LostVolume(volume)) => found.fault("RaidDiskMissing/volume", &[("volume", volume)]),
        Loss::Gone(volume) => found.event("DiskGone/slot", &[("volume", volume)]),
    }
}

fn volume_state(volume: &Volume, card: &CardReading, lost: &[LostDisk]) -> State {
    let disks = ill_disks(volume.target, card, lost).join(", ");
    let label = volume.label();
    let with_disks: MessageArgs<'_> = &[("volume", &label), ("disks", &disks)];
    let without: MessageArgs<'_> = &[("volume", &label)];
    let fault = match (volume.health(), disks.is_empty()) {
        (VolumeHealth::Optimal, _) => return State::healthy("DiskUnhealthy/healthy-volume", &[]),
        (VolumeHealth::Unclear, _) => {
            return State::unreadable(&format!("the card's answers on {label} do not agree"));
        }
        (VolumeHealth::Degraded, true) => Fault::of("RaidVolumeDegraded", without),
        (VolumeHealth::Degraded, false) => Fault::of("RaidVolumeDegraded/disks", with_disks),
        (VolumeHealth::Offline, true) => Fault::of("RaidVolumeOffline", without),
        (VolumeHealth::Offline, false) => Fault::of("RaidVolumeOffline/disks", with_disks),
    };
    State::Faulty(vec![fault])
}

/// `slot 252:3 failed`, of a volume's own disks.
fn ill_disks(target: u8, card: &CardReading, lost: &[LostDisk]) -> Vec<String> {
    let members = card.configuration.read().map(|configuration| configuration.members.as_slice()).unwrap_or_default();
    let is_ill = |member: &&Member| member.volumes.contains(&target) && member.state != disk_state::ONLINE;
    let disks = card.disks.read().map(Vec::as_slice).unwrap_or_default();
    let listed = members.iter().filter(is_ill).filter_map(|member| {
        let disk = disks.iter().find(|disk| disk.device == member.device)?;
        Some(format!("slot {} {}", disk.slot, state_name(member.state)))
    });
    let missing = lost.iter().filter(|lost| lost.volumes.contains(&target));
    listed.chain(missing.map(|lost| format!("slot {} empty", lost.slot))).collect()
}
