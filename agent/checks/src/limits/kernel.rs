//! Reads the small files of procfs that report levels and counters of the kernel as a whole.

use std::path::Path;

use crate::{
    cpu::list::CpuSet,
    probe::{ReadError, Roots, attribute},
};

use super::reading::{ConntrackCounts, KernelReading, Level, MemoryUsage, Pressure, Swap};

/// `fs.file-max` of 2^63-1, which systemd sets, and what comes near it, is no limit: so many files fill all memory.
const NO_LIMIT: u64 = 1 << 48;

/// Everything that procfs reports. A figure that is not there is not judged, and what was wrong with it is over: so one
/// that cannot be read is an error. A full table of open files is such a case.
pub(super) fn read(roots: &Roots) -> Result<KernelReading, ReadError> {
    let proc = &roots.proc;
    let text = |name: &str| attribute::shown(&proc.join(name));
    // Every kernel has it: without it this is no procfs, or we may not read it.
    let loadavg = attribute::text(&proc.join("loadavg"))?;
    let loadavg = loadavg.ok_or_else(|| ReadError::Gone { what: proc.join("loadavg").display().to_string() })?;
    let tasks = tasks(&loadavg);
    let of_tasks = |name: &str| Ok(level(tasks, attribute::number_shown(&proc.join(name))?));
    let pressure = |name: &str| Ok(text(name)?.as_deref().and_then(pressure));
    let stat = stat_file(proc)?;
    Ok(KernelReading {
        conntrack: conntrack(proc, stat.as_deref())?,
        conntrack_counts: stat.as_deref().and_then(conntrack_counts),
        file_handles: text("sys/fs/file-nr")?.as_deref().and_then(file_handles),
        pids: of_tasks("sys/kernel/pid_max")?,
        threads: of_tasks("sys/kernel/threads-max")?,
        memory_pressure: pressure("pressure/memory")?,
        cpu_pressure: pressure("pressure/cpu")?,
        io_pressure: pressure("pressure/io")?,
        load: load(&loadavg),
        cpus: cpus(&roots.sys)?,
        swap: text("vmstat")?.as_deref().and_then(swap),
        memory: text("meminfo")?.as_deref().and_then(memory),
        inodes: text("sys/fs/inode-nr")?.as_deref().and_then(inodes),
        taints: attribute::number_shown(&proc.join("sys/kernel/tainted"))?,
    })
}

/// At least one. Our own share of them, which a cgroup may limit, does not matter.
fn cpus(sys: &Path) -> Result<u32, ReadError> {
    let online = attribute::shown(&sys.join("devices/system/cpu/online"))?;
    let online = online.and_then(|text| CpuSet::parse(&text).ok()).unwrap_or_default();
    Ok(u32::try_from(online.0.len()).unwrap_or(u32::MAX).max(1))
}

fn level(used: Option<u64>, max: Option<u64>) -> Option<Level> {
    let (used, max) = (used?, max?);
    (1..NO_LIMIT).contains(&max).then_some(Level { used, max })
}

/// The table of PID 1's network: we may live in another one (`PrivateNetwork=`). The count is in hexadecimal, and the same in
/// every CPU's line (net/netfilter/nf_conntrack_standalone.c ct_cpu_seq_show). The maximum holds for all networks.
fn conntrack(proc: &Path, stat: Option<&str>) -> Result<Option<Level>, ReadError> {
    let max = attribute::number_shown(&proc.join("sys/net/netfilter/nf_conntrack_max"))?;
    let own = attribute::number_shown(&proc.join("sys/net/netfilter/nf_conntrack_count"))?;
    Ok(level(stat.and_then(entries).or(own), max))
}

fn stat_file(proc: &Path) -> Result<Option<String>, ReadError> {
    match attribute::shown(&proc.join("1/net/stat/nf_conntrack"))? {
        Some(text) => Ok(Some(text)),
        None => attribute::shown(&proc.join("net/stat/nf_conntrack")),
    }
}

