//! `nodewell report`: a script as a problem daemon, and what its exit code means.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use nodewell_tests::{
    agent::Agent,
    cli::{binary, nodewell},
    suite::Suite,
    wait::until,
};

use crate::report_api::agent;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_cli")
        .case("a_script_reports_and_withdraws", a_script_reports_and_withdraws)
        .case("what_was_ended_stays_so_through_a_kill", what_was_ended_stays_so_through_a_kill)
        .case("what_a_silent_daemon_left_is_cleared", what_a_silent_daemon_left_is_cleared)
        .case("a_daemon_that_is_gone_is_forgotten", a_daemon_that_is_gone_is_forgotten)
        .case("a_pipe_reports_value_by_value", a_pipe_reports_value_by_value)
        .case("exit_codes_distinguish_refused_from_unreachable", exit_codes_distinguish_refused_from_unreachable);
}

fn run(agent: &Agent, args: &[&str]) {
    let outcome = agent.nodewell(&[&["report", "--source", "raid"], args].concat());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
}

fn a_script_reports_and_withdraws() {
    let agent = agent();
    let of_md0 = ["--subject", "md0"];
    run(&agent, &[&["--condition", "RaidProblem=true", "--reason", "RaidDegraded"][..], &of_md0].concat());
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!((view.status.as_str(), view.problems[0].severity.as_str()), ("True", "warn"));
    run(&agent, &["--condition", "RaidProblem=unknown", "--subject", "md0", "--message", "mdadm hangs"]);
    assert!(agent.condition("RaidProblem").unwrap().problems[0].unconfirmed_since.is_some());
    run(&agent, &[&["--condition", "RaidProblem=false"][..], &of_md0].concat());
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
    run(&agent, &["--event", "RaidRebuilt", "--severity", "info", "--message", "md0 is whole"]);
    assert_eq!(agent.events("RaidRebuilt").len(), 1);
    run(&agent, &["--heartbeat", "--ttl", "10m"]);
    run(&agent, &["--last"]);
    assert!(agent.condition("RaidProblem").is_none());
    let again = agent.nodewell(&["report", "--source", "raid", "--last"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, ""), "a hook may always say it");
    let warning = "warning: the last report has ended nothing: nothing is known of raid@";
    assert!(again.stderr.starts_with(warning), "{}", again.stderr);
    run(&agent, &["--event", "RaidLookedAt"]);
    assert!(agent.view().daemons.iter().all(|daemon| !daemon.name.starts_with("raid@")), "who promises nothing");
    // A disk that others write to may take more than the second that an answer waits.
    until("the report is durable", || {
        let answer = agent.nodewell(&["report", "--heartbeat", "--json"]).json();
        (answer["durable"] == true).then_some(())
    });
}

fn a_daemon_that_is_gone_is_forgotten() {
    let agent = agent();
    run(&agent, &["--condition", "RaidProblem=true", "--reason", "RaidDegraded", "--subject", "md0"]);
    let name = agent.view().daemons.iter().find(|one| one.name.starts_with("raid@")).unwrap().name.clone();
    let unknown = agent.nodewell(&["forget", "raid@elsewhere.service"]);
    assert_eq!(unknown.code, 64, "{}", unknown.stderr);
    assert!(unknown.stderr.contains(&format!("there are: {name}")), "{}", unknown.stderr);
    let forgotten = agent.nodewell(&["forget", &name]);
    let expected = format!("{name} is forgotten, and 1 problem ended\n");
    assert!(forgotten.code == 0 && forgotten.stdout.starts_with(&expected), "{forgotten:?}");
    until("nothing is left of it", || agent.condition("RaidProblem").is_none().then_some(()));
    assert!(agent.view().daemons.iter().all(|daemon| daemon.name != name));
    let own = agent.view().daemons[0].name.clone();
    assert_eq!(agent.nodewell(&["forget", &own]).code, 64, "{own} is the agent's own");
}

