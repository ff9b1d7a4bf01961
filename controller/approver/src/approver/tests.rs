//! Requests over time: approved once, tried again, taken in portions, never after the term.

use std::{cell::RefCell, rc::Rc};

use nodewell_remediation::time::Moment;
use tokio::{sync::watch, time::Instant};

use super::*;
use crate::rule::{Csr, GROUP, Key, SIGNER};

fn request(node: &str, by: &str) -> Request {
    Request {
        name: format!("nodewell-{node}-0"),
        uid: format!("uid-{node}"),
        resource_version: "1".into(),
        decided: false,
        signer: SIGNER.into(),
        username: format!("system:node:{by}"),
        groups: vec!["system:nodes".into()],
        usages: vec!["client auth".into(), "digital signature".into()],
        expiration_seconds: Some(86_400),
        size_bytes: 500,
        csr: Ok(Csr {
            common_names: vec![format!("nodewell:node:{node}")],
            organizations: vec![GROUP.into()],
            key: Key::Ec(256),
            self_signed: true,
            ..Csr::default()
        }),
    }
}

/// Which request, what, and the message.
type Decision = (String, &'static str, String);

#[derive(Debug, Clone, Default)]
struct Double {
    all: Rc<RefCell<Vec<Request>>>,
    decisions: Rc<RefCell<Vec<Decision>>>,
    error: Rc<RefCell<Option<ApiError>>>,
}

impl Double {
    fn of(all: Vec<Request>) -> Self {
        Self { all: Rc::new(RefCell::new(all)), ..Self::default() }
    }

    fn decide(&self, request: &Request, what: &'static str, message: &str) -> Result<(), ApiError> {
        if let Some(error) = self.error.borrow_mut().take() {
            return Err(error);
        }
        self.decisions.borrow_mut().push((request.name.clone(), what, message.to_owned()));
        let mut all = self.all.borrow_mut();
        all.iter_mut().filter(|one| one.uid == request.uid).for_each(|one| one.decided = true);
        Ok(())
    }
}

impl Requests for Double {
    async fn all(&self) -> Result<Vec<Request>, ApiError> {
        Ok(self.all.borrow().clone())
    }

    async fn approve(&self, request: &Request, message: &str) -> Result<(), ApiError> {
        self.decide(request, "approved", message)
    }

    async fn deny(&self, request: &Request, message: &str) -> Result<(), ApiError> {
        self.decide(request, "denied", message)
    }
}

fn clock() -> impl Fn() -> Now {
    let start = Instant::now();
    move || Now { moment: Moment(start.elapsed()), wall: jiff::Timestamp::UNIX_EPOCH }
}

fn lease_deadline(until: u64) -> (watch::Sender<Moment>, LeaseDeadline) {
    let (sender, receiver) = watch::channel(Moment(Duration::from_secs(until)));
    (sender, LeaseDeadline::new(1, receiver))
}

#[tokio::test(start_paused = true)]
async fn what_fits_is_approved_once_and_what_does_not_waits_for_a_person() {
    let double = Double::of(vec![request("n1", "n1"), request("n2", "n3")]);
    let (_keep, lease_deadline) = lease_deadline(60);
    let mut approver = Approver::new(double.clone(), Rule::default());
    approver.round(&clock(), &lease_deadline).await;
    approver.round(&clock(), &lease_deadline).await;
    let message = "asked by system:node:n1, for node n1 and nothing else".to_owned();
    assert_eq!(*double.decisions.borrow(), [("nodewell-n1-0".to_owned(), "approved", message)]);
    let waiting: Vec<&str> = approver.waiting().map(|(_, rejection)| rejection.reason()).collect();
    assert_eq!(waiting, ["AnotherNode"]);
    assert_eq!(*approver.refused(), [("AnotherNode", 1)].into(), "once");
    double.all.borrow_mut().clear();
    approver.round(&clock(), &lease_deadline).await;
    assert_eq!(approver.waiting().count(), 0, "it was collected");
}

#[tokio::test(start_paused = true)]
async fn forgeries_are_denied_only_if_the_operator_says_so() {
    let double = Double::of(vec![request("n2", "n3")]);
    let (_keep, lease_deadline) = lease_deadline(60);
    let mut approver = Approver::new(double.clone(), Rule { deny_forged: true, ..Rule::default() });
    approver.round(&clock(), &lease_deadline).await;
    assert_eq!(double.decisions.borrow()[0].1, "denied");
    assert_eq!(approver.counts(), Counts { denied: 1, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_failed_decision_is_tried_again_and_a_lost_race_is_no_failure() {
    let double = Double::of(vec![request("n1", "n1")]);
    let (_keep, lease_deadline) = lease_deadline(60);
    let mut approver = Approver::new(double.clone(), Rule::default());
    *double.error.borrow_mut() = Some(ApiError::Conflict("changed".into()));
    approver.round(&clock(), &lease_deadline).await;
    assert_eq!(approver.counts(), Counts::default());
    *double.error.borrow_mut() = Some(ApiError::NoAnswer("timeout".into()));
    approver.round(&clock(), &lease_deadline).await;
    approver.round(&clock(), &lease_deadline).await;
    assert_eq!(approver.counts(), Counts { approved: 1, failures: 1, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_taken_in_portions_until_the_term_is_over() {
    let all = (0..120).map(|number| request(&format!("n{number}"), &format!("n{number}"))).collect();
    let double = Double::of(all);
    let (_keep, ahead) = lease_deadline(7);
    let mut approver = Approver::new(double.clone(), Rule::default());
    let run = approver.run(clock(), ahead, |_| {});
    assert!(tokio::time::timeout(Duration::from_secs(60), run).await.is_ok(), "it ends with the term");
    assert_eq!(double.decisions.borrow().len(), 100, "at 0 and 5 s");
    let (_keep, over) = lease_deadline(0);
    approver.round(&clock(), &over).await;
    assert_eq!(double.decisions.borrow().len(), 100);
}
