//! The approver of agents' certificates: a second identity in the same program. Its requests have their own client and its
//! own credentials, so that neither can use the other's rights; it works while this controller leads, and in no dry run.

use std::sync::Arc;

use nodewell_approver::{Approver, Rule};
use nodewell_reconcile::{
    clock::Clock,
    leader::{Term, in_each},
};

use crate::{
    config,
    kube::{ConnectError, KubeSettings, Requests, SigningRequests, Wire, connect},
    tally::Tally,
};

/// The approver as the configuration has it; sends nothing yet.
pub async fn approver(
    config: &config::Approver,
    requests: Arc<Requests>,
) -> Result<Approver<SigningRequests>, ConnectError> {
    let client = connect(Some(&config.kubeconfig), requests).await?;
    let wire = Wire::new(client, KubeSettings::REQUEST_TIMEOUT);
    let rule = Rule { deny_forged: config.deny_forged, ..Rule::default() };
    Ok(Approver::new(SigningRequests::new(wire), rule))
}

/// Approves in each term of ours; never returns. Without an approver a person approves.
pub async fn run(approver: Option<Approver<SigningRequests>>, term: Term, clock: Clock, tally: &Tally) {
    let Some(mut approver) = approver else { return std::future::pending().await };
    in_each(term, clock, async |lease_deadline| {
        approver.run(|| clock.now(), lease_deadline, |now| tally.enrolment(now)).await
    })
    .await;
}
