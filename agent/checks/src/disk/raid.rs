//! What is made of several disks: software RAID by sysfs (Documentation/admin-guide/md.rst), multipath maps by the device
//! mapper.

use std::path::Path;

use super::{
    device_mapper::{self, Line},
    part::Part,
    reading::{ArrayReading, MapPath, MapReading},
    sysfs,
};
use crate::probe::{ReadError, Roots};

/// The array `name`, such as `md0`.
pub(super) fn array(roots: &Roots, name: &str) -> Result<ArrayReading, ReadError> {
    let folder = roots.sys.join("block").join(name).join("md");
    let Some(state) = sysfs::word(&folder, "array_state") else {
        return Err(ReadError::Gone { what: name.to_owned() });
    };
    Ok(ArrayReading {
        state,
        level: sysfs::word(&folder, "level").unwrap_or_default(),
        disks: sysfs::number(&folder, "raid_disks").unwrap_or_default(),
        // Levels without redundancy have no such file.
        missing: sysfs::number(&folder, "degraded"),
        action: sysfs::word(&folder, "sync_action").unwrap_or_default(),
        done_percent: sysfs::word(&folder, "sync_completed").as_deref().and_then(done_percent),
        last_action: sysfs::word(&folder, "last_sync_action").unwrap_or_default(),
        mismatched_sectors: sysfs::number(&folder, "mismatch_cnt"),
    })
}

/// Of `123 / 456` sectors; `none` and `delayed` are no part of anything (drivers/md/md.c sync_completed_show).
fn done_percent(text: &str) -> Option<u8> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    u8::try_from(done.checked_mul(100)?.checked_div(all)?).ok().filter(|percent| *percent <= 100)
}

/// The map `name`, such as `dm-3`.
pub(super) fn map(roots: &Roots, name: &str) -> Result<MapReading, ReadError> {
    let folder = roots.sys.join("block").join(name);
    let Some(number) = sysfs::word(&folder, "dev") else {
        return Err(ReadError::Gone { what: name.to_owned() });
    };
    let status_line = Part::of(status(roots, name, &number))?;
    let paths = match status_line {
        Part::Read(status) => Part::Read(named(&folder, paths(&status))),
        // What the kernel knows of the disks themselves is less, but something.
        Part::Absent | Part::Denied(_) => Part::Read(slaves(&folder)),
        other => other.map(|_| Vec::new()),
    };
    Ok(MapReading { name: sysfs::word(&folder.join("dm"), "name").unwrap_or_default(), paths })
}

fn status(roots: &Roots, name: &str, number: &str) -> Result<String, ReadError> {
    let target = device_mapper::target(roots, name, number, Line::Status)?;
    if target.kind == "multipath" {
        Ok(target.line)
    } else {
        Err(ReadError::Failed { message: format!("{name}: it is no multipath map") })
    }
}

/// The paths of a status line, by device number (drivers/md/dm-mpath.c multipath_status); what is cut off is left out.
#[must_use]
pub fn paths(status: &str) -> Vec<MapPath> {
    let mut paths = Vec::new();
    // `None` where the line ends: those before it are whole.
    let _ = collect(&mut status.split_ascii_whitespace(), &mut paths);
    paths
}

/// Features, hardware handler, number of groups, next group; for each group its state, its selector's arguments, number
/// of paths and of arguments for each, and the paths: device, A or F, failures, the selector's arguments.
fn collect<'a>(words: &mut impl Iterator<Item = &'a str>, paths: &mut Vec<MapPath>) -> Option<()> {
    skip_counted(words)?;
    skip_counted(words)?;
    let groups = number(words)?;
    words.next()?;
    for _ in 0..groups {
        words.next()?;
        skip_counted(words)?;
        let (count, extra) = (number(words)?, number(words)?);
        for _ in 0..count {
            let (device, state) = (words.next()?, words.next()?);
            words.next()?;
            paths.push(MapPath { device: device.to_owned(), works: state == "A" });
            skip(words, extra)?;
        }
    }
    Some(())
}

fn number<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<usize> {
    words.next()?.parse().ok()
}

fn skip_counted<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<()> {
    let count = number(words)?;
    skip(words, count)
}

fn skip<'a>(words: &mut impl Iterator<Item = &'a str>, count: usize) -> Option<()> {
    if count == 0 { Some(()) } else { words.nth(count - 1).map(drop) }
}

/// With the disks' names in place of their numbers, where they are known.
fn named(folder: &Path, mut paths: Vec<MapPath>) -> Vec<MapPath> {
    let slaves = folder.join("slaves");
    for disk in sysfs::names(&slaves) {
        let number = sysfs::word(&slaves.join(&disk), "dev");
        for path in paths.iter_mut().filter(|path| Some(&path.device) == number.as_ref()) {
            path.device.clone_from(&disk);
        }
    }
    paths
}

fn slaves(folder: &Path) -> Vec<MapPath> {
    let slaves = folder.join("slaves");
    let path = |disk: String| {
        let state = sysfs::word(&slaves.join(&disk).join("device"), "state").unwrap_or_default();
        MapPath { works: !matches!(state.as_str(), "offline" | "transport-offline"), device: disk }
    };
    sysfs::names(&slaves).into_iter().map(path).collect()
}

#[cfg(test)]
mod tests;
