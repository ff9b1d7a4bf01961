//! Arrays and multipath maps: the kernel's own state, and how many paths a map had.

use super::assessment::Assessment;
use crate::disk::{
    baseline::Baseline,
    reading::{ArrayReading, MapPath, MapReading},
};

pub(super) fn assess_array(array: &ArrayReading, found: &mut Assessment) {
    let ArrayReading { level, disks, action, .. } = array;
    match (array.state.as_str(), array.missing) {
        // Assembled in part, or the container of others: it does nothing that could fail.
        ("clear" | "inactive", _) => found.note("not running"),
        // Levels without redundancy, since Linux 5.4.
        ("broken", _) => found.fault("MdArrayDegraded", format!("{level} of {disks} disks is broken")),
        (_, Some(missing @ 1..)) => {
            let rebuild = if action == "recover" { ", a rebuild is running" } else { "" };
            found.fault("MdArrayDegraded", format!("{level} runs without {missing} of its {disks} disks{rebuild}"));
        }
        (_, Some(_)) => {
            found.note(format!("{level}, all {disks} disks"));
            found.is_over("MdArrayDegraded", format!("the array has all of its {disks} disks"));
        }
        (_, None) => found.note(format!("{level} of {disks} disks, without redundancy")),
    }
}

pub(super) fn assess_map(map: &MapReading, baseline: &mut Baseline, found: &mut Assessment) {
    let Some(paths) = found.need(&map.paths) else { return };
    let most = baseline.most_paths(&map.name, paths.len());
    let working = paths.iter().filter(|path| path.works).count();
    if working > 0 && working == most {
        return found.note(format!("{}: all {most} paths", map.name));
    }
    found.fault("MultipathDegraded", description(map, paths, most));
}

/// A path that fails for long, or whose disk is gone, is taken out of the map: it is not listed, and misses all the same.
fn description(MapReading { name, .. }: &MapReading, paths: &[MapPath], most: usize) -> String {
    let failed: Vec<_> = paths.iter().filter(|path| !path.works).map(|path| path.device.as_str()).collect();
    let mut notes = Vec::new();
    if !failed.is_empty() {
        notes.push(format!("{} of {most} paths failed: {}", failed.len(), failed.join(", ")));
    }
    match most - paths.len() {
        0 if most == 0 => notes.push("it has no path".to_owned()),
        0 => {}
        gone => notes.push(format!("{gone} of {most} paths are gone")),
    }
    format!("{name}: {}", notes.join("; "))
}
