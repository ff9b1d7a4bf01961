//! Which certificates of agents (`nodewell enroll`) are approved, and who does it: an identity of its own, that can do
//! nothing else.
//!
//! A CertificateSigningRequest → [`signing`], which reads it → [`judge`], a pure rule → an [`Approver`], which writes the
//! decision over the trait [`Requests`]; the controller puts a real API server under it. What the rule does not approve
//! waits for a person.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod approver;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod rule;
pub mod signing;

pub use approver::{Approver, Counts, Requests};
pub use rule::{ApprovalDecision, Csr, Decision, Extension, Key, Rejection, Request, Rule, approval_body, judge};
