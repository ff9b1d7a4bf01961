//! How the inventory gets to people and back, by two small files beside the socket: what the check process shows, and what a
//! person accepts.
//!
//! The check process is root's and has the accepted inventory in its own state, so it takes orders from root alone, and from
//! its own user: the agent could not give it any. `nodewell release` works the same way.

use std::{
    io,
    path::{Path, PathBuf},
};

use nodewell_model::{
    DeviceFacts,
    inventory::{Acceptance, Component, ComponentClass, ComponentView, InventoryView},
    view::HardwareView,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::runtime::shared_file::SharedFile;

/// Six classes of 512 components, half a kilobyte each.
const LIMIT_BYTES: u64 = 2 << 20;

/// Both files, each in a folder of its writer's.
#[derive(Debug, Clone)]
pub struct InventoryFiles {
    shown: SharedFile,
    accepted: SharedFile,
}

impl InventoryFiles {
    /// Of the agent that listens on `socket`.
    #[must_use]
    pub fn of(socket: &Path) -> Self {
        Self {
            shown: SharedFile::beside(socket, "inventory", "shown"),
            accepted: SharedFile::beside(socket, "inventory-accepted", "latest"),
        }
    }

    /// The check process shows what it sees.
    pub fn show(&self, view: &InventoryView) -> io::Result<()> {
        write(&self.shown, view)
    }

    /// What it shows; nothing before its first look.
    #[must_use]
    pub fn shown(&self) -> Option<InventoryView> {
        read(&self.shown)
    }

    /// A person accepts; the next one takes the place of one that no check process has read.
    pub fn accept(&self, acceptance: &Acceptance) -> io::Result<()> {
        write(&self.accepted, acceptance)
    }

    /// The latest that a person accepts.
    #[must_use]
    pub fn acceptance(&self) -> Option<Acceptance> {
        read(&self.accepted)
    }

    /// Where a person's acceptance lies, for errors.
    #[must_use]
    pub fn accepted_path(&self) -> PathBuf {
        self.accepted.path().to_owned()
    }
}

/// The class of devices of the GPU check.
const GPUS: &str = "GPUs";

/// The inventory with what only GPUs' own check knows of them, which asks their driver.
#[must_use]
pub fn with_gpus(mut view: InventoryView, hardware: &[HardwareView]) -> InventoryView {
    for facts in hardware.iter().filter(|class| class.class == GPUS).flat_map(|class| &class.devices) {
        let is_it = |one: &ComponentView| one.class == ComponentClass::Accelerator && one.component.slot == facts.name;
        match view.components.iter_mut().find(|one| is_it(one)) {
            Some(known) => add(&mut known.component, facts),
            None => view.components.push(shown_by_check(facts)),
        }
    }
    view
}

/// What both know the inventory keeps.
fn add(component: &mut Component, facts: &DeviceFacts) {
    let DeviceFacts { name: _, model: _, firmware, driver } = facts;
    for (known, fact) in [(&mut component.firmware, firmware), (&mut component.driver, driver)] {
        if known.is_empty() {
            known.clone_from(fact);
        }
    }
}

/// One that the inventory does not show: it is off, or did not look yet.
fn shown_by_check(facts: &DeviceFacts) -> ComponentView {
    let DeviceFacts { name, model, firmware, driver } = facts.clone();
    let component = Component { slot: name, model, firmware, driver, ..Component::default() };
    let (class, name) = (ComponentClass::Accelerator, component.name(ComponentClass::Accelerator));
    ComponentView { class, name, component, missing: false, last_seen: None, accepted: None }
}

fn write(file: &SharedFile, value: &impl Serialize) -> io::Result<()> {
    file.write(&serde_json::to_vec(value)?)
}

/// What is not of this version is nothing.
fn read<T: DeserializeOwned>(file: &SharedFile) -> Option<T> {
    serde_json::from_str(&file.read(LIMIT_BYTES)?).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::Timestamp;

    use super::*;

    fn gpu(name: &str, firmware: &str) -> DeviceFacts {
        let (model, driver) = ("NVIDIA H100".to_owned(), "nvidia 580.65.06".to_owned());
        DeviceFacts { name: name.to_owned(), model, firmware: firmware.to_owned(), driver }
    }

    #[test]
    fn what_the_gpu_check_knows_is_added_and_what_the_inventory_has_stays() {
        let inventoried = |slot: &str, firmware: &str| {
            let (slot, firmware) = (slot.to_owned(), firmware.to_owned());
            let component = Component { slot, firmware, model: "10de:2330".to_owned(), ..Component::default() };
            let (class, name) = (ComponentClass::Accelerator, component.name(ComponentClass::Accelerator));
            ComponentView { class, name, component, missing: false, last_seen: None, accepted: None }
        };
        let components = vec![inventoried("0000:41:00.0", ""), inventoried("0000:42:00.0", "known")];
        let devices = vec![gpu("0000:41:00.0", "96.00"), gpu("0000:42:00.0", "other"), gpu("0000:43:00.0", "96.00")];
        let class = |class: &str, devices| HardwareView {
            class: class.to_owned(),
            total: 3,
            healthy: 3,
            states: std::collections::BTreeMap::new(),
            unconfirmed_since: None,
            informational: false,
            devices,
        };
        let hardware = [class("disks", vec![gpu("0000:41:00.0", "a disk's")]), class("GPUs", devices)];
        let view = with_gpus(InventoryView { components, ..InventoryView::default() }, &hardware);
        let shown: Vec<_> = view
            .components
            .iter()
            .map(|ComponentView { name, component, .. }| {
                [name, &component.model, &component.firmware, &component.driver].map(String::as_str)
            })
            .collect();
        let expected = [
            ["accelerator 0000:41:00.0", "10de:2330", "96.00", "nvidia 580.65.06"],
            ["accelerator 0000:42:00.0", "10de:2330", "known", "nvidia 580.65.06"],
            ["accelerator 0000:43:00.0", "NVIDIA H100", "96.00", "nvidia 580.65.06"],
        ];
        assert_eq!(shown, expected);
        assert_eq!(with_gpus(InventoryView::default(), &[]), InventoryView::default());
    }

    #[test]
    fn both_files_are_read_as_they_were_written_and_garbage_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = InventoryFiles::of(&folder.path().join("nodewell.sock"));
        assert_eq!((files.shown(), files.acceptance()), (None, None));
        let view = InventoryView { read: Some(Timestamp::UNIX_EPOCH), ..InventoryView::default() };
        let names = vec!["disk S1".to_owned()];
        let acceptance =
            Acceptance { boot_id: "b".to_owned(), time: Timestamp::UNIX_EPOCH, names, by: "root".to_owned() };
        files.show(&view).unwrap();
        files.accept(&acceptance).unwrap();
        assert_eq!((files.shown(), files.acceptance()), (Some(view), Some(acceptance)));
        for garbage in ["", "[]", "{\"names\": 7}", "nonsense"] {
            fs::write(files.accepted_path(), garbage).unwrap();
            assert_eq!(files.acceptance(), None, "{garbage}");
        }
    }
}
