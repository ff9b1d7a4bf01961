//! How views look to people: the status and the line of an event.

mod event;
mod flow;
mod look;
mod table;

pub use event::{EventStyle, event_row};
pub use look::Look;

pub(super) use event::{colour as severity_paint, event_summary};
pub(super) use look::Paint;
pub(crate) use look::one_line;
pub(super) use table::{Extent, Sections, sections, status_table};
