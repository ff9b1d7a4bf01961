//! `make bench`: measures the shipped programs and prints a table with each budget beside its figure.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod bmcs;
mod burst;
mod check_processes;
mod checks;
mod controller_size;
mod corpus;
mod daemon;
mod disks;
mod fencing;
mod flood;
mod footprint;
mod gpu_hang;
mod hang;
mod idle;
mod kernel_log;
mod kills;
mod latency;
mod mappings;
mod observer;
mod outage;
mod plugins;
mod probe;
mod programs;
mod reports;
mod round;
mod scrape;
mod setting;
mod start;
mod statistics;
mod table;
mod throughput;
mod usage;
mod wait;

use std::{
    fs,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    thread,
    time::Instant,
};

use clap::Parser;
use nodewell_tests::real::{self, RealServer};
use serde_json::Value;

use idle::Onlooker;
use setting::Setting;
use table::Row;

/// Measures nodewell on this machine. A missed target is reported and is no failure; what could not be run is.
#[derive(Debug, Parser)]
struct Arguments {
    /// Fewer rounds and shorter windows.
    #[arg(long)]
    quick: bool,
    /// One JSON object a row instead of the table.
    #[arg(long)]
    json: bool,
    /// Only the groups whose names have this in them: throughput, start, idle, footprint, socket, socket-reports,
    /// api, burst, hang, outage, kills, check-processes, disks, gpu-hang, checks, plugins, scrape,
    /// fencing, bmcs, cordons, controller, flood.
    #[arg(long, value_name = "GROUP")]
    only: Option<String>,
}

type Group = (&'static str, fn(&Setting) -> Vec<Row>);

/// In the order in which they disturb each other least: the flood leaves a kernel log full of its lines.
const GROUPS: &[Group] = &[
    ("throughput", throughput::rows),
    ("start", start::rows),
    ("idle", idle::rows),
    ("footprint", footprint::rows),
    ("socket", latency::to_socket),
    ("socket-reports", reports::rows),
    ("api", latency::to_api),
    ("burst", burst::rows),
    ("hang", hang::rows),
    ("outage", outage::rows),
    ("kills", kills::rows),
    ("check-processes", check_processes::rows),
    ("disks", disks::rows),
    ("gpu-hang", gpu_hang::rows),
    ("checks", checks::rows),
    ("scrape", scrape::rows),
    ("plugins", plugins::rows),
    ("fencing", fencing::rows),
    ("bmcs", bmcs::rows),
    ("cordons", controller_size::cordons),
    ("controller", controller_size::size),
    ("flood", flood::rows),
];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(missing) = programs::unmet() {
        eprintln!("bench: {missing}");
        return ExitCode::FAILURE;
    }
    programs::answer_harness();
    let rows = measure(&arguments);
    RealServer::end_shared();
    show(&rows, arguments.json);
    if rows.iter().all(Row::was_run) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(arguments: &Arguments) -> Vec<Row> {
    let setting = Setting::new(arguments.quick);
    let chosen = |name: &str| arguments.only.as_deref().is_none_or(|only| name.contains(only));
    let onlooker = chosen("idle").then(|| Onlooker::start(&setting)).flatten();
    let mut rows = Vec::new();
    for (name, group) in GROUPS.iter().filter(|(name, _)| chosen(name)) {
        let start = Instant::now();
        rows.extend(attempt(name, || group(&setting)));
        eprintln!("bench: {name} took {:.0} s", start.elapsed().as_secs_f64());
    }
    rows.extend(onlooker.into_iter().flat_map(|onlooker| attempt("idle API requests", || onlooker.rows())));
    rows
}

/// The harness panics where something does not work; the other measures go on.
fn attempt(name: &str, group: impl FnOnce() -> Vec<Row>) -> Vec<Row> {
    catch_unwind(AssertUnwindSafe(group)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        vec![Row::not_run(name, message.unwrap_or("it panicked").lines().next().unwrap_or_default())]
    })
}

/// What the figures are from, and how busy it was: a loaded machine misses targets that a quiet one meets.
fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let cores = thread::available_parallelism().map_or(0, NonZero::get);
    let server = real::version().unwrap_or_else(|missing| missing);
    format!("{cores} cores, kernel {}, kube-apiserver: {server}; load average at the end: {load}", kernel.trim())
}

fn show(rows: &[Row], as_json: bool) {
    if as_json {
        rows.iter().map(Row::json).for_each(|row: Value| println!("{row}"));
        return;
    }
    println!("{}\n\n{}", table::render(rows), machine());
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    println!("\n{missed} missed, {} not run", rows.iter().filter(|row| !row.was_run()).count());
}
