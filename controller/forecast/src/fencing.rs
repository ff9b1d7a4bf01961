//! The ways to a node's power, as they would be tried.

use nodewell_remediation::snapshot::{FenceLevel, FencePlan, Level};
use serde::Serialize;

/// One fencing level, and whether it could be used now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FencingLevel {
    pub level: Level,
    /// All of them have to report Off.
    pub methods: Vec<String>,
    /// It reports the power of the machine itself, and not that of an outlet.
    pub asks_machine: bool,
    /// What it asks is known to be this node's.
    pub proven: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The one that would turn the node off now, as far as identities show.
    pub used: bool,
}

impl FencingLevel {
    /// All levels of a plan.
    #[must_use]
    pub fn all(plan: &FencePlan) -> Vec<Self> {
        let used = plan.numbered().find(|(_, level)| is_proven(level)).map(|(number, _)| number);
        let one = |(number, level): (Level, &FenceLevel)| Self {
            level: number,
            methods: level.methods.clone(),
            asks_machine: level.asks_machine,
            proven: is_proven(level),
            error: level.identity.as_ref().and_then(|identity| identity.as_ref().err().cloned()),
            used: used == Some(number),
        };
        plan.numbered().map(one).collect()
    }

    pub(super) fn state(&self) -> String {
        match (&self.error, self.proven, self.used) {
            (Some(error), ..) => format!("cannot be used: {error}"),
            (None, false, _) => "cannot be used: it was not asked yet whose it is".to_owned(),
            (None, true, true) => "turns it off".to_owned(),
            (None, true, false) => "if those before it fail".to_owned(),
        }
    }
}

fn is_proven(level: &FenceLevel) -> bool {
    level.identity == Some(Ok(()))
}
