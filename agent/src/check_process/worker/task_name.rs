//! The name of a worker's task, which shows what the worker is asked: `nwd:nvme0`. The kernel shows it of a task in any
//! state, also of one that hangs and whose memory cannot be looked at.

use nodewell_checks::{Check, WorkerGroup};

use super::protocol::Operation;

/// `TASK_COMM_LEN` less the zero at its end (include/linux/sched.h).
const NAME_BYTES: usize = 15;
/// Every name of a worker begins so; the letter names its group.
const MARK_BYTES: usize = "nwd:".len();

/// In place of the beginning of a name that does not fit: `hash~tail`.
const HASH_SIGN: char = '~';
/// Six bits each: of a thousand long names with the same ending, two have the same hash on one of two thousand machines.
const HASH_BYTES: usize = 5;
const HASH_LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Names a device, or what is asked of a check as a whole. Nothing is asked of that while a worker of the name hangs.
#[derive(Debug, Clone)]
pub(crate) struct TaskName {
    tag: String,
    /// In full; of a task that an earlier run left behind only the tag is known.
    what: Option<String>,
}

impl TaskName {
    /// Of a worker that does this.
    pub(super) fn of(check: &'static Check, operation: &Operation) -> Self {
        let what = match operation {
            Operation::Read { device, .. } => device.clone(),
            Operation::List => format!("{}/list", check.name),
            Operation::Wait { .. } => format!("{}/wait", check.name),
        };
        Self::at(mark(check.worker_group), what)
    }

    /// Of a worker of `worker_group` that is asked nothing: one that hangs while it ends has it.
    pub(super) fn idle(worker_group: WorkerGroup) -> Self {
        Self::at(mark(worker_group), "idle".to_owned())
    }

    fn at(mark: &str, what: String) -> Self {
        Self { tag: format!("{mark}{}", short(&what)), what: Some(what) }
    }

    /// Whether both name one device.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let may_be = self.what.is_none() || other.what.is_none() || self.what == other.what;
        self.tag == other.tag && may_be
    }

    /// Of a task that is called `name`; `None` if no worker of `worker_group` is called so.
    pub(crate) fn named(name: &str, worker_group: WorkerGroup) -> Option<Self> {
        name.starts_with(mark(worker_group)).then(|| Self { tag: name.to_owned(), what: None })
    }

    /// The task's name.
    pub(super) fn as_str(&self) -> &str {
        &self.tag
    }

    /// What people call it, as far as it is known.
    pub(super) fn device(&self) -> &str {
        self.what.as_deref().or_else(|| self.tag.get(MARK_BYTES..)).unwrap_or(&self.tag)
    }
}

/// `what` where it fits, and a PCI address as `lspci` shows it; else its hash and its end, where long names differ.
fn short(what: &str) -> String {
    const ROOM: usize = NAME_BYTES - MARK_BYTES;
    let what = what.strip_prefix("0000:").unwrap_or(what);
    if what.len() <= ROOM && !what.contains(HASH_SIGN) {
        return what.to_owned();
    }
    let tail = ROOM - HASH_BYTES - HASH_SIGN.len_utf8();
    let start = (what.len().saturating_sub(tail)..=what.len()).find(|at| what.is_char_boundary(*at));
    format!("{}{HASH_SIGN}{}", hash(what), &what[start.unwrap_or(0)..])
}

/// FNV-1a (draft-eastlake-fnv): a later version has to find what this one left behind, and the standard library's hash may
/// change.
fn hash(what: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut bits = what.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    bits ^= bits >> 32;
    let letter = |n: usize| char::from(HASH_LETTERS[(bits >> (6 * n) & 63) as usize]);
    (0..HASH_BYTES).map(letter).collect()
}

fn mark(worker_group: WorkerGroup) -> &'static str {
    match worker_group {
        WorkerGroup::Check => "nwc:",
        WorkerGroup::Mounts => "nwm:",
        WorkerGroup::Disk => "nwd:",
        WorkerGroup::Gpu => "nwg:",
    }
}

#[cfg(test)]
mod tests {
    use nodewell_checks::{disk, fabric, gpu, mounts};

    use super::*;

    fn at(device: &str) -> TaskName {
        TaskName::of(&disk::CHECK, &Operation::Read { device: device.to_owned(), cursor: None })
    }

    #[test]
    fn a_name_is_made_of_a_device_and_read_back() {
        for (device, name) in [
            ("nvme0", "nwd:nvme0"),
            ("12345678901", "nwd:12345678901"),
            ("0000:05:00.0", "nwd:05:00.0"),
            ("10000:05:00.0", "nwd:5h8qj~:00.0"),
            ("CPU_SrcID#0_MC#1_Chan#0_DIMM#0", "nwd:iRvIj~IMM#0"),
            ("ÄÖÜÄÖÜÄÖÜ", "nwd:bHhKp~ÖÜ"),
            ("x~y", "nwd:fsy-_~x~y"),
        ] {
            let task_name = at(device);
            assert_eq!((task_name.as_str(), task_name.device()), (name, device));
            assert!(name.len() <= NAME_BYTES, "{name}");
            assert!(TaskName::named(name, WorkerGroup::Disk).unwrap().is_same(&task_name));
        }
        assert!(TaskName::named("kworker/0:1", WorkerGroup::Disk).is_none());
        assert!(TaskName::named("nwg:0", WorkerGroup::Disk).is_none());
    }

    #[test]
    fn devices_with_one_ending_are_told_apart() {
        let addresses = (0..64).flat_map(|domain| ["01:00.0", "05:00.0"].map(|rest| format!("{domain:04x}:{rest}")));
        let vmd = (0..64).map(|n| format!("1{n:04x}:01:00.0"));
        let modules = (0..256).map(|n| format!("CPU_SrcID#{}_MC#{}_Chan#{}_DIMM#0", n / 32, n / 8 % 4, n % 8));
        let cards = (0..64).map(|n| format!("irdma-rocep{n}s0f0/1"));
        let devices: Vec<String> = addresses.chain(vmd).chain(modules).chain(cards).collect();
        let tags: std::collections::BTreeSet<String> = devices.iter().map(|one| at(one).as_str().to_owned()).collect();
        assert_eq!(tags.len(), devices.len());
        assert!(!at("0000:01:00.0").is_same(&at("10000:01:00.0")));
    }

    #[test]
    fn two_that_are_known_in_full_are_one_only_by_that() {
        let (one, other) = (at("a"), TaskName { what: Some("b".to_owned()), ..at("a") });
        assert!(one.is_same(&one) && !one.is_same(&other));
        assert!(TaskName::named("nwd:a", WorkerGroup::Disk).unwrap().is_same(&other));
    }

    #[test]
    fn what_is_asked_of_a_check_as_a_whole_is_no_device() {
        assert_eq!(TaskName::of(&gpu::CHECK, &Operation::List).as_str(), "nwg:gpu/list");
        assert_eq!(TaskName::of(&gpu::CHECK, &Operation::Wait { within_millis: 1 }).device(), "gpu/wait");
        assert_eq!(TaskName::of(&fabric::CHECK, &Operation::List).as_str(), "nwc:fabric/list");
        assert_eq!(TaskName::of(&mounts::CHECK, &Operation::List).as_str(), "nwm:mounts/list");
        assert_eq!(TaskName::idle(WorkerGroup::Gpu).as_str(), "nwg:idle");
    }
}
