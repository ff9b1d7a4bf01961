//! How a command fails: the message on stderr and the exit code that scripts see (as in sysexits.h).

use std::{
    io::{self, Write},
    process::ExitCode,
};

use nodewell_command::exit_code::{CONFIG, SOFTWARE, USAGE};
pub(super) use nodewell_command::usage;
use nodewell_reconcile::api_error::ApiError;

use crate::{config::Diagnostic, daemon::Fatal, kube::ConnectError};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(super) enum CommandError {
    /// Of files; each names its file and line.
    Diagnostics(Vec<Diagnostic>),
    /// Errors that were printed already, as JSON.
    Reported,
    Message(String),
    /// What was asked cannot have been meant.
    Usage(String),
    /// There is no kubeconfig.
    NoKubeconfig(String),
    /// Something that a person has to configure first.
    Unconfigured(String),
    /// A closed pipe (`| head`) is no failure at all.
    Output(io::Error),
}

impl CommandError {
    pub(super) fn report(self) -> ExitCode {
        let mut err = io::stderr().lock();
        match self {
            Self::Diagnostics(diagnostics) => {
                diagnostics.iter().for_each(|diagnostic| drop(writeln!(err, "{diagnostic}")));
                let s = if diagnostics.len() == 1 { "" } else { "s" };
                let _ = writeln!(err, "nodewell-controller: {} error{s}", diagnostics.len());
                ExitCode::from(CONFIG)
            }
            Self::Reported => ExitCode::from(CONFIG),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(error) => report(&mut err, &format!("cannot write: {error}")),
            Self::Message(message) | Self::NoKubeconfig(message) => report(&mut err, &message),
            Self::Usage(message) => {
                report(&mut err, &message);
                ExitCode::from(USAGE)
            }
            Self::Unconfigured(message) => {
                report(&mut err, &message);
                ExitCode::from(CONFIG)
            }
        }
    }

    /// What the API server made of a request for `what`.
    pub(super) fn of(what: &str) -> impl Fn(ApiError) -> Self + '_ {
        move |error| Self::Message(format!("{what}: {error}"))
    }
}

fn report(err: &mut impl Write, message: &str) -> ExitCode {
    let _ = writeln!(err, "nodewell-controller: {message}");
    ExitCode::from(SOFTWARE)
}

impl From<ConnectError> for CommandError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Absent => Self::Unconfigured(error.to_string()),
            ConnectError::NotFound(_) => Self::NoKubeconfig(error.to_string()),
            error => Self::Message(error.to_string()),
        }
    }
}

impl From<Fatal> for CommandError {
    fn from(error: Fatal) -> Self {
        match error {
            Fatal::NodeReaper(diagnostics) => Self::Diagnostics(diagnostics),
            Fatal::Connect(error) => error.into(),
            error => Self::Message(error.to_string()),
        }
    }
}

/// To standard output, whole.
pub(super) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::Output)
}
