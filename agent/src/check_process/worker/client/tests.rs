//! The worker client against workers that answer, hang, die, send nonsense, and cannot be killed.

pub(in crate::check_process) mod fake;

use std::time::Duration;

use fake::{Act, Fake, name_of, shell, worker_client_with, worker_config};
use nodewell_checks::{
    disk,
    probe::{RawReading, ReadError},
};
use serde_json::json;

use super::*;

/// For what answers: never reached.
const PLENTY: Duration = Duration::from_secs(60);
/// For what never answers.
const SHORT: Duration = Duration::from_millis(30);

async fn read(worker_client: &mut WorkerClient, device: &str, deadline: Duration) -> Outcome {
    worker_client.request(&disk::CHECK, Operation::Read { device: device.to_owned(), cursor: None }, deadline).await
}

fn reading(device: &str) -> Outcome {
    Outcome::Reply(ReplyBody::Reading(RawReading::of(&json!({ "of": device })).unwrap()))
}

fn no_answer(outcome: Outcome) -> String {
    let Outcome::NoAnswer(no_answer) = outcome else { panic!("{outcome:?}") };
    no_answer.message
}

fn broken(outcome: Outcome) -> String {
    let Outcome::Broken(how) = outcome else { panic!("{outcome:?}") };
    how
}

/// `sda` does `act`; the others answer.
fn but_sda(act: Act) -> Fake {
    Fake::new(move |request| if name_of(request) == "sda" { act.clone() } else { Act::Answer })
}

#[tokio::test]
async fn one_worker_answers_one_request_after_the_other() {
    let fake = Fake::new(|_| Act::Answer);
    let mut worker_client = worker_client_with(&fake);
    for device in ["sda", "sdb", "sda"] {
        assert_eq!(read(&mut worker_client, device, PLENTY).await, reading(device));
    }
    let listed = worker_client.request(&disk::CHECK, Operation::List, PLENTY).await;
    let names = vec!["sda".to_owned()];
    assert_eq!(listed, Outcome::Reply(ReplyBody::Devices { names, has_events: false, is_fixed: false }));
    assert_eq!(fake.started(), 1);
    assert_eq!(fake.worker_config(), Some(worker_config()));
}

#[tokio::test]
async fn one_that_hangs_is_killed_and_the_next_request_has_a_fresh_one() {
    let fake = but_sda(Act::Hang);
    let mut worker_client = worker_client_with(&fake);
    assert_eq!(no_answer(read(&mut worker_client, "sda", SHORT).await), "no answer within 0.03 s");
    assert_eq!(fake.killed(), 1);
    assert_eq!(read(&mut worker_client, "sdb", PLENTY).await, reading("sdb"));
    assert_eq!(no_answer(read(&mut worker_client, "sda", SHORT).await), "no answer within 0.03 s", "it is asked again");
    assert_eq!(fake.started(), 2);
}

#[tokio::test]
async fn while_one_cannot_be_killed_its_device_is_not_asked_again() {
    let fake = but_sda(Act::HangForGood);
    let mut worker_client = worker_client_with(&fake);
    assert_eq!(no_answer(read(&mut worker_client, "sda", SHORT).await), "its worker, pid 1, is stuck in the kernel");
    assert_eq!(read(&mut worker_client, "sdb", PLENTY).await, reading("sdb"));
    let before = fake.asked();
    assert_eq!(no_answer(read(&mut worker_client, "sda", PLENTY).await), "its worker, pid 1, is stuck in the kernel");
    assert_eq!(fake.asked(), before, "it was not asked");
    assert_eq!(worker_client.stuck.summary().unwrap(), "workers stuck in the kernel at sda; 1 since the start");
    assert!(!worker_client.stuck.reap());
    fake.let_go(1);
    assert!(worker_client.stuck.reap());
    assert_eq!(worker_client.stuck.summary(), None);
    assert_eq!(no_answer(read(&mut worker_client, "sda", SHORT).await), "its worker, pid 2, is stuck in the kernel");
}

#[tokio::test]
async fn after_two_that_are_stuck_no_device_is_asked_until_one_is_gone() {
    let fake = Fake::new(|request| if name_of(request) == "sdc" { Act::Answer } else { Act::HangForGood });
    let mut worker_client = worker_client_with(&fake);
    for device in ["sda", "sdb"] {
        assert!(no_answer(read(&mut worker_client, device, SHORT).await).contains("is stuck in the kernel"));
    }
    assert!(worker_client.stuck.are_many());
    assert_eq!(
        no_answer(read(&mut worker_client, "sdc", PLENTY).await),
        "not asked: the workers of 2 others are stuck in the kernel"
    );
    assert_eq!(fake.started(), 2);
    fake.let_go(1);
    assert!(worker_client.stuck.reap());
    assert_eq!(read(&mut worker_client, "sdc", PLENTY).await, reading("sdc"));
}

