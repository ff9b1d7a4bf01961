//! Log lines to journald that never wait for it: what it does not take at once is dropped, and the next line reports
//! how many were. A journald that hangs must not stop a daemon; `tracing-journald` would wait for it.

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

use crate::native::{Entry, SOCKET};

/// Writes each event as an entry: its fields in the text and, prefixed, as fields.
#[derive(Debug)]
pub(super) struct JournalLayer {
    identifier: &'static str,
    socket: UnixDatagram,
    dropped: AtomicU64,
}

impl JournalLayer {
    pub(super) fn new(identifier: &'static str) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { identifier, socket, dropped: AtomicU64::new(0) })
    }

    fn entry(&self, priority: &str, text: &str) -> Entry {
        let entry = Entry::default().field("PRIORITY", priority).field("MESSAGE", text);
        entry.field("SYSLOG_IDENTIFIER", self.identifier)
    }

    fn send(&self, entry: &Entry) -> bool {
        self.socket.send_to(entry.bytes(), SOCKET).is_ok()
    }

    /// Logs what was dropped, once there is room again.
    fn confess(&self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let text = format!("{dropped} lines of this log were dropped: the journal did not take them");
        if dropped > 0 && !self.send(&self.entry("4", &text)) {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }
}

impl<S: Subscriber> Layer<S> for JournalLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.confess();
        let text = format!("{}{}", line.message, line.suffix);
        let entry = self.entry(priority(*event.metadata().level()), &text);
        if !self.send(&line.fields.iter().fold(entry, |entry, (name, value)| entry.field(name, value))) {
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
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
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
