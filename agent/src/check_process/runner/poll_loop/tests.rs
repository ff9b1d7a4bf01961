//! Rounds: what the judge receives when devices answer, hang, die, vanish, and which are asked when.

use nodewell_checks::{disk, probe::RawReading};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::check_process::worker::client::tests::fake::{Act, Fake, line, name_of, worker_client_with};

const SHORT: Duration = Duration::from_millis(30);
/// Where some answer and one hangs: long for an answer, short enough to wait for.
const FAIR: Duration = Duration::from_secs(3);
/// Between rounds that are started by hand.
const HOUR: Duration = Duration::from_secs(3600);

/// Stores what it receives.
#[derive(Clone, Default)]
struct RecordingJudge(Arc<Mutex<Vec<Round>>>);

impl Judge for RecordingJudge {
    fn judge(&mut self, round: Round) -> Findings {
        self.0.lock().unwrap().push(round);
        Findings::default()
    }

    fn events(&mut self, events: Vec<RawReading>, now: &Now) -> Findings {
        let answers = events.into_iter().map(|events| ("events".to_owned(), Ok(events))).collect();
        self.judge(Round { now: now.clone(), listed: Ok(Vec::new()), answers })
    }
}

impl RecordingJudge {
    /// The devices of the last round and what came of each, as one label.
    fn last(&self) -> Vec<(String, &'static str)> {
        let rounds = self.0.lock().unwrap();
        rounds.last().unwrap().answers.iter().map(|(device, answer)| (device.clone(), label(answer))).collect()
    }

    fn listed(&self) -> Result<usize, PollError> {
        self.0.lock().unwrap().last().unwrap().listed.clone().map(|devices| devices.len())
    }
}

fn label(answer: &Answer) -> &'static str {
    match answer {
        Ok(_) => "read",
        Err(PollError::NoAnswer(_)) => "silent",
        Err(PollError::Read(ReadError::Failed { .. })) => "failed",
        Err(PollError::Read(_)) => "other",
    }
}

/// Lists `sda`, `sdb`, `sdc`; `sda` does `act`.
fn disks(act: Act) -> Fake {
    Fake::new(move |request| match name_of(request).as_str() {
        "list" => listing(request.id, &["sda", "sdb", "sdc", "sdb", ""], true),
        "sda" => act.clone(),
        _ => Act::Answer,
    })
}

fn listing(id: u64, names: &[&str], has_events: bool) -> Act {
    let names = names.iter().map(ToString::to_string).collect();
    Act::Send(line(id, ReplyBody::Devices { names, has_events, is_fixed: false }))
}

fn poll_loop(deadline: Duration) -> (PollLoop, RecordingJudge) {
    let judge = RecordingJudge::default();
    let timing = PollTiming { interval: HOUR, deadline };
    (PollLoop::new(&disk::CHECK, timing, Box::new(judge.clone()), None), judge)
}

async fn round(poll_loop: &mut PollLoop, worker_client: &mut WorkerClient) {
    poll_loop.round(worker_client, || false).await.unwrap();
}

fn of(device: &str, label: &'static str) -> (String, &'static str) {
    (device.to_owned(), label)
}

#[tokio::test]
async fn every_device_is_asked_once_and_the_next_round_is_due_within_the_interval() {
    let (mut poll_loop, judge) = poll_loop(HOUR);
    let fake = disks(Act::Answer);
    let before = Instant::now();
    round(&mut poll_loop, &mut worker_client_with(&fake)).await;
    let mut answers = judge.last();
    answers.sort();
    assert_eq!(answers, [of("sda", "read"), of("sdb", "read"), of("sdc", "read")]);
    assert!(poll_loop.due >= before + HOUR / 2 && poll_loop.due <= Instant::now() + HOUR);
    assert!(poll_loop.was_judged && poll_loop.listens());
}

#[tokio::test]
async fn one_that_hangs_delays_only_itself() {
    let (mut poll_loop, judge) = poll_loop(FAIR);
    let mut worker_client = worker_client_with(&disks(Act::HangForGood));
    round(&mut poll_loop, &mut worker_client).await;
    let mut answers = judge.last();
    answers.sort();
    assert_eq!(answers, [of("sda", "silent"), of("sdb", "read"), of("sdc", "read")]);
    poll_loop.poll_now();
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(judge.last().last(), Some(&of("sda", "silent")), "the slow one is asked last");
}

