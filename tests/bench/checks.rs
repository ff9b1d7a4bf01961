//! What a minute of all default checks costs: the check process and its worker, as they come, on this machine.

use std::{thread, time::Duration};

use nodewell_tests::{agent::Plan, check_process::children_of, process::Process};

use crate::{
    daemon::Daemon,
    programs,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    usage::Usage,
    wait,
};

/// Of one core.
const CPU_LIMIT_PERCENT: f64 = 0.05;
const MINUTE: Duration = Duration::from_secs(60);
/// By then every check has had its first round.
const SETTLING: Duration = Duration::from_secs(20);

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let minutes = if setting.quick { 1 } else { 3 };
    let daemon = Daemon::start(Plan::new("bench-checks").with_fifo());
    let folder = daemon.plan().folder();
    let mut argv = vec![programs::path("nodewell-checks").into_os_string(), "run".into(), "check".into()];
    argv.extend(["--socket".into(), folder.join("socket").into_os_string()]);
    argv.extend(["--state-dir".into(), folder.join("check-state").into_os_string()]);
    let process = Process::start(&argv, &folder.join("check.log")).expect("it starts");
    wait::until("its worker runs", || children_of(process.pid()).into_iter().next());
    thread::sleep(SETTLING);
    let all = || {
        let workers = children_of(process.pid()).into_iter();
        workers.chain([process.pid()]).map(Usage::of).collect::<Vec<_>>()
    };
    let percents: Vec<f64> = (0..minutes).map(|_| percent_of_a_minute(&all())).collect();
    let own = Usage::of(process.pid()).memory();
    vec![
        Row::median("all default checks: CPU, of a core", &Samples::new(percents), Unit::Percent)
            .at_most(CPU_LIMIT_PERCENT),
        Row::new("  the check process's RSS", own.resident_mib, Unit::MebiBytes)
            .beside(format!("anonymous {:.2} MiB", own.anonymous_mib)),
        Row::new("  its workers' anonymous memory", workers_mib(process.pid()), Unit::MebiBytes),
    ]
}

fn percent_of_a_minute(processes: &[Usage]) -> f64 {
    let cpu = || processes.iter().map(Usage::cpu).sum::<Duration>();
    let before = cpu();
    thread::sleep(MINUTE);
    (cpu() - before).as_secs_f64() / MINUTE.as_secs_f64() * 100.0
}

fn workers_mib(check_process: u32) -> f64 {
    children_of(check_process).into_iter().map(|pid| Usage::of(pid).memory().anonymous_mib).sum()
}
