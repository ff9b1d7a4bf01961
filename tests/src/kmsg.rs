//! The kernel log as tests write it: a made-up one, as a file or FIFO with raw records, and the machine's own.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use nix::{
    fcntl::OFlag,
    sys::stat::Mode,
    time::{ClockId, clock_gettime},
    unistd::{geteuid, mkfifo},
};

use crate::wait::until;

/// The kernel's own facility at the level of an error.
pub const KERNEL_ERROR: u32 = 3;
/// What user space writes is filed under facility 1.
pub const USER_INFO: u32 = (1 << 3) | 6;

/// A made-up kernel log.
#[derive(Debug)]
pub struct FakeKmsg {
    path: PathBuf,
    /// Open for both directions: a FIFO would not open for writing alone, and loses its content when no process holds
    /// it open.
    file: File,
    sequence: AtomicU64,
}

impl FakeKmsg {
    /// A regular file: what was written stays there for a reader that starts again, as in the ring.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn file(path: &Path) -> Self {
        File::create(path).unwrap();
        Self::open(path)
    }

    /// A FIFO.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn fifo(path: &Path) -> Self {
        mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        Self::open(path)
    }

    fn open(path: &Path) -> Self {
        let file = OpenOptions::new().read(true).append(true).open(path).unwrap();
        Self { path: path.to_owned(), file, sequence: AtomicU64::new(1) }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One record of the kernel's own at the level of an error, now.
    pub fn write(&self, text: &str) {
        self.record(KERNEL_ERROR, text.as_bytes());
    }

    /// One record, now, its text escaped as the kernel does it.
    pub fn record(&self, priority: u32, text: &[u8]) {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        let mut record = format!("{priority},{sequence},{},-;", monotonic_usec()).into_bytes();
        for byte in text {
            match byte {
                b' '..=b'~' if *byte != b'\\' => record.push(*byte),
                other => record.extend(format!("\\x{other:02x}").bytes()),
            }
        }
        record.push(b'\n');
        self.raw(&record);
    }

    /// These bytes, whatever they are.
    ///
    /// # Panics
    /// If nothing takes them.
    pub fn raw(&self, bytes: &[u8]) {
        let mut file = &self.file;
        file.write_all(bytes).unwrap();
    }

    /// Leaves out so many sequence numbers, as if they had been overwritten.
    pub fn lose(&self, records: u64) {
        self.sequence.fetch_add(records, Ordering::Relaxed);
    }
}

fn monotonic_usec() -> i64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() * 1_000_000 + now.tv_nsec() / 1_000
}

const DEVICE: &str = "/dev/kmsg";
const RATE_LIMIT: &str = "/proc/sys/kernel/printk_devkmsg";

/// The machine's own kernel log. One case at a time has it; floods and rate limits would meet otherwise.
#[derive(Debug)]
pub struct RealKmsg {
    device: File,
    rate_limit: String,
    _turn: MutexGuard<'static, ()>,
}

impl RealKmsg {
    /// Waits for its turn, and lifts the kernel's limit on what user space writes until dropped.
    ///
    /// # Panics
    /// Where [`unmet`] reports why.
    #[must_use]
    pub fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let rate_limit = fs::read_to_string(RATE_LIMIT).unwrap();
        // The kernel takes the value with its newline only. Where it is fixed, a short test stays below the limit.
        let _ = fs::write(RATE_LIMIT, "on\n");
        let device = OpenOptions::new().write(true).open(DEVICE).unwrap();
        Self { device, rate_limit, _turn: turn }
    }

    /// One record; the kernel files it under facility 1. Level 6 stays off the console.
    ///
    /// # Panics
    /// If the kernel does not take it.
    pub fn write(&self, text: &str) {
        let mut device = &self.device;
        device.write_all(format!("<6>{text}\n").as_bytes()).unwrap();
    }

    /// Writes `text` and gives the number that the kernel gave it.
    ///
    /// # Panics
    /// If it cannot be read back.
    #[must_use]
    pub fn write_numbered(&self, text: &str) -> u64 {
        let mut reader = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(DEVICE).unwrap();
        std::io::Seek::seek(&mut reader, std::io::SeekFrom::End(0)).unwrap();
        // Under a limit that another process has put back, the kernel drops our line: it is written again.
        until("the kernel log has what was written", || {
            self.write(text);
            newest_number(&mut reader, text)
        })
    }
}

/// Reads to the end; the number of the newest record with `text`.
fn newest_number(reader: &mut File, text: &str) -> Option<u64> {
    let mut buffer = vec![0; 16 * 1024];
    let mut newest = None;
    loop {
        match reader.read(&mut buffer) {
            Ok(length) => {
                let record = String::from_utf8_lossy(&buffer[..length]).into_owned();
                if record.contains(text) {
                    newest = record.split(',').nth(1).and_then(|number| number.parse().ok());
                }
            }
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(_) => return newest,
        }
    }
}

impl Drop for RealKmsg {
    fn drop(&mut self) {
        // Only root could change it, and only root gets here.
        let _ = fs::write(RATE_LIMIT, &self.rate_limit);
    }
}

/// Why this machine's own log cannot be used.
#[must_use]
pub fn unmet() -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root, to write to /dev/kmsg".to_owned());
    }
    let opened = OpenOptions::new().read(true).write(true).open(DEVICE);
    let error = opened.err().or_else(|| fs::read_to_string(RATE_LIMIT).err())?;
    Some(format!("needs {DEVICE}: {error}"))
}
