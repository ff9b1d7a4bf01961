//! `soak`: plants faults in a cluster of its own until its time is over, and prints what became of them.
//!
//! Ctrl-C goes to every process of the terminal's foreground, and all machines would end with it before there is a
//! report. So the run is a process in a group of its own, and this one passes the signal on.

use std::{
    os::unix::process::CommandExt,
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
    soak::{self, Order, report},
    unmet,
};
use nodewell_tests::{disk, kmsg, machine, own_mounts};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use super::Failure;

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Soak {
    /// No fault is planted after so many minutes
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u64).range(1..=24 * 60))]
    minutes: u64,
    /// What decides on the faults, so that they can be planted again; at random, and printed
    #[arg(long)]
    seed: Option<u64>,
    /// So many faults at most; without it, fewer than 100 are no proof, and it fails
    #[arg(long)]
    faults: Option<usize>,
    /// One JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// What the process in a group of its own is started with
    #[arg(long, hide = true)]
    held: bool,
}

impl Soak {
    pub(super) fn run(self) -> Result<(), Failure> {
        if self.held { self.hold() } else { self.start() }
    }

    /// In another process, which ends with this one.
    fn start(self) -> Result<(), Failure> {
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
            eprintln!("soak: its report comes first; once more ends it without");
            // It may end by itself just now.
            to.lock().unwrap().map(|run| kill(run, signal));
        });
        let mut child = command.spawn().map_err(failed)?;
        *run.lock().unwrap() = Some(Pid::from_raw(child.id().cast_signed()));
        match child.wait().map_err(failed)?.code() {
            Some(0) => Ok(()),
            Some(1) => Err(Failure::Found),
            code => Err(Failure::Failed(format!("the soak ended with {code:?} before its report"))),
        }
    }

    fn argv(self) -> Vec<String> {
        let mut argv = vec!["soak".to_owned(), "--held".to_owned(), format!("--minutes={}", self.minutes)];
        argv.push(format!("--seed={}", self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000))));
        argv.extend(self.faults.map(|faults| format!("--faults={faults}")));
        argv.extend(self.json.then(|| "--json".to_owned()));
        argv
    }

    fn hold(self) -> Result<(), Failure> {
        own_mounts::separate();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        on_signals(move || stops.store(true, Ordering::Relaxed));
        let seed = self.seed.ok_or_else(|| Failure::Failed("a soak that is held has a seed".to_owned()))?;
        let run = soak::run(Order { seed, lasts: Duration::from_secs(self.minutes * 60), faults: self.faults }, &stop);
        machine::remove_copies();
        if self.json {
            println!("{}", report::json(&run));
        } else {
            println!("{}", report::text(&run));
        }
        let failures = run.failures();
        failures.iter().for_each(|failure| eprintln!("soak: {failure}"));
        if failures.is_empty() { Ok(()) } else { Err(Failure::Found) }
    }
}

/// Does this at each SIGINT or SIGTERM, which end this process no more.
fn on_signals(act: impl Fn() + Send + 'static) {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let (mut interrupt, mut terminate) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt()).unwrap(), signal(SignalKind::terminate()).unwrap())
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => act(),
                    _ = terminate.recv() => act(),
                }
            }
        });
    });
}
