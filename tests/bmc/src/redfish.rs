//! A BMC that implements Redfish over TLS: OpenStack's `sushy-emulator`, from PyPI at a pinned version, over processes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{PASSWORD, USER, machine::Machine};

const EMULATOR: &str = include_str!("redfish/emulator.py");
const REQUIREMENTS: &str = include_str!("../requirements.txt");
const AGENT: &str = "/usr/sbin/fence_redfish";
/// Python and Flask on a busy host.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How it takes orders and questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    Obeys,
    /// It takes an order, and the machine stays as it is.
    Ignores,
    /// It reports Off, whatever the machine does, and takes orders that it does not carry out.
    Lies,
    /// Each answer comes 3 s late.
    Late,
    /// Each answer stops in its middle, and the connection stays.
    Hangs,
    /// Only answers to orders do; nothing is carried out.
    HangsAtOrders,
    /// The account may look and may not order (403).
    Forbids,
}

/// A BMC with its systems; all end with it.
#[derive(Debug)]
pub struct Redfish {
    pub port: u16,
    emulator: Child,
    machines: BTreeMap<String, Machine>,
    folder: tempfile::TempDir,
}

/// What it needs and is not there.
#[must_use]
pub fn missing() -> Option<String> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        if !Path::new(AGENT).exists() {
            return Some(format!("{AGENT} is missing: apt-get install fence-agents"));
        }
        install().err()
    };
    MISSING.get_or_init(find).clone()
}

impl Redfish {
    /// Starts a BMC with a system for each of these UUIDs (as its `UUID` reports them), each machine on.
    ///
    /// # Errors
    /// What is missing, or why it does not listen.
    pub fn start(uuids: &[&str]) -> Result<Self, String> {
        missing().map_or(Ok(()), Err)?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let machines = uuids.iter().map(|uuid| ((*uuid).to_owned(), machine(folder.path(), uuid))).collect();
        write(folder.path());
        let emulator = Command::new(tools().join("bin/python"))
            .arg(folder.path().join("emulator.py"))
            .arg(folder.path())
            // Its end is the emulator's.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("errors")).unwrap())
            .spawn()
            .map_err(|error| format!("the emulator: {error}"))?;
        let mut bmc = Self { port: 0, emulator, machines, folder };
        bmc.port = bmc.wait()?;
        Ok(bmc)
    }

    /// How it does from now on.
    pub fn behave(&self, behavior: Behavior) {
        let (new, target) = (self.folder.path().join("manner.new"), self.folder.path().join("manner"));
        fs::write(&new, word(behavior)).unwrap();
        fs::rename(new, target).unwrap();
    }

    /// Whether the system's process lives.
    ///
    /// # Panics
    /// If it has no such system.
    #[must_use]
    pub fn is_on(&self, uuid: &str) -> bool {
        self.machines[uuid].is_on()
    }

    /// The boot that runs now; nothing while it is off.
    ///
    /// # Panics
    /// If it has no such system.
    #[must_use]
    pub fn boot(&self, uuid: &str) -> Option<String> {
        self.machines[uuid].boot()
    }

    /// Turns a system on (`1`) or off (`0`) as a hand at its switch would.
    ///
    /// # Panics
    /// If it has no such system.
    pub fn order(&self, uuid: &str, power: &str) {
        self.machines[uuid].order(power);
    }

    /// The requests that came, oldest first: `GET /redfish/v1/Systems/…`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// The orders among them.
    #[must_use]
    pub fn orders(&self) -> usize {
        self.requests().iter().filter(|request| request.starts_with("POST")).count()
    }

    /// The file with the authority that has signed its certificate: itself.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Options of `fence_redfish` for a system, without the password and without any option about certificates.
    #[must_use]
    pub fn options(&self, uuid: &str) -> String {
        format!("ip=127.0.0.1\nipport={}\nusername={USER}\nsystems_uri=/redfish/v1/Systems/{uuid}\n", self.port)
    }

    fn wait(&mut self) -> Result<u16, String> {
        let give_up = Instant::now() + START_LIMIT;
        while Instant::now() < give_up {
            let port = fs::read_to_string(self.folder.path().join("port")).unwrap_or_default();
            match (port.parse(), self.emulator.try_wait()) {
                (Ok(port), _) => return Ok(port),
                (_, Ok(None)) => sleep(Duration::from_millis(20)),
                _ => break,
            }
        }
        let errors = fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default();
        let last = errors.lines().rfind(|line| line.contains("Error") || line.contains("Invalid"));
        Err(format!("the Redfish emulator does not listen: {}", last.unwrap_or(&errors)))
    }
}

impl Drop for Redfish {
    fn drop(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

fn word(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::Obeys => "obeys",
        Behavior::Ignores => "ignores",
        Behavior::Lies => "lies",
        Behavior::Late => "late",
        Behavior::Hangs => "hangs",
        Behavior::HangsAtOrders => "hangs-at-orders",
        Behavior::Forbids => "forbids",
    }
}

fn machine(folder: &Path, uuid: &str) -> Machine {
    let machine_folder = folder.join(uuid);
    fs::create_dir(&machine_folder).unwrap();
    let machine = Machine::new(&machine_folder);
    machine.order("1");
    machine
}

fn write(folder: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("account"), format!("{USER}:{PASSWORD}")).unwrap();
    fs::write(folder.join("manner"), word(Behavior::Obeys)).unwrap();
    fs::write(folder.join("emulator.py"), EMULATOR).unwrap();
}

/// Where the emulator is installed, once for all tests.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/sushy")
}

/// Two programs of tests may want it at once.
fn install() -> Result<(), String> {
    let (venv_folder, installed) = (tools(), tools().join("installed"));
    fs::create_dir_all(&venv_folder).map_err(|error| format!("{}: {error}", venv_folder.display()))?;
    let lock = fs::File::create(venv_folder.with_extension("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(());
    }
    let _ = fs::remove_dir_all(&venv_folder);
    let list = venv_folder.with_extension("txt");
    fs::write(&list, REQUIREMENTS).map_err(|error| error.to_string())?;
    let venv = run(Command::new("python3").args(["-m", "venv"]).arg(&venv_folder));
    venv.map_err(|why| format!("python3 with venv is missing: apt-get install python3-venv ({why})"))?;
    let pip = ["--disable-pip-version-check", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r"];
    run(Command::new(venv_folder.join("bin/pip")).args(pip).arg(&list))
        .map_err(|why| format!("sushy-tools cannot be had from PyPI: {why}"))?;
    fs::write(installed, REQUIREMENTS).map_err(|error| error.to_string())
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&done.stderr);
    let last = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
    if done.status.success() { Ok(()) } else { Err(last.trim().to_owned()) }
}
