//! Drains a node: makes the calls that `nodewell_remediation::drain` asks for, several at a time, until it reports the
//! end.
//!
//! Guarantees: no call is begun at or after the deadline; every call names the pod's UID; a Node that is gone, or another
//! one of its name, ends it before the next pod is touched; dropping the future stops everything, calls under way included
//! (their pods may then be gone or not). A call that hangs holds up nothing but its own pod.

mod waits;

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_remediation::{
    action::{Done, EventDraft, Failed, Outcome},
    api::fence::DrainReport,
    drain::{DrainNext, DrainRules, DrainState, EvictionResult, PodRemoval, RemovalKind, next},
    facts::{DisruptionBudget, Node, Pod, PodRef},
    time::{Moment, Now},
};
use tokio::time::{sleep, timeout};

use self::waits::Waits;
use crate::{
    api_error::ApiError,
    cluster::{Nodes, Pods},
};

/// A call without an answer for so long is given up, and its pod tried again.
const CALL: Duration = Duration::from_secs(30);
/// After a listing that failed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Ends with [`Done::Drain`], whether every pod is gone or not: the report has it. `state` has what was called, also of
/// a drain that was dropped; `clock` is the controller's own; `account` is shown what was called before each call and
/// sets how many may follow; `emit` receives what is waited for.
pub async fn drain<C: Nodes + Pods>(
    cluster: &C,
    node: &Node,
    rules: &DrainRules,
    state: &mut DrainState,
    clock: impl Fn() -> Now,
    account: impl Fn(&mut DrainState),
    emit: impl AsyncFn(EventDraft),
) -> Outcome {
    let started = clock().moment;
    let mut drain = Drain { node, rules, started, state, waits: Waits::default(), pods: None, trouble: None };
    let mut work = FuturesUnordered::new();
    let perform = |work| perform(cluster, node, rules, &emit, work);
    work.push(perform(Work::Look { after: Duration::ZERO }));
    loop {
        let left = started.plus(rules.timeout).since(clock().moment);
        let event = tokio::select! {
            // The deadline first: what becomes ready in the same instant is not polled any more.
            biased;
            () = sleep(left) => return drain.at_the_deadline(clock()),
            event = work.next() => event,
        };
        account(drain.state);
        let next = event.map(|event| drain.absorb(event, clock()));
        account(drain.state);
        match next {
            Some(Ok(more)) => work.extend(more.into_iter().map(&perform)),
            Some(Err(end)) => return end,
            // There is always a listing under way or to come.
            None => return drain.at_the_deadline(clock()),
        }
    }
}

/// One thing to do at the API server.
enum Work {
    Look { after: Duration },
    Call(PodRemoval),
    Ask(Box<Pod>),
    Emit(EventDraft),
}

/// What came of it.
enum Event {
    /// The UID of the Node, if there is one, and its pods.
    Looked(Result<(Option<String>, Vec<Pod>), ApiError>),
    Called(PodRef, Result<(), ApiError>),
    Asked(PodRef, Result<Vec<DisruptionBudget>, ApiError>),
    Emitted,
}

async fn perform<C: Nodes + Pods>(
    cluster: &C,
    node: &Node,
    rules: &DrainRules,
    emit: &impl AsyncFn(EventDraft),
    work: Work,
) -> Event {
    match work {
        Work::Look { after } => {
            sleep(after).await;
            // Both begin at once: a second call could begin after the deadline.
            let both = async { tokio::join!(cluster.node(&node.name), pods(cluster, node, rules)) };
            Event::Looked(bounded(both).await.and_then(|(node, pods)| Ok((node?.map(|node| node.uid), pods?))))
        }
        Work::Call(call) => {
            let made = async {
                match call.kind {
                    RemovalKind::Evict => cluster.evict(&call.pod, call.grace).await,
                    RemovalKind::Delete => cluster.delete_pod(&call.pod, call.grace).await,
                }
            };
            Event::Called(call.pod.clone(), bounded(made).await.and_then(|answer| answer))
        }
        Work::Ask(pod) => {
            let asked = bounded(cluster.budgets_of(&pod)).await.and_then(|answer| answer);
            Event::Asked(pod.at, asked)
        }
        Work::Emit(event) => {
            let _ = bounded(emit(event)).await;
            Event::Emitted
        }
    }
}

/// What claims are matters to force alone: a pod that may be the one writer of a volume gets the grace to end.
async fn pods<C: Pods>(cluster: &C, node: &Node, rules: &DrainRules) -> Result<Vec<Pod>, ApiError> {
    if rules.force_on_timeout {
        cluster.pods_and_claims_on(&node.name).await
    } else {
        cluster.pods_on(&node.name).await
    }
}

async fn bounded<T>(call: impl Future<Output = T>) -> Result<T, ApiError> {
    let answer = timeout(CALL, call).await;
    answer.map_err(|_| ApiError::NoAnswer(format!("none within {} s", CALL.as_secs())))
}