#[tokio::test]
async fn one_that_costs_a_worker_is_asked_less_often_until_everything_is_asked_again() {
    for (act, label) in [(Act::Hang, "silent"), (Act::Die, "failed"), (Act::Send(b"nonsense\n".to_vec()), "failed")] {
        let (mut poll_loop, judge) = poll_loop(HOUR);
        if label == "silent" {
            poll_loop.timing.deadline = FAIR;
        }
        let fake = disks(act);
        let mut worker_client = worker_client_with(&fake);
        round(&mut poll_loop, &mut worker_client).await;
        assert!(judge.last().contains(&of("sda", label)), "{:?}", judge.last());
        poll_loop.timing.deadline = HOUR;
        poll_loop.wait_for("sda");
        round(&mut poll_loop, &mut worker_client).await;
        assert_eq!(judge.last().len(), 2, "it rests");
        poll_loop.timing.deadline = FAIR;
        poll_loop.poll_now();
        round(&mut poll_loop, &mut worker_client).await;
        assert!(judge.last().contains(&of("sda", label)));
    }
}

#[tokio::test]
async fn a_rest_grows_and_has_an_end() {
    let (mut poll_loop, _) = poll_loop(HOUR);
    let mut rests = Vec::new();
    for _ in 0..6 {
        let now = Instant::now();
        poll_loop.wait_for("sda");
        rests.push((poll_loop.resting["sda"].0 - now).as_secs() / HOUR.as_secs());
    }
    assert_eq!(rests, [2, 4, 8, 10, 10, 10]);
}

#[tokio::test]
async fn a_device_that_does_not_know_the_command_is_asked_once_in_a_workers_life() {
    let (mut poll_loop, judge) = poll_loop(HOUR);
    let fake = Fake::new(|request| match name_of(request).as_str() {
        "list" => listing(request.id, &["sda"], false),
        _ => {
            let message = "no such log page".to_owned();
            Act::Send(line(request.id, ReplyBody::Error(ReadError::Unsupported { message })))
        }
    });
    let mut worker_client = worker_client_with(&fake);
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(judge.last(), [of("sda", "other")]);
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(judge.last(), []);
    worker_client.end(&disk::CHECK).await;
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(judge.last(), [of("sda", "other")], "another one may know it");
}

#[tokio::test]
async fn when_the_list_hangs_the_known_ones_are_unknown() {
    let (mut poll_loop, judge) = poll_loop(HOUR);
    round(&mut poll_loop, &mut worker_client_with(&disks(Act::Answer))).await;
    poll_loop.timing.deadline = SHORT;
    round(&mut poll_loop, &mut worker_client_with(&Fake::new(|_| Act::Hang))).await;
    assert!(matches!(judge.listed(), Err(PollError::NoAnswer(_))));
    assert!(judge.last().len() == 3 && judge.last().iter().all(|(_, label)| *label == "silent"));
    assert!(!poll_loop.listens());
}

#[tokio::test]
async fn a_list_that_stays_is_asked_once_in_a_workers_life() {
    let (mut poll_loop, judge) = poll_loop(FAIR);
    let fake = Fake::new(|request| match name_of(request).as_str() {
        "list" => {
            let names = vec!["sda".to_owned(), "sdb".to_owned()];
            Act::Send(line(request.id, ReplyBody::Devices { names, has_events: true, is_fixed: true }))
        }
        _ => Act::Answer,
    });
    let lists = || fake.asked().iter().filter(|name| *name == "list").count();
    let mut worker_client = worker_client_with(&fake);
    for _ in 0..3 {
        round(&mut poll_loop, &mut worker_client).await;
        let mut answers = judge.last();
        answers.sort();
        assert_eq!(answers, [of("sda", "read"), of("sdb", "read")]);
        assert!(judge.listed() == Ok(2) && poll_loop.listens());
    }
    assert_eq!((lists(), fake.asked().len()), (1, 7));
    worker_client.end(&disk::CHECK).await;
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(lists(), 2, "another worker may list others");
    let mut hanging = worker_client_with(&Fake::new(|_| Act::Hang));
    poll_loop.timing.deadline = SHORT;
    round(&mut poll_loop, &mut hanging).await;
    assert!(matches!(judge.listed(), Err(PollError::NoAnswer(_))), "what another worker listed is no list of this one");
}

#[tokio::test]
async fn a_check_without_a_driver_runs_less_often() {
    let (mut poll_loop, judge) = poll_loop(HOUR);
    let gone = |request: &crate::check_process::worker::protocol::Request| {
        Act::Send(line(request.id, ReplyBody::Error(ReadError::Gone { what: "no driver".to_owned() })))
    };
    round(&mut poll_loop, &mut worker_client_with(&Fake::new(gone))).await;
    assert!(poll_loop.is_absent);
    assert!(matches!(judge.listed(), Err(PollError::Read(ReadError::Gone { .. }))));
    assert!(poll_loop.due > Instant::now() + HOUR * 4);
    poll_loop.poll_now();
    assert!(poll_loop.due <= Instant::now());
}

