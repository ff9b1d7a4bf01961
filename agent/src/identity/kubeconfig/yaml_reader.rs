//! Has YAML read by a process of its own.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, PoisonError},
};

use nodewell_command::exit_code;

use super::{Kubeconfig, KubeconfigError};

/// The program that reads YAML: `nodewell` beside this one.
#[derive(Debug, Clone)]
pub struct YamlReader(pub(super) PathBuf);

/// The YAML is at fault, and not the program.
pub const DATA_ERROR: u8 = exit_code::DATA;

impl YamlReader {
    #[must_use]
    pub fn beside_us() -> Self {
        Self(std::env::current_exe().unwrap_or_default().with_file_name("nodewell"))
    }

    /// The text of a file is read by it once: a file that it names may change while the program cannot be started.
    pub(super) fn read_once(&self, path: &Path, yaml: Vec<u8>) -> Result<Kubeconfig, KubeconfigError> {
        type Known = BTreeMap<PathBuf, (Vec<u8>, Result<Kubeconfig, String>)>;
        static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, read)) = known().get(path).filter(|(then, _)| *then == yaml) {
            return read.clone().map_err(KubeconfigError::Content);
        }
        let read = match self.read(&yaml) {
            Ok(read) => Ok(read),
            Err(KubeconfigError::Content(why)) => Err(why),
            Err(other) => return Err(other),
        };
        known().insert(path.to_owned(), (yaml, read.clone()));
        read.map_err(KubeconfigError::Content)
    }

    /// The program gets the text and opens no file: what waits for a disk is this thread.
    fn read(&self, yaml: &[u8]) -> Result<Kubeconfig, KubeconfigError> {
        let output = self.run(yaml).map_err(|error| self.unread(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().find(|line| !line.trim().is_empty());
        let why = why.map(|line| line.strip_prefix("nodewell: ").unwrap_or(line).to_owned());
        match output.status.code() {
            Some(0) => serde_json::from_slice(&output.stdout).map_err(|error| self.unread(error.to_string())),
            Some(code) if code == i32::from(DATA_ERROR) => Err(KubeconfigError::Content(why.unwrap_or_default())),
            _ => Err(self.unread(why.unwrap_or_else(|| output.status.to_string()))),
        }
    }

    fn run(&self, yaml: &[u8]) -> io::Result<Output> {
        let mut command = Command::new(&self.0);
        command.arg("kubeconfig").env_remove("NOTIFY_SOCKET");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // It reads all before it writes; one that ends earlier has said why.
        let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(yaml));
        let output = child.wait_with_output()?;
        if output.status.success() { written.map(|()| output) } else { Ok(output) }
    }

    fn unread(&self, why: String) -> KubeconfigError {
        KubeconfigError::Reader { program: self.0.clone(), why }
    }
}
