//! How a command fails: the message on stderr and the exit code that scripts see (as in sysexits.h).

use std::{
    io::{self, Write},
    process::ExitCode,
};

use nodewell_client::ClientError;
use nodewell_command::one_line;
pub(super) use nodewell_command::{
    exit_code::{CONFIG, DATA, NO_INPUT, NO_PERMISSION, SOFTWARE, TEMPORARY, UNAVAILABLE, USAGE},
    usage,
};
use nodewell_rules::Diagnostic;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("{0}")]
    Client(#[from] ClientError),
    /// Stdout is gone; a closed pipe (`| head`) is no failure at all, and changes no code: see [`found`].
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    #[error("{message}")]
    Message { code: u8, message: String },
}

impl CommandError {
    pub(super) fn new(code: u8, message: impl Into<String>) -> Self {
        Self::Message { code, message: message.into() }
    }

    pub(super) fn runtime(error: io::Error) -> Self {
        Self::new(SOFTWARE, format!("cannot start: {error}"))
    }

    /// Every mistake in the configuration.
    pub(super) fn configuration(diagnostics: &[Diagnostic]) -> Self {
        let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        Self::new(CONFIG, messages.join("\n"))
    }

    /// A view of ours that does not become JSON: an error of ours.
    pub(super) fn json(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Self::Output(kind.into()),
            None => Self::new(SOFTWARE, format!("cannot write JSON: {error}")),
        }
    }

    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Message { code, .. } => *code,
            Self::Output(_) => SOFTWARE,
            Self::Client(error) => client_code(error),
        }
    }

    pub(super) fn report(self) -> ExitCode {
        if self.is_closed_pipe() {
            return ExitCode::SUCCESS;
        }
        // With stderr gone as well, there is nowhere left to write to.
        let _ = writeln!(io::stderr(), "nodewell: {}", self.shown());
        ExitCode::from(self.code())
    }

    /// It may quote files and answers of others: what drives a terminal does not reach it.
    fn shown(&self) -> String {
        self.to_string().lines().map(one_line).collect::<Vec<_>>().join("\n")
    }
}

/// What a command found out stays its exit code where its reader has closed the pipe.
pub(super) fn found(code: ExitCode, written: Result<(), CommandError>) -> Result<ExitCode, CommandError> {
    match written {
        Err(error) if error.is_closed_pipe() => Ok(code),
        written => written.map(|()| code),
    }
}

fn client_code(error: &ClientError) -> u8 {
    match error {
        ClientError::Permission { .. } | ClientError::Status { code: 403, .. } => NO_PERMISSION,
        ClientError::Status { code: 400 | 404 | 405 | 413 | 415, .. } | ClientError::Target { .. } => USAGE,
        ClientError::Status { code: 429 | 503, .. } => UNAVAILABLE,
        ClientError::NotRunning { .. }
        | ClientError::Connect { .. }
        | ClientError::Timeout { .. }
        | ClientError::Broken { .. } => UNAVAILABLE,
        _ => SOFTWARE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_a_promise() {
        let status = |code| CommandError::Client(ClientError::Status { code, error: String::new(), retry_after: None });
        assert_eq!(status(403).code(), 77);
        assert_eq!(status(400).code(), 64);
        assert_eq!((status(413).code(), status(409).code()), (64, 70));
        assert_eq!(status(503).code(), 69);
        assert_eq!(status(500).code(), 70);
        assert_eq!(CommandError::Client(ClientError::NotRunning { path: "/s".into() }).code(), 69);
    }

    #[test]
    fn what_it_quotes_drives_no_terminal() {
        let quoting = CommandError::new(DATA, "a.yaml#\u{1b}[2J/b.json:1: no\n  value \u{202e}there");
        assert_eq!(quoting.shown(), "a.yaml#\u{fffd}[2J/b.json:1: no\n  value \u{fffd}there");
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        assert!(CommandError::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!CommandError::Output(io::ErrorKind::StorageFull.into()).is_closed_pipe());
    }

    #[test]
    fn a_closed_pipe_changes_no_code_and_a_full_disk_does() {
        let found = |kind: Option<io::ErrorKind>| {
            let written = kind.map_or(Ok(()), |kind| Err(CommandError::Output(kind.into())));
            format!("{:?}", super::found(ExitCode::from(2), written).unwrap_or_else(|error| error.report()))
        };
        let code = |code| format!("{:?}", ExitCode::from(code));
        assert_eq!(found(None), code(2));
        assert_eq!(found(Some(io::ErrorKind::BrokenPipe)), code(2));
        assert_eq!(found(Some(io::ErrorKind::StorageFull)), code(SOFTWARE));
    }
}
