//! Rules: what a log line means. Formats → [`RuleSet`] → [`Detector`] → findings; no clock, no I/O beyond reading
//! rule files, no tokio.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod detector;
pub mod examples;
pub mod explain;
pub mod json_log;
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
mod entries;
mod reader;
#[cfg(test)]
mod testing;
mod timestamp;

pub(crate) use nodewell_settings::{duration, nearest, report};

pub use detector::Detector;
pub use examples::{check_examples, check_examples_where};
pub use explain::{Explanation, explain};
pub use load::{LoadPlan, Loaded, Prose, RulesFrom, load, load_path, load_plugins, load_text};
pub use nodewell_settings::{Diagnostic, Location, Note};
pub use replay::{Format, Replay, ReplayError, ReplayFinding, ReplayOptions, Replayed};
pub use rule::{Reader, Rule, RuleSet};
