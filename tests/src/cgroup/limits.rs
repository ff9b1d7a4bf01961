//! What a cgroup's processes may use, and what the kernel says of that: `Documentation/admin-guide/cgroup-v1/memory.rst`
//! and `blkio-controller.rst`, `cgroup-v2.rst`.

use std::{fs, io};

use super::{Cgroup, Version};

/// The least that `io.max` takes.
const LEAST_BYTES_PER_SECOND: u64 = 2;

impl Cgroup {
    /// # Panics
    /// If the kernel does not take it.
    pub fn limit_memory(&self, bytes: u64) {
        self.write(self.file("memory.limit_in_bytes", "memory.max"), &bytes.to_string());
    }

    /// What its processes hold, without the page cache.
    ///
    /// # Panics
    /// If the kernel does not say it.
    #[must_use]
    pub fn anonymous_bytes(&self) -> u64 {
        self.number("memory.stat", self.file("rss", "anon"))
    }

    /// How often it would have had more than it may.
    ///
    /// # Panics
    /// If the kernel does not say it.
    #[must_use]
    pub fn limit_hits(&self) -> u64 {
        match self.version {
            Version::First => self.read("memory.failcnt").trim().parse().unwrap(),
            Version::Second => self.number("memory.events", "max"),
        }
    }

    /// How many of its processes were killed for memory.
    ///
    /// # Panics
    /// If the kernel does not say it.
    #[must_use]
    pub fn memory_kills(&self) -> u64 {
        self.number(self.file("memory.oom_control", "memory.events"), "oom_kill")
    }

    /// Takes away what can be had again: pages of files that no process has locked.
    ///
    /// # Panics
    /// If the kernel does not.
    pub fn reclaim(&self) {
        match self.version {
            Version::First => self.write("memory.force_empty", "0"),
            // Of Linux 5.19. All of it, which is less than that.
            Version::Second => match fs::write(self.path.join("memory.reclaim"), "1G") {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => panic!("memory.reclaim: {error}"),
                _ => {}
            },
        }
    }

    /// Its processes get nearly nothing from this device and onto it.
    ///
    /// # Panics
    /// If the kernel does not take it.
    pub fn throttle(&self, numbers: &str) {
        match self.version {
            Version::First => self.limit_blkio(numbers, 1),
            Version::Second => {
                let least = LEAST_BYTES_PER_SECOND;
                self.write("io.max", &format!("{numbers} rbps={least} wbps={least}"));
            }
        }
    }

    /// They get all again.
    ///
    /// # Panics
    /// If the kernel does not take it.
    pub fn let_go(&self, numbers: &str) {
        match self.version {
            Version::First => self.limit_blkio(numbers, 0),
            Version::Second => self.write("io.max", &format!("{numbers} rbps=max wbps=max")),
        }
    }

    fn limit_blkio(&self, numbers: &str, bytes_per_second: u64) {
        for file in ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"] {
            self.write(file, &format!("{numbers} {bytes_per_second}"));
        }
    }

    fn file<'a>(&self, first: &'a str, second: &'a str) -> &'a str {
        match self.version {
            Version::First => first,
            Version::Second => second,
        }
    }

    /// The number beside `key` in one of its files.
    fn number(&self, file: &str, key: &str) -> u64 {
        let text = self.read(file);
        let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok());
        found.unwrap_or_else(|| panic!("no {key} in {file}: {text}"))
    }
}
