//! A journal that is rotated and vacuumed under its reader: what was there to read is seen once, what was removed
//! before it could be read is reported as lost, and nothing else is.

use nodewell_tests::{
    agent::{Agent, Plan},
    journal::Journal,
    suite::{Need, Suite},
    wait::until,
};

use crate::{
    journal_entries::{RULES, US},
    journald_restarts::{seen, send_entries, wait_seen},
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::Journald];
    suite
        .behaviour("journal_rotates_and_vacuums")
        .case_with(needs, "rotations_under_load_lose_nothing", rotations_under_load_lose_nothing)
        .case_with(needs, "what_was_read_may_be_vacuumed", what_was_read_may_be_vacuumed)
        .case_with(needs, "what_was_not_read_is_reported_as_lost", what_was_not_read_is_reported_as_lost);
}

/// Fewer than the events that an agent stores.
const LOAD: usize = 3000;
const ROTATIONS: usize = 10;

fn reader(journal: &Journal) -> Agent {
    Plan::default().rules(RULES).wrapped_in(journal.enter()).start()
}

fn lost(agent: &Agent) -> Vec<String> {
    agent.events("RecordsLost").into_iter().map(|event| event.message).collect()
}

fn rotations_under_load_lose_nothing() {
    let journal = Journal::start();
    let agent = reader(&journal);
    for number in 0..LOAD {
        journal.send(&[US, ("MESSAGE", &format!("entry n{number}"))]);
        if number % (LOAD / ROTATIONS) == 0 {
            // What journald has not taken yet is in its socket, and goes to the new file.
            journal.journalctl(&["--rotate"]);
        }
    }
    wait_seen(&agent, LOAD - 1);
    seen(&agent).assert_once_each(0..LOAD);
    assert_eq!(lost(&agent), Vec::<String>::new());
}

fn what_was_read_may_be_vacuumed() {
    let journal = Journal::start();
    let agent = reader(&journal);
    for round in 0..4 {
        send_entries(&journal, round * 10, round * 10 + 10);
        wait_seen(&agent, round * 10 + 9);
        journal.rotate_and_vacuum();
    }
    send_entries(&journal, 40, 41);
    wait_seen(&agent, 40);
    seen(&agent).assert_once_each(0..41);
    assert_eq!(lost(&agent), Vec::<String>::new());
}

fn what_was_not_read_is_reported_as_lost() {
    let journal = Journal::start();
    let agent = reader(&journal);
    send_entries(&journal, 0, 10);
    wait_seen(&agent, 9);
    agent.pause();
    send_entries(&journal, 10, 60);
    journal.rotate_and_vacuum();
    send_entries(&journal, 60, 70);
    agent.resume();
    wait_seen(&agent, 69);
    // The vacuum took those between.
    seen(&agent).assert_once_each((0..10).chain(60..70));
    let lost = until("the loss is reported", || Some(lost(&agent)).filter(|lost| !lost.is_empty()));
    assert!(lost.len() == 1 && lost[0].contains("vacuumed"), "{lost:?}");
}
