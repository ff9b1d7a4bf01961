//! `nodewell-checks run NAME`: started by hand beside an agent, or found among an agent's children.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use nix::sys::signal::Signal;

use crate::{
    agent::{Agent, Plan},
    cli::binary,
    process::Process,
    wait::until,
};

/// The program of check processes, their workers and repairs.
pub const PROGRAM: &str = "nodewell-checks";

impl Plan {
    /// The agent starts its check processes itself, as it does where no service manager runs.
    #[must_use]
    pub fn with_check_processes(self) -> Self {
        self.file("nodewell.toml.d/check-processes.toml", "check-processes = \"spawn\"\n");
        self
    }
}

impl Agent {
    /// The pid of the check process `name` that it started; waits for it.
    #[must_use]
    pub fn check_process(&self, name: &str) -> u32 {
        let is_it = |pid: &u32| {
            let argv = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&argv).starts_with(&format!("{PROGRAM}\0run\0{name}\0"))
        };
        until(&format!("check process {name} runs"), || children_of(self.pid()).into_iter().find(is_it))
    }
}

/// Whether there is such a process and it is no zombie.
#[must_use]
pub fn runs(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// As `ps` shows it; `None` if there is no such process.
#[must_use]
pub fn state(pid: u32) -> Option<char> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("State:\t"))?.chars().next()
}

/// The pid of the worker of `group` that check process `pid` has now.
#[must_use]
pub fn worker_of(pid: u32, group: &str) -> Option<u32> {
    let is_it = |pid: &u32| {
        let argv = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        argv.starts_with(format!("{PROGRAM}\0worker\0{group}\0").as_bytes())
    };
    children_of(pid).into_iter().find(is_it)
}

/// How much code the program of `pid` has, and how much of it is in memory, in KiB.
///
/// # Panics
/// If `pid` does not run [`PROGRAM`].
#[must_use]
pub fn code_kib(pid: u32) -> (u64, u64) {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let is_code = |line: &str| line.contains(" r-xp ") && line.ends_with(&format!("/{PROGRAM}"));
    let code: Vec<&str> = smaps.lines().skip_while(|line| !is_code(line)).collect();
    let kib = |field: &str| -> u64 {
        let value = code.iter().find_map(|line| line.strip_prefix(field)).unwrap();
        value.trim().trim_end_matches(" kB").parse().unwrap()
    };
    (kib("Size:"), kib("Rss:"))
}

/// The names of its threads.
#[must_use]
pub fn threads_of(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned()).collect()
}

/// Of whichever of its threads.
#[must_use]
pub fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    listed.flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// One that was started by hand. Killed when dropped.
#[derive(Debug)]
pub struct CheckProcess {
    process: Process,
    name: &'static str,
    log: PathBuf,
}

impl CheckProcess {
    /// Starts `nodewell-checks run check` for `plan`'s agent, which need not run.
    #[must_use]
    pub fn check_of(plan: &Plan) -> Self {
        Self::of(plan, "check", &[])
    }

    /// Starts `nodewell-checks run NAME FLAGS` for `plan`'s agent, with `plan`'s configuration. It saves its state in
    /// `hardware/` of the plan's folder.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn of(plan: &Plan, name: &'static str, flags: &[(&str, &Path)]) -> Self {
        Self::wrapped(Vec::new(), plan, name, flags)
    }

    /// The same by a program that starts another one.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn wrapped(wrapper: Vec<OsString>, plan: &Plan, name: &'static str, flags: &[(&str, &Path)]) -> Self {
        let path = |name: &str| plan.folder().join(name).into_os_string();
        let log = plan.folder().join(format!("{name}.log"));
        let mut argv = wrapper;
        argv.extend([binary(PROGRAM).into_os_string(), "run".into(), name.into()]);
        argv.extend(["--socket".into(), path("socket"), "--config".into(), path("nodewell.toml")]);
        argv.extend(["--state-dir".into(), path("hardware")]);
        argv.extend(flags.iter().flat_map(|(flag, value)| [(*flag).into(), value.as_os_str().to_owned()]));
        Self { process: Process::start(&argv, &log).unwrap(), name, log }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// SIGHUP: reads its plug-ins again.
    pub fn reload(&self) {
        self.process.signal(Signal::SIGHUP);
    }

    /// The pid of the worker that is called as it is, once it has one.
    pub fn worker(&self) -> u32 {
        self.worker_of_group(self.name)
    }

    /// The pid of its worker `group`, once it has one.
    pub fn worker_of_group(&self, group: &str) -> u32 {
        until("the check process has a worker", || worker_of(self.process.pid(), group))
    }

    /// Whether it has a worker now.
    #[must_use]
    pub fn has_worker(&self) -> bool {
        worker_of(self.process.pid(), self.name).is_some()
    }

    /// Waits until it has logged `text` so many times.
    pub fn wait_logged(&self, text: &str, times: usize) {
        until(text, || (self.log().matches(text).count() >= times).then_some(()));
    }

    /// Everything it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGTERM, and how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.process.signal(Signal::SIGTERM);
        self.process.wait()
    }
}

impl Drop for CheckProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the log of nodewell-checks run:\n{}---", self.log());
        }
    }
}