#[tokio::test]
async fn one_that_dies_is_reported_and_replaced() {
    let fake = but_sda(Act::Die);
    let mut worker_client = worker_client_with(&fake);
    assert_eq!(broken(read(&mut worker_client, "sda", PLENTY).await), "its worker ended: signal: 11");
    assert_eq!(read(&mut worker_client, "sdb", PLENTY).await, reading("sdb"));
    assert_eq!(fake.started(), 2);
}

#[tokio::test]
async fn one_that_ended_between_two_requests_is_replaced_and_no_device_is_blamed() {
    let fake = Fake::new(|_| Act::Answer);
    let mut worker_client = worker_client_with(&fake);
    assert_eq!(read(&mut worker_client, "sda", PLENTY).await, reading("sda"));
    fake.let_go(1);
    assert_eq!(read(&mut worker_client, "sdb", PLENTY).await, reading("sdb"));
    assert_eq!(fake.started(), 2);
}

#[tokio::test]
async fn nonsense_is_no_reply_and_costs_the_worker() {
    let long = vec![b'x'; LINE_LIMIT_BYTES + 1];
    for (bytes, expected) in [
        (&b"nonsense\n"[..], "what is no reply"),
        (b"\xff\xfe\n", "what is no reply"),
        (b"{\"id\":1,\"body\":{\"reading\":[[[[\n", "what is no reply"),
        (b"{\"id\":1,\"body\":{\"devices\":{\"names\":[],\"has_events\":true}}}\n", "its reply is to another request"),
        (&long, "more than 1048576 bytes"),
    ] {
        let fake = but_sda(Act::Send(bytes.to_vec()));
        let mut worker_client = worker_client_with(&fake);
        let how = broken(read(&mut worker_client, "sda", PLENTY).await);
        assert!(how.contains(expected), "{how}");
        assert_eq!(fake.killed(), 1);
        assert_eq!(read(&mut worker_client, "sdb", PLENTY).await, reading("sdb"));
    }
}

#[tokio::test]
async fn replies_to_other_requests_are_dropped_and_many_of_them_are_nonsense() {
    let late = b"{\"id\":999,\"body\":{\"reading\":\"of another request\"}}\n";
    let fake = but_sda(Act::SendAndAnswer(late.repeat(LATE_REPLIES_LIMIT - 1)));
    assert_eq!(read(&mut worker_client_with(&fake), "sda", PLENTY).await, reading("sda"));
    let fake = but_sda(Act::SendAndAnswer(late.repeat(LATE_REPLIES_LIMIT)));
    assert_eq!(broken(read(&mut worker_client_with(&fake), "sda", PLENTY).await), "its reply belongs to no request");
}

#[tokio::test]
async fn a_late_reply_is_not_taken_for_the_next_requests() {
    let twice = b"{\"id\":1,\"body\":{\"reading\":\"late\"}}\n";
    let fake = but_sda(Act::AnswerAndSend(twice.to_vec()));
    let mut worker_client = worker_client_with(&fake);
    assert_eq!(read(&mut worker_client, "sda", PLENTY).await, reading("sda"));
    assert_eq!(read(&mut worker_client, "sdb", PLENTY).await, reading("sdb"));
    assert_eq!(fake.started(), 1);
}

#[tokio::test]
async fn an_error_of_the_reader_is_a_reply() {
    let error = b"{\"id\":1,\"body\":{\"error\":{\"error\":\"denied\",\"message\":\"root only\"}}}\n";
    let fake = but_sda(Act::Send(error.to_vec()));
    let mut worker_client = worker_client_with(&fake);
    let denied = ReadError::Denied { message: "root only".to_owned() };
    assert_eq!(read(&mut worker_client, "sda", PLENTY).await, Outcome::Reply(ReplyBody::Error(denied)));
    assert_eq!(fake.killed(), 0);
}

#[tokio::test]
async fn where_no_process_can_be_started_that_is_reported() {
    let fake = Fake::new(|_| Act::Answer);
    fake.refuse();
    let how = broken(read(&mut worker_client_with(&fake), "sda", PLENTY).await);
    assert!(how.starts_with("no worker can be started: "), "{how}");
}

#[tokio::test]
async fn a_client_that_was_ended_has_no_worker() {
    let fake = Fake::new(|_| Act::Answer);
    let mut worker_client = worker_client_with(&fake);
    read(&mut worker_client, "sda", PLENTY).await;
    worker_client.end(&disk::CHECK).await;
    assert_eq!(fake.killed(), 1);
    assert_eq!(read(&mut worker_client, "sda", PLENTY).await, reading("sda"));
    assert_eq!(fake.started(), 2);
}

#[tokio::test]
async fn a_real_process_that_is_stopped_dies_and_one_that_ends_is_reported_with_its_status() {
    let mut worker_client = WorkerClient::new(Box::new(shell("kill -STOP $$")), worker_config());
    assert_eq!(no_answer(read(&mut worker_client, "sda", SHORT).await), "no answer within 0.03 s");
    assert_eq!(worker_client.stuck.summary(), None);
    let mut worker_client =
        WorkerClient::new(Box::new(shell("read worker_config; read request; exit 3")), worker_config());
    assert_eq!(broken(read(&mut worker_client, "sda", PLENTY).await), "its worker ended: exit status: 3");
}
