//! A machine with GPUs that are not there: a sysfs tree of their own, the simulated library with a script, and
//! `nodewell-checks run gpu` on both.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    agent::Plan,
    check_process::{PROGRAM, children_of},
    cli::binary,
    process::Process,
    wait::until,
};

/// Readings come so often, and a call may take so long. On a busy machine a worker's start takes its time, too.
const INTERVAL: &str = "300ms";
const DEADLINE: &str = "3s";

/// The machine. Its files are gone with it.
#[derive(Debug)]
pub struct Gpus {
    root: tempfile::TempDir,
    addresses: Vec<String>,
}

impl Gpus {
    /// The library's file in the machine's folder.
    pub const LIBRARY: &str = "libnvidia-ml.so.1";

    /// The folder of all its files: the library and a sysfs tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// So many, at `0000:00:00.0`, `0000:01:00.0` and so on, which support what `values` set; the driver is loaded.
    ///
    /// # Panics
    /// If there is no place for them, or the simulated library cannot be built.
    #[must_use]
    pub fn new(count: usize, values: &str) -> Self {
        let root = tempfile::TempDir::with_prefix("nodewell-gpus-").unwrap();
        let addresses = (0..count).map(|bus| format!("0000:{bus:02x}:00.0")).collect();
        let gpus = Self { root, addresses };
        fs::copy(library(), gpus.library()).unwrap();
        gpus.addresses.iter().for_each(|address| gpus.plug(address));
        gpus.load_driver();
        gpus.script(&gpus.healthy(values));
        gpus
    }

    /// A script in which each GPU supports what `values` set.
    #[must_use]
    pub fn healthy(&self, values: &str) -> String {
        let line = |address: &String| format!("gpu {address} name=Simulated_H100 uuid=GPU-{address} {values}\n");
        self.addresses.iter().map(line).collect()
    }

    /// What the library reports from now on.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn script(&self, text: &str) {
        let new = self.root.path().join("new");
        fs::write(&new, text).unwrap();
        // Renamed into its place: no call reads half of it.
        fs::rename(new, self.root.path().join("libnvidia-ml.so.1.script")).unwrap();
    }

    /// One more line of the script.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn add(&self, line: &str) {
        let script = fs::read_to_string(self.root.path().join("libnvidia-ml.so.1.script")).unwrap();
        self.script(&format!("{script}\n{line}\n"));
    }

    /// The kernel has the driver's module.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn load_driver(&self) {
        let module = self.module();
        fs::create_dir_all(&module).unwrap();
        fs::write(module.join("version"), "580.65.06\n").unwrap();
    }

    /// The kernel has it no more.
    ///
    /// # Panics
    /// If it cannot be removed.
    pub fn unload_driver(&self) {
        fs::remove_dir_all(self.module()).unwrap();
    }

    /// Takes a GPU out of its slot.
    ///
    /// # Panics
    /// If it cannot be removed.
    pub fn unplug(&self, address: &str) {
        fs::remove_dir_all(self.device(address)).unwrap();
    }

    /// Nothing answers on the bus any more.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn fall_off(&self, address: &str) {
        fs::write(self.device(address).join("config"), [0xff; 64]).unwrap();
    }

    /// Takes functions out of the library, as if it were an older driver's.
    ///
    /// # Panics
    /// If the library has none of that name.
    pub fn blot_out(&self, functions: &[&str]) {
        let mut bytes = fs::read(self.library()).unwrap();
        for function in functions {
            let name = format!("\0{function}\0").into_bytes();
            let index = bytes.windows(name.len()).position(|window| window == name).expect(function);
            bytes[index + 1] = b'x';
        }
        fs::write(self.library(), bytes).unwrap();
    }

    /// The `[gpu]` configuration of the agent and its check processes.
    #[must_use]
    pub fn config(&self) -> String {
        format!("[gpu]\nlibrary = {:?}\n", self.library())
    }

    fn library(&self) -> PathBuf {
        self.root.path().join(Self::LIBRARY)
    }

    fn device(&self, address: &str) -> PathBuf {
        self.root.path().join("bus/pci/devices").join(address)
    }

    fn module(&self) -> PathBuf {
        self.root.path().join("module/nvidia")
    }

    /// Puts a GPU into its slot.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn plug(&self, address: &str) {
        let device = self.device(address);
        let driver = self.root.path().join("bus/pci/drivers/nvidia");
        fs::create_dir_all(&device).unwrap();
        fs::create_dir_all(&driver).unwrap();
        for (file, text) in [("vendor", "0x10de\n"), ("class", "0x030200\n"), ("config", "\u{1}\u{2}\u{3}\u{4}")] {
            fs::write(device.join(file), text).unwrap();
        }
        symlink(driver, device.join("driver")).unwrap();
    }
}

