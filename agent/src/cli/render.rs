//! How views look to people: the status table and the line of an event, for the command line and for the agent's own
//! console.

mod event;
mod look;
mod table;

pub use event::event_line;
pub use look::Look;
pub use table::status_table;

pub(super) use event::colour as severity_paint;
pub(super) use look::{Paint, one_line};
