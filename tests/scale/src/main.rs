//! `make e2e` runs this: thousands of the agent's exporters meet one API server, and what that costs is printed.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use nodewell_scale::{
    cluster::Cluster,
    memory,
    real::Setting,
    report::{Fact, Report},
    scenario::{self, Outage},
    server::Limits,
};
use tokio::runtime::Builder;

/// Long enough for back-offs to reach their longest.
const EVERYBODYS_OUTAGE: Duration = Duration::from_secs(60);
/// Of a server that is busy with something else.
const SLOW: Duration = Duration::from_secs(2);
/// In real time, where all exporters started together: the heartbeats of all fall into it.
const REAL_OUTAGE: Duration = Duration::from_secs(240);

/// Drives N of the agent's real exporters: on virtual time against a double, and in real time against the real server.
/// A limit that is missed on virtual time is a failure; real time has no limits that the machine could miss.
#[derive(Debug, Parser)]
struct Arguments {
    /// Exporters on virtual time; 0: none.
    #[arg(long, default_value_t = 15_000)]
    nodes: usize,
    /// Exporters against the real server; 0: none.
    #[arg(long, default_value_t = 300)]
    real: usize,
    /// How many of the nodes fail in the same second.
    #[arg(long, default_value_t = 500)]
    rack: usize,
    /// How long the idle window and the outage on virtual time are.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// How long the idle window in real time is.
    #[arg(long, default_value_t = 10)]
    real_minutes: u64,
    /// Requests that the server of virtual time works on at the same time, and how long it takes for one.
    #[arg(long, default_value_t = 24)]
    seats: usize,
    #[arg(long, default_value_t = 10)]
    work_ms: u64,
    /// One JSON object a scenario instead of tables.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut missed = 0;
    if arguments.nodes > 0 {
        let mut show = |report: &Report| {
            missed += report.missed().count();
            arguments.show(report);
        };
        at_rest(&arguments, &mut show);
        at_once(&arguments, &mut show);
        one_after_the_other(&arguments, &mut show);
        slow_server(&arguments, &mut |report| arguments.show(report));
    }
    if arguments.real > 0 {
        real_time(&arguments, &mut |report| arguments.show(report));
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Arguments {
    fn limits(&self) -> Limits {
        // 64 queues of 50 requests, as a limited priority level has them by default.
        Limits { seats: self.seats, queue: 3200, work: Duration::from_millis(self.work_ms) }
    }

    /// As soon as it is there: the whole takes long.
    fn show(&self, report: &Report) {
        if self.json {
            println!("{}", report.json());
        } else {
            println!("{}", report.text());
        }
    }

    fn window(&self) -> Duration {
        Duration::from_secs(60 * self.minutes)
    }
}

type Show<'a> = &'a mut dyn FnMut(&Report);

/// What one exporter takes of memory, on a server that is not there.
fn at_rest(arguments: &Arguments, show: Show<'_>) {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(arguments.nodes, arguments.limits());
        cluster.open.send_replace(false);
        let (before, from) = (memory::resident_bytes(), cluster.now());
        cluster.all().iter().for_each(|_| cluster.start_next());
        tokio::time::sleep(Duration::from_secs(10)).await;
        let grown = memory::resident_bytes().saturating_sub(before);
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let each = grown as f64 / arguments.nodes as f64 / 1024.0;
        let figures = cluster.meter.figures(from, cluster.now());
        let facts = vec![Fact::new("memory of one exporter and its shared state", each, "KiB")];
        let scenario = "start while the server is away".to_owned();
        show(&Report { scenario, cluster: cluster.name, nodes: arguments.nodes, figures, facts });
    });
}

/// All exporters start in the same second: the heartbeats that follow are as close as they can be.
fn at_once(arguments: &Arguments, show: Show<'_>) {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(arguments.nodes, arguments.limits());
        show(&scenario::start(&mut cluster, Duration::ZERO).await);
        show(&scenario::idle(&cluster, "idle, after a start in the same second", arguments.window()).await);
    });
}

/// The start takes as long as a heartbeat: so lie the heartbeats of a cluster that has run for long.
fn one_after_the_other(arguments: &Arguments, show: Show<'_>) {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(arguments.nodes, arguments.limits());
        show(&scenario::start(&mut cluster, Duration::from_secs(300)).await);
        show(&scenario::idle(&cluster, "idle", arguments.window()).await);
        show(&scenario::rack(&mut cluster, arguments.rack).await);
        let some = Outage { lasting: arguments.window(), one_in: 20, is_limited: true };
        scenario::outage(&mut cluster, some).await.iter().for_each(&mut *show);
        show(&scenario::idle(&cluster, "idle, after an outage", arguments.window()).await);
        let all = Outage { lasting: EVERYBODYS_OUTAGE, one_in: 1, is_limited: false };
        scenario::outage(&mut cluster, all).await.iter().for_each(show);
    });
}

/// A server that needs seconds for an answer has to be waited for: a client that gives up and asks again makes it
/// slower yet. No limit: what a server so slow does to us is reported.
fn slow_server(arguments: &Arguments, show: Show<'_>) {
    on_virtual_time(async {
        let limits = Limits { work: SLOW, ..arguments.limits() };
        let mut cluster = Cluster::virtual_time(arguments.nodes.min(300), limits);
        show(&scenario::start(&mut cluster, Duration::ZERO).await);
    });
}

fn real_time(arguments: &Arguments, show: Show<'_>) {
    let setting = Setting::new(arguments.real);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime needs only an epoll");
    runtime.block_on(async {
        let mut cluster = Cluster::real_time(&setting).await;
        show(&scenario::start(&mut cluster, Duration::ZERO).await);
        show(&scenario::rack(&mut cluster, arguments.rack.min(arguments.real / 3)).await);
        let some = Outage { lasting: REAL_OUTAGE, one_in: 20, is_limited: false };
        scenario::outage(&mut cluster, some).await.iter().for_each(&mut *show);
        let window = Duration::from_secs(60 * arguments.real_minutes);
        show(&scenario::idle(&cluster, "idle, after an outage", window).await);
    });
}

fn on_virtual_time<T>(story: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime needs no more than memory").block_on(story)
}
