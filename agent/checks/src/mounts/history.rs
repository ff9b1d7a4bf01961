//! What is remembered of filesystems from round to round: how they were before, and whether they counted errors since.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{fullness::Shortage, kind::FilesystemKind, reading::Row};

/// What outlives a restart; of one boot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MountsHistory {
    boot_id: String,
    /// By mount point.
    disks: BTreeMap<String, Disk>,
}

/// One filesystem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Disk {
    /// `major:minor`: another one is another filesystem.
    number: String,
    /// Since it was first seen.
    was_writable: bool,
    errors: Option<u64>,
    /// It counted some since the round before.
    is_erring: bool,
    space_short: bool,
    inodes_short: bool,
}

impl MountsHistory {
    pub(super) fn enter_boot(&mut self, boot_id: &str) {
        if self.boot_id != boot_id {
            *self = Self { boot_id: boot_id.to_owned(), disks: BTreeMap::new() };
        }
    }

    /// Takes the table in: what is not mounted any more is forgotten.
    pub(super) fn take(&mut self, rows: &[Row]) {
        let disks = || rows.iter().filter(|row| row.kind == FilesystemKind::Disk);
        let points: BTreeSet<&str> = disks().map(|row| row.point.as_str()).collect();
        self.disks.retain(|point, _| points.contains(point.as_str()));
        disks().for_each(|row| self.disks.entry(row.point.clone()).or_default().take(row));
    }

    pub(super) fn get(&self, point: &str) -> Option<&Disk> {
        self.disks.get(point)
    }

    pub(super) fn of(&mut self, point: &str) -> &mut Disk {
        self.disks.entry(point.to_owned()).or_default()
    }
}

impl Disk {
    fn take(&mut self, row: &Row) {
        if self.number != row.number {
            *self = Self { number: row.number.clone(), ..Self::default() };
        }
        // What it had counted when it was first seen is history; a check of the filesystem sets it to zero.
        self.is_erring = self.errors.is_some_and(|before| row.errors.is_some_and(|now| now > before));
        self.errors = row.errors.or(self.errors);
        self.was_writable |= !row.is_read_only;
    }

    /// Whether it should take writes and does not.
    pub(super) fn is_wrongly_read_only(&self, row: &Row) -> bool {
        row.is_cut_off || row.is_read_only && (self.was_writable || row.wants_writes)
    }

    pub(super) fn is_erring(&self) -> bool {
        self.is_erring
    }

    pub(super) fn short(&self) -> Shortage {
        Shortage { space: self.space_short, inodes: self.inodes_short }
    }

    pub(super) fn set_short(&mut self, short: Shortage) {
        (self.space_short, self.inodes_short) = (short.space, short.inodes);
    }
}
