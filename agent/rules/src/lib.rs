//! Rules: what a log line means. Formats → [`RuleSet`] → [`Detector`] → findings; no clock, no I/O beyond reading
//! rule files, no tokio.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod detector;
pub mod diagnostic;
pub mod document;
pub mod duration;
pub mod examples;
pub mod explain;
pub mod load;
pub mod matcher;
pub mod native;
pub mod npd;
pub mod pattern;
pub mod plugin;
pub mod replay;
pub mod rule;
pub mod shipped;

mod draft;
mod nearest;
mod report;
#[cfg(test)]
mod testing;

pub use detector::Detector;
pub use diagnostic::{Diagnostic, Note};
pub use examples::{check_examples, check_examples_where};
pub use explain::{Explanation, explain};
pub use load::{LoadPlan, Loaded, RulesFrom, load, load_path, load_text};
pub use replay::{Format, Replay, ReplayError, ReplayFinding, ReplayOptions};
pub use rule::{Location, Reader, Rule, RuleSet};
