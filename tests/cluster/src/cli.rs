//! The command line `nodewell-cluster`. `up` starts a process that holds the cluster, and the other commands talk to
//! it.

mod down;
mod exec;
mod hold;
mod lock;
mod request;
mod soak;
mod up;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use nodewell_cluster::Plan;
use nodewell_tests::machine::machines;

const AFTER_HELP: &str = "\
Examples, by make:
  make cluster                        a cluster with nodewell, in some two minutes
  make cluster ARGS=status            what is on, and where
  make cluster ARGS=\"off w2\"          pull the plug of a worker
  make cluster ARGS=\"on w2\"           press its power button
  make cluster ARGS=\"stop w2\"         shut it down as its administrator would
  make cluster ARGS=\"cut w2\"          pull its network cable (its BMC has another)
  make cluster ARGS=\"join w2\"         plug it in again
  make cluster ARGS=\"exec w2 nodewell status\"
  make cluster ARGS=\"up --bare\"       without nodewell
  make cluster ARGS=down              end all of it

It needs root, etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
kubelet and kubectl where KUBEBUILDER_ASSETS says (or /usr/local/kubebuilder/bin),
and Debian's packages that `make deps` installs.
Exit codes: 0 done; 1 a soak has found something; 64 wrong usage; 69 this machine
cannot; 70 it failed.";

/// A real small Kubernetes cluster on this machine, with nodewell in it.
#[derive(Debug, Parser)]
#[command(name = "nodewell-cluster", after_help = AFTER_HELP, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring it up, and print how to use it (the default)
    Up(Size),
    /// End all of it
    Down,
    /// Show what is on, and where
    Status,
    /// Turn a worker on, as by its power button
    On(Machine),
    /// Pull a worker's plug
    Off(Machine),
    /// Shut a worker down in an orderly way
    Stop(Machine),
    /// Pull a machine's network cable
    Cut(Machine),
    /// Plug a machine's network cable in again
    Join(Machine),
    /// Run a command in a machine, as its root
    Exec(exec::Exec),
    /// Plant faults in a cluster of its own, one after another, and judge each act (make soak)
    Soak(soak::Soak),
    /// What `up` starts
    #[command(hide = true)]
    Hold(Size),
}

/// What a cluster has.
#[derive(Debug, Clone, Copy, Args)]
struct Size {
    /// How many workers: w1 to w9
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=i64::from(Plan::MOST_WORKERS)))]
    workers: u8,
    /// How many control-plane hosts with a controller: c1 to c3
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=i64::from(Plan::MOST_CONTROLLERS)))]
    controllers: u8,
    /// Without nodewell
    #[arg(long)]
    bare: bool,
}

#[derive(Debug, Clone, Args)]
struct Machine {
    /// w1, w2, …
    #[arg(value_name = "MACHINE")]
    name: String,
}

/// Why a command failed.
#[derive(Debug)]
enum Failure {
    /// This machine lacks something.
    Unavailable(String),
    /// Options that contradict each other.
    Usage(String),
    Failed(String),
    /// A soak has found something, and its report shows what.
    Found,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

pub(crate) fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(64) } else { ExitCode::SUCCESS };
        }
    };
    match perform(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Found) => ExitCode::from(1),
        Err(Failure::Unavailable(reason)) => failed(69, &reason),
        Err(Failure::Usage(reason)) => failed(64, &reason),
        Err(Failure::Failed(reason)) => failed(70, &reason),
    }
}

fn failed(code: u8, reason: &str) -> ExitCode {
    eprintln!("nodewell-cluster: {reason}");
    ExitCode::from(code)
}

fn perform(command: Option<Command>) -> Result<(), Failure> {
    let default = Size { workers: 3, controllers: 2, bare: false };
    match command.unwrap_or(Command::Up(default)) {
        Command::Up(size) => up::up(size),
        Command::Hold(size) => hold::hold(size),
        Command::Down => down::down(),
        Command::Status => show("status", ""),
        Command::On(machine) => show("on", &machine.name),
        Command::Off(machine) => show("off", &machine.name),
        Command::Stop(machine) => show("stop", &machine.name),
        Command::Cut(machine) => show("cut", &machine.name),
        Command::Join(machine) => show("join", &machine.name),
        Command::Exec(exec) => exec.run(),
        Command::Soak(soak) => soak.run(),
    }
}

fn show(verb: &str, machine: &str) -> Result<(), Failure> {
    println!("{}", request::ask(verb, machine)?);
    Ok(())
}

/// `target/cluster`, or another one for another cluster beside it: what the commands find the cluster by.
fn folder() -> PathBuf {
    std::env::var_os("NODEWELL_CLUSTER_FOLDER").map_or_else(|| machines().with_file_name("cluster"), PathBuf::from)
}
