//! Log lines to journald that never wait for it: what it does not take at once is dropped, and the next line says how
//! many were. The fields are the agent's: `NODEWELL_NODE`, `NODEWELL_REASON` and so on.

use std::{
    fmt::{Debug, Write as _},
    io,
    os::unix::net::UnixDatagram,
    sync::atomic::{AtomicU64, Ordering},
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

/// Where journald takes entries in its native protocol.
const SOCKET: &str = "/run/systemd/journal/socket";

/// Writes each event as an entry: its fields in the text and, prefixed, as fields.
#[derive(Debug)]
pub(super) struct JournalLayer {
    socket: UnixDatagram,
    dropped: AtomicU64,
}

impl JournalLayer {
    pub(super) fn new() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, dropped: AtomicU64::new(0) })
    }

    fn send(&self, entry: &[u8]) -> bool {
        self.socket.send_to(entry, SOCKET).is_ok()
    }

    /// Says what was dropped, once there is room again.
    fn confess(&self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let message = format!("{dropped} lines of this log were dropped: the journal did not take them");
        if dropped > 0 && !self.send(&Line { message, ..Line::default() }.entry("4")) {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }
}

impl<S: Subscriber> Layer<S> for JournalLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.confess();
        if !self.send(&line.entry(priority(*event.metadata().level()))) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One event, taken apart.
#[derive(Debug, Default)]
struct Line {
    message: String,
    suffix: String,
    fields: Vec<(String, String)>,
}

impl Line {
    fn entry(&self, priority: &str) -> Vec<u8> {
        let mut entry = Vec::new();
        field(&mut entry, "PRIORITY", priority);
        field(&mut entry, "MESSAGE", &format!("{}{}", self.message, self.suffix));
        field(&mut entry, "SYSLOG_IDENTIFIER", "nodewell-controller");
        for (name, value) in &self.fields {
            field(&mut entry, name, value);
        }
        entry
    }
}

/// The native protocol: `NAME`, a line break, the length in eight bytes, the value, a line break. Any value may be sent so.
fn field(entry: &mut Vec<u8>, name: &str, value: &str) {
    entry.extend_from_slice(name.as_bytes());
    entry.push(b'\n');
    entry.extend_from_slice(&(value.len() as u64).to_le_bytes());
    entry.extend_from_slice(value.as_bytes());
    entry.push(b'\n');
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        if field.name() == "message" {
            self.message = value;
            return;
        }
        let _ = write!(self.suffix, " {}={value}", field.name());
        // journald takes capitals, digits and underscores.
        let name: String = field
            .name()
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
            .collect();
        self.fields.push((format!("NODEWELL_{name}"), value));
    }
}

fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "3",
        Level::WARN => "4",
        Level::INFO => "6",
        _ => "7",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_holds_any_value() {
        let line = Line {
            message: "two\nlines".into(),
            suffix: String::new(),
            fields: vec![("NODEWELL_NODE".into(), "n".into())],
        };
        let entry = line.entry("6");
        let text = String::from_utf8_lossy(&entry);
        assert!(
            text.starts_with("PRIORITY\n\u{1}\0\0\0\0\0\0\u{0}6\nMESSAGE\n\u{9}\0\0\0\0\0\0\0two\nlines\n"),
            "{text:?}"
        );
        assert!(text.ends_with("NODEWELL_NODE\n\u{1}\0\0\0\0\0\0\0n\n"), "{text:?}");
    }
}
