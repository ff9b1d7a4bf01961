//! NVML hangs in every call for ten minutes: the core's latency and memory stay as they were.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_model::ConditionStatus;
use nodewell_tests::{
    agent::Plan,
    fire::RULES,
    gpus::{GpuMonitor, Gpus},
};

use crate::{
    daemon::{Daemon, condition},
    hang::latencies,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    wait,
};

/// What a look at the socket costs, and the machine's mood.
const SLACK_MILLIS: f64 = 1.0;
const SLACK_MIB: f64 = 0.5;

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let window = Duration::from_secs(if setting.quick { 30 } else { 600 });
    let gpus = Gpus::new(4, "ecc=0,0,0,0");
    let daemon = Daemon::start(Plan::new("bench-gpu-hang").rules(RULES).config(&gpus.config()));
    let _monitor = GpuMonitor::start_at(daemon.plan(), &gpus, &["--interval", "1s", "--deadline", "2s"]);
    let mut probe = daemon.probe();
    wait::until("the GPUs are well", || {
        (condition(&mut probe, "GpuUnhealthy") == Some(ConditionStatus::False)).then_some(())
    });
    let times = setting.times(300, 50);
    let healthy = Samples::millis(&latencies(&daemon, &mut probe, times));
    let before = daemon.usage().memory().anonymous_mib;
    gpus.add("hang all");
    let start = Instant::now();
    wait::until("they do not answer", || {
        (condition(&mut probe, "GpuUnhealthy") == Some(ConditionStatus::Unknown)).then_some(())
    });
    let noticed = start.elapsed();
    thread::sleep(window.saturating_sub(noticed));
    // The agent has hung up on one that was silent for so long.
    let mut probe = daemon.probe();
    let hanging = Samples::millis(&latencies(&daemon, &mut probe, times));
    let after = daemon.usage().memory().anonymous_mib;
    vec![
        Row::median_and_p99("line → condition on the socket, 4 simulated GPUs well", &healthy, Unit::Millis),
        Row::median_and_p99(format!("  after {} s of NVML hanging", window.as_secs()), &hanging, Unit::Millis)
            .at_most(healthy.median() + SLACK_MILLIS),
        Row::new("  the core's anonymous memory", after, Unit::MebiBytes)
            .beside(format!("{before:.2} MiB before"))
            .at_most(before + SLACK_MIB),
        Row::new("  noticed (deadline 2 s, one GPU after the other)", noticed.as_secs_f64() * 1e3, Unit::Millis),
    ]
}
