//! What the controllers' hosts report to each other.

use std::{collections::BTreeMap, future::Future};

use crate::api_error::ApiError;

/// One host's report on the nodes that it tried because they looked lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReachReport {
    pub host: String,
    /// Grows with every report; one that stands still is not believed for long.
    pub sequence: u64,
    /// Nodes by name: for how many seconds they could not be reached, nothing where they can.
    pub nodes: BTreeMap<String, Option<u64>>,
}

/// Each host's own report on the nodes that it cannot reach.
pub trait Hosts {
    fn reach_reports(&self) -> impl Future<Output = Result<Vec<ReachReport>, ApiError>>;
    /// Writes this host's own, where only it writes (annotations of a Lease of its own).
    fn report_reach(&self, report: &ReachReport) -> impl Future<Output = Result<(), ApiError>>;
}
