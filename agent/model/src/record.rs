//! One line from a source, borrowed: time, origin, text, fields.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::{BootId, Origin};

/// One log line. The thread that reads it also judges it; records never cross a channel.
#[derive(Clone)]
pub struct Record<'a> {
    /// Wall time, computed once by the source.
    pub time: Timestamp,
    /// Time since boot, where the source has it; `window` and quiet times use it when both ends have one.
    pub since_boot: Option<std::time::Duration>,
    /// The boot that wrote the line, where known.
    pub boot_id: Option<BootId>,
    pub origin: Origin,
    /// The message, escapes undone, without a trailing newline. Bytes: a log line is not always UTF-8.
    pub text: &'a [u8],
    /// Everything else the source knows: `SUBSYSTEM`, `DEVICE`, journal fields.
    pub fields: &'a dyn RecordFields,
    /// Written by `nodewell inject`: found as usual, marked as a test, ends by itself.
    pub test: bool,
}

/// Named values beside the text, looked up only by the rules that ask for them.
pub trait RecordFields {
    /// The first value of `name`, if the record has that field.
    fn field(&self, name: &str) -> Option<Cow<'_, [u8]>>;
}

/// A record without fields.
#[derive(Debug, Clone, Copy)]
pub struct NoFields;

impl RecordFields for NoFields {
    fn field(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
}

impl RecordFields for Vec<(String, Vec<u8>)> {
    fn field(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.iter().find(|(key, _)| key == name).map(|(_, value)| Cow::Borrowed(value.as_slice()))
    }
}
