//! How a command fails: the message on stderr and the exit code that scripts see (as in sysexits.h).

use std::{
    io::{self, Write},
    process::ExitCode,
};

use nodewell_command::one_line;
pub(crate) use nodewell_command::{
    exit_code::{CONFIG, NO_INPUT, NO_PERMISSION, SOFTWARE, UNAVAILABLE, USAGE},
    usage,
};

use crate::access::AccessError;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("{message}")]
    Message { code: u8, message: String },
    /// Stdout is gone; a closed pipe (`| head`) is no failure at all.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self::Message { code, message: message.into() }
    }

    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Message { code, .. } => *code,
            Self::Output(_) => SOFTWARE,
        }
    }

    pub(crate) fn report(self) -> ExitCode {
        if self.is_closed_pipe() {
            return ExitCode::SUCCESS;
        }
        // With stderr gone as well, there is nowhere left to write to.
        let _ = writeln!(io::stderr(), "kubectl-nodewell: {}", self.shown());
        ExitCode::from(self.code())
    }

    /// It may quote a server's answer, or a proxy's: what drives a terminal does not reach it.
    fn shown(&self) -> String {
        self.to_string().lines().map(one_line).collect::<Vec<_>>().join("\n")
    }
}

impl From<AccessError> for CommandError {
    fn from(error: AccessError) -> Self {
        let code = match &error {
            AccessError::Credentials(_) => NO_PERMISSION,
            AccessError::Missing(_)
            | AccessError::Unreadable { .. }
            | AccessError::NoContext { .. }
            | AccessError::UnknownContext { .. }
            | AccessError::Unusable(_)
            | AccessError::Proxy(_)
            | AccessError::Pod(_) => CONFIG,
        };
        Self::new(code, error.to_string())
    }
}

/// What a command found out stays its exit code where its reader has closed the pipe.
pub(crate) fn found(code: u8, written: Result<(), CommandError>) -> Result<ExitCode, CommandError> {
    match written {
        Err(error) if !error.is_closed_pipe() => Err(error),
        Ok(()) | Err(_) => Ok(ExitCode::from(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_quotes_drives_no_terminal() {
        let quoting = CommandError::new(UNAVAILABLE, "\u{1b}]0;x\u{7}Bad Gateway\nlook whether it is up");
        assert_eq!(quoting.shown(), "\u{fffd}]0;x\u{fffd}Bad Gateway\nlook whether it is up");
    }

    #[test]
    fn a_closed_pipe_changes_no_code_and_a_full_disk_does() {
        let found = |kind: Option<io::ErrorKind>| {
            let written = kind.map_or(Ok(()), |kind| Err(CommandError::Output(kind.into())));
            format!("{:?}", super::found(2, written).unwrap_or_else(CommandError::report))
        };
        let code = |code: u8| format!("{:?}", ExitCode::from(code));
        assert_eq!(found(None), code(2));
        assert_eq!(found(Some(io::ErrorKind::BrokenPipe)), code(2));
        assert_eq!(found(Some(io::ErrorKind::StorageFull)), code(SOFTWARE));
    }
}