#[tokio::test]
async fn what_devices_report_by_themselves_is_judged_and_a_wait_that_hangs_leads_to_a_round() {
    let (mut poll_loop, judge) = poll_loop(HOUR);
    round(&mut poll_loop, &mut worker_client_with(&disks(Act::Answer))).await;
    let xid = Fake::new(|request| {
        Act::Send(line(request.id, ReplyBody::Events(vec![RawReading::of(&json!({"xid": 79})).unwrap()])))
    });
    assert!(poll_loop.listen(&mut worker_client_with(&xid), SHORT).await.is_some());
    assert_eq!(judge.last(), [of("events", "read")]);
    assert!(poll_loop.listen(&mut worker_client_with(&disks(Act::Answer)), SHORT).await.is_none(), "no events");
    poll_loop.timing.deadline = SHORT;
    assert!(poll_loop.listen(&mut worker_client_with(&Fake::new(|_| Act::Hang)), SHORT).await.is_none());
    assert!(poll_loop.due <= Instant::now());
    poll_loop.timing.deadline = HOUR;
    poll_loop.events_paused_until = Instant::now() + HOUR;
    assert!(!poll_loop.listens(), "the next wait would hang too");
}

#[tokio::test]
async fn a_round_that_is_stopped_is_no_round() {
    let (mut poll_loop, judge) = poll_loop(HOUR);
    for act in [Act::Answer, Act::Die] {
        let nothing = Fake::new(move |_| act.clone());
        assert!(poll_loop.round(&mut worker_client_with(&nothing), || true).await.is_none());
    }
    assert!(judge.0.lock().unwrap().is_empty());
    assert!(!poll_loop.was_judged && poll_loop.due <= Instant::now());
}

#[tokio::test]
async fn without_any_list_no_device_was_looked_at() {
    let (mut poll_loop, _) = poll_loop(SHORT);
    round(&mut poll_loop, &mut worker_client_with(&Fake::new(|_| Act::Hang))).await;
    assert!(matches!(poll_loop.unreached, Unreached::Everything(PollError::NoAnswer(_))));
    assert!(!poll_loop.was_judged);
    poll_loop.timing.deadline = HOUR;
    round(&mut poll_loop, &mut worker_client_with(&disks(Act::Answer))).await;
    assert!(poll_loop.was_judged && poll_loop.unreached == Unreached::Nothing);
    poll_loop.timing.deadline = SHORT;
    round(&mut poll_loop, &mut worker_client_with(&Fake::new(|_| Act::Hang))).await;
    assert_eq!(poll_loop.unreached, Unreached::Nothing, "which there are is known");
}

#[tokio::test]
async fn after_two_silent_ones_a_round_ends_and_the_next_reaches_the_rest() {
    let (mut poll_loop, judge) = poll_loop(FAIR);
    let fake = Fake::new(|request| match name_of(request).as_str() {
        "list" => listing(request.id, &["sda", "sdb", "sdc"], false),
        "sdc" => Act::Answer,
        _ => Act::Hang,
    });
    let mut worker_client = worker_client_with(&fake);
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(judge.last(), [of("sda", "silent"), of("sdb", "silent")]);
    assert!(!poll_loop.was_judged && poll_loop.unreached == Unreached::Rest);
    assert!(poll_loop.due <= Instant::now());
    // The silent ones rest for longer than anything here takes.
    poll_loop.resting.values_mut().for_each(|(again, _)| *again += HOUR);
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(judge.last(), [of("sdc", "read")]);
    assert!(poll_loop.was_judged && poll_loop.unreached == Unreached::Nothing);
}

/// Reads a log, and saves how much of it was read.
#[derive(Default)]
struct LogJudge(u32);

impl Judge for LogJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        self.0 += 1;
        Findings::default()
    }

    fn cursor(&self) -> Option<RawReading> {
        RawReading::of(&self.0).ok()
    }
}

#[tokio::test]
async fn a_reader_is_asked_with_the_cursor_of_its_judge() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let cursors = seen.clone();
    let fake = Fake::new(move |request| {
        if let Operation::Read { cursor, .. } = &request.operation {
            cursors.lock().unwrap().push(cursor.as_ref().map(|cursor| cursor.parse::<u32>().unwrap()));
        }
        Act::Answer
    });
    let timing = PollTiming { interval: HOUR, deadline: HOUR };
    let mut poll_loop = PollLoop::new(&disk::CHECK, timing, Box::new(LogJudge::default()), None);
    let mut worker_client = worker_client_with(&fake);
    round(&mut poll_loop, &mut worker_client).await;
    round(&mut poll_loop, &mut worker_client).await;
    assert_eq!(*seen.lock().unwrap(), [Some(0), Some(1)]);
}
