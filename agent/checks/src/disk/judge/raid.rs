//! Arrays, multipath maps and RAID controllers' volumes: the kernel's own state, how many paths a map had, and what an
//! array's checks found.

use nodewell_message::MessageArgs;

use super::assessment::Assessment;
use crate::{
    disk::{
        baseline::{Baseline, ReadTime, Sign},
        reading::{ArrayReading, MapPath, MapReading, RaidVolumeReading},
    },
    probe::{Fault, State},
};

/// Of levels with parity a check compares what is written at once, and a difference is wrong data. A mirror's halves
/// are written one after the other: a swap area, or a file that a program changes while it is written, leaves them
/// different without harm (md(4), "SCRUBBING AND MISMATCHES").
const WITH_PARITY: [&str; 3] = ["raid4", "raid5", "raid6"];

pub(super) fn assess_array(array: &ArrayReading, baseline: &mut Baseline, found: &mut Assessment) {
    let ArrayReading { level, disks, action, .. } = array;
    let has_parity = WITH_PARITY.contains(&level.as_str());
    if let Some(sectors) = baseline.found_mismatches(array).filter(|_| has_parity) {
        found.own_event("MdMismatch", &[("level", level), ("sectors", &sectors)]);
    }
    match (array.state.as_str(), array.missing) {
        // Assembled in part, or the container of others: it does nothing that could fail.
        ("clear" | "inactive", _) => found.set_healthy("DiskUnhealthy/healthy-array-stopped", &[]),
        // Levels without redundancy, since Linux 5.4.
        ("broken", _) => {
            found.faults.push(Fault::of("MdArrayDegraded/broken", &[("level", level), ("disks", disks)]));
        }
        (_, Some(missing @ 1..)) => {
            let key = if action == "recover" { "MdArrayDegraded/rebuild" } else { "MdArrayDegraded" };
            let args: MessageArgs<'_> = &[("level", level), ("missing", &missing), ("disks", disks)];
            found.faults.push(Fault::of(key, args));
        }
        (_, Some(_)) => {
            note_whole(array, has_parity, found);
            found.is_over("MdArrayDegraded", "DiskUnhealthy/ended-array", &[("disks", disks)]);
        }
        (_, None) => {
            found.set_healthy("DiskUnhealthy/healthy-array-plain", &[("level", level), ("disks", disks)]);
        }
    }
}

/// That it is whole, what it does, and what its last check found.
fn note_whole(array: &ArrayReading, has_parity: bool, found: &mut Assessment) {
    let ArrayReading { level, disks, action, .. } = array;
    found.set_healthy("DiskUnhealthy/healthy-array", &[("level", level), ("disks", disks)]);
    let mismatched =
        array.mismatched_sectors.filter(|sectors| has_parity && *sectors > 0 && array.last_action == "check");
    let is_busy = !matches!(action.as_str(), "" | "idle" | "frozen");
    if !is_busy && mismatched.is_none() {
        return;
    }
    found.note("DiskUnhealthy/healthy-array", &[("level", level), ("disks", disks)]);
    match array.done_percent {
        Some(percent) if is_busy => {
            found.note("DiskUnhealthy/figure-action", &[("action", action), ("percent", &percent)]);
        }
        None if is_busy => found.note("DiskUnhealthy/figure-action-waits", &[("action", action)]),
        _ => {}
    }
    if let Some(sectors) = mismatched {
        found.note("MdMismatch/figure", &[("sectors", &sectors)]);
    }
}

pub(super) fn assess_map(map: &MapReading, baseline: &mut Baseline, found: &mut Assessment) {
    let Some(paths) = found.need(&map.paths) else { return };
    let most = baseline.most_paths(&map.name, paths.len());
    let working = paths.iter().filter(|path| path.works).count();
    if working > 0 && working == most {
        return found.set_healthy("DiskUnhealthy/healthy-multipath", &[("map", &map.name), ("paths", &most)]);
    }
    found.faults.push(degraded(map, paths, most));
}

/// A path that fails for long, or whose disk is gone, is taken out of the map: it is not listed, and misses all the
/// same.
fn degraded(MapReading { name, .. }: &MapReading, paths: &[MapPath], most: usize) -> Fault {
    let failed: Vec<_> = paths.iter().filter(|path| !path.works).map(|path| path.device.as_str()).collect();
    let working = paths.len() - failed.len();
    if failed.is_empty() {
        return Fault::of("MultipathDegraded", &[("map", name), ("working", &working), ("most", &most)]);
    }
    let failed = failed.join(", ");
    let args: MessageArgs<'_> = &[("map", name), ("working", &working), ("most", &most), ("failed", &failed)];
    Fault::of("MultipathDegraded/failed", args)
}

/// A resync alone is what follows the making of a volume, too; one after a failure is not over before its end.
/// `unknown` is a controller that does not answer its driver, or a volume that is being made.
pub(super) fn assess_volume(
    volume: &RaidVolumeReading,
    baseline: &mut Baseline,
    moment: ReadTime,
    found: &mut Assessment,
) {
    let RaidVolumeReading { state, level, .. } = volume;
    let level = if level.is_empty() { "unknown" } else { level.as_str() };
    match state.as_str() {
        "active" | "degraded" | "offline" => {
            let is_offline = baseline.lasts(Sign::VolumeOffline, state == "offline", moment);
            let is_degraded = baseline.lasts(Sign::VolumeDegraded, state == "degraded", moment);
            if is_offline {
                found.fault("RaidVolumeOffline/driver", &[("level", &level)]);
            } else if is_degraded {
                found.fault("RaidVolumeDegraded/driver", &[("level", &level)]);
            }
        }
        "resyncing" if baseline.holds(Sign::VolumeDegraded) => {
            found.fault("RaidVolumeDegraded/resync", &[("level", &level)]);
        }
        "resyncing" => {
            baseline.lasts(Sign::VolumeOffline, false, moment);
        }
        other => return found.set_unknown(State::unreadable(&format!("the volume's state is {other:?}"))),
    }
    match volume.done_percent {
        Some(percent) => found.note("DiskUnhealthy/figure-rebuild", &[("percent", &percent)]),
        None => found.note("DiskUnhealthy/figure-volume", &[("level", &level), ("state", state)]),
    }
}
