//! The guest's shell: scripts go in and their ends come out, one line each, over a virtio port.

use std::{
    fmt::Write as _,
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use nodewell_tests::cli::Outcome;

/// What init prints when it listens.
const READY: &str = "ready";

/// A connection to the port.
#[derive(Debug)]
pub(crate) struct Shell {
    stream: BufReader<UnixStream>,
}

impl Shell {
    /// `None` while QEMU does not listen yet.
    pub(crate) fn connect(path: &Path) -> Option<Self> {
        Some(Self { stream: BufReader::new(UnixStream::connect(path).ok()?) })
    }

    /// Waits until init listens.
    ///
    /// # Errors
    /// If it has not printed that within `patience`.
    pub(crate) fn ready(&mut self, patience: Duration) -> io::Result<()> {
        let line = self.line(patience)?;
        if line == READY { Ok(()) } else { Err(io::Error::other(format!("init printed {line:?}"))) }
    }

    /// Runs a script to its end.
    ///
    /// # Errors
    /// If that takes longer than `patience`; the shell is lost then.
    pub(crate) fn run(&mut self, script: &str, patience: Duration) -> io::Result<Outcome> {
        writeln!(self.stream.get_mut(), "{}", encode(script.as_bytes()))?;
        let answer = self.line(patience)?;
        outcome(&answer).ok_or_else(|| io::Error::other(format!("init answered {answer:?}")))
    }

    fn line(&mut self, patience: Duration) -> io::Result<String> {
        self.stream.get_ref().set_read_timeout(Some(patience))?;
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the guest has ended"));
        }
        Ok(line.trim_end().to_owned())
    }
}

fn outcome(answer: &str) -> Option<Outcome> {
    let [code, stdout, stderr] = answer.split(',').collect::<Vec<_>>().try_into().ok()?;
    let text = |digits| Some(String::from_utf8_lossy(&decode(digits)?).into_owned());
    Some(Outcome { code: code.parse().ok()?, stdout: text(stdout)?, stderr: text(stderr)? })
}

/// Two hexadecimal digits for each byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a String takes everything");
        digits
    })
}

fn decode(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect()
}
