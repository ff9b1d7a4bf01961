//! Where a worker is, as the name of its task: `nwd:nvme0`. The kernel tells it of a task in any state, also of one that
//! hangs and whose memory cannot be looked at.

use nodewell_hardware::Family;

use super::{Group, protocol::Ask};

/// `TASK_COMM_LEN` less the zero at its end (include/linux/sched.h).
const NAME_BYTES: usize = 15;
/// Every name of a worker begins so: whose it is, for each group a letter.
const MARK_BYTES: usize = "nwd:".len();

/// A device, or what is asked of a family as a whole. Nothing is asked of it while a reader hangs there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(String);

impl Place {
    /// Where a worker is that is asked this.
    pub(super) fn of(family: Family, ask: &Ask) -> Self {
        let what = match ask {
            Ask::Read { device } => device.clone(),
            Ask::List => format!("{}/list", family.as_str()),
            Ask::Wait { .. } => format!("{}/wait", family.as_str()),
        };
        Self::at(mark(Group::of(family)), &what)
    }

    /// Where a worker of `group` is that is asked nothing: one that hangs while it ends is found there.
    pub(super) fn idle(group: Group) -> Self {
        Self::at(mark(group), "idle")
    }

    fn at(mark: &str, what: &str) -> Self {
        let room = NAME_BYTES - MARK_BYTES;
        // Long names differ at their ends: `CPU_SrcID#0_MC#1_Chan#0_DIMM#0`.
        let start = (what.len().saturating_sub(room)..=what.len()).find(|at| what.is_char_boundary(*at));
        Self(format!("{mark}{}", &what[start.unwrap_or(0)..]))
    }

    /// The place of the worker of `group` that is called `name`; `None` if nothing of the group is called so.
    pub(crate) fn named(name: &str, group: Group) -> Option<Self> {
        name.starts_with(mark(group)).then(|| Self(name.to_owned()))
    }

    /// The task's name.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// What people call it.
    pub(super) fn device(&self) -> &str {
        self.0.get(MARK_BYTES..).unwrap_or(&self.0)
    }
}

fn mark(group: Group) -> &'static str {
    match group {
        Group::Check => "nwc:",
        Group::Disk => "nwd:",
        Group::Gpu => "nwg:",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(device: &str) -> Place {
        Place::of(Family::Disk, &Ask::Read { device: device.to_owned() })
    }

    #[test]
    fn a_place_is_the_name_of_a_task_and_back() {
        for (device, name) in [
            ("nvme0", "nwd:nvme0"),
            ("0000:05:00.0", "nwd:000:05:00.0"),
            ("CPU_SrcID#0_MC#1_Chan#0_DIMM#0", "nwd:an#0_DIMM#0"),
            ("ÄÖÜÄÖÜÄÖÜ", "nwd:ÖÜÄÖÜ"),
            ("xÄÖÜÄÖÜy", "nwd:ÖÜÄÖÜy"),
        ] {
            let place = at(device);
            assert_eq!(place.as_str(), name);
            assert_eq!(Place::named(name, Group::Disk), Some(place));
        }
        assert_eq!(Place::named("kworker/0:1", Group::Disk), None);
        assert_eq!(Place::named("nwg:0", Group::Disk), None);
    }

    #[test]
    fn what_is_asked_of_a_family_is_no_device() {
        assert_eq!(Place::of(Family::Gpu, &Ask::List).as_str(), "nwg:gpu/list");
        assert_eq!(Place::of(Family::Gpu, &Ask::Wait { within_millis: 1 }).device(), "gpu/wait");
        assert_eq!(Place::of(Family::Fabric, &Ask::List).as_str(), "nwc:fabric/list");
        assert_eq!(Place::idle(Group::Gpu).as_str(), "nwg:idle");
    }
}
