//! NVLink 5, Xids 144 to 150: which unit of the GPU's link saw which error, and NVIDIA's catalogue entry for it.

mod report;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use nodewell_model::Action;
use serde::Deserialize;

pub use self::report::Report;
use crate::Branch;

const TEXT: &str = include_str!("../tables/nvlink5.toml");

/// The catalogue's entry for one unit's error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    /// Error statuses that mean the same.
    status: Vec<u32>,
    #[serde(default = "no_subcode")]
    subcode: Vec<u32>,
    pub fatal: bool,
    /// NVIDIA's bucket for what to do at once.
    pub now: String,
    /// And for what to look into.
    pub later: String,
    /// Ours, where it is another than the bucket's.
    action: Option<Action>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    xid: u32,
    units: Vec<String>,
    before: u32,
    from: u32,
    verdicts: Vec<CatalogueEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    since: Branch,
    #[serde(rename = "table")]
    _named: String,
    unit: Vec<Unit>,
}

fn no_subcode() -> Vec<u32> {
    vec![0]
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| toml::from_str(TEXT).expect("the shipped table of NVLink 5 is sound"));
    &TABLE
}

/// The catalogue's verdict on `report`, an Xid `code` of a driver of `branch`. Without a branch either layout of the
/// information word counts: the unit's name is in the line, too. `None`: it has no entry.
#[must_use]
pub fn look_up(code: u32, report: &Report<'_>, branch: Option<Branch>) -> Option<&'static CatalogueEntry> {
    let (info, status) = (report.info?, report.status?);
    let table = table();
    let fits = |unit: &&Unit| {
        let named = unit.xid == code && unit.units.iter().any(|name| name == report.unit);
        named && unit.is_in(info, branch.map(|branch| branch >= table.since))
    };
    let verdicts = table.unit.iter().filter(fits).flat_map(|unit| &unit.verdicts);
    let subcode = report::subcode(info);
    verdicts.into_iter().find(|verdict| verdict.status.contains(&status) && verdict.subcode.contains(&subcode))
}

impl Unit {
    /// Whether the information word names this unit. All its other bits are free.
    fn is_in(&self, info: u32, is_new: Option<bool>) -> bool {
        let (old, new) = (info & 0x3ff == self.before, info & 0x7f == self.from);
        is_new.map_or(old || new, |is_new| if is_new { new } else { old })
    }
}

impl CatalogueEntry {
    /// Nothing is to be done at once.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        !self.fatal && self.now == "IGNORE"
    }

    /// What to do, where the catalogue or we know better than the Xid's own entry.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        self.action.or(match self.now.as_str() {
            "RESET_GPU" => Some(Action::ResetGpu),
            "IGNORE" if self.later == "IGNORE" => Some(Action::None),
            _ => None,
        })
    }
}
