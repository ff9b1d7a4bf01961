//! Journald's native protocol: <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.

/// Where journald listens. systemd holds it, so it is there while journald restarts.
pub const SOCKET: &str = "/run/systemd/journal/socket";

/// One entry in the making.
#[derive(Debug, Default)]
pub struct Entry(Vec<u8>);

impl Entry {
    /// Adds a field; one without a value is left out.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        if value.is_empty() {
            return self;
        }
        self.0.extend(name.bytes());
        if value.contains('\n') {
            self.0.push(b'\n');
            self.0.extend((value.len() as u64).to_le_bytes());
        } else {
            self.0.push(b'=');
        }
        self.0.extend(value.bytes());
        self.0.push(b'\n');
        self
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_journald_reads_them() {
        let entry = Entry::default().field("MESSAGE", "one line").field("EMPTY", "").field("MORE", "a\nb");
        assert_eq!(entry.0, b"MESSAGE=one line\nMORE\n\x03\0\0\0\0\0\0\0a\nb\n");
    }
}
