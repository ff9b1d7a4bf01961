//! What an operator writes, and what it sets: one TOML table, one type, and between the two a list of [`Key`]s. A key is
//! declared once, with its name, its field, what it takes and what it is for; reading, every error with its line, the
//! account of what holds and who set it, and the reference all come from that list.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod diagnostic;
pub mod files;
mod fingerprint;
mod key;
pub mod kind;
pub mod nearest;
mod places;
pub mod report;
mod schema;
pub mod section;
mod table;

pub use nodewell_time::duration;
pub use toml::de::DeTable;

pub use diagnostic::{Diagnostic, Location, Note};
pub use fingerprint::Fingerprint;
pub use key::Key;
pub use kind::Kind;
pub use places::Places;
pub use report::{Report, Set};
pub use schema::{ListedKey, ListedTable, Schema};
pub use section::{Section, StringAt, TableAt, tables};
pub use table::{Part, ReadKeys, Shown, Table, read_text, shown};

#[cfg(test)]
mod tests;
