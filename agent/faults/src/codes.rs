//! Tables of numbered codes, NVIDIA's Xids and SXids: what a code means, how bad it is, what to do; and an operator's
//! overrides of the shipped ones.

mod entry;
pub(crate) mod overrides;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use nodewell_model::{Action, Name, Severity};
use serde::{Deserialize, Serialize};

use self::entry::Entry;
pub(crate) use self::overrides::Overrides;
pub use self::{
    entry::TextError,
    overrides::{OverrideDiagnostic, OverrideError},
};
use crate::{Branch, sxid};

/// One table.
#[derive(Debug, Clone)]
pub struct Codes {
    /// What its reasons begin with: `GpuXid`.
    prefix: &'static str,
    entries: BTreeMap<u32, Entry>,
}

/// What one code means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Meaning {
    pub code: u32,
    /// `GpuXid79FallenOffBus`: stable, scripts rely on it.
    pub reason: Name,
    /// `None`: an Event only.
    pub condition: Option<Name>,
    pub severity: Severity,
    pub action: Action,
    /// The verdict if the line that shows the code contains `Fatal`; `None`: the line makes no difference.
    pub fatal: Option<LineVerdict>,
    /// The verdict if the line reports the error as not fatal.
    pub nonfatal: Option<LineVerdict>,
    pub meaning: Arc<str>,
    /// Where monitors of GPUs disagree, what is chosen here and why; may be empty.
    pub choice: Arc<str>,
    /// Whose verdict it is: the vendor's bucket or class.
    pub vendor: Arc<str>,
    /// The table that defines it: the shipped one, or an operator's file.
    pub table: Arc<str>,
    #[serde(skip)]
    pub(crate) operators: Operators,
}

/// Which values of a code an operator has set: no line and no report of the driver changes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Operators {
    pub(crate) severity: bool,
    pub(crate) action: bool,
}

/// How bad a code is, when the line that shows it states that itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineVerdict {
    #[serde(default)]
    pub condition: Option<Name>,
    pub severity: Severity,
    pub action: Action,
}

impl Meaning {
    /// The same, for a line that states whether the error is fatal.
    #[must_use]
    pub fn with_fatal(mut self, is_fatal: bool) -> Self {
        let verdict = if is_fatal { self.fatal.clone() } else { self.nonfatal.clone() };
        if let Some(verdict) = verdict {
            (self.condition, self.severity, self.action) = (verdict.condition, verdict.severity, verdict.action);
        }
        self
    }

    /// The same, with what the driver reports as needed: an action of the GPU is required.
    #[must_use]
    pub fn needing(self, severity: Severity, action: Action) -> Self {
        let fatal = self.with_fatal(true);
        Self { severity: if fatal.operators.severity { fatal.severity } else { severity }, ..fatal }.acting(action)
    }

    /// The same, for a line of which nothing comes.
    #[must_use]
    pub(crate) fn harmless(mut self) -> Self {
        if !self.operators.severity {
            self.severity = Severity::Info;
        }
        self.acting(Action::None)
    }

    /// The same with another action, unless an operator has named one.
    pub(crate) fn acting(mut self, action: Action) -> Self {
        if !self.operators.action {
            self.action = action;
        }
        self
    }

    /// The conditions that it may hold, whatever a line contains.
    #[must_use]
    pub fn conditions(&self) -> Vec<Name> {
        let fatal = self.fatal.as_ref().and_then(|fatal| fatal.condition.clone());
        let mut conditions: Vec<Name> = self.condition.iter().cloned().chain(fatal).collect();
        conditions.dedup();
        conditions
    }

    /// Whether what it holds asks for a reset of the GPU.
    #[must_use]
    pub fn wants_reset(&self) -> bool {
        let held = self.condition.is_some() && self.action == Action::ResetGpu;
        held || self.fatal.as_ref().is_some_and(|fatal| fatal.action == Action::ResetGpu)
    }
}

impl Codes {
    /// What `code` means for a driver of `branch`. A code that the table does not have is an Event of its own.
    #[must_use]
    pub fn classify(&self, code: u32, branch: Option<Branch>) -> Meaning {
        match self.entries.get(&code) {
            Some(entry) => entry.meaning(self.prefix, code, branch),
            None => self.unlisted(code),
        }
    }

    /// What the reason of that name means, in any spelling of its letters.
    #[must_use]
    pub fn named(&self, reason: &str) -> Option<Meaning> {
        let prefix = reason.get(..self.prefix.len()).filter(|prefix| prefix.eq_ignore_ascii_case(self.prefix))?;
        let rest = &reason[prefix.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let meaning = self.classify(rest[..digits].parse().ok().filter(|code| *code > 0)?, None);
        meaning.reason.as_str().eq_ignore_ascii_case(reason).then_some(meaning)
    }

    /// Every code of the table, in order, for the newest drivers.
    pub fn all(&self) -> impl Iterator<Item = Meaning> {
        self.all_of(None)
    }

    /// Every code of the table, in order, for a driver of `branch`.
    pub fn all_of(&self, branch: Option<Branch>) -> impl Iterator<Item = Meaning> {
        self.entries.iter().map(move |(code, entry)| entry.meaning(self.prefix, *code, branch))
    }

    /// Whether the table has the code.
    #[must_use]
    pub fn has(&self, code: u32) -> bool {
        self.entries.contains_key(&code)
    }

    fn unlisted(&self, code: u32) -> Meaning {
        Meaning {
            code,
            reason: entry::reason(self.prefix, code, "Unlisted"),
            condition: None,
            // NVSentinel takes it for fatal: a driver's new code would drain a fleet on the day of its upgrade.
            severity: Severity::Warn,
            action: Action::Watch,
            // What the driver of a switch calls fatal is not passed over. An Xid's line has no such word.
            fatal: (self.prefix == sxid::PREFIX).then(|| LineVerdict {
                condition: Some(Name::fixed("GpuFabricUnhealthy")),
                severity: Severity::Critical,
                action: Action::ResetGpu,
            }),
            nonfatal: None,
            meaning: "A code that the table does not have: the driver is newer than it. Look it up with the vendor."
                .into(),
            choice: "An operator's own file can give it a meaning.".into(),
            vendor: "none".into(),
            table: "none".into(),
            operators: Operators::default(),
        }
    }
}
