//! `/proc/PID/status`: a line for each value (fs/proc/array.c proc_pid_status). Of the name, which stands in the first,
//! the kernel escapes line breaks and backslashes, and no other byte.

/// The file, looked into for single lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status<'a>(&'a [u8]);

impl<'a> Status<'a> {
    /// `content` is that of the file.
    #[must_use]
    pub fn of(content: &'a [u8]) -> Self {
        Self(content)
    }

    /// The words of the line `key:`.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&'a str> {
        let value = |line: &'a [u8]| line.strip_prefix(key.as_bytes())?.strip_prefix(b":");
        let value = self.0.split(|byte| *byte == b'\n').find_map(value)?;
        std::str::from_utf8(value).ok().map(str::trim)
    }

    /// A set of signals or capabilities: `CapEff`, `SigPnd`.
    #[must_use]
    pub fn mask(&self, key: &str) -> Option<u64> {
        u64::from_str_radix(self.text(key)?, 16).ok()
    }

    /// An amount of memory in kibibytes: `VmLck`, `RssAnon`.
    #[must_use]
    pub fn kib(&self, key: &str) -> Option<u64> {
        self.text(key)?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Real, effective, saved and filesystem user.
    #[must_use]
    pub fn uids(&self) -> Option<[u32; 4]> {
        let mut words = self.text("Uid")?.split_ascii_whitespace();
        let mut uids = [0; 4];
        for uid in &mut uids {
            *uid = words.next()?.parse().ok()?;
        }
        Some(uids)
    }

    /// In how many pid namespaces the process has a number, that of the reader included.
    #[must_use]
    pub fn pid_namespaces(&self) -> Option<usize> {
        let numbers = self.text("NSpid")?.split_ascii_whitespace();
        Some(numbers.map_while(|number| number.parse::<u32>().ok()).count())
    }
}
