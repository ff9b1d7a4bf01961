//! A journald that is killed, restarted or hangs: every entry it took is seen once, and no process waits for it.

use std::{ffi::OsString, time::Duration};

use nix::sys::signal::Signal;
use nodewell_tests::{
    agent::{Agent, Plan},
    journal::Journal,
    suite::{Need, Suite},
    tally::Tally,
    wait::{until, until_within},
};

use crate::{
    journal_entries::{RULES, US},
    lines::{LINE_RULE, TEST_RULES},
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::Journald];
    suite
        .behaviour("journald_restarts")
        .case_with(needs, "what_it_took_is_seen_once", what_it_took_is_seen_once)
        .case_with(needs, "one_that_hangs_stops_no_other", one_that_hangs_stops_no_other)
        .case_with(
            &[Need::LongSuite, Need::Journald],
            "one_that_does_not_run_is_unknown",
            one_that_does_not_run_is_unknown,
        );
}

/// It is looked for every half a minute, and believed to be gone the second time.
const PATIENCE: Duration = Duration::from_secs(180);
/// Entries between two restarts.
const ENTRIES: usize = 50;
/// Events while journald hangs: far more than its socket holds, and fewer than the agent buffers for it.
const FLOOD: usize = 3000;

/// Sends the entries `from..to`, and waits until the journal has them.
pub(crate) fn send_entries(journal: &Journal, from: usize, to: usize) {
    (from..to).for_each(|number| journal.send(&[US, ("MESSAGE", &format!("entry n{number}"))]));
    let last = format!("entry n{}\n", to - 1);
    until("the journal has what was sent", || {
        journal.journalctl(&["--quiet", "-o", "cat", "-n", "1", "-t", US.1]).ends_with(&last).then_some(())
    });
}

/// How often each entry was seen.
pub(crate) fn seen(agent: &Agent) -> Tally {
    Tally::of(&agent.events("TestEntry"))
}

/// Waits until entry `number` was seen.
pub(crate) fn wait_seen(agent: &Agent, number: usize) {
    until(&format!("entry {number} is seen"), || seen(agent).has(number).then_some(()));
}

fn what_it_took_is_seen_once() {
    let mut journal = Journal::start();
    let agent = Plan::default().rules(RULES).wrapped_in(journal.enter()).start();
    let mut sent = 0;
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGKILL] {
        // What the agent has not read when journald dies is in the file that it leaves behind.
        agent.pause();
        send_entries(&journal, sent, sent + ENTRIES);
        journal.restart(signal);
        agent.resume();
        send_entries(&journal, sent + ENTRIES, sent + 2 * ENTRIES);
        sent += 2 * ENTRIES;
    }
    wait_seen(&agent, sent - 1);
    seen(&agent).assert_once_each(0..sent);
    assert!(agent.events("RecordsLost").is_empty(), "{:?}", agent.events("RecordsLost"));
}

/// Its files can be read all the while; a restart is no such time.
fn one_that_does_not_run_is_unknown() {
    let mut journal = Journal::start();
    let agent = Plan::default().wrapped_in(journal.enter()).start();
    let wait = |status: &str| {
        until_within(PATIENCE, &format!("FrequentKubeletRestart {status}"), || {
            agent.condition("FrequentKubeletRestart").filter(|condition| condition.status.as_str() == status)
        })
    };
    wait("False");
    journal.end(Signal::SIGKILL);
    let unknown = wait("Unknown");
    assert_eq!(unknown.reason.as_str(), "JournaldNotRunning", "{}", unknown.message);
    assert!(unknown.message.contains("systemctl start systemd-journald"), "{}", unknown.message);
    let doctor = agent.nodewell(&["doctor"]);
    assert!(doctor.stdout.contains("systemd-journald does not run"), "{}", doctor.stdout);
    // As on any node, something is written all the time.
    journal.begin();
    let mut number = 0;
    until_within(PATIENCE, "it is well again", || {
        send_entries(&journal, number, number + 1);
        number += 1;
        (agent.condition("FrequentKubeletRestart")?.status.as_str() == "False").then_some(())
    });
}

fn one_that_hangs_stops_no_other() {
    let journal = Journal::start();
    let rules = [TEST_RULES, LINE_RULE].concat();
    let agent = Plan::default().rules(&rules).wrapped_in([journal.enter(), as_a_service()].concat()).start();
    agent.wait_condition("TestUnhealthy", "False");
    journal.hang();
    (0..FLOOD).for_each(|number| agent.kmsg().write(&format!("test: line n{number}")));
    // Each of these is worth lines of the agent's own log, too.
    (0..20).for_each(|_| agent.reload());
    agent.kmsg().write("test: fault on a");
    agent.wait_condition("TestUnhealthy", "True");
    Tally::of(&agent.events("TestLine")).assert_once_each(0..FLOOD);
    assert!(agent.get("/readyz").unwrap().status.is_success());
    journal.go_on();
    until("the journal has what was written meanwhile", || {
        let found = journal.journalctl(&["--quiet", "-o", "cat", "NODEWELL_CONDITION=TestUnhealthy"]);
        found.contains("TestUnhealthy is True").then_some(())
    });
    let reported = |filter: &str| {
        let found = journal.journalctl(&["--quiet", "-o", "cat", "--output-fields=NODEWELL_COUNT", filter]);
        found.lines().filter_map(|count| count.parse::<usize>().ok()).sum::<usize>()
    };
    let (entries, skipped) = (reported("NODEWELL_REASON=TestLine"), reported(SKIPPED));
    assert!(entries + skipped >= FLOOD, "{entries} in the journal and {skipped} counted of {FLOOD}");
}

/// With stdout and stderr on the journal and `JOURNAL_STREAM` set, as systemd does it.
fn as_a_service() -> Vec<OsString> {
    let script = "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$@\"";
    ["systemd-cat", "sh", "-c", script, "sh"].map(OsString::from).to_vec()
}

/// The entry that counts events for which the journal was too slow.
const SKIPPED: &str = "MESSAGE_ID=d5f2c7b09a1e4b7c8e5a3f60b1c2d903";
