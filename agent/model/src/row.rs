//! What outlives a run of the agent: rows of a few tables, opaque to the store.

/// What a row belongs to. Each table has one owner, who writes its rows and reads them again at the next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// One claim on a problem.
    Claims,
    /// A condition's status and transition, and the reasons it has had.
    Conditions,
    /// A monitor's or problem daemon's report on itself.
    Daemons,
    /// How often each reason was raised.
    Totals,
    /// The ledger's own counters.
    Ledger,
    /// How far each log was read.
    Cursors,
    /// Events that the API server's exporter has not taken over yet.
    Events,
    /// Event objects in the making: what waits for delivery, and what is counted on.
    Series,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 8] = [
        Self::Claims,
        Self::Conditions,
        Self::Daemons,
        Self::Totals,
        Self::Ledger,
        Self::Cursors,
        Self::Events,
        Self::Series,
    ];

    /// Its name in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Conditions => "conditions",
            Self::Daemons => "daemons",
            Self::Totals => "totals",
            Self::Ledger => "ledger",
            Self::Cursors => "cursors",
            Self::Events => "events",
            Self::Series => "series",
        }
    }
}

/// A row as it shall be; without a value it shall not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub table: Table,
    pub key: String,
    /// JSON.
    pub value: Option<String>,
}
