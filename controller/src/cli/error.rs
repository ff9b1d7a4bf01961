//! How a command fails: the message on stderr and the exit code that scripts see (as in sysexits.h).

use std::{
    io::{self, Write},
    process::ExitCode,
};

use nodewell_reconcile::api_error::ApiError;

use crate::{config::Mistake, daemon::Fatal, kube::ConnectError};

const USAGE: u8 = 64;
const SOFTWARE: u8 = 70;
const CONFIG: u8 = 78;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(super) enum CommandError {
    /// Of files; each has its place.
    Mistakes(Vec<Mistake>),
    /// Errors that were printed already, as JSON.
    Told,
    Said(String),
    /// A closed pipe (`| head`) is no failure at all.
    Output(io::Error),
}

impl CommandError {
    pub(super) fn report(self) -> ExitCode {
        let mut err = io::stderr().lock();
        match self {
            Self::Mistakes(mistakes) => {
                mistakes.iter().for_each(|mistake| drop(writeln!(err, "{mistake}")));
                let s = if mistakes.len() == 1 { "" } else { "s" };
                let _ = writeln!(err, "nodewell-controller: {} mistake{s}", mistakes.len());
                ExitCode::from(CONFIG)
            }
            Self::Told => ExitCode::from(CONFIG),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(error) => said(&mut err, &format!("cannot write: {error}")),
            Self::Said(message) => said(&mut err, &message),
        }
    }

    /// What the API server made of a request for `what`.
    pub(super) fn of(what: &str) -> impl Fn(ApiError) -> Self + '_ {
        move |error| Self::Said(format!("{what}: {error}"))
    }
}

fn said(err: &mut impl Write, message: &str) -> ExitCode {
    let _ = writeln!(err, "nodewell-controller: {message}");
    ExitCode::from(SOFTWARE)
}

impl From<ConnectError> for CommandError {
    fn from(error: ConnectError) -> Self {
        Self::Said(error.to_string())
    }
}

impl From<Fatal> for CommandError {
    fn from(error: Fatal) -> Self {
        if let Fatal::NodeReaper(mistakes) = error {
            return Self::Mistakes(mistakes);
        }
        Self::Said(error.to_string())
    }
}

/// Help and version are what was asked for; everything else is wrong usage.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // A closed stdout is no reason to change the answer.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}

/// To standard output, whole.
pub(super) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::Output)
}
