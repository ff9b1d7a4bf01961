//! A running guest. It ends when dropped, and when the tests die.

use std::{
    fs,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{cli::Outcome, process::Process, wait::until_within};
use serde_json::{Value, json};
use tempfile::TempDir;

pub use crate::plan::Plan;
use crate::{
    kernel::Kernel,
    plan::{CONSOLE, QMP, SHELL},
    qmp::Qmp,
    shell::{Shell, encode},
};

/// For one boot (7 s on a quiet machine), one script, or one state of the guest: it is emulated, on a machine that may have
/// ten tasks to a processor.
pub const PATIENCE: Duration = Duration::from_secs(420);
/// Between two looks into the guest: each costs it a process.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What is asked of a guest that failed a case.
const SHOW_LOGS: &str = "dmesg | tail -n 60; echo '--- the agent:'; tail -n 40 /run/agent.log; nodewell status";
/// It may be the guest that is broken.
const LAST_PATIENCE: Duration = Duration::from_secs(20);

/// A booted guest.
#[derive(Debug)]
pub struct Guest {
    qmp: Mutex<Qmp>,
    shell: Mutex<Shell>,
    qemu: Process,
    folder: TempDir,
}

impl Plan {
    /// Boots it, and waits for its shell.
    ///
    /// # Panics
    /// If it does not come up; its output is shown.
    #[must_use]
    pub fn boot(&self) -> Guest {
        let kernel = Kernel::of_debian().unwrap();
        let folder = TempDir::with_prefix("nodewell-guest-").unwrap();
        let log = folder.path().join("qemu");
        let mut qemu = Process::start(&self.argv(&kernel, folder.path()), &log).unwrap();
        let (qmp, shell) = until_within(PATIENCE, "QEMU listens", || {
            assert!(qemu.ended().is_none(), "QEMU ended: {}", fs::read_to_string(&log).unwrap());
            let qmp = Qmp::connect(&folder.path().join(QMP))?;
            Some((qmp, Shell::connect(&folder.path().join(SHELL))?))
        });
        let guest = Guest { qmp: Mutex::new(qmp), shell: Mutex::new(shell), qemu, folder };
        guest.wait_shell();
        guest
    }
}

impl Guest {
    /// Waits for the shell of its next boot.
    ///
    /// # Panics
    /// If it does not come up.
    #[track_caller]
    pub fn wait_reboot(&self) {
        self.wait_shell();
    }

    #[track_caller]
    fn wait_shell(&self) {
        self.shell.lock().unwrap().ready(PATIENCE).unwrap_or_else(|error| panic!("the guest does not boot: {error}"));
    }

    /// Runs a shell script inside to its end, as root.
    ///
    /// # Panics
    /// If it does not end, or the guest does.
    #[track_caller]
    pub fn run(&self, script: &str) -> Outcome {
        let mut shell = self.shell.lock().unwrap();
        shell.run(script, PATIENCE).unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs a shell script inside that must succeed; gives what it wrote.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let outcome = self.run(script);
        assert_eq!(outcome.code, 0, "{script}\n{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout.trim_end().to_owned()
    }

    /// Writes a text file inside; the folder is there already.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn write(&self, path: &str, content: &str) {
        const END: &str = "END-OF-THE-FILE";
        assert!(!content.contains(END));
        self.sh(&format!("cat >{path} <<'{END}'\n{content}\n{END}"));
    }

    /// Writes a small file inside, of any content; the folder is there already.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn put(&self, path: &str, content: &[u8]) {
        self.sh(&format!("echo {} | xxd -r -p >{path}", encode(content)));
    }

    /// The first `Some` of `look`, which looks into the guest.
    ///
    /// # Panics
    /// With `what` if it takes too long.
    #[track_caller]
    pub fn until<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        self.until_within(PATIENCE, what, look)
    }

    /// The same for what takes its time on a quiet machine, too.
    ///
    /// # Panics
    /// With `what` if it takes longer than `patience`.
    #[track_caller]
    pub fn until_within<T>(&self, patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < deadline, "waited {patience:?} in vain: {what}");
            thread::sleep(LOOK_EVERY);
        }
    }

    /// A command of QEMU's monitor.
    #[track_caller]
    pub fn qmp(&self, command: &str, arguments: &Value) -> Value {
        self.qmp.lock().unwrap().execute(command, arguments)
    }

    /// Sets a property of device `id`, which the guest's driver finds changed.
    #[track_caller]
    pub fn set(&self, id: &str, property: &str, value: u64) {
        let path = format!("/machine/peripheral/{id}");
        self.qmp("qom-set", &json!({ "path": path, "property": property, "value": value }));
    }

    /// A command of the monitor for people, where QMP has none.
    #[track_caller]
    pub fn monitor(&self, command: &str) -> String {
        self.qmp.lock().unwrap().human(command)
    }

    pub(crate) fn qemu_pid(&self) -> u32 {
        self.qemu.pid()
    }

    /// Its serial console so far.
    #[must_use]
    pub fn console(&self) -> String {
        let bytes = fs::read(self.folder.path().join(CONSOLE)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn print_logs(&self) {
        let console = self.console();
        let lines: Vec<&str> = console.lines().collect();
        eprintln!("--- the guest's console ends:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        // Poisoned: the thread that panicked held it.
        let mut shell = self.shell.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match shell.run(SHOW_LOGS, LAST_PATIENCE) {
            Ok(outcome) => eprintln!("--- the guest's log ends:\n{}{}---", outcome.stdout, outcome.stderr),
            Err(error) => eprintln!("--- the guest's shell is lost: {error}"),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if thread::panicking() {
            self.print_logs();
        }
        self.qemu.kill();
    }
}
