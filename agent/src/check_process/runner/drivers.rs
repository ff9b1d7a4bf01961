//! Kernel modules of GPUs, which may be loaded after the start and are unloaded for an upgrade, with their devices.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nodewell_checks::probe::Roots;

use crate::check_process::Group;

/// The modules that drive the GPUs which the check process asks.
const GPU_DRIVERS: [&str; 2] = ["nvidia", "amdgpu"];

/// Without one there is no GPU to ask; the unit has the same condition.
pub(crate) fn has_gpu_driver(sys: &Path) -> bool {
    GPU_DRIVERS.iter().any(|name| sys.join("module").join(name).is_dir())
}

/// Those of one group.
pub(super) struct Drivers {
    folders: Vec<PathBuf>,
    loaded: Vec<bool>,
}

/// Since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Came,
    Went,
}

impl Drivers {
    pub(super) fn new(group: Group, roots: &Roots) -> Self {
        let modules: &[&str] = if group == Group::Gpu { &GPU_DRIVERS } else { &[] };
        let folders = modules.iter().map(|name| roots.sys.join("module").join(name)).collect();
        let mut drivers = Self { folders, loaded: Vec::new() };
        drivers.loaded = drivers.look();
        drivers
    }

    /// Whether there is any whose change would matter.
    pub(super) fn are_followed(&self) -> bool {
        !self.folders.is_empty()
    }

    pub(super) fn change(&mut self) -> Change {
        let now = self.look();
        let before = std::mem::replace(&mut self.loaded, now);
        let mut pairs = before.iter().zip(&self.loaded);
        if pairs.any(|(before, now)| !before && *now) {
            Change::Came
        } else if before == self.loaded {
            Change::None
        } else {
            Change::Went
        }
    }

    /// A module that is still being loaded has not named its devices yet (`initstate`, kernel/module/sysfs.c).
    fn look(&self) -> Vec<bool> {
        let state = |folder: &PathBuf| fs::read_to_string(folder.join("initstate"));
        let is_live = |folder| state(folder).is_ok_and(|state| state.trim() == "live");
        // What is built in has no such file.
        let is_built_in = |folder: &PathBuf| folder.is_dir() && !folder.join("initstate").exists();
        self.folders.iter().map(|folder| is_live(folder) || is_built_in(folder)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_comes_once_it_is_live_and_goes() {
        let sys = tempfile::tempdir().unwrap();
        let folder = sys.path().join("module/nvidia");
        let roots = Roots { sys: sys.path().to_owned(), ..Roots::default() };
        let mut drivers = Drivers::new(Group::Gpu, &roots);
        assert_eq!(drivers.change(), Change::None);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("initstate"), "coming\n").unwrap();
        assert_eq!(drivers.change(), Change::None);
        fs::write(folder.join("initstate"), "live\n").unwrap();
        assert_eq!(drivers.change(), Change::Came);
        assert_eq!(drivers.change(), Change::None);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(drivers.change(), Change::Went);
    }

    #[test]
    fn other_groups_wait_for_no_driver() {
        let sys = tempfile::tempdir().unwrap();
        fs::create_dir_all(sys.path().join("module/nvidia")).unwrap();
        let mut drivers = Drivers::new(Group::Disk, &Roots { sys: sys.path().to_owned(), ..Roots::default() });
        fs::remove_dir_all(sys.path().join("module/nvidia")).unwrap();
        assert_eq!(drivers.change(), Change::None);
        assert!(!drivers.are_followed());
    }
}
