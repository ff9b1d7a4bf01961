//! A tracefs instance of our own: the kernel's RAS events, read without rasdaemon and without taking them from it.

use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::ras::{self, RasEvent};

const NAME: &str = "nodewell";
/// For each CPU. The default of 1.4 MB would take 180 MB on 128 CPUs; an event takes some 200 bytes.
const BUFFER_KB: &str = "16";
/// The page events moved out of `ras` in kernel 6.19; those of CXL are there while its driver is loaded.
const EVENTS: [&str; 8] = [
    "ras/mc_event",
    "ras/memory_failure_event",
    "memory_failure/memory_failure_event",
    "mce/mce_record",
    "cxl/cxl_general_media",
    "cxl/cxl_dram",
    "cxl/cxl_memory_module",
    "cxl/cxl_poison",
];
/// In a storm of errors one reading is as good as the next: what is more than this is counted, not reported.
const EVENTS_LIMIT: usize = 256;
/// As much as the buffers of 256 CPUs hold: a reading ends, whatever comes in meanwhile.
const BYTES_LIMIT: usize = 4 << 20;

/// The open instance. It is taken down when this is dropped; a reader that was killed leaves it, and the next takes it over.
#[derive(Debug)]
pub struct Tracing {
    instance: PathBuf,
    /// `None` only while this is dropped.
    pipe: Option<File>,
    /// A line whose end has not been read.
    begun: Vec<u8>,
    /// Which events are enabled.
    enabled: [bool; EVENTS.len()],
}

impl Tracing {
    /// Whether tracefs is mounted at `root`.
    #[must_use]
    pub fn is_there(root: &Path) -> bool {
        root.join("instances").is_dir()
    }

    /// Opens it below the root of tracefs; `None` where that is not mounted, not ours to write, or has no such events.
    #[must_use]
    pub fn open(root: &Path) -> Option<Self> {
        let instance = root.join("instances").join(NAME);
        if !instance.is_dir() {
            fs::create_dir(&instance).ok()?;
        }
        let mut tracing = Self { instance, pipe: None, begun: Vec::new(), enabled: [false; EVENTS.len()] };
        tracing.listen()?;
        Some(tracing)
    }

    fn listen(&mut self) -> Option<()> {
        // The buffers grow when the first event is enabled.
        let _ = fs::write(self.instance.join("buffer_size_kb"), BUFFER_KB);
        self.enable();
        if !self.enabled.contains(&true) {
            return None;
        }
        let options = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).clone();
        self.pipe = options.open(self.instance.join("trace_pipe")).ok();
        self.pipe.as_ref().map(|_| ())
    }

    /// All of them each time: a driver that was loaded, or loaded again, has its events off.
    fn enable(&mut self) {
        let events = self.instance.join("events");
        for (event, is_enabled) in EVENTS.iter().zip(&mut self.enabled) {
            *is_enabled = fs::write(events.join(event).join("enable"), "1").is_ok();
        }
    }

    /// What has come in; never waits.
    pub fn drain(&mut self) -> Vec<RasEvent> {
        self.enable();
        let mut bytes = std::mem::take(&mut self.begun);
        self.read_into(&mut bytes);
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.begun = bytes.split_off(whole);
        self.begun.truncate(BYTES_LIMIT);
        limited(String::from_utf8_lossy(&bytes).lines().filter_map(ras::parse))
    }

    fn read_into(&mut self, bytes: &mut Vec<u8>) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = [0; 8192];
        // No more to read is an error of its own on a pipe that does not wait.
        while let Ok(read @ 1..) = pipe.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..read]);
            if bytes.len() >= BYTES_LIMIT {
                break;
            }
        }
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        // An instance with an open file is busy. With it go its events.
        self.pipe = None;
        let _ = fs::remove_dir(&self.instance);
    }
}

fn limited(mut events: impl Iterator<Item = RasEvent>) -> Vec<RasEvent> {
    let mut first: Vec<_> = events.by_ref().take(EVENTS_LIMIT).collect();
    let others = events.count();
    first.extend((others > 0).then_some(RasEvent::Lost { events: others as u64 }));
    first
}
