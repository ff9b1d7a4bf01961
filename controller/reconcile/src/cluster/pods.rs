//! Pods of a node, what protects them, what they have attached.

use std::{future::Future, time::Duration};

use nodewell_remediation::facts::{Attachment, DisruptionBudget, Pod, PodRef};

use crate::api_error::ApiError;

/// Reads them, and moves them away.
pub trait Pods {
    /// Pods with `spec.nodeName`; their claims may be known by name alone.
    fn pods_on(&self, node: &str) -> impl Future<Output = Result<Vec<Pod>, ApiError>>;
    /// The same with what their claims are, which may take a few requests for each.
    fn pods_and_claims_on(&self, node: &str) -> impl Future<Output = Result<Vec<Pod>, ApiError>> {
        self.pods_on(node)
    }
    /// This very pod: another one of its name is none.
    fn pod(&self, at: &PodRef) -> impl Future<Output = Result<Option<Pod>, ApiError>>;
    fn attachments_on(&self, node: &str) -> impl Future<Output = Result<Vec<Attachment>, ApiError>>;
    /// The budgets that select this pod.
    fn budgets_of(&self, pod: &Pod) -> impl Future<Output = Result<Vec<DisruptionBudget>, ApiError>>;
    /// Eviction v1 with the UID as precondition; 404 and 409 on the UID are [`ApiError::NotFound`].
    fn evict(&self, pod: &PodRef, grace: Option<Duration>) -> impl Future<Output = Result<(), ApiError>>;
    /// With the UID as precondition.
    fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> impl Future<Output = Result<(), ApiError>>;
}
