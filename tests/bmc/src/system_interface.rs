//! A BMC for a virtual machine: OpenIPMI's `ipmi_sim` with two sensors and an event log, at the end of a [`Wire`] that QEMU's
//! `ipmi-bmc-extern` is plugged into.

use std::{
    fmt::Write as _,
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

use nodewell_kit::free_port;

use crate::{START_LIMIT, end, missing_program, simulate, wire::Wire};

/// Its sensors, both of them named by a sensor data record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sensor {
    /// A temperature, 01h, called `Inlet Temp`; critical from [`Sensor::CRITICAL`] on.
    Temperature,
    /// A memory module's errors, 10h, called as QEMU's firmware calls the first module; a bit for each state, of which the
    /// BMC logs [`Sensor::UNCORRECTABLE`] and [`Sensor::LIMIT`].
    Memory,
}

impl Sensor {
    /// Degrees.
    pub const CRITICAL: u8 = 0x90;
    pub const MEMORY_NAME: &str = "DIMM 0";
    pub const UNCORRECTABLE: u8 = 1 << 1;
    /// So many corrected errors that no more of them are logged.
    pub const LIMIT: u8 = 1 << 5;

    /// The file that the BMC reads it from, twice a second.
    fn file(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Memory => "memory",
        }
    }

    fn value_at_first(self) -> u8 {
        match self {
            Self::Temperature => 40,
            Self::Memory => 0,
        }
    }
}

/// It ends with this.
#[derive(Debug)]
pub struct SystemInterface {
    pub wire: Wire,
    simulator: Option<Child>,
    folder: tempfile::TempDir,
}

/// The package that is missing, if it is.
#[must_use]
pub fn missing() -> Option<String> {
    missing_program("/usr/bin/ipmi_sim", "openipmi")
}

impl SystemInterface {
    /// Starts it with one entry in its log: an uncorrectable memory error.
    ///
    /// # Errors
    /// What is missing, or why it does not answer.
    pub fn start() -> Result<Self, String> {
        if let Some(missing) = missing() {
            return Err(missing);
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let port = free_port();
        write(folder.path(), port).map_err(|error| error.to_string())?;
        let mut simulator = simulate(folder.path())?;
        let wired = connection(port).and_then(|bmc| {
            Wire::start(&folder.path().join(SOCKET), bmc).map_err(|error| format!("{SOCKET}: {error}"))
        });
        match wired {
            Ok(wire) => Ok(Self { wire, simulator: Some(simulator), folder }),
            Err(error) => {
                let output = fs::read_to_string(folder.path().join("out")).unwrap_or_default();
                let _ = simulator.kill().and_then(|()| simulator.wait());
                Err(format!("{error}: {output}"))
            }
        }
    }

    /// The machine's end of the wire.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// What the sensor shows from now on: degrees, or a bit for each state.
    ///
    /// # Panics
    /// If its file cannot be written.
    pub fn set(&self, sensor: Sensor, value: u8) {
        set(self.folder.path(), sensor, value).unwrap();
    }

    /// How many entries its log has.
    #[must_use]
    pub fn log_length(&self) -> usize {
        let log = fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default();
        // Beside them there are two times in it.
        log.lines().filter(|line| line.contains(":d:")).count()
    }
}

impl Drop for SystemInterface {
    fn drop(&mut self) {
        self.simulator.take().into_iter().for_each(end);
    }
}

const SOCKET: &str = "socket";
/// Where the simulator keeps the log.
const LOG: &str = "state/ipmi_sim/bmc/sel.20";

/// What `ipmi_sim` reads (ipmi_lan(5), ipmi_sim_cmd(5)).
fn write(folder: &Path, port: u16) -> std::io::Result<()> {
    fs::create_dir(folder.join("state"))?;
    for sensor in [Sensor::Temperature, Sensor::Memory] {
        set(folder, sensor, sensor.value_at_first())?;
    }
    let lan = format!("name \"bmc\"\nset_working_mc 0x20\n  serial 15 127.0.0.1 {port} codec VM\n  startnow false\n");
    fs::write(folder.join("lan.conf"), lan)?;
    fs::write(folder.join("bmc.emu"), emulation(folder))
}

fn set(folder: &Path, sensor: Sensor, value: u8) -> std::io::Result<()> {
    let (draft, file) = (folder.join("draft"), folder.join(sensor.file()));
    fs::write(&draft, format!("{value}\n"))?;
    fs::rename(draft, file)
}

/// The BMC's parts: an event log, the watchdog that takes sensor 0, the sensors with all that they may report, their names,
/// and one entry of history.
fn emulation(folder: &Path) -> String {
    let polled = |sensor: Sensor| format!("poll 500 file \"{}\"", folder.join(sensor.file()).display());
    // Upper limits: not critical, critical, and not recoverable.
    let limits = format!("0xa0 {:#04x} 0x70 00 00 00", Sensor::CRITICAL);
    // Both directions of both: what its states may do, and what is logged.
    let logged = |states: u16| vec![format!("{states:015b}"); 4].join(" ");
    let (upper, errors) = (logged(0x0fc0), logged((Sensor::UNCORRECTABLE | Sensor::LIMIT).into()));
    format!(
        "mc_setbmc 0x20\n\
         mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\n\
         sel_enable 0x20 1000 0x0a\n\
         sensor_add 0x20 0 0 35 0x6f event-only\n\
         sensor_add 0x20 0 1 0x01 0x01 {temperature}\n\
         sensor_set_threshold 0x20 0 1 settable 111000 {limits}\n\
         sensor_set_event_support 0x20 0 1 enable scanning per-state {upper}\n\
         sensor_add 0x20 0 16 0x0c 0x6f {memory}\n\
         sensor_set_event_support 0x20 0 16 enable scanning per-state {errors}\n\
         main_sdr_add 0x20 {temperature_name}\n\
         main_sdr_add 0x20 {memory_name}\n\
         sel_add 0x20 0x02 0 0 0 0 0x20 0 0x04 0x0c 0x10 0x6f 0x01 0xff 0xff\n\
         mc_enable 0x20\n",
        temperature = polled(Sensor::Temperature),
        memory = polled(Sensor::Memory),
        temperature_name = record(0x01, 0x01, 47, "Inlet Temp"),
        memory_name = record(0x02, 0x10, 31, Sensor::MEMORY_NAME),
    )
}

/// A sensor data record of this type, whose string stands at `at` (IPMI 2.0, sections 43.1 and 43.2), in words.
fn record(record_type: u8, number: u8, at: usize, name: &str) -> String {
    let mut record = vec![0; at];
    record.push(0xc0 | u8::try_from(name.len()).unwrap());
    record.extend_from_slice(name.as_bytes());
    let rest = u8::try_from(record.len() - 5).unwrap();
    record[2..8].copy_from_slice(&[0x51, record_type, rest, 0x20, 0, number]);
    record.iter().fold(String::new(), |mut words, byte| {
        write!(words, "{byte:#04x} ").unwrap();
        words
    })
}

/// The one that the simulator takes as the machine's.
fn connection(port: u16) -> Result<TcpStream, String> {
    let give_up = Instant::now() + START_LIMIT;
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > give_up => return Err(format!("ipmi_sim does not listen: {error}")),
            Err(_) => sleep(Duration::from_millis(50)),
        }
    }
}
