//! The content of one file, before it is joined with the others: names are not looked up yet.

use std::time::Duration;

use nodewell_model::{ConditionSpec, Name, Severity};

use crate::{
    Diagnostic, Location, Note, Reader, Rule, npd::stats::SystemStats, plugin::PluginMonitor, rule::FileReader,
};

/// One file's content.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Node Problem Detector's files come after all native ones: their conditions and rules give way.
    pub(crate) npd: bool,
    pub(crate) conditions: Vec<ConditionDraft>,
    pub(crate) sources: Vec<SourceDraft>,
    pub(crate) rules: Vec<RuleDraft>,
    pub(crate) plugins: Vec<PluginMonitor>,
    pub(crate) overrides: Vec<OverrideDraft>,
    pub(crate) statistics: Option<SystemStats>,
    /// Names that a native file's rules rely on. Stored apart from the rules, so that an unknown name is reported even
    /// for a rule with another error.
    pub(crate) uses: Vec<Use>,
    /// Names whose declaration has an error of its own: no rule is blamed for using them.
    pub(crate) broken: Vec<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) notes: Vec<Note>,
}

/// A declared condition type.
#[derive(Debug)]
pub(crate) struct ConditionDraft {
    pub(crate) spec: ConditionSpec,
    /// What it means that it is True, for people; may be empty.
    pub(crate) meaning: String,
    pub(crate) location: Location,
}

/// A declared log file source.
#[derive(Debug)]
pub(crate) struct SourceDraft {
    pub(crate) reader: FileReader,
    pub(crate) location: Location,
}

/// A rule whose reader is still a name.
#[derive(Debug)]
pub(crate) struct RuleDraft {
    pub(crate) rule: Rule,
    pub(crate) reader: ReaderDraft,
    /// The line of each pattern.
    pub(crate) pattern_lines: Vec<usize>,
}

/// Where a rule's records come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReaderDraft {
    Known(Reader),
    /// A `[[source]]` of some file.
    Named(String),
}

/// What holds of every rule of a reason.
#[derive(Debug)]
pub(crate) struct OverrideDraft {
    pub(crate) reason: Name,
    pub(crate) location: Location,
    pub(crate) severity: Option<Severity>,
    pub(crate) kind: Option<KindDraft>,
}

/// How long a report of such a rule holds.
#[derive(Debug)]
pub(crate) enum KindDraft {
    /// It is an event.
    Temporary,
    Permanent {
        condition: Name,
        /// `None`: as the rule has it.
        clears: Option<EndDraft>,
    },
}

/// How such a problem ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndDraft {
    pub(crate) quiet: Option<Duration>,
    /// `None`: as usual for where the rule's lines come from.
    pub(crate) boot: Option<bool>,
}

/// A name that must be declared somewhere.
#[derive(Debug)]
pub(crate) enum Use {
    Condition(Name, Location),
    Source(String, Location),
}

impl Use {
    pub(crate) fn location(&self) -> &Location {
        match self {
            Self::Condition(_, location) | Self::Source(_, location) => location,
        }
    }
}
