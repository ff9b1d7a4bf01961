//! The log being replayed: a file or standard input, with its progress shown on a terminal, and a way to end it early.

use std::{
    cell::Cell,
    fs::File,
    io::{self, ErrorKind, IsTerminal, Read, Write},
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

use super::plain::plain;
use crate::cli::error::{CommandError, DATA, NO_INPUT, NO_PERMISSION};

/// Below this a replay is over before a person looks.
const PROGRESS_FROM_BYTES: u64 = 64 << 20;
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Reads until its end, or until it was stopped.
pub(super) struct Input {
    reader: Box<dyn Read>,
    stop: Rc<Cell<bool>>,
    damage: Rc<Cell<Option<io::Error>>>,
}

/// A file as it lies there, maybe compressed.
struct Watched {
    file: File,
    progress: Progress,
}

/// Written to stderr; each update overwrites the last.
struct Progress {
    total: u64,
    read: u64,
    start: Instant,
    reported_at: Instant,
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, CommandError> {
        if path == Path::new("-") {
            return Self::of(Box::new(io::stdin().lock())).map_err(|error| not_read(path, &error));
        }
        let file = File::open(path).map_err(|error| not_opened(path, &error))?;
        let metadata = file.metadata().map_err(|error| not_opened(path, &error))?;
        if metadata.is_dir() {
            return Err(CommandError::new(
                NO_INPUT,
                format!("{} is a folder; name the log file itself", path.display()),
            ));
        }
        let shows_progress = metadata.len() > PROGRESS_FROM_BYTES && io::stderr().is_terminal();
        let raw: Box<dyn Read> = match shows_progress {
            true => Box::new(Watched { file, progress: Progress::of(metadata.len()) }),
            false => Box::new(file),
        };
        Self::of(raw).map_err(|error| not_read(path, &error))
    }

    fn of(raw: Box<dyn Read>) -> io::Result<Self> {
        Ok(Self { reader: plain(raw)?, stop: Rc::default(), damage: Rc::default() })
    }

    /// Why it ended before its end. What came before that was read.
    pub(super) fn damage(&self) -> Rc<Cell<Option<io::Error>>> {
        Rc::clone(&self.damage)
    }

    /// Set, the input ends with the next read.
    pub(super) fn stop(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.stop)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.get() {
            return Ok(0);
        }
        match self.reader.read(buffer) {
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                self.damage.set(Some(error));
                Ok(0)
            }
            read => read,
        }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.progress.advance(count);
        Ok(count)
    }
}

impl Progress {
    fn of(total: u64) -> Self {
        Self { total, read: 0, start: Instant::now(), reported_at: Instant::now() }
    }

    fn advance(&mut self, count: usize) {
        self.read += count as u64;
        if count > 0 && self.reported_at.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.reported_at = Instant::now();
        let rate = self.read as f64 / 1e6 / self.start.elapsed().as_secs_f64().max(1e-3);
        let percent = self.read * 100 / self.total.max(1);
        // At the end the line is wiped.
        let line = if count == 0 { String::new() } else { format!("{percent:>3} %  {rate:.0} MB/s") };
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }
}

fn not_opened(path: &Path, error: &io::Error) -> CommandError {
    let code = if error.kind() == io::ErrorKind::PermissionDenied { NO_PERMISSION } else { NO_INPUT };
    CommandError::new(code, format!("cannot open {}: {error}", path.display()))
}

fn not_read(path: &Path, error: &io::Error) -> CommandError {
    let code = if error.kind() == ErrorKind::InvalidData { DATA } else { NO_INPUT };
    CommandError::new(code, format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_input_ends() {
        let mut input = Input::of(Box::new(io::repeat(b'x'))).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(input.read(&mut buffer).unwrap(), 8);
        input.stop().set(true);
        assert_eq!(input.read(&mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_folder_is_not_a_log() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Input::open(folder.path()).is_err());
        assert!(Input::open(&folder.path().join("missing")).is_err());
    }
}
