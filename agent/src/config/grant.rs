//! `[[grant]]`: which other users may report what.

mod read;

use std::time::Duration;

use nodewell_ledger::OnStale;
use nodewell_model::Name;
use nodewell_settings::{ListedTable, Location, Report, TableAt};

/// One `[[grant]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub to: Grantee,
    /// The same as the file has it: a user by name, where it does.
    pub written: String,
    pub conditions: Types,
    /// Only these, in conditions that are True and in events; `None` for all.
    pub reasons: Option<Vec<Name>>,
    pub events: bool,
    /// Conditions that it may end, whichever source claims them.
    pub clear: Types,
    /// Seconds a report; `None` for the socket's.
    pub interval: Option<Duration>,
    pub burst: Option<u32>,
    /// `None` where the grant does not set it.
    pub on_stale: Option<OnStale>,
    /// Where it stands.
    pub at: Location,
}

impl Grant {
    /// The keys of the table.
    pub(super) fn listed() -> ListedTable {
        read::listed()
    }

    /// One table; `None` where it has errors.
    pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> Option<Self> {
        read::read(table, report)
    }

    /// The condition types that it names.
    pub fn named(&self) -> impl Iterator<Item = &Name> {
        [&self.conditions, &self.clear].into_iter().flat_map(|types| match types {
            Types::All => [].iter(),
            Types::Only(names) => names.iter(),
        })
    }
}

/// Whom a grant is for. A process in a container is none of these, whatever its user is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grantee {
    /// A unit of the host's systemd.
    Unit(String),
    User(u32),
    Group(u32),
}

/// Condition types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Types {
    All,
    Only(Vec<Name>),
}