/// An answer that says so is kept, whatever becomes of the agent right after it.
fn what_was_ended_stays_so_through_a_kill() {
    let mut agent = agent();
    let report = |agent: &Agent| {
        run(agent, &["--condition", "RaidProblem=true", "--reason", "RaidDegraded", "--subject", "md0"]);
        agent.wait_condition("RaidProblem", "True");
        agent.view().daemons.iter().find(|one| one.name.starts_with("raid@")).unwrap().name.clone()
    };
    for command in ["clear", "forget"] {
        until("it is saved", || {
            let daemon = report(&agent);
            let what = if command == "clear" { "RaidProblem" } else { &daemon };
            let answer = agent.nodewell(&[command, what, "--json"]).json();
            assert_eq!(answer["cleared"], 1, "{command}: {answer}");
            (answer["durable"] == true).then_some(())
        });
        agent.restart();
        let problems = || Some(agent.condition("RaidProblem")?.problems.len());
        assert!(problems().unwrap_or(0) == 0, "{command}: {:?}", agent.condition("RaidProblem"));
    }
}

fn what_a_silent_daemon_left_is_cleared() {
    let agent = agent();
    run(&agent, &["--condition", "RaidProblem=false", "--ttl", "1s"]);
    let reason = || agent.condition("RaidProblem").map(|view| view.reason.to_string());
    until("the daemon is silent", || (reason().as_deref() == Some("MonitorStale")).then_some(()));
    let cleared = agent.nodewell(&["clear", "RaidProblem"]);
    assert_eq!(cleared.code, 0, "{}", cleared.stderr);
    assert!(cleared.stdout.starts_with("RaidProblem waits no longer for raid@"), "{}", cleared.stdout);
    until("nothing is left of it", || reason().is_none().then_some(()));
    let again = agent.nodewell(&["clear", "RaidProblem"]);
    let nothing = "nothing to clear: there is no active problem of RaidProblem\n";
    assert_eq!((again.code, again.stdout.as_str()), (0, nothing), "{}", again.stderr);
    assert_eq!(agent.nodewell(&["clear", "RaidProblm"]).code, 64, "declared nowhere");
    assert!(agent.view().daemons.iter().all(|daemon| !daemon.name.starts_with("raid@")));
}

fn a_pipe_reports_value_by_value() {
    let agent = agent();
    let mut child = Command::new(binary("nodewell"))
        .args(["report", "--stdin", "--source", "piped", "--ttl", "1h", "--json", "--socket"])
        .arg(agent.socket())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let event = |reason: &str| {
        format!(
            r#"{{"events":[{{"severity":"warn","timestamp":"2026-11-21T02:00:00Z","reason":"{reason}","message":"m"}}]}}"#
        )
    };
    let mut stdin = child.stdin.take().unwrap();
    write!(stdin, "{}\n{}", event("First"), event("Second")).unwrap();
    // While the pipe stays open.
    agent.wait_event("Second");
    writeln!(stdin, "[{},{}]", event("Third"), event("Fourth")).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3, "one answer for each value");
    assert_eq!(agent.events("Fourth").len(), 1);
    let daemon = agent.view().daemons.into_iter().find(|daemon| daemon.name.starts_with("piped@")).unwrap();
    assert_eq!(daemon.ttl_secs, Some(3600));
}

fn exit_codes_distinguish_refused_from_unreachable() {
    let agent = agent();
    let code = |args: &[&str]| agent.nodewell(&[&["report"], args].concat());
    let unknown = code(&["--condition", "Nope=true", "--reason", "X"]);
    assert_eq!(unknown.code, 64);
    assert!(unknown.stderr.contains("field `conditions[0].type`"), "{}", unknown.stderr);
    assert_eq!(code(&["--condition", "RaidProblem=true"]).code, 64, "a reason is missing");
    assert_eq!(code(&[]).code, 64, "nothing is reported");
    assert_eq!(code(&["--heartbeat", "--ttl", "2d"]).code, 64);
    let unreachable = nodewell(["report", "--heartbeat", "--wait", "0", "--socket", "/nonexistent/socket"]);
    assert_eq!(unreachable.code, 69, "{}", unreachable.stderr);
}
