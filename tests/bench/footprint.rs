//! What all processes of the agent cost together while nothing happens: the core, its check processes and their
//! workers; and what of the core is in its lock.

use std::{fs, path::Path, thread, time::Duration};

use nodewell_tests::{agent::Plan, check_process::children_of, journal};

use crate::{
    daemon::Daemon,
    mappings,
    setting::{Setting, joined},
    table::{Row, Unit},
    usage::{Memory, Usage},
    wait,
};

const PSS_LIMIT_MIB: f64 = 16.0;
/// Of the core, with its program in the lock.
const RSS_LIMIT_MIB: f64 = 11.0;
const ANONYMOUS_LIMIT_MIB: f64 = 2.5;
const CPU_LIMIT_MILLIS: f64 = 15.0;
/// What the limit and Node Problem Detector's figure are for; shorter windows are multiplied.
const CPU_WINDOW_SECS: f64 = 120.0;
/// Kernel modules whose GPUs have a check process of their own; without one of them it waits for that.
const GPU_DRIVERS: [&str; 2] = ["nvidia", "amdgpu"];
/// By then each check was read once.
const SETTLING: Duration = Duration::from_secs(30);

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let journal = journal::unmet().is_none().then(journal::Journal::start);
    let wrapper = journal.as_ref().map(journal::Journal::enter).unwrap_or_default();
    let node = "bench-footprint";
    let plan = setting.cluster.as_ref().map_or_else(|_| Plan::new(node), |cluster| joined(cluster, node));
    let daemon = Daemon::start_in(&wrapper, plan.with_fifo().with_check_processes());
    let core = daemon.usage().pid();
    wait::until("its check processes run", || (children_of(core).len() == check_processes()).then_some(()));
    thread::sleep(SETTLING);
    let processes = with_descendants(core);
    let costs = costs(&processes, Duration::from_secs(if setting.quick { 15 } else { 120 }));
    let sum = costs.iter().map(|cost| cost.memory.proportional_mib).sum();
    let millis = costs.iter().map(|cost| cost.cpu_millis).sum();
    let sum = Row::new("idle, all processes: PSS", sum, Unit::MebiBytes).at_most(PSS_LIMIT_MIB).npd("57.2 MB");
    let cpu = Row::new("idle, all processes: CPU in 120 s", millis, Unit::Millis).at_most(CPU_LIMIT_MILLIS);
    let each = costs.iter().map(Cost::row);
    [sum].into_iter().chain(each).chain(of_core(&daemon.usage())).chain([cpu.npd("26 ms")]).collect()
}

/// What one process costs.
struct Cost {
    name: String,
    memory: Memory,
    cpu_millis: f64,
}

impl Cost {
    fn row(&self) -> Row {
        let Memory { proportional_mib, resident_mib, anonymous_mib } = self.memory;
        let memory = format!("RSS {resident_mib:.2}, anonymous {anonymous_mib:.2} MiB");
        let beside = format!("{memory}; CPU {:.2} ms in 120 s", self.cpu_millis);
        Row::new(format!("  {}", self.name), proportional_mib, Unit::MebiBytes).beside(beside)
    }
}

/// What each of them costs while it is idle for `window`.
fn costs(processes: &[u32], window: Duration) -> Vec<Cost> {
    let cpu = |pid: &u32| Usage::of(*pid).cpu();
    let before: Vec<Duration> = processes.iter().map(cpu).collect();
    thread::sleep(window);
    let scale = 1e3 * CPU_WINDOW_SECS / window.as_secs_f64();
    let cost = |(pid, before): (&u32, Duration)| Cost {
        cpu_millis: (cpu(pid) - before).as_secs_f64() * scale,
        name: name(*pid),
        memory: Usage::of(*pid).memory(),
    };
    processes.iter().zip(before).map(cost).collect()
}

/// The limits of the core alone, and what its memory is made of.
fn of_core(usage: &Usage) -> Vec<Row> {
    let (memory, (smaps, program)) = (usage.memory(), usage.mappings());
    let resident = Row::new("  nodewelld: RSS", memory.resident_mib, Unit::MebiBytes).at_most(RSS_LIMIT_MIB);
    let anonymous = Row::new("  nodewelld: anonymous", memory.anonymous_mib, Unit::MebiBytes);
    let parts = mappings::rows("nodewelld", &program, &smaps);
    [resident, anonymous.at_most(ANONYMOUS_LIMIT_MIB)].into_iter().chain(parts).collect()
}

/// Those of the host and of disks, and of GPUs where they can be asked.
fn check_processes() -> usize {
    2 + usize::from(GPU_DRIVERS.iter().any(|driver| Path::new("/sys/module").join(driver).is_dir()))
}

/// Of this process and all that it started.
fn with_descendants(pid: u32) -> Vec<u32> {
    let below = children_of(pid).into_iter().flat_map(with_descendants);
    [pid].into_iter().chain(below).collect()
}

/// `nodewell-checks worker disk`.
fn name(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&str> = line.split('\0').take_while(|word| !word.starts_with("--")).collect();
    words.join(" ").rsplit('/').next().unwrap_or_default().to_owned()
}
