//! The Lease by which one controller leads.

use std::{collections::BTreeMap, future::Future, time::Duration};

use jiff::Timestamp;

use crate::api_error::ApiError;

/// The controller's own Lease, with its version for compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leadership {
    pub resource_version: String,
    pub holder: String,
    pub duration: Duration,
    pub acquired: Option<Timestamp>,
    pub renewed: Option<Timestamp>,
    /// `leaseTransitions`: the term, also called epoch; grows with every change of holder.
    pub transitions: u64,
    pub annotations: BTreeMap<String, String>,
}

/// Who leads.
pub trait Election {
    fn leadership(&self) -> impl Future<Output = Result<Option<Leadership>, ApiError>>;
    /// Creates it (an empty resourceVersion) or replaces it, by compare-and-swap.
    fn lead(&self, lease: &Leadership) -> impl Future<Output = Result<Leadership, ApiError>>;
}
