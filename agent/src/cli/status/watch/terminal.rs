//! The terminal while a screen is shown: the alternate one, raw, without a cursor; and as it was, whatever ends us.

use std::{
    env,
    io::{self, IsTerminal, Write},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::{
    cursor::{Hide, MoveTo, Show},
    execute, queue,
    style::Print,
    terminal::{
        BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
        EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    },
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Whether standard output can show a screen.
pub(in crate::cli::status) fn is_usable() -> bool {
    io::stdout().is_terminal() && env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// To leave the alternate screen twice would put the cursor where it was before a panic's message.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The alternate screen, for as long as this is there.
pub(super) struct Terminal(());

impl Terminal {
    pub(super) fn enter() -> io::Result<Self> {
        restore_before_a_panic_is_reported();
        // From here on it is left again, also if only half of it succeeds.
        let terminal = Self(());
        terminal.show()?;
        Ok(terminal)
    }

    fn show(&self) -> io::Result<()> {
        IS_SHOWN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        // A line that is too wide, as this terminal counts its characters, must not push the others.
        execute!(Tty, EnterAlternateScreen, Hide, DisableLineWrap)
    }

    /// As many lines as there are rows, over what stood there, in one piece.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        Tty.write_all(&drawn(lines)?)
    }

    /// Stops this program as Ctrl-Z does elsewhere, until its shell continues it. A shell comes back only once all of
    /// its job has stopped, such as the script that started this program.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        restore();
        let own_group = Pid::from_raw(0);
        kill(own_group, Signal::SIGTSTP)?;
        self.show()
    }
}

/// A row is cleared before its line is written: after one that fills the row, the cursor stands on its last character.
fn drawn(lines: &[String]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    queue!(text, BeginSynchronizedUpdate)?;
    for (row, line) in (0..).zip(lines) {
        queue!(text, MoveTo(0, row), Clear(ClearType::UntilNewLine), Print(line))?;
    }
    queue!(text, EndSynchronizedUpdate)?;
    Ok(text)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// A terminal that is gone needs no restoring.
fn restore() {
    if IS_SHOWN.swap(false, Ordering::SeqCst) {
        let _ = execute!(Tty, EnableLineWrap, Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Its message would be written to the alternate screen, and go with it.
fn restore_before_a_panic_is_reported() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            restore();
            report(panicked);
        }));
    });
}

/// Standard output without its lock: the command holds that, and a thread that panics must not wait for it.
struct Tty;

impl Write for Tty {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        Ok(nix::unistd::write(io::stdout(), text)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
