//! Every metric of the agent: exporters write what is declared here, and docs/reference/metrics.md has it by chapter.

pub mod agent;
pub mod node;
pub mod problems;

use nodewell_metrics::Metric;

/// A chapter's title and its metrics.
pub const CHAPTERS: [(&str, &[Metric]); 3] =
    [("Problems and conditions", problems::ALL), ("The agent", agent::ALL), ("The node", node::ALL)];
