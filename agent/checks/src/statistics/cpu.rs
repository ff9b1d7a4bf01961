//! `/proc/stat`: where CPUs spend their time, and what the scheduler counts (fs/proc/stat.c).
//!
//! Not by the procfs crate: it forgets the numbers of CPUs, which have holes while one is offline, passes over `intr`, and
//! gives up the whole file for one line.

use super::{Truncated, count, lines};

/// What a CPU did, in the order of the columns. `guest` is part of `user` as well, `guest_nice` of `nice`.
pub const MODES: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];
/// Each is ten series. The largest machines have about as many.
const MOST_CPUS: usize = 2048;

/// The whole file; what is `None` was not in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stat {
    /// Of all CPUs together.
    pub total: Option<Times>,
    /// By the number of the CPU.
    pub cpus: Truncated<(u32, Times)>,
    /// Since boot, of all kinds.
    pub interrupts: Option<u64>,
    pub context_switches: Option<u64>,
    /// Seconds since 1970.
    pub boot_time_secs: Option<u64>,
    /// Processes and threads made since boot.
    pub forks: Option<u64>,
    pub running: Option<u64>,
    pub blocked: Option<u64>,
}

/// The time spent in each of [`MODES`], in ticks of USER_HZ; older kernels have fewer of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    ticks: Vec<u64>,
}

impl Times {
    /// Each mode with its seconds, where a second has `ticks_per_second`.
    pub fn seconds(&self, ticks_per_second: u64) -> impl Iterator<Item = (&'static str, f64)> {
        #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are three million years")]
        let seconds = move |ticks: u64| ticks as f64 / ticks_per_second as f64;
        MODES.into_iter().zip(self.ticks.iter().map(move |ticks| seconds(*ticks)))
    }
}

/// Reads the file's text.
#[must_use]
pub fn parse(bytes: &[u8]) -> Stat {
    let mut stat = Stat::default();
    let mut cpus = Vec::new();
    for line in lines(bytes) {
        let mut words = line.split_ascii_whitespace();
        let Some(key) = words.next() else { continue };
        let first = || words.clone().next().and_then(count);
        match key {
            "intr" => stat.interrupts = first(),
            "ctxt" => stat.context_switches = first(),
            "btime" => stat.boot_time_secs = first(),
            "processes" => stat.forks = first(),
            "procs_running" => stat.running = first(),
            "procs_blocked" => stat.blocked = first(),
            "cpu" => stat.total = times(words),
            _ => cpus.extend(cpu(key).zip(times(words))),
        }
    }
    cpus.sort_by_key(|(number, _)| *number);
    cpus.dedup_by_key(|(number, _)| *number);
    Stat { cpus: Truncated::new(cpus, MOST_CPUS), ..stat }
}

fn cpu(key: &str) -> Option<u32> {
    key.strip_prefix("cpu").and_then(count).and_then(|number| u32::try_from(number).ok())
}

/// The first four are there since Linux 1; a word that is no number spoils the line.
fn times<'a>(words: impl Iterator<Item = &'a str>) -> Option<Times> {
    let ticks: Option<Vec<u64>> = words.take(MODES.len()).map(count).collect();
    ticks.filter(|ticks| ticks.len() >= 4).map(|ticks| Times { ticks })
}
