//! How what a check process finds gets to the agent: judges' findings become conditions and Events, by one reporter for
//! each name that it reports under, over that reporter's link.

mod condition_reporter;
mod link;

pub(super) use condition_reporter::{ConditionReporter, Unreached};
pub(super) use link::Link;