/// `nodewell-checks run gpu` on such a machine. Killed when dropped, and its worker with it.
#[derive(Debug)]
pub struct GpuMonitor {
    process: Process,
    log: PathBuf,
}

impl GpuMonitor {
    /// For `plan`'s agent, which need not run.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(plan: &Plan, gpus: &Gpus) -> Self {
        Self::start_at(plan, gpus, &["--interval", INTERVAL, "--deadline", DEADLINE])
    }

    /// The same at its own pace, or at that of `flags`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start_at(plan: &Plan, gpus: &Gpus, flags: &[&str]) -> Self {
        let sys = ["--sys".into(), gpus.root.path().into()].into_iter();
        Self::with(plan, &sys.chain(flags.iter().map(Into::into)).collect::<Vec<_>>())
    }

    /// On the GPUs of this very machine.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn on_this_machine(plan: &Plan) -> Self {
        Self::with(plan, &["--interval", INTERVAL, "--deadline", DEADLINE].map(Into::into))
    }

    fn with(plan: &Plan, flags: &[OsString]) -> Self {
        let in_plan = |name: &str| plan.folder().join(name).into_os_string();
        let log = plan.folder().join("gpu.log");
        let mut argv = vec![binary(PROGRAM).into_os_string(), "run".into(), "gpu".into()];
        argv.extend(["--config".into(), in_plan("nodewell.toml"), "--socket".into(), in_plan("socket")]);
        argv.extend(["--state-dir".into(), in_plan("gpu-state")]);
        argv.extend(flags.iter().cloned());
        Self { process: Process::start(&argv, &log).unwrap(), log }
    }

    /// Its workers: one that asks, none while the GPUs are released.
    #[must_use]
    pub fn workers(&self) -> Vec<u32> {
        children_of(self.process.pid())
    }

    /// Waits until it holds nothing of the library.
    pub fn wait_released(&self) {
        until("the library is let go of", || self.workers().is_empty().then_some(()));
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Everything it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for GpuMonitor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- nodewell-checks run gpu logged:\n{}---", self.log());
        }
    }
}

/// Why there are no GPUs of this machine's own.
pub(crate) fn unmet() -> Option<String> {
    (!Path::new("/sys/module/nvidia").exists()).then(|| "needs an NVIDIA GPU and its driver".to_owned())
}

/// The simulated library, built once, beside the programs under test. `NODEWELL_FAKE_NVML` names one that was built for the
/// glibc of an older system than this machine's, which could not load another.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(built) = env::var_os("NODEWELL_FAKE_NVML") {
            return built.into();
        }
        let test = env::current_exe().unwrap();
        // Cases are in PROFILE/deps of the target folder, the bench in PROFILE.
        let target = test.ancestors().find(|folder| folder.join(".rustc_info.json").exists()).unwrap();
        let mut build = nodewell_kit::cargo(Path::new(env!("CARGO_MANIFEST_DIR")));
        build.args(["build", "--quiet", "-p", "nodewell-fake-nvml", "--target-dir"]).arg(target);
        assert!(build.status().unwrap().success(), "the simulated library is built");
        target.join("debug/libnodewell_fake_nvml.so")
    })
}
