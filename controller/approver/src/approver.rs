//! Approves signing requests of agents by the rule, round after round, as an identity of its own: it may approve for
//! one signer and do nothing else, and what acts on nodes cannot approve.
//!
//! Needs: `list certificatesigningrequests`, `patch certificatesigningrequests/approval`, and `approve` on `signers` named
//! `kubernetes.io/kube-apiserver-client`.

use std::{collections::BTreeMap, future::Future, time::Duration};

use nodewell_reconcile::{api_error::ApiError, lease_deadline::LeaseDeadline};
use nodewell_remediation::time::Now;
use tokio::time::{MissedTickBehavior, interval};

use crate::rule::{ApprovalDecision, Rejection, Request, Rule, judge};

/// Signing requests, as far as the approver needs them.
pub trait Requests {
    /// All that are undecided, each with what it contains (or why that cannot be read); others may be among them.
    fn all(&self) -> impl Future<Output = Result<Vec<Request>, ApiError>>;
    /// Adds the condition Approved ([`crate::approval_body`]), if the request still has this UID and resourceVersion.
    fn approve(&self, request: &Request, message: &str) -> impl Future<Output = Result<(), ApiError>>;
    /// Adds the condition Denied, under the same preconditions.
    fn deny(&self, request: &Request, message: &str) -> impl Future<Output = Result<(), ApiError>>;
}

/// What was decided since the start, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub approved: u64,
    pub denied: u64,
    pub failures: u64,
}

/// The approver, for all terms of one controller.
#[derive(Debug)]
pub struct Approver<R> {
    requests: R,
    rule: Rule,
    counts: Counts,
    /// Requests that stay pending, by UID: what was logged of each once is not logged again.
    left: BTreeMap<String, (String, Rejection)>,
    /// How many were not approved, by reason: left for a person, or denied.
    refused: BTreeMap<&'static str, u64>,
    /// The list could not be read last time.
    failing: bool,
}

/// Decisions in one round; a flood of requests waits for the next ones.
const MOST_A_ROUND: usize = 50;
/// Between two rounds. `nodewell enroll` waits for ten minutes.
const ROUND: Duration = Duration::from_secs(5);

impl<R: Requests> Approver<R> {
    #[must_use]
    pub fn new(requests: R, rule: Rule) -> Self {
        let (counts, left, refused) = (Counts::default(), BTreeMap::new(), BTreeMap::new());
        Self { requests, rule, counts, left, refused, failing: false }
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What waits for a person: name and reason.
    pub fn waiting(&self) -> impl Iterator<Item = (&str, &Rejection)> {
        self.left.values().map(|(name, rejection)| (name.as_str(), rejection))
    }

    /// Requests that were not approved, by reason, each once.
    #[must_use]
    pub fn refused(&self) -> &BTreeMap<&'static str, u64> {
        &self.refused
    }

    /// Goes on until the term is over. `on_round` is called at each round's end.
    pub async fn run(&mut self, clock: impl Fn() -> Now, mut lease_deadline: LeaseDeadline, on_round: impl Fn(&Self)) {
        let mut rounds = interval(ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while lease_deadline.is_ahead(clock().moment) {
            tokio::select! {
                _ = rounds.tick() => {
                    self.round(&clock, &lease_deadline).await;
                    on_round(self);
                }
                alive = lease_deadline.moved() => if !alive { return },
            }
        }
    }

    /// Looks at all requests once.
    pub async fn round(&mut self, clock: &impl Fn() -> Now, lease_deadline: &LeaseDeadline) {
        let all = match self.requests.all().await {
            Ok(all) => all,
            Err(error) => return self.blind(&error),
        };
        self.failing = false;
        self.left.retain(|uid, _| all.iter().any(|request| request.uid == *uid && !request.decided));
        let mut decided = 0;
        for request in &all {
            if decided == MOST_A_ROUND || !lease_deadline.is_ahead(clock().moment) {
                return;
            }
            decided += usize::from(self.decide(request).await);
        }
    }

    fn blind(&mut self, error: &ApiError) {
        self.counts.failures += 1;
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(%error, "cannot list signing requests; agents wait for their certificates");
        }
    }

    /// Whether a decision was written, or tried.
    async fn decide(&mut self, request: &Request) -> bool {
        match judge(request, &self.rule) {
            ApprovalDecision::Approve { node } => self.approve(request, &node).await,
            ApprovalDecision::Deny(rejection) => self.deny(request, &rejection).await,
            ApprovalDecision::Leave(rejection) => {
                self.leave(request, rejection);
                return false;
            }
            ApprovalDecision::Ignore => return false,
        }
        true
    }

    async fn approve(&mut self, request: &Request, node: &str) {
        let message = format!("asked by {}, for node {node} and nothing else", request.username);
        match self.requests.approve(request, &message).await {
            Ok(()) => {
                self.counts.approved += 1;
                tracing::info!(request = request.name, node, "approved an agent's certificate");
            }
            Err(error) => self.failed(request, &error),
        }
    }

    async fn deny(&mut self, request: &Request, rejection: &Rejection) {
        match self.requests.deny(request, &rejection.to_string()).await {
            Ok(()) => {
                self.counts.denied += 1;
                *self.refused.entry(rejection.reason()).or_default() += 1;
                tracing::warn!(request = request.name, by = request.username, %rejection, "denied a forged request");
            }
            Err(error) => self.failed(request, &error),
        }
    }

    fn leave(&mut self, request: &Request, rejection: Rejection) {
        let known = self.left.get(&request.uid).is_some_and(|(_, before)| *before == rejection);
        if !known {
            tracing::warn!(request = request.name, by = request.username, %rejection, "not approved: a person decides");
            *self.refused.entry(rejection.reason()).or_default() += 1;
            self.left.insert(request.uid.clone(), (request.name.clone(), rejection));
        }
    }

    /// The next round looks again; a conflict or a request that has gone is no error.
    fn failed(&mut self, request: &Request, error: &ApiError) {
        if matches!(error, ApiError::Conflict(_) | ApiError::NotFound) {
            return;
        }
        self.counts.failures += 1;
        tracing::warn!(request = request.name, %error, "cannot write the decision on a signing request");
    }
}

#[cfg(test)]
mod tests;
