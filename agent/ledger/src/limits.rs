//! How much the ledger holds, whatever is thrown at it.

/// A part of a limit, for senders that report by no more than a grant for some types. What is left is for our own monitors, the
/// check processes, and root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Of all daemons of one user or unit together.
    pub of_one: usize,
    /// Of all of them together.
    pub of_granted: usize,
}

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
    /// How many of them may be of users and units that report by no more than a grant for some types.
    pub granted_daemons: usize,
    /// Of `problems`.
    pub problem_share: Share,
    /// Of `subjects`, for each (condition, reason).
    pub subject_share: Share,
    /// Of `reasons`, for each condition.
    pub reason_share: Share,
    /// Of `claims`, for each problem.
    pub claim_share: Share,
    /// Types, subjects and reasons that one external daemon may report; further ones are refused.
    pub reported_subjects: usize,
    /// Events that wait to be taken. The oldest go first, and are counted.
    pub events: usize,
    /// Reasons with a counter of their own; further ones count as `Others`. Those of rules and of the catalogue have
    /// one in any case. Root and check processes find room for as many again, and each of them has `of_one` for itself.
    pub counted_reasons: Share,
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
            granted_daemons: 160,
            problem_share: Share { of_one: 1_000, of_granted: 6_000 },
            subject_share: Share { of_one: 256, of_granted: 750 },
            reason_share: Share { of_one: 64, of_granted: 192 },
            claim_share: Share { of_one: 8, of_granted: 48 },
            reported_subjects: 256,
            // Two bursts of 5,000 problems (design §9) fit.
            events: 10_000,
            counted_reasons: Share { of_one: 256, of_granted: 2_000 },
        }
    }
}

impl Limits {
    /// With this many types, subjects and reasons for each daemon: one of them alone is no flood, unless of reasons.
    #[must_use]
    pub fn with_reported_subjects(self, count: usize) -> Self {
        let at_least =
            |share: Share| Share { of_one: share.of_one.max(count), of_granted: share.of_granted.max(count) };
        Self {
            reported_subjects: count,
            problem_share: at_least(self.problem_share),
            subject_share: at_least(self.subject_share),
            ..self
        }
    }
}
