//! Arrays and multipath maps: the kernel's own state, and how many paths a map had.

use nodewell_message::MessageArgs;

use super::assessment::Assessment;
use crate::{
    disk::{
        baseline::Baseline,
        reading::{ArrayReading, MapPath, MapReading},
    },
    probe::Fault,
};

pub(super) fn assess_array(array: &ArrayReading, found: &mut Assessment) {
    let ArrayReading { level, disks, action, .. } = array;
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
            found.set_healthy("DiskUnhealthy/healthy-array", &[("level", level), ("disks", disks)]);
            found.is_over("MdArrayDegraded", "DiskUnhealthy/ended-array", &[("disks", disks)]);
        }
        (_, None) => {
            found.set_healthy("DiskUnhealthy/healthy-array-plain", &[("level", level), ("disks", disks)]);
        }
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
