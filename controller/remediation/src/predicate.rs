//! Predicates: expressions that are true of a node that needs remediation. CEL in policies (`spec.when`); another
//! language is a [`Judge`] of another crate (`nodewell-reaper` has node-reaper's).

pub mod cel;

use std::{fmt, sync::Arc};

use crate::{facts::Node, snapshot::Snapshot, time::Now};

/// A compiled predicate.
#[derive(Debug, Clone, Default)]
pub enum Predicate {
    #[default]
    Never,
    Cel(cel::Expression),
    /// In another language than CEL.
    Other(Arc<dyn Judge>),
}

/// A predicate in another language than CEL, and what judges by it.
pub trait Judge: fmt::Debug + Send + Sync {
    /// Whether it is true of `node`; see [`Predicate::judge`].
    fn judge(&self, node: &Node, snapshot: &Snapshot, now: Now) -> Result<bool, String>;
    /// The expression as it was written; see [`Predicate::source`].
    fn source(&self) -> &str {
        ""
    }
}

impl Predicate {
    /// Whether it is true of `node`. An error is neither true nor false: the node is blocked, and others go on.
    pub fn judge(&self, node: &Node, snapshot: &Snapshot, now: Now) -> Result<bool, String> {
        match self {
            Self::Never => Ok(false),
            Self::Cel(expression) => expression.judge(node, snapshot, now),
            Self::Other(judge) => judge.judge(node, snapshot, now),
        }
    }

    /// Whether the answer for a Node that has not changed may change: it looks at the time, or at more than the Node.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        match self {
            Self::Never => false,
            Self::Cel(expression) => expression.is_volatile(),
            Self::Other(_) => true,
        }
    }

    /// Whether Events have a part in the answer. No other language knows of them.
    #[must_use]
    pub fn uses_events(&self) -> bool {
        matches!(self, Self::Cel(expression) if expression.uses_events())
    }

    /// Types of conditions that it asks for by name, as far as its language shows them.
    #[must_use]
    pub fn conditions(&self) -> Vec<&str> {
        match self {
            Self::Cel(expression) => expression.conditions().collect(),
            Self::Never | Self::Other(_) => Vec::new(),
        }
    }

    /// Types of conditions in the order in which it names them, `conditions.?Ready` among them, which may be missing.
    #[must_use]
    pub fn conditions_in_order(&self) -> Vec<&str> {
        match self {
            Self::Cel(expression) => expression.conditions_in_order().collect(),
            Self::Never | Self::Other(_) => Vec::new(),
        }
    }

    /// The expression as it was written. An answer is kept only for the expression that gave it.
    #[must_use]
    pub fn source(&self) -> &str {
        match self {
            Self::Never => "",
            Self::Other(judge) => judge.source(),
            Self::Cel(expression) => expression.source(),
        }
    }
}
