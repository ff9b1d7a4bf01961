//! What `nodewell status` shows: problems first, then what is unknown, and what is well in one line.

mod conditions;
mod daemons;
mod hardware;
mod header;
mod healthy;
mod refused;

use jiff::Timestamp;
use nodewell_model::view::NodeView;

use super::look::Look;

const GAP: &str = "  ";
/// Below this a message is of no use.
const MESSAGE_MIN: usize = 16;

/// How much of the account is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What is not well; the rest is one line.
    Folded,
    /// What is well, too.
    All,
    /// The same, with every field, on lines as long as they are.
    Wide,
}

/// The account as text, every line ended, with ages as of now. No line is longer than the look is wide.
#[must_use]
pub fn status_table(view: &NodeView, extent: Extent, look: Look) -> String {
    let now = Timestamp::now();
    let Sections { header, body } = sections(view, extent, now, look);
    if body.is_empty() { header } else { format!("{header}\n{body}") }
}

/// The account in two parts, for a screen on which the first one stays.
pub(in crate::cli) struct Sections {
    pub(in crate::cli) header: String,
    pub(in crate::cli) body: String,
}

pub(in crate::cli) fn sections(view: &NodeView, extent: Extent, now: Timestamp, look: Look) -> Sections {
    let look = if extent == Extent::Wide { Look { width: None, ..look } } else { look };
    let table = Table { view, extent, now, look: &look };
    let blocks = [
        conditions::block(&table),
        hardware::block(&table),
        daemons::blind(&table),
        hardware::facts(&table),
        healthy::line(&table),
        daemons::reporters(&table),
        refused::block(&table),
    ];
    let blocks: Vec<String> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    Sections { header: header::line(&table), body: blocks.join("\n") }
}

/// What every block is made from.
struct Table<'a> {
    view: &'a NodeView,
    extent: Extent,
    now: Timestamp,
    look: &'a Look,
}

impl Table<'_> {
    /// Whether what is well is shown.
    fn shows_all(&self) -> bool {
        self.extent != Extent::Folded
    }
}

#[cfg(test)]
mod tests;
