//! The log on stderr: one line an event begins at the margin, so that a message with line breaks forges none.

use std::io::{self, Write};

use nodewell_printable::is_hidden;
use tracing_subscriber::fmt::MakeWriter;

/// What stands before the further lines of an event.
const CONTINUED: &str = "\n    ";

/// Writes to stderr.
#[derive(Debug)]
pub(super) struct Lines;

/// Of one event, which comes in one write.
#[derive(Debug)]
pub(super) struct EventWriter<W>(W);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = EventWriter<io::Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        EventWriter(io::stderr())
    }
}

impl<W: Write> Write for EventWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(shown(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn shown(event: &str) -> String {
    let text = event.trim_end_matches('\n');
    let mut out = String::with_capacity(event.len());
    for sign in text.chars() {
        match sign {
            '\n' => out.push_str(CONTINUED),
            // Colours are the formatter's; it has made harmless what came with the message.
            '\t' | '\u{1b}' => out.push(sign),
            sign if is_hidden(sign) => out.push(char::REPLACEMENT_CHARACTER),
            sign => out.push(sign),
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::{Registry, layer::SubscriberExt};

    use super::*;

    /// As [`Lines`], into memory.
    #[derive(Debug, Clone, Default)]
    struct Memory(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Memory {
        type Writer = EventWriter<Self>;

        fn make_writer(&'a self) -> Self::Writer {
            EventWriter(self.clone())
        }
    }

    #[test]
    fn a_message_begins_one_line_whatever_it_holds() {
        for colours in [false, true] {
            let memory = Memory::default();
            let layer = tracing_subscriber::fmt::layer().with_writer(memory.clone()).with_ansi(colours);
            let forged = "ok\n2026-01-01T00:00:00Z ERROR forged\r\u{202e}x\u{1b}[2Jy";
            tracing::subscriber::with_default(Registry::default().with(layer), || {
                tracing::warn!(reason = forged, "{forged}");
                tracing::info!("the next");
            });
            let log = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
            let begun: Vec<&str> = log.lines().filter(|line| !line.starts_with("    ")).collect();
            assert_eq!(begun.len(), 2, "{log:?}");
            assert!(begun[1].ends_with("the next"), "{log:?}");
            assert!(!log.contains('\r') && !log.contains('\u{202e}') && !log.contains("\u{1b}[2J"), "{log:?}");
        }
    }
}
