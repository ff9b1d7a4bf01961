//! The journal: a real one is followed across rotation, an absent one is Unknown and nothing else suffers.

use std::process::Command;

use nodewell_tests::{
    agent::Plan,
    journal::Journal,
    suite::{Need, Suite},
};

use crate::lines::OOPS;

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::Journald];
    suite
        .behaviour("journal")
        .case("an_absent_journal_is_unknown_and_the_rest_works", an_absent_journal_is_unknown_and_the_rest_works)
        .case_with(needs, "an_entry_makes_an_event", an_entry_makes_an_event)
        .case_with(needs, "rotation_loses_nothing", rotation_loses_nothing)
        .case_with(needs, "no_other_process_speaks_for_systemd", no_other_process_speaks_for_systemd);
}

pub(crate) const RULES: &str = r#"
[[rule]]
reason = "TestEntry"
type = "temporary"
source = "journal"
severity = "warn"
where = { SYSLOG_IDENTIFIER = "nodewell-tests" }
pattern = '^entry (?P<subject>\w+)'
matches = [{ text = "entry one", subject = "one", fields = { SYSLOG_IDENTIFIER = "nodewell-tests" } }]
ignores = ["entry one"]
"#;

pub(crate) const US: (&str, &str) = ("SYSLOG_IDENTIFIER", "nodewell-tests");

fn an_absent_journal_is_unknown_and_the_rest_works() {
    let plan = Plan::default();
    let nowhere = plan.folder().join("no-journal");
    let agent = plan.config(&format!("[journal]\ndirectory = {nowhere:?}\n")).start();
    let unknown = agent.wait_condition("FrequentKubeletRestart", "Unknown");
    assert!(unknown.message.contains("journal"), "{}", unknown.message);
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
}

fn an_entry_makes_an_event() {
    let journal = Journal::start();
    let agent = Plan::default().rules(RULES).wrapped_in(journal.enter()).start();
    journal.send(&[US, ("MESSAGE", "entry alpha")]);
    let event = agent.wait_event("TestEntry");
    assert_eq!((event.subject.as_deref(), event.source.as_str()), (Some("alpha"), "journal-monitor"));
}

fn rotation_loses_nothing() {
    let journal = Journal::start();
    let agent = Plan::default().rules(RULES).wrapped_in(journal.enter()).start();
    for subject in ["one", "two", "three"] {
        journal.send(&[US, ("MESSAGE", &format!("entry {subject}"))]);
        let mut rotate = journal.enter();
        rotate.extend(["journalctl", "--rotate"].map(Into::into));
        assert!(Command::new(&rotate[0]).args(&rotate[1..]).status().unwrap().success());
        let subject = Some(subject.to_owned());
        nodewell_tests::wait::until("the entry is seen", || {
            agent.events("TestEntry").into_iter().find(|event| event.subject == subject)
        });
    }
    assert_eq!(agent.events("TestEntry").len(), 3);
}

/// The shipped rules believe `_PID=1`, which journald sets and we cannot.
fn no_other_process_speaks_for_systemd() {
    let journal = Journal::start();
    let agent = Plan::default().wrapped_in(journal.enter()).start();
    agent.wait_condition("FrequentKubeletRestart", "False");
    let before = agent.daemon("journal-monitor").unwrap().records;
    let started = ("MESSAGE_ID", "39f53479d3a045ac8e11786248231fbf");
    for pid in ["1", "2"] {
        let entry =
            [("MESSAGE", "Started kubelet.service - kubelet."), started, ("UNIT", "kubelet.service"), ("_PID", pid)];
        journal.send(&entry);
    }
    nodewell_tests::wait::until("both are read", || {
        agent.daemon("journal-monitor").filter(|daemon| daemon.records >= before + 2)
    });
    assert!(agent.events("KubeletStart").is_empty());
}
