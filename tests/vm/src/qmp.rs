//! QEMU's monitor: what a case does to the guest's hardware.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};

/// QEMU answers at once; a busy machine lets it wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that has shaken hands.
#[derive(Debug)]
pub(crate) struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// `None` while QEMU does not greet yet, or not any more.
    pub(crate) fn connect(path: &Path) -> Option<Self> {
        let stream = UnixStream::connect(path).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut qmp = Self { stream: BufReader::new(stream) };
        qmp.stream.read_line(&mut String::new()).ok().filter(|read| *read > 0)?;
        writeln!(qmp.stream.get_mut(), "{}", json!({ "execute": "qmp_capabilities" })).ok()?;
        qmp.stream.read_line(&mut String::new()).ok().filter(|read| *read > 0)?;
        Some(qmp)
    }

    /// Runs a command that must succeed; gives what it returns.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub(crate) fn execute(&mut self, command: &str, arguments: &Value) -> Value {
        let request = json!({ "execute": command, "arguments": arguments });
        writeln!(self.stream.get_mut(), "{request}").unwrap();
        loop {
            let answer = self.read();
            assert!(answer.get("error").is_none(), "{request}: {answer}");
            // Events come in between.
            if let Some(returned) = answer.get("return") {
                return returned.clone();
            }
        }
    }

    /// Runs a command of the monitor for people; gives its output.
    ///
    /// # Panics
    /// If it complains.
    #[track_caller]
    pub(crate) fn human(&mut self, command: &str) -> String {
        let output = self.execute("human-monitor-command", &json!({ "command-line": command }));
        let output = output.as_str().unwrap_or_default().trim();
        let complains =
            ["error", "unknown", "invalid", "device "].iter().any(|word| output.to_lowercase().starts_with(word));
        assert!(!complains, "{command}: {output}");
        output.to_owned()
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).unwrap_or_else(|error| panic!("QEMU does not answer: {error}"));
        assert!(read > 0, "QEMU has ended");
        serde_json::from_str(&line).unwrap()
    }
}
