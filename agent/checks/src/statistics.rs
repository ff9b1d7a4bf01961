//! System statistics: the node's figures, read from procfs on request, as numbers with a defined meaning.
//!
//! What the kernel makes by itself (`stat`, `meminfo`, `diskstats`, …) never waits for a device and is read by the
//! caller. Filesystems are asked by threads that may hang ([`space`]). A line that does not parse is left out: nothing
//! is better than nonsense.

pub mod cpu;
pub mod disk;
pub mod host;
pub mod kernel;
pub mod memory;
pub mod modules;
pub mod network;
pub mod pressure;
pub mod space;
mod truncated;

pub use truncated::Truncated;

use std::{
    cell::OnceCell,
    fs::OpenOptions,
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use nix::fcntl::OFlag;

/// `/proc/stat` of 4,096 CPUs is below 1 MiB, `/proc/net/dev` of 10,000 interfaces 2 MiB.
const LIMIT_BYTES: u64 = 8 << 20;

/// One look at a procfs: every file is read at its first use, and once.
#[derive(Debug)]
pub struct ProcfsReading {
    root: PathBuf,
    stat: OnceCell<cpu::Stat>,
    load: OnceCell<Option<kernel::Load>>,
    memory: OnceCell<memory::Memory>,
    disks: OnceCell<Truncated<disk::Disk>>,
    interfaces: OnceCell<Truncated<network::Interface>>,
    modules: OnceCell<Option<Vec<modules::Module>>>,
}

impl ProcfsReading {
    /// Reads nothing yet.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            stat: OnceCell::new(),
            load: OnceCell::new(),
            memory: OnceCell::new(),
            disks: OnceCell::new(),
            interfaces: OnceCell::new(),
            modules: OnceCell::new(),
        }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn stat(&self) -> &cpu::Stat {
        self.stat.get_or_init(|| cpu::parse(&self.bytes("stat")))
    }

    #[must_use]
    pub fn load(&self) -> Option<&kernel::Load> {
        self.load.get_or_init(|| kernel::load(&self.bytes("loadavg"))).as_ref()
    }

    #[must_use]
    pub fn memory(&self) -> &memory::Memory {
        self.memory.get_or_init(|| memory::parse(&self.bytes("meminfo")))
    }

    #[must_use]
    pub fn disks(&self) -> &Truncated<disk::Disk> {
        self.disks.get_or_init(|| disk::parse(&self.bytes("diskstats")))
    }

    #[must_use]
    pub fn interfaces(&self) -> &Truncated<network::Interface> {
        self.interfaces.get_or_init(|| network::parse(&self.bytes("net/dev")))
    }

    /// `None`: this kernel has no modules, or does not show them.
    #[must_use]
    pub fn modules(&self) -> Option<&[modules::Module]> {
        self.modules.get_or_init(|| self.find("modules").map(|bytes| modules::parse(&bytes))).as_deref()
    }

    /// The kernel's command line.
    #[must_use]
    pub fn command_line(&self) -> Option<String> {
        self.find("cmdline").map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[must_use]
    pub fn uptime_secs(&self) -> Option<f64> {
        kernel::uptime_secs(&self.bytes("uptime"))
    }

    #[must_use]
    pub fn vm_events(&self) -> kernel::VmEvents {
        kernel::vm_events(&self.bytes("vmstat"))
    }

    /// Time lost to waiting; none where the kernel does not count it.
    #[must_use]
    pub fn stalls(&self) -> Vec<pressure::Stall> {
        let parse = |resource| pressure::parse(resource, &self.bytes(&format!("pressure/{resource}")));
        pressure::RESOURCES.into_iter().flat_map(parse).collect()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        self.find(name).unwrap_or_default()
    }

    /// What is not there, or not readable, is no figure. A pipe in place of a file is empty, and does not hang us.
    fn find(&self, name: &str) -> Option<Vec<u8>> {
        let options = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).clone();
        let file = options.open(self.root.join(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(LIMIT_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// The lines of plain text: what a kernel writes is ASCII but for names, and names have their own ways.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()).filter(|line| line.is_ascii())
}

/// A count as the kernel prints one: digits, nothing else.
fn count(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

/// A name as text: bytes that are no UTF-8 are shown as `\xff`, so that two names stay two.
fn name(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        name.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| name.push_str(&format!("\\x{byte:02x}")));
    }
    name
}

#[cfg(test)]
mod tests;
