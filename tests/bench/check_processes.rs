//! What the processes that ask hardware cost: the check process and its worker, for the disks of this machine and for
//! eight simulated GPUs.

use std::{thread, time::Duration};

use nodewell_tests::{
    agent::Plan,
    check_process::children_of,
    gpus::{GpuMonitor, Gpus},
    process::Process,
};

use crate::{
    daemon::Daemon,
    programs,
    setting::Setting,
    table::{Row, Unit},
    usage::Usage,
    wait,
};

const RSS_LIMIT_MIB: f64 = 8.0;
/// Shorter windows are multiplied.
const CPU_WINDOW_SECS: f64 = 120.0;
/// By then the first round is over.
const SETTLING: Duration = Duration::from_secs(10);
/// The shortest that the configuration allows for disks; the default is five times as long.
const DISK_INTERVAL: &str = "1m";

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let window = Duration::from_secs(if setting.quick { 15 } else { 120 });
    let mut rows = disks(window);
    rows.extend(gpus(window));
    rows
}

fn disks(window: Duration) -> Vec<Row> {
    let daemon = Daemon::start(Plan::new("bench-disks").with_fifo());
    let folder = daemon.plan().folder();
    let mut argv = vec![programs::path("nodewell-checks").into_os_string(), "run".into(), "disk".into()];
    argv.extend(["--socket".into(), folder.join("socket").into_os_string(), "--interval".into(), DISK_INTERVAL.into()]);
    argv.extend(["--state-dir".into(), folder.join("disk-state").into_os_string()]);
    let process = Process::start(&argv, &folder.join("disk.log")).expect("it starts");
    figures(&format!("disks, every {DISK_INTERVAL}"), process.pid(), window)
}

fn gpus(window: Duration) -> Vec<Row> {
    let gpus = Gpus::new(8, "ecc=0,0,0,0 slowdown=0 celsius=40 persistence=1");
    let daemon = Daemon::start(Plan::new("bench-gpus").with_fifo().config(&gpus.config()));
    let monitor = GpuMonitor::start_at(daemon.plan(), &gpus, &[]);
    figures("8 simulated GPUs", monitor.pid(), window)
}

/// The check process and its worker, side by side.
fn figures(what: &str, pid: u32, window: Duration) -> Vec<Row> {
    let worker = wait::until("its worker runs", || children_of(pid).into_iter().next());
    thread::sleep(SETTLING);
    let both = [("check process", Usage::of(pid)), ("worker", Usage::of(worker))];
    let before = both.each_ref().map(|(_, usage)| usage.cpu());
    thread::sleep(window);
    let scale = CPU_WINDOW_SECS / window.as_secs_f64();
    let rows = both.iter().zip(before).map(|((name, usage), before)| {
        let (memory, cpu) = (usage.memory(), usage.cpu() - before);
        let millis = cpu.as_secs_f64() * 1e3 * scale;
        [
            Row::new(format!("{what}: the {name}'s RSS"), memory.resident_mib, Unit::MebiBytes)
                .beside(format!("anonymous {:.2} MiB", memory.anonymous_mib))
                .at_most(RSS_LIMIT_MIB),
            Row::new("  its CPU in 120 s", millis, Unit::Millis),
        ]
    });
    rows.flatten().collect()
}