fn entries(text: &str) -> Option<u64> {
    let at = text.lines().next()?.split_whitespace().position(|name| name == "entries")?;
    hexadecimal(text.lines().nth(1)?, at)
}

fn hexadecimal(line: &str, at: usize) -> Option<u64> {
    u64::from_str_radix(line.split_whitespace().nth(at)?, 16).ok()
}

/// Columns are found by their names: kernels have added some and renamed others.
pub(super) fn conntrack_counts(text: &str) -> Option<ConntrackCounts> {
    let names: Vec<&str> = text.lines().next()?.split_whitespace().collect();
    let sum = |wanted: &str| {
        let at = names.iter().position(|name| *name == wanted)?;
        let counts = text.lines().skip(1).filter_map(|line| hexadecimal(line, at));
        Some(counts.fold(0_u64, u64::saturating_add))
    };
    Some(ConntrackCounts { drop: sum("drop")?, early_drop: sum("early_drop")?, insert_failed: sum("insert_failed")? })
}

/// `1870 0 2466183`: allocated, unused (always 0), maximum.
pub(super) fn file_handles(text: &str) -> Option<Level> {
    let numbers: Vec<Option<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let [allocated, unused, max] = numbers[..] else { return None };
    level(Some(allocated?.saturating_sub(unused?)), max)
}

/// `272022 30029`: all, unused.
pub(super) fn inodes(text: &str) -> Option<u64> {
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    Some(numbers.next()?.ok()?.saturating_sub(numbers.next()?.ok()?))
}

/// All tasks, threads too: `0.20 0.18 0.12 1/80 11206`.
pub(super) fn tasks(loadavg: &str) -> Option<u64> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Over five minutes.
pub(super) fn load(loadavg: &str) -> f64 {
    let load = loadavg.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
    load.filter(|load| load.is_finite() && *load >= 0.0).unwrap_or_default()
}

/// How many tasks sleep uninterruptibly, about: the load of the last minute less what runs now. Idle kernel threads do
/// not count (`TASK_NOLOAD`).
pub(super) fn waiting(loadavg: &str) -> f64 {
    let mut words = loadavg.split_whitespace();
    let load = words.next().and_then(|word| word.parse::<f64>().ok()).filter(|load| load.is_finite());
    let running = words.nth(2).and_then(|word| word.split_once('/')?.0.parse::<u32>().ok());
    load.zip(running).map_or(0.0, |(load, running)| load - f64::from(running))
}

/// `some avg10=0.00 avg60=0.31 avg300=1.37 total=62464935`, and `full` below it, which CPUs have since 5.13 only.
pub(super) fn pressure(text: &str) -> Option<Pressure> {
    let some = average(text, "some")?;
    Some(Pressure { some, full: average(text, "full").unwrap_or_default() })
}

fn average(text: &str, kind: &str) -> Option<u32> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(kind))?;
    let share = line.split_whitespace().find_map(|word| word.strip_prefix("avg300="))?;
    let (whole, part) = share.split_once('.')?;
    let part = part.get(..2)?;
    let hundredths = whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(part.parse().ok()?)?;
    (hundredths <= 10_000).then_some(hundredths)
}

/// The value of a line that begins with `name` and a space or a colon.
pub(super) fn value(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', ':']))?;
    rest.split_whitespace().next()?.parse().ok()
}

pub(super) fn swap(vmstat: &str) -> Option<Swap> {
    Some(Swap { pages_in: value(vmstat, "pswpin")?, pages_out: value(vmstat, "pswpout")? })
}

pub(super) fn memory(meminfo: &str) -> Option<MemoryUsage> {
    let [total, free, slab_unreclaimable] = ["MemTotal", "MemFree", "SUnreclaim"].map(|name| value(meminfo, name));
    Some(MemoryUsage { total: total?, free: free?, slab_unreclaimable: slab_unreclaimable? })
}

#[cfg(test)]
mod tests;
