//! What `nodewell status` shows: problems first, then what is unknown, and what is well in one line.

mod conditions;
mod configuration;
mod daemons;
mod hardware;
mod header;
mod healthy;
mod muted;
mod refused;

use jiff::Timestamp;
use nodewell_model::view::NodeView;

use super::look::Look;
use crate::cli::health::Account;

const GAP: &str = "  ";
/// Below this a message is of no use.
const MESSAGE_MIN: usize = 16;

/// How much of the account is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Extent {
    /// What is not well; the rest is one line.
    Folded,
    /// What is well, too.
    All,
    /// The same, with every field.
    Wide,
}

impl Extent {
    /// With every field, lines are as long as they are, for a terminal that wraps them.
    fn unfolded(self, look: Look) -> Look {
        if self == Self::Wide { Look { width: None, ..look } } else { look }
    }
}

/// The account as text, every line ended, with ages as of now. No line is longer than the look is wide, but for
/// [`Extent::Wide`].
pub(in crate::cli) fn status_table(account: &Account, extent: Extent, look: Look) -> String {
    let Sections { header, body } = sections(account, extent, Timestamp::now(), extent.unfolded(look));
    if body.is_empty() { header } else { format!("{header}\n{body}") }
}

/// The account in two parts, for a screen on which the first one stays. No line is longer than the look is wide.
pub(in crate::cli) struct Sections {
    pub(in crate::cli) header: String,
    pub(in crate::cli) body: String,
}

pub(in crate::cli) fn sections(account: &Account, extent: Extent, now: Timestamp, look: Look) -> Sections {
    let table = Table { view: &account.view, extent, now, look: &look };
    let blocks = [
        conditions::block(&table),
        hardware::block(&table),
        daemons::blind(&table),
        hardware::facts(&table),
        muted::block(&table),
        healthy::line(&table),
        daemons::reporters(&table),
        refused::block(&table),
        configuration::line(&table),
    ];
    let blocks: Vec<String> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    Sections { header: header::line(account, &table), body: blocks.join("\n") }
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
