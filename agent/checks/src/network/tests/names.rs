use std::sync::atomic::{AtomicBool, Ordering};

use crate::probe::{NoAnswer, ReadError};
use nodewell_sys::names::LookupError;

use super::*;

fn settings() -> NetworkSettings {
    NetworkSettings { names: Some(vec!["api.example".to_owned()]), ..NetworkSettings::default() }
}

fn unanswered(_: &str) -> Result<(), LookupError> {
    Err(LookupError::Failed { message: "Temporary failure in name resolution".to_owned() })
}

#[test]
fn a_resolver_that_gives_no_answer_three_times_is_a_fault_until_it_gave_two() {
    static ANSWERS: AtomicBool = AtomicBool::new(false);
    let lookup = |name: &str| if ANSWERS.load(Ordering::SeqCst) { Ok(()) } else { unanswered(name) };
    let mut machine = Machine::with(settings()).asking(lookup);
    assert_eq!(
        reported(&machine.during(30), "dns"),
        ["healthy: api.example was not resolved the last time (limit 3 times in a row)"]
    );
    let lost = ["DnsUnreachable: api.example is not resolved: Temporary failure in name resolution \
         (limit 3 times in a row); \
         query each server of /etc/resolv.conf with dig"];
    assert_eq!(reported(&machine.after(15), "dns"), lost);
    ANSWERS.store(true, Ordering::SeqCst);
    assert_eq!(
        reported(&machine.after(15), "dns"),
        ["DnsUnreachable: api.example is resolved again, fewer than 2 times in a row; \
             query each server of /etc/resolv.conf with dig"]
    );
    // The next question comes a minute later: another resolver asks at once.
    let mut machine = machine.asking(lookup);
    assert_eq!(reported(&machine.after(15), "dns"), ["healthy: api.example is resolved in 100 ms or less"]);
}

#[test]
fn no_such_name_is_an_answer() {
    let mut machine = Machine::with(settings()).asking(|_| Err(LookupError::NoSuchName));
    assert_eq!(reported(&machine.during(600), "dns"), ["healthy: api.example is resolved in 100 ms or less"]);
}

#[test]
fn a_worker_that_hangs_is_no_answer() {
    let mut machine = Machine::with(settings()).asking(|_| Ok(()));
    let silent = || {
        let message = "no answer within 10 s".to_owned();
        PollError::NoAnswer(NoAnswer::asked(Timestamp::UNIX_EPOCH, message))
    };
    let round = |machine: &mut Machine| {
        let (now, listed) = (machine.now(), Ok(vec![LINKS.to_owned(), DNS.to_owned()]));
        machine.judge.judge(Round { now, listed, answers: vec![(DNS.to_owned(), Err(silent()))] })
    };
    machine.after(0);
    assert_eq!(reported(&round(&mut machine), "dns"), ["healthy: no answer of the resolver yet"]);
    round(&mut machine);
    assert_eq!(
        reported(&round(&mut machine), "dns"),
        ["DnsUnreachable: the resolver does not answer (limit 3 times in a row); \
     query each server of /etc/resolv.conf with dig"]
    );
}

#[test]
fn who_may_not_ask_reports_nothing() {
    let mut machine = Machine::with(settings()).asking(unanswered);
    machine.during(60);
    let unsupported = PollError::Read(ReadError::Unsupported { message: "sandbox".to_owned() });
    let (now, listed) = (machine.now(), Ok(vec![LINKS.to_owned(), DNS.to_owned()]));
    let findings = machine.judge.judge(Round { now, listed, answers: vec![(DNS.to_owned(), Err(unsupported))] });
    assert_eq!(reported(&findings, "dns"), ["nothing"]);
}

#[test]
fn what_was_lost_is_lost_after_a_restart() {
    let mut machine = Machine::with(settings()).asking(unanswered);
    machine.during(60);
    machine.restart();
    let mut machine = machine.asking(unanswered);
    assert_eq!(
        reported(&machine.after(15), "dns"),
        ["DnsUnreachable: api.example is not resolved: Temporary failure in name resolution \
             (limit 3 times in a row); \
             query each server of /etc/resolv.conf with dig"]
    );
}
