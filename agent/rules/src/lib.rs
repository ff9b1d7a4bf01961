//! Rules: what a log line means. Formats → [`RuleSet`] → [`Detector`] → findings; no clock, no I/O beyond reading
//! rule files, no tokio.

pub mod rule;

pub use rule::{Reader, Rule, RuleSet};
