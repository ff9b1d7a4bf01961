//! Where in a file a key stands that was found elsewhere.

use crate::section::listed;

/// More tables than this would only hide each other.
const TABLES_NAMED: usize = 4;

/// The places of one key.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Places {
    /// It stands above the first table.
    pub top: bool,
    /// Names of the tables that have it.
    pub tables: Vec<String>,
}

impl Places {
    pub(crate) fn shown(&self) -> Option<String> {
        const TOP: &str = "it must stand above the line of the first table";
        match (self.top, self.tables.is_empty()) {
            (false, true) => None,
            (true, true) => Some(TOP.to_owned()),
            (false, false) => Some(format!("it is a key of {}", self.of_tables())),
            (true, false) => Some(format!("{TOP}, or is a key of {}", self.of_tables())),
        }
    }

    fn of_tables(&self) -> String {
        let named: Vec<&str> = self.tables.iter().map(String::as_str).take(TABLES_NAMED).collect();
        match self.tables.len() {
            1 => format!("{}, whose line must stand above it", listed(&named)),
            2..=TABLES_NAMED => format!("{}: the line of the one that is meant must stand above it", listed(&named)),
            _ => format!("tables such as {}: the line of the one that is meant must stand above it", listed(&named)),
        }
    }
}
