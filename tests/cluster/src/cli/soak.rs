//! `soak`: plants faults in a cluster of its own until its time is over, and prints what became of them.
//!
//! Ctrl-C goes to every process of the terminal's foreground, and all machines would end with it before there is a
//! report. So the run is a process in a group of its own, and this one passes the signal on.

use std::{
    fs,
    io::{self, Write},
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::PathBuf,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use clap::Args;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_cluster::{
    soak::{
        self, Order,
        outcome::Run,
        report,
        sum::{self, Part},
    },
    unmet,
};
use nodewell_tests::{disk, kmsg, machine, own_mounts};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use super::Failure;

const AFTER_HELP: &str = "\
Examples, by make:
  make soak ARGS=\"--minutes 240 --seed 7\"
  make soak ARGS=\"--minutes 10 --faults 5 --json\"
A hundred faults in parts, each in a cluster of its own, and their sum, with the
times of all of them:
  make soak ARGS=\"--minutes 60 --seed 7 --least 1\"
  make soak ARGS=\"--minutes 60 --seed 8 --least 1\"
  make soak ARGS=\"--sum target/soak/7/report-*.json target/soak/8/report-*.json\"

target/soak/SEED has the JSON report of each run, named by when it began; and for
each fault that was missed, or had an act or a report without a cause beside it,
a folder named by its number: nodes, pods, records, and of each machine the last
15 minutes of the journal.
Memory at the start and at the end is the least of five looks, 3 s apart, after
three minutes of rest. The start is taken again after the first ten faults, if
more than six minutes are left.
Exit codes: 0 all is as it has to be; 1 it is not, and the report shows what;
64 wrong usage; 69 this machine cannot; 70 it failed.";

#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Soak {
    /// No fault is planted after so many minutes
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u64).range(1..=24 * 60))]
    minutes: u64,
    /// What decides on the faults, so that they can be planted again; at random, and printed
    #[arg(long)]
    seed: Option<u64>,
    /// So many faults at most
    #[arg(long)]
    faults: Option<usize>,
    /// So many faults at least, or it fails; 100, or --faults if those are fewer
    #[arg(long)]
    least: Option<usize>,
    /// Plants nothing, and sums up these JSON reports of other runs; it fails if one of them did, or all of them have
    /// planted fewer faults than --least
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["minutes", "seed", "faults", "json"])]
    sum: Vec<PathBuf>,
    /// One JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// What the process in a group of its own is started with
    #[arg(long, hide = true)]
    held: bool,
}

impl Soak {
    pub(super) fn run(self) -> Result<(), Failure> {
        if !self.sum.is_empty() {
            return self.sum_up();
        }
        if let (Some(faults), Some(least)) = (self.faults, self.least)
            && faults < least
        {
            return Err(Failure::Usage(format!("--faults {faults} cannot become --least {least}")));
        }
        if self.held { self.hold() } else { self.start() }
    }

    fn sum_up(&self) -> Result<(), Failure> {
        let parts = self.sum.iter().map(|file| Part::read(file)).collect::<Result<Vec<_>, String>>()?;
        let failures = sum::failures(&parts, self.least.unwrap_or(Order::PROOF));
        print(&sum::text(&parts, &failures));
        if failures.is_empty() { Ok(()) } else { Err(Failure::Found) }
    }

    /// In another process, which ends with this one.
    fn start(&self) -> Result<(), Failure> {
        // The disk that fails, and the log in which the kernel reports it.
        if let Some(reason) = unmet().or_else(kmsg::unmet).or_else(disk::unmet) {
            return Err(Failure::Unavailable(reason));
        }
        let failed = |error: std::io::Error| Failure::Failed(format!("the soak was not started: {error}"));
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(std::env::current_exe().map_err(failed)?);
        command.args(self.argv()).stdin(std::process::Stdio::null()).process_group(0);
        let (asked, run) = (AtomicBool::new(false), Arc::new(Mutex::new(None)));
        let to = Arc::clone(&run);
        // Before there is a process that a signal would have to go to.
        on_signals(move || {
            let signal = if asked.swap(true, Ordering::Relaxed) { Signal::SIGKILL } else { Signal::SIGTERM };
            // It may end by itself just now.
            to.lock().unwrap().map(|run| kill(run, signal));
            let _ = writeln!(io::stderr(), "soak: its report comes first; once more ends it without");
        });
        let mut child = command.spawn().map_err(failed)?;
        *run.lock().unwrap() = Some(Pid::from_raw(child.id().cast_signed()));
        match child.wait().map_err(failed)?.code() {
            Some(0) => Ok(()),
            Some(1) => Err(Failure::Found),
            code => Err(Failure::Failed(format!("the soak ended with {code:?} before its report"))),
        }
    }

    fn argv(&self) -> Vec<String> {
        let mut argv = vec!["soak".to_owned(), "--held".to_owned(), format!("--minutes={}", self.minutes)];
        argv.push(format!("--seed={}", self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000))));
        argv.extend(self.faults.map(|faults| format!("--faults={faults}")));
        argv.extend(self.least.map(|least| format!("--least={least}")));
        argv.extend(self.json.then(|| "--json".to_owned()));
        argv
    }

    fn hold(&self) -> Result<(), Failure> {
        own_mounts::separate();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        on_signals(move || stops.store(true, Ordering::Relaxed));
        let seed = self.seed.ok_or_else(|| Failure::Failed("a soak that is held has a seed".to_owned()))?;
        let lasts = Duration::from_secs(self.minutes * 60);
        let run = soak::run(Order { seed, lasts, faults: self.faults, least: self.least }, &stop);
        self.print(&run);
        machine::remove_copies();
        if run.is_clean() { Ok(()) } else { Err(Failure::Found) }
    }

    /// On stderr its text is already.
    fn print(&self, run: &Run) {
        if self.json {
            print(&report::json(run).to_string());
        } else if !is_one_output() {
            print(&report::text(run));
        }
    }
}

/// A reader that is gone is no failure: the report is in its file, too.
fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// Whether stdout and stderr are one terminal, pipe or file.
fn is_one_output() -> bool {
    let which = |number: u8| fs::metadata(format!("/proc/self/fd/{number}")).map(|file| (file.dev(), file.ino())).ok();
    which(1).is_some() && which(1) == which(2)
}

/// Does this at each SIGINT or SIGTERM, which end this process no more. Nor does SIGHUP, at which nothing is done: a
/// terminal that is gone after an hour takes no report with it.
fn on_signals(act: impl Fn() + Send + 'static) {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let [mut interrupt, mut terminate, mut hangup] = {
        let _entered = runtime.enter();
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(|kind| signal(kind).unwrap())
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => act(),
                    _ = terminate.recv() => act(),
                    _ = hangup.recv() => (),
                }
            }
        });
    });
}
