//! Ids of reports that are sent again: by the daemon whose agent was killed, after its end, and by another peer that has read or
//! guessed them.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use nodewell_tests::{
    agent::{Agent, Plan},
    intruder::Intruder,
    suite::{Need, Suite},
};
use serde_json::{Value, json};

use crate::lines::TEST_RULES;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_ids")
        .case("an_id_is_remembered_over_a_kill", an_id_is_remembered_over_a_kill)
        .case("an_old_last_report_withdraws_nothing", an_old_last_report_withdraws_nothing)
        .case_with(&[Need::Root], "an_id_of_another_peer_is_another_id", an_id_of_another_peer);
}

const OTHER: Intruder = Intruder { uid: 60_004, capabilities: &[] };

fn agent() -> Agent {
    let grant = format!("[[grant]]\nuser = \"{}\"\nconditions = [\"TestUnhealthy\"]\nevents = true\n", OTHER.uid);
    Plan::default().rules(TEST_RULES).config(&grant).start()
}

fn report(id: &str, status: &str) -> Value {
    let at = "2026-11-21T02:00:00Z";
    let event = json!({"severity": "info", "timestamp": at, "reason": "RaidSeen", "message": "m"});
    let condition = json!({"type": "TestUnhealthy", "status": status, "reason": "RaidDegraded", "subject": "md0",
        "transition": at, "message": "md0 lost a disk"});
    json!({"source": "raid", "id": id, "events": [event], "conditions": [condition]})
}

fn take(agent: &Agent, report: &Value) {
    let answer = agent.post("/v1/status", &report.to_string());
    assert_eq!(answer.code(), 200, "{}", answer.body);
}

fn status(agent: &Agent) -> String {
    agent.condition("TestUnhealthy").unwrap().status.as_str().to_owned()
}

/// The answer was lost with the agent: the daemon sends it again, and it counts once.
fn an_id_is_remembered_over_a_kill() {
    let mut agent = agent();
    take(&agent, &report("one", "True"));
    take(&agent, &report("two", "False"));
    agent.restart();
    let before = agent.events("RaidSeen").len();
    take(&agent, &report("one", "True"));
    assert_eq!(status(&agent), "False", "an older report does not undo a newer one");
    assert_eq!(agent.events("RaidSeen").len(), before);
}

/// A daemon that has stopped and started again is not ended by the end of its earlier run.
fn an_old_last_report_withdraws_nothing() {
    let agent = agent();
    let last = json!({"source": "raid", "id": "bye", "last": true});
    take(&agent, &report("one", "True"));
    take(&agent, &last);
    take(&agent, &report("two", "True"));
    take(&agent, &last);
    assert_eq!(status(&agent), "True", "withdrawn by a report of before");
}

/// A peer with a grant sends what it has seen of another one, in its name and with its ids, before that one does.
fn an_id_of_another_peer() {
    let agent = agent();
    fs::set_permissions(agent.plan().folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let body = agent.plan().file("report.json", &report("one", "False").to_string());
    let argv = OTHER.enter();
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).args(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket"]);
    command.arg(agent.socket()).args(["-H", "Content-Type: application/json", "http://localhost/v1/status"]);
    let output = command.arg("--data-binary").arg(format!("@{}", body.display())).output().unwrap();
    let code = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(matches!(&*code, "200" | "202"), "{code}");
    take(&agent, &report("one", "True"));
    assert_eq!(status(&agent), "True", "the first peer's report was taken for the second's");
}
