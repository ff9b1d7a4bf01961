//! A hundred plug-ins, each run every second for a minute: whether they keep their pace, what that costs the check
//! process, and whether anything of them is left.

use std::{fmt::Write as _, fs, ops::Range, os::unix::fs::MetadataExt, path::Path, thread, time::Duration};

use nodewell_tests::{agent::Plan, process::Process};

use crate::{
    daemon::Daemon,
    programs,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    usage::Usage,
};

const PLUGINS: usize = 100;
const INTERVAL_SECS: f64 = 1.0;
/// By then all have run for the first time, and the program is in memory.
const SETTLING: Duration = Duration::from_secs(8);
/// A start that comes later than this is a burst's, not the schedule's.
const TARGET_P99_MILLIS: f64 = 100.0;
/// Of a core, for a hundred starts a second: a fork and an exec each.
const CPU_LIMIT_PERCENT: f64 = 10.0;

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let window = Duration::from_secs(if setting.quick { 20 } else { 60 });
    let plan = Plan::new("bench-plugins").config("[journal]\nenabled = false\n");
    let marks = plan.folder().join("marks");
    fs::create_dir(&marks).unwrap();
    write_plugins(&plan, &marks);
    let daemon = Daemon::start(plan);
    let check_process = start(daemon.plan());
    let usage = Usage::of(check_process.pid());
    thread::sleep(SETTLING);
    let (before, from) = (usage.cpu(), now_secs());
    thread::sleep(window);
    let (cpu, to) = (usage.cpu() - before, now_secs());
    let rows = figures(&starts(&marks, from..to), cpu, to - from, usage.memory().resident_mib);
    let pid = check_process.pid();
    stop(check_process);
    let left = left_behind(pid);
    [rows, vec![Row::new("  processes left behind after a stop", left as f64, Unit::Count).exactly(0.0)]].concat()
}

/// Each run makes a file; its time is when the run was at work.
fn write_plugins(plan: &Plan, marks: &Path) {
    let program = plan.program("mark.sh", "#!/bin/sh\n: >\"$1/$$\"\nexit 0\n");
    let mut rules =
        "[[condition]]\ntype = \"Bench\"\nhealthy-reason = \"Well\"\nhealthy-message = \"fine\"\n".to_owned();
    for number in 0..PLUGINS {
        let folder = marks.join(number.to_string());
        fs::create_dir(&folder).unwrap();
        let _ = write!(
            rules,
            "[[plugin]]\nname = \"p{number}\"\ncommand = [{program:?}, {folder:?}]\ninterval = \"1s\"\n\
             condition = \"Bench\"\nreason = \"Broken\"\nsubject = \"p{number}\"\n"
        );
    }
    plan.file("rules.d/bench.toml", &rules);
}

fn start(plan: &Plan) -> Process {
    let folder = plan.folder();
    let mut argv = vec![programs::path("nodewell-checks").into_os_string(), "run".into(), "check".into()];
    argv.extend(["--socket".into(), folder.join("socket").into_os_string()]);
    argv.extend(["--config".into(), folder.join("nodewell.toml").into_os_string()]);
    Process::start(&argv, &folder.join("check.log")).expect("it starts")
}

fn stop(mut check_process: Process) {
    check_process.signal(nix::sys::signal::Signal::SIGTERM);
    check_process.wait();
}

fn now_secs() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("it is after 1970").as_secs_f64()
}

/// The moments of each plug-in's runs within the window, in order.
fn starts(marks: &Path, window: Range<f64>) -> Vec<Vec<f64>> {
    let of_plugin = |number: usize| {
        let files = fs::read_dir(marks.join(number.to_string())).unwrap().flatten();
        let times = files.filter_map(|file| file.metadata().ok());
        let times = times.map(|meta| meta.mtime() as f64 + meta.mtime_nsec() as f64 / 1e9);
        let mut times: Vec<f64> = times.filter(|time| window.contains(time)).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    (0..PLUGINS).map(of_plugin).collect()
}

fn figures(starts: &[Vec<f64>], cpu: Duration, secs: f64, resident_mib: f64) -> Vec<Row> {
    let count: usize = starts.iter().map(Vec::len).sum();
    let late: Vec<f64> = starts.iter().flat_map(|times| lateness(times)).collect();
    let late = Samples::new(late.into_iter().map(|secs| secs * 1e3));
    let percent = cpu.as_secs_f64() / secs * 100.0;
    vec![
        Row::new(
            format!("{PLUGINS} plug-ins, each every second: starts a second"),
            count as f64 / secs,
            Unit::PerSecond,
        )
        .at_least(0.98 * PLUGINS as f64 / INTERVAL_SECS),
        Row::new("  a start after its moment, p99", late.p99(), Unit::Millis)
            .beside(format!("median {:.1} ms", late.median()))
            .at_most(TARGET_P99_MILLIS),
        Row::new("  the check process's CPU", percent, Unit::Percent).at_most(CPU_LIMIT_PERCENT),
        Row::new("  its RSS", resident_mib, Unit::MebiBytes),
    ]
}

/// How late each start was, beside the grid of whole intervals that the earliest ones lie on: a schedule that drifts is
/// later and later.
fn lateness(times: &[f64]) -> Vec<f64> {
    let Some(first) = times.first() else { return Vec::new() };
    let nearest = |time: &f64| (time - first) - ((time - first) / INTERVAL_SECS).round() * INTERVAL_SECS;
    let offsets: Vec<f64> = times.iter().map(nearest).collect();
    let earliest = offsets.iter().copied().fold(f64::INFINITY, f64::min);
    offsets.into_iter().map(|offset| offset - earliest).collect()
}

/// Processes of plug-ins, or children of a check process that is gone.
fn left_behind(check_process: u32) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is_left = |folder: &Path| {
        let line = fs::read(folder.join("cmdline")).unwrap_or_default();
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("/bin/mark.sh")
            || status.contains(&format!("\nPPid:\t{check_process}\n"))
    };
    entries.filter(|entry| is_left(&entry.path())).count()
}