struct Drain<'a> {
    node: &'a Node,
    rules: &'a DrainRules,
    started: Moment,
    state: &'a mut DrainState,
    waits: Waits,
    /// As they were last listed.
    pods: Option<Vec<Pod>>,
    /// Why the last listing brought nothing.
    trouble: Option<ApiError>,
}

impl Drain<'_> {
    /// What to do next, or the end.
    fn absorb(&mut self, event: Event, now: Now) -> Result<Vec<Work>, Outcome> {
        match event {
            Event::Looked(Ok((uid, pods))) => {
                self.same_node(uid.as_deref())?;
                self.trouble = None;
                self.pods = Some(pods);
                self.plan(now)
            }
            Event::Looked(Err(error)) => {
                self.trouble = Some(error);
                Ok(vec![Work::Look { after: LOOK_AGAIN }])
            }
            Event::Called(pod, answer) => {
                self.state.answered(&pod, answer_of(answer), self.rules.retry, now.moment);
                Ok(Vec::new())
            }
            // Not to know the budget's name is no reason to ask for it again and again.
            Event::Asked(pod, budgets) => {
                self.state.budgets(&pod, budgets.unwrap_or_default());
                Ok(Vec::new())
            }
            Event::Emitted => Ok(Vec::new()),
        }
    }

    fn plan(&mut self, now: Now) -> Result<Vec<Work>, Outcome> {
        let pods = self.pods.as_deref().unwrap_or_default();
        let DrainNext { calls, ask, until, verdict, waits } = next(self.rules, pods, self.state, self.started, now);
        if let Some(report) = verdict {
            return Err(Ok(Done::Drain(report)));
        }
        let mut work = vec![Work::Look { after: until.since(now.moment) }];
        work.extend(self.waits.news(waits, now.moment).map(Work::Emit));
        for call in calls {
            self.state.called(&call.pod, call.forced, now.moment);
            work.push(Work::Call(call));
        }
        let asked = ask.iter().filter_map(|at| pods.iter().find(|pod| pod.at == *at));
        for pod in asked {
            self.state.asked(&pod.at);
            work.push(Work::Ask(Box::new(pod.clone())));
        }
        Ok(work)
    }

    /// Pods of another Node of this name are none of ours.
    fn same_node(&self, found: Option<&str>) -> Result<(), Outcome> {
        match found {
            Some(uid) if uid == self.node.uid => Ok(()),
            Some(uid) => {
                let text = format!("Node {} is another one now (UID {uid})", self.node.name);
                Err(Err(Failed::Gone(text)))
            }
            None => Err(Err(Failed::Gone(format!("Node {} is not there any more", self.node.name)))),
        }
    }

    /// Not one call from here on.
    fn at_the_deadline(&mut self, now: Now) -> Outcome {
        let Some(pods) = self.pods.as_deref() else {
            let why = self.trouble.as_ref().map_or_else(|| "no answer".to_owned(), ToString::to_string);
            let line = format!("the pods of {} could never be listed: {why}", self.node.name);
            return Ok(Done::Drain(DrainReport { done: false, refused_evictions: vec![line], left: 0 }));
        };
        let late = Now { moment: now.moment.max(self.started.plus(self.rules.timeout)), ..now };
        let report = next(self.rules, pods, self.state, self.started, late).verdict;
        Ok(Done::Drain(report.map(|report| self.with_trouble(report)).unwrap_or_default()))
    }

    /// A list that could not be read again proves nothing.
    fn with_trouble(&self, mut report: DrainReport) -> DrainReport {
        if let Some(error) = &self.trouble {
            report.done = false;
            report
                .refused_evictions
                .push(format!("the pods of {} could not be listed at the end: {error}", self.node.name));
        }
        report
    }
}

/// The API server's messages for what has no status code of its own.
const NAMESPACE_TERMINATING: [&str; 2] = ["NamespaceTerminating", "because it is being terminated"];
const SEVERAL_BUDGETS: &str = "more than one PodDisruptionBudget";

fn answer_of(answer: Result<(), ApiError>) -> EvictionResult {
    match answer {
        Ok(()) => EvictionResult::Accepted,
        Err(ApiError::NotFound) => EvictionResult::Gone,
        Err(ApiError::EvictionRefused { message, retry }) => EvictionResult::EvictionRefused { message, retry },
        Err(ApiError::Refused { code, message }) => refused(code, message),
        Err(error @ (ApiError::Conflict(_) | ApiError::NoAnswer(_))) => {
            EvictionResult::Failed { message: error.to_string() }
        }
    }
}

fn refused(code: u16, message: String) -> EvictionResult {
    if code == 403 && NAMESPACE_TERMINATING.iter().any(|words| message.contains(words)) {
        return EvictionResult::NamespaceTerminating;
    }
    if code == 500 && message.contains(SEVERAL_BUDGETS) {
        return EvictionResult::SeveralBudgets { message };
    }
    let message = format!("{message} (HTTP {code})");
    match code {
        400..=499 => EvictionResult::Refused { message },
        _ => EvictionResult::Failed { message },
    }
}

#[cfg(test)]
mod tests;
