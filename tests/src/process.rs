//! Child processes that never outlive the tests: ended by pid on drop, and by the kernel if the tests themselves die.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::wait::until;

/// A running child.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts `argv`, its output appended to `log`. It gets SIGKILL when this test process ends, however it ends.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(argv: &[OsString], log: &Path) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        // The kernel sends the death signal when the *thread* that started the child ends: a lasting thread starts all.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).args(argv);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self { child: nursery(command)? })
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to exactly this process.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        until("the process ends", || self.ended())
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) {
        if self.ended().is_none() {
            // It may end by itself in between.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that is ended, with code 124, once it has run for `limit`, and killed when what runs it is: a program that
/// hangs in a machine would hang its case, and one that is left alone would have the machine's mounts for ever.
#[must_use]
pub fn bounded(limit: Duration, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    let seconds = limit.as_secs().to_string();
    command.args(["--pdeathsig", "KILL", "--", "timeout", "--verbose", "--kill-after=5", &seconds]);
    command.args(["setpriv", "--pdeathsig", "KILL", "--"]).arg(program);
    command
}

type Birth = (Command, mpsc::Sender<io::Result<Child>>);

fn nursery(command: Command) -> io::Result<Child> {
    static REQUESTS: OnceLock<mpsc::Sender<Birth>> = OnceLock::new();
    let requests = REQUESTS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Birth>();
        thread::spawn(move || {
            for (mut command, answer) in receiver {
                // A test that no longer waits has failed already.
                let _ = answer.send(command.spawn());
            }
        });
        sender
    });
    let (sender, answer) = mpsc::channel();
    requests.send((command, sender)).expect("the nursery thread lasts as long as the process");
    answer.recv().expect("the nursery thread answers every request")
}
