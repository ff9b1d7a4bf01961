//! What nodewell's own processes take of each machine's memory.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use nodewell_tests::machine::Inside;

use crate::cluster::Cluster;

/// The agent and its check processes: all of their slice.
const OF_AGENT: &str = "for file in $(grep -l nodewell.slice /proc/[0-9]*/cgroup 2>/dev/null); do
  cat ${file%cgroup}smaps_rollup ${file%cgroup}status 2>/dev/null
done; true";
/// The controller without the fence agents that it has started.
const OF_CONTROLLER: &str = "pid=$(systemctl show --property MainPID --value nodewell-controller.service)
cat /proc/$pid/smaps_rollup /proc/$pid/status 2>/dev/null; true";

/// Of one machine, summed up over its processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    pub resident_kib: u64,
    /// What no file is behind: that alone grows with a leak.
    pub anonymous_kib: u64,
    /// The most that each process ever had resident.
    pub peak_kib: u64,
}

impl Memory {
    /// Of what proc(5) shows in `smaps_rollup` and `status`; none if no process was there.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let sum = |key: &str| -> u64 {
            let values = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            values.filter_map(|value| value.split_whitespace().next()?.parse::<u64>().ok()).sum()
        };
        let memory = Self { resident_kib: sum("Rss"), anonymous_kib: sum("Anonymous"), peak_kib: sum("VmHWM") };
        (memory.resident_kib > 0).then_some(memory)
    }
}

/// How often memory is looked at for a start or an end, and how far apart: in one look a process may be at work.
pub(super) const LOOKS: usize = 5;
const BETWEEN: Duration = Duration::from_secs(3);

/// Of several looks for each machine the one with the least of what a leak would take.
#[must_use]
pub fn least(looks: &[BTreeMap<String, Memory>]) -> BTreeMap<String, Memory> {
    let mut least = BTreeMap::<String, Memory>::new();
    for (machine, memory) in looks.iter().flatten() {
        let known = least.entry(machine.clone()).or_insert(*memory);
        if memory.anonymous_kib < known.anonymous_kib {
            *known = *memory;
        }
    }
    least
}

/// Of each machine by its name, of those that are on.
fn of_machines(cluster: &Cluster) -> BTreeMap<String, Memory> {
    let look = |inside: Inside, script: &str| Memory::of(&inside.run(["sh", "-c", script]).stdout);
    let workers = cluster.workers().iter().filter(|worker| worker.is_on());
    let agents = workers.filter_map(|worker| Some((worker.name().to_owned(), look(worker.inside(), OF_AGENT)?)));
    let controllers = cluster.controllers().iter();
    let controllers =
        controllers.filter_map(|host| Some((host.name().to_owned(), look(host.inside(), OF_CONTROLLER)?)));
    agents.chain(controllers).collect()
}

/// So much more at the end is no leak: an allocator keeps some of what was freed. The larger of both counts: a tenth of
/// a controller is less than one list of pods.
const MARGIN_PERCENT: u64 = 10;
const MARGIN_KIB: u64 = 2 * 1024;

/// At the start, which is taken again once the first faults are over; at the end; and the highest between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footprint {
    pub start: BTreeMap<String, Memory>,
    pub end: BTreeMap<String, Memory>,
    pub highest_kib: BTreeMap<String, u64>,
}

impl Footprint {
    /// The least of so many looks, which are seen, too.
    pub(super) fn at_rest(&mut self, cluster: &Cluster, looks: usize) -> BTreeMap<String, Memory> {
        let look = |number: usize| {
            thread::sleep(if number == 0 { Duration::ZERO } else { BETWEEN });
            self.look(cluster)
        };
        least(&(0..looks).map(look).collect::<Vec<_>>())
    }

    /// One more look of all machines, of those that do not end meanwhile.
    pub(super) fn look(&mut self, cluster: &Cluster) -> BTreeMap<String, Memory> {
        let now = catch_unwind(AssertUnwindSafe(|| of_machines(cluster))).unwrap_or_default();
        self.see(&now);
        now
    }

    /// One more look.
    pub fn see(&mut self, now: &BTreeMap<String, Memory>) {
        for (machine, memory) in now {
            let highest = self.highest_kib.entry(machine.clone()).or_default();
            *highest = memory.peak_kib.max(memory.resident_kib).max(*highest);
        }
    }

    /// Why memory at the end is not what it was at the start, a sentence for each machine. Less is no fault.
    #[must_use]
    pub fn grown(&self) -> Vec<String> {
        if self.start.is_empty() {
            return vec!["no memory was seen at the start".to_owned()];
        }
        let grown = |(machine, start): (&String, &Memory)| {
            let Some(end) = self.end.get(machine) else {
                return Some(format!("{machine} had none of its processes at the end"));
            };
            let (from, to) = (start.anonymous_kib, end.anonymous_kib);
            let margin = (from * MARGIN_PERCENT / 100).max(MARGIN_KIB);
            (to > from + margin).then(|| {
                format!(
                    "{machine} has {} MiB of anonymous memory at the end, {} at the start; {} more are no leak",
                    mib(to),
                    mib(from),
                    mib(margin)
                )
            })
        };
        self.start.iter().filter_map(grown).collect()
    }
}

/// For people.
pub(super) fn mib(kib: u64) -> String {
    // Exact: no process has as many KiB as f64 has integers.
    #[allow(clippy::cast_precision_loss)]
    let mib = kib as f64 / 1024.0;
    format!("{mib:.1}")
}
