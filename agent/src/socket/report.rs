//! `POST /v1/status`: the reports of external daemons on their way to the ledger.

use std::error::Error;

use hyper::{Request, StatusCode, body::Body};
use nodewell_ledger::{Rejection as LedgerRejection, ReportRejection};
use nodewell_model::{Status, api::AcceptedView, report::Invalid};

use super::{
    Api, SocketLimits,
    answer::{Answer, Rejection, json},
    body, last_report,
    peer::Peer,
};
use crate::shared_state::Command;

/// When to try again while the agent stops or is stuck: the next one is there by then.
const RETRY_SECS: u32 = 1;
/// While the disk takes nothing, what is accepted on trust is bounded.
const FULL: &str = "the state directory takes nothing and memory for it is full; see AgentStateUnwritable in \
                    `nodewell status`, then send the report again";
const FULL_RETRY_SECS: u32 = 10;
/// Reports in one batch: a daemon has one or two to send at a time.
const BATCH_LIMIT: usize = 64;

/// Names that a condition's `transition` has elsewhere: in an agent's views before it was called so everywhere, and in
/// Kubernetes.
const OTHER_TIMES: [&str; 2] = ["since", "lastTransitionTime"];

/// What was sent: one report, or a batch.
struct Sent {
    reports: Vec<Status>,
    batch: bool,
}

/// Takes the body of `request`, or gives the reason why not.
pub(super) async fn report<B>(
    api: &Api,
    limits: &SocketLimits,
    peer: &Peer,
    request: Request<B>,
) -> Result<Answer, Rejection>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let rate = api.gate.rate(peer);
    // Also of who is refused: with a body that was not read the connection ends, and the answer may be lost with it.
    let body = body::bytes(request, limits).await;
    rate?;
    if api.shared_state.store().is_full() {
        return Err(Rejection::for_now(StatusCode::SERVICE_UNAVAILABLE, FULL, FULL_RETRY_SECS));
    }
    let sent = Sent::parse(&body?)?;
    sent.check(limits)?;
    let sender = api.gate.admit(peer, &sent.reports)?;
    let (batch, principal) = (sent.batch, sender.principal.to_string());
    let warning = last_report::warning(&api.shared_state.view(), &sent.reports, &principal).unwrap_or_default();
    let command = |done| Command::Report { reports: sent.reports, sender, done };
    match api.shared_state.ask(command).await {
        Some(Ok(ticket)) => {
            let durable = api.shared_state.store().is_durable(ticket).await;
            let code = if durable { StatusCode::OK } else { StatusCode::ACCEPTED };
            Ok(json(code, &AcceptedView { durable, instance: api.instance.clone(), principal, warning }))
        }
        Some(Err(refused)) => Err(not_taken(&refused, batch)),
        None => Err(Rejection::for_now(
            StatusCode::SERVICE_UNAVAILABLE,
            "the ledger does not answer; the agent is stopping or stuck: send the report again",
            RETRY_SECS,
        )),
    }
}

/// The reports of a body, checked as far as possible without its peer; or the message of the rejection.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read(body: &[u8]) -> Result<Vec<Status>, String> {
    let sent = Sent::parse(body).map_err(|rejection| rejection.error)?;
    sent.check(&SocketLimits::default()).map_err(|rejection| rejection.error)?;
    Ok(sent.reports)
}

impl Sent {
    fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        let batch = first == Some(&b'[');
        let parsed = if batch { body::parse(bytes) } else { body::parse(bytes).map(|report| vec![report]) };
        Ok(Self { reports: parsed.map_err(with_our_field)?, batch })
    }

    /// What the types cannot express: bounds of the batch, and of what each field takes.
    fn check(&self, limits: &SocketLimits) -> Result<(), Rejection> {
        if self.reports.len() > BATCH_LIMIT {
            let error = format!("{} reports in one batch; send at most {BATCH_LIMIT} at a time", self.reports.len());
            return Err(Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, error));
        }
        for (n, report) in self.reports.iter().enumerate() {
            let (events, limit) = (report.events.len(), limits.events_per_report);
            if events > limit {
                let field = field(self.batch, n, "events");
                let error = format!("field `{field}` has {events} entries; send at most {limit} in one report");
                return Err(Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, error));
            }
            report.check().map_err(|Invalid { field: within, problem }| {
                let error = format!("field `{}` {problem}", field(self.batch, n, &within));
                Rejection::new(StatusCode::BAD_REQUEST, error)
            })?;
        }
        Ok(())
    }
}

/// Answers a client that sends a condition's time under another name with ours.
fn with_our_field(mut rejection: Rejection) -> Rejection {
    let is_old = |name: &str| rejection.error.contains(&format!(".{name}`: unknown field `{name}`"));
    if rejection.error.contains("conditions[") && OTHER_TIMES.iter().any(|name| is_old(name)) {
        rejection.error.push_str("; a condition's time is in `transition`");
    }
    rejection
}

/// The path of `within` as a client sees it in what it sent.
fn field(batch: bool, report: usize, within: &str) -> String {
    if batch { format!("[{report}].{within}") } else { within.to_owned() }
}

fn not_taken(refused: &ReportRejection, batch: bool) -> Rejection {
    let part = match (refused.condition, &refused.why) {
        (Some(n), LedgerRejection::UnknownCondition(_)) => format!("conditions[{n}].type"),
        (Some(n), _) => format!("conditions[{n}]"),
        (None, LedgerRejection::TooManyDaemons(_)) => "source".to_owned(),
        (None, _) => "conditions".to_owned(),
    };
    let code = match refused.why {
        LedgerRejection::UnknownCondition(_) => StatusCode::BAD_REQUEST,
        _ => StatusCode::CONFLICT,
    };
    Rejection::new(code, format!("field `{}`: {}", field(batch, refused.report, &part), refused.why))
}
