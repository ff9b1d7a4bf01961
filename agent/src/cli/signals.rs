//! What ends a program from outside, for commands that have something to put away first.

use tokio::{
    select,
    signal::unix::{Signal, SignalKind, signal},
};

use super::error::CommandError;

/// From its making on these signals do not end the program by themselves.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    quit: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, CommandError> {
        let of = |kind| signal(kind).map_err(CommandError::runtime);
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
            hangup: of(SignalKind::hangup())?,
            quit: of(SignalKind::quit())?,
        })
    }

    /// The exit code that shells give to it.
    pub(super) async fn recv(&mut self) -> u8 {
        select! {
            _ = self.hangup.recv() => 129,
            _ = self.interrupt.recv() => 130,
            _ = self.quit.recv() => 131,
            _ = self.terminate.recv() => 143,
        }
    }
}
