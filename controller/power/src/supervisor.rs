//! The process between the controller and a fence agent. It ends the agent, and all that the agent has started, when the
//! agent's time is over, when the leader's is, and when the controller has gone: also if the controller is stopped, swapped
//! out or frozen at that moment, since the leader after it may act then.
//!
//! Stdin: a [`Job`] as one line of JSON, then a line `until MILLISECONDS` (of `CLOCK_BOOTTIME`, which both processes read)
//! each time the leader's Lease was renewed. Its end is the agent's end. Stdout: a [`Report`], once nothing runs any more.

mod descendants;
mod job;
mod limits;
mod watch;

use std::{
    ffi::OsString,
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Command, ExitCode},
};

use nix::{
    sys::{
        prctl,
        signal::{Signal, kill},
    },
    unistd::{getpid, getppid, setsid},
};
use tokio::net::unix::pipe;

pub use job::{Ending, Job, Report, boottime_millis};

/// The argument of the stage that becomes the agent.
const BECOME: &str = "become";
/// As sysexits(3) has them.
const USAGE: u8 = 64;
const SOFTWARE: u8 = 70;

/// What the hidden subcommand runs, with the arguments after its name. Returns when the agent has ended.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    match args.next() {
        None => supervise().unwrap_or_else(|_| ExitCode::from(SOFTWARE)),
        Some(stage) if stage == BECOME => become_agent(args),
        Some(_) => ExitCode::from(USAGE),
    }
}

fn supervise() -> io::Result<ExitCode> {
    // What an agent leaves behind, in whatever session, becomes our child, and ends.
    prctl::set_child_subreaper(true)?;
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let report = watch::watch(pipe::Receiver::from_owned_fd(stdin)?).await;
        let text = serde_json::to_string(&report)?;
        // The controller may not be there to read it any more.
        let _ = io::Write::write_all(&mut io::stdout(), text.as_bytes());
        Ok(ExitCode::SUCCESS)
    })
}

/// `become PARENT PROGRAM ARGUMENTS…`: a session of its own, a death with the supervisor, limits, then the program.
fn become_agent(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = args.next().and_then(|text| text.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, args.next()) else { return ExitCode::from(USAGE) };
    let prepared = prctl::set_pdeathsig(Signal::SIGKILL).and_then(|()| setsid());
    if prepared.is_err() {
        return ExitCode::from(SOFTWARE);
    }
    // It may have gone before the kernel was asked to signal its end.
    if getppid().as_raw() != parent {
        let _ = kill(getpid(), Signal::SIGKILL);
    }
    let failed = match limits::set() {
        Ok(()) => Command::new(program).args(args).exec(),
        Err(error) => error,
    };
    let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("{}{failed}\n", job::NOT_STARTED));
    ExitCode::from(job::NOT_STARTED_STATUS)
}
