//! How much the ledger holds, whatever is thrown at it.

/// Upper bounds; the defaults keep the worst case at some tens of megabytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Subjects held apart for each (condition, reason). Further ones are folded into the problem without a subject,
    /// which a clear of one subject does not end: a clear without a subject does, quiet, a new boot, or a person.
    pub subjects: usize,
    /// Problems in all. At the limit, subjects not known yet are folded too.
    pub problems: usize,
    /// Reasons held for each condition; further ones are refused.
    pub reasons: usize,
    /// Sources that may claim one problem; further ones are refused.
    pub claims: usize,
    /// Monitors and problem daemons; further ones are refused.
    pub daemons: usize,
    /// How many of them may report over the socket: our own monitors always find room. One that is silent and claims
    /// nothing makes room for a new one.
    pub external_daemons: usize,
    /// How many of those may belong to one user or unit.
    pub daemons_of_one: usize,
    /// Types, subjects and reasons that one external daemon may report; further ones are refused.
    pub reported_subjects: usize,
    /// Events that wait to be taken. The oldest go first, and are counted.
    pub events: usize,
    /// Reasons with a counter of their own; further ones count as `Others`.
    pub counted_reasons: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            subjects: 1_000,
            problems: 10_000,
            // The shipped rules have some sixty reasons in all; a daemon of others' has a handful.
            reasons: 256,
            claims: 64,
            daemons: 256,
            external_daemons: 192,
            daemons_of_one: 64,
            reported_subjects: 256,
            // Two bursts of 5,000 problems (design §9) fit.
            events: 10_000,
            counted_reasons: 2_000,
        }
    }
}
