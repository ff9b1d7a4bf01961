//! A running guest. It ends when dropped, and when the tests die.

use std::{
    fs,
    sync::{Mutex, MutexGuard, Once, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{cli::Outcome, leftovers, process::Process, wait::found_within};
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
/// Where it takes longer.
const LOOK_SELDOM: Duration = Duration::from_secs(2);
/// What is asked of a guest that failed a case.
const SHOW_LOGS: &str = "dmesg | tail -n 60; echo '--- the agent:'; tail -n 40 /run/agent.log; nodewell status; \
                         [ ! -d /run/systemd/system ] || journalctl --no-pager --quiet --lines 60 --unit 'nodewell*'";
/// It may be the guest that is broken.
const LAST_PATIENCE: Duration = Duration::from_secs(20);

/// A booted guest.
#[derive(Debug)]
pub struct Guest {
    qmp: Mutex<Qmp>,
    shell: Mutex<Shell>,
    qemu: Mutex<Process>,
    folder: TempDir,
    /// Its logs were printed.
    printed: Once,
}

impl Plan {
    /// Boots it, and waits for its shell.
    ///
    /// # Panics
    /// If it does not come up; its output is shown.
    #[must_use]
    pub fn boot(&self) -> Guest {
        let guest = self.turn_on().unwrap_or_else(|why| panic!("{why}"));
        guest.wait_shell();
        guest
    }

    /// Turns it on, and does not wait until it is up.
    ///
    /// # Errors
    /// Why it does not start, with QEMU's output.
    pub fn turn_on(&self) -> Result<Guest, String> {
        let kernel = Kernel::of_debian()?;
        self.has_modules(&kernel)?;
        let folder = leftovers::folder("guest");
        let log = folder.path().join("qemu");
        let argv = self.argv(&kernel, folder.path());
        let mut qemu = Process::start(&argv, &log).map_err(|error| error.to_string())?;
        let listens = found_within(PATIENCE, || {
            if qemu.ended().is_some() {
                return Some(Err(format!("QEMU ended: {}", fs::read_to_string(&log).unwrap_or_default())));
            }
            let qmp = Qmp::connect(&folder.path().join(QMP))?;
            Some(Ok((qmp, Shell::connect(&folder.path().join(SHELL))?)))
        });
        let (qmp, shell) = listens.unwrap_or_else(|| Err(format!("QEMU does not listen within {PATIENCE:?}")))?;
        Ok(Guest {
            qmp: Mutex::new(qmp),
            shell: Mutex::new(shell),
            qemu: Mutex::new(qemu),
            folder,
            printed: Once::new(),
        })
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
        self.run_within(PATIENCE, script)
    }

    /// The same for what takes its time on a quiet machine, too.
    ///
    /// # Panics
    /// If it does not end within `patience`, or the guest does.
    #[track_caller]
    pub fn run_within(&self, patience: Duration, script: &str) -> Outcome {
        let mut shell = self.shell.lock().unwrap();
        shell.run(script, patience).unwrap_or_else(|error| panic!("{script}: {error}"))
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
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let elapsed = begun.elapsed();
            assert!(elapsed < patience, "waited {patience:?} in vain: {what}");
            thread::sleep((elapsed / 10).clamp(LOOK_EVERY, LOOK_SELDOM).min(patience.saturating_sub(elapsed)));
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

    /// The process whose life is its power.
    #[must_use]
    pub fn qemu_pid(&self) -> u32 {
        self.qemu().pid()
    }

    /// Whether it has ended, by itself or by force.
    pub fn has_ended(&self) -> bool {
        self.qemu().ended().is_some()
    }

    /// As by pulling the plug. Of a case that fails its logs are printed first: later no shell would give them.
    pub fn end(&self) {
        if thread::panicking() {
            self.printed.call_once(|| self.print_logs());
        }
        self.qemu().kill();
    }

    fn qemu(&self) -> MutexGuard<'_, Process> {
        self.qemu.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        match shell.run(SHOW_LOGS, LAST_PATIENCE) {
            Ok(outcome) => eprintln!("--- the guest's log ends:\n{}{}---", outcome.stdout, outcome.stderr),
            Err(error) => eprintln!("--- the guest's shell is lost: {error}"),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.end();
    }
}
