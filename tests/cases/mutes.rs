//! Muting: a problem that may wait stays a problem and turns no condition, here and on the API server.

use std::{fs, os::unix::fs::PermissionsExt};

use nodewell_model::Mute;
use nodewell_tests::{
    agent::{Agent, Plan},
    cli::Outcome,
    cluster::Cluster,
    suite::{Need, Suite},
    wait::until,
};
use serde_json::json;

use crate::{api_conditions::plan_on, lines::TEST_RULES};

const ALPHA: &str = "test: fault on alpha";
const BETA: &str = "test: fault on beta";

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("mutes")
        .case("a_muted_problem_turns_nothing_and_is_shown", a_muted_problem_turns_nothing_and_is_shown)
        .case("a_killed_agent_still_mutes", a_killed_agent_still_mutes)
        .case("a_mute_ends_by_itself", a_mute_ends_by_itself)
        .case("mistakes_are_refused_in_words", mistakes_are_refused_in_words)
        .case_with(&[Need::Root], "a_grant_gives_no_mute", a_grant_gives_no_mute)
        .case("the_configuration_mutes_from_the_reload_on", the_configuration_mutes_from_the_reload_on)
        .case("an_override_counts_from_the_reload_on", an_override_counts_from_the_reload_on)
        .api("a_muted_condition_is_published", a_muted_condition_is_published);
}

fn sick(plan: Plan) -> Agent {
    let agent = plan.rules(TEST_RULES).start();
    agent.kmsg().write(ALPHA);
    agent.wait_condition("TestUnhealthy", "True");
    agent
}

fn run(agent: &Agent, args: &[&str]) -> Outcome {
    let outcome = agent.nodewell(args);
    assert_eq!(outcome.code, 0, "{args:?}: {}", outcome.stderr);
    outcome
}

fn mute(agent: &Agent, subject: &str) -> Outcome {
    run(agent, &["mute", "TestFault", "--subject", subject, "--until", "2h", "--why", "on order"])
}

fn mutes(agent: &Agent) -> Vec<Mute> {
    serde_json::from_value(run(agent, &["mute", "--json"]).json()).unwrap()
}

fn a_muted_problem_turns_nothing_and_is_shown() {
    let agent = sick(Plan::default());
    agent.kmsg().write(BETA);
    until("both are there", || (agent.condition("TestUnhealthy")?.problems.len() == 2).then_some(()));
    let said = mute(&agent, "alpha").stdout;
    assert!(said.starts_with("muted TestFault on alpha until ") && said.contains(": 1 problem"), "{said}");
    let view = agent.condition("TestUnhealthy").unwrap();
    assert_eq!((view.status.as_str(), view.problems[0].subject.as_deref()), ("True", Some("beta")));
    assert!(view.message.ends_with("; 1 muted"), "{}", view.message);
    mute(&agent, "beta");
    let view = agent.condition("TestUnhealthy").unwrap();
    assert_eq!((view.status.as_str(), view.reason.as_str()), ("False", "ProblemsMuted"));
    assert!(view.problems.iter().all(|problem| problem.muted_until.is_some()));
    let table = run(&agent, &["status"]).stdout;
    for part in ["no problem, 2 muted", "TestFault  alpha", "muted until ", "\nMuted:\n  TestFault on alpha  until "] {
        assert!(table.contains(part), "no {part:?} in:\n{table}");
    }
    assert_eq!(agent.nodewell(&["status", "--exit-code"]).code, 0, "what is muted is known of");
    let metrics = agent.metrics();
    for line in
        ["nodewell_muted_problems{type=\"TestUnhealthy\"} 2\n", "nodewell_active_problems{type=\"TestUnhealthy\"} 2\n"]
    {
        assert!(metrics.contains(line), "no {line} in:\n{metrics}");
    }
    assert_eq!(agent.events("ProblemMuted").len(), 2);
    run(&agent, &["unmute", "TestFault", "--subject", "beta"]);
    agent.wait_condition("TestUnhealthy", "True");
    assert!(agent.wait_event("MuteEnded").message.contains("taken back by "));
    agent.kmsg().write("test: end on beta");
    let view = agent.wait_condition("TestUnhealthy", "False");
    assert_eq!(view.reason.as_str(), "ProblemsMuted");
    agent.kmsg().write("test: end on alpha");
    until("nothing is left", || (agent.condition("TestUnhealthy")?.reason.as_str() == "TestIsHealthy").then_some(()));
}

fn a_killed_agent_still_mutes() {
    let mut agent = sick(Plan::default());
    until("the mute is saved", || {
        let args = ["mute", "TestFault", "--until", "2h", "--why", "on order", "--json"];
        (run(&agent, &args).json()["durable"] == true).then_some(())
    });
    let before = agent.condition("TestUnhealthy").unwrap().transition;
    agent.restart();
    let view = agent.wait_condition("TestUnhealthy", "False");
    assert_eq!((view.reason.as_str(), view.transition), ("ProblemsMuted", before));
    assert_eq!((mutes(&agent).len(), agent.events("ProblemMuted").len()), (1, 0));
}

fn a_mute_ends_by_itself() {
    let agent = sick(Plan::default());
    run(&agent, &["mute", "TestFault", "--until", "2s", "--why", "for a moment"]);
    agent.wait_event("MuteEnded");
    agent.wait_condition("TestUnhealthy", "True");
    assert_eq!(run(&agent, &["mute"]).stdout, "nothing is muted\n");
}

fn mistakes_are_refused_in_words() {
    let agent = sick(Plan::default());
    let until_2h = ["--until", "2h", "--why", "w"];
    for (args, code, words) in [
        (&["mute", "TestFault"][..], 64, "--until <WHEN>"),
        (&["mute", "TestFault", "--until", "tomorrow", "--why", "w"], 64, "takes how long (30m, 12h, 3d) or a time"),
        (&["mute", "TestFault", "--until", "2020-01-01T00:00:00Z", "--why", "w"], 1, "is over; this node's clock"),
        (&["mute", "TestFault", "--until", "2999-01-01T00:00:00Z", "--why", "w"], 1, "ends within 366 days"),
        (
            &["mute", "TestUnhealthy", "--until", "2h", "--why", "w"],
            64,
            "TestUnhealthy is a condition; a mute takes a reason of it, such as TestFault",
        ),
        (&["unmute", "TestFault"], 1, "TestFault is not muted; nothing is"),
    ] {
        let outcome = agent.nodewell(args);
        let is_as_wanted = if code == 1 { outcome.code > 0 } else { outcome.code == code };
        assert!(is_as_wanted && outcome.stderr.contains(words), "{args:?}: {} {}", outcome.code, outcome.stderr);
    }
    let outcome = agent.nodewell(&[&["mute", "TestFault", "--condition", "TestUnhelthy"][..], &until_2h].concat());
    assert!(outcome.stderr.contains("there is no condition TestUnhelthy; there are: "), "{}", outcome.stderr);
    assert_eq!(agent.condition("TestUnhealthy").unwrap().status.as_str(), "True");
    let request = json!({"reason": "TestFault", "until": "2999-01-01T00:00:00Z", "why": "\u{1b}[2J"});
    assert_eq!(agent.post("/v1/mute", &request.to_string()).status.as_u16(), 400);
}

fn a_grant_gives_no_mute() {
    let grant = "[[grant]]\nuser = 471101\nconditions = [\"TestUnhealthy\"]\nclear = [\"TestUnhealthy\"]\n";
    let agent = sick(Plan::default().config(grant));
    fs::set_permissions(agent.plan().folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let wrapper = ["setpriv", "--reuid", "471101", "--regid", "471101", "--clear-groups", "--"];
    let curl =
        ["curl", "-sS", "-H", "Content-Type: application/json", "-d", "{\"reason\":\"TestFault\"}", "--unix-socket"];
    let mut command = std::process::Command::new(wrapper[0]);
    command.args(&wrapper[1..]).args(curl).arg(agent.socket()).arg("http://localhost/v1/unmute");
    let answer = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(answer.contains("muting a problem is for root and the agent's own user"), "{answer}");
}

fn the_configuration_mutes_from_the_reload_on() {
    let agent = sick(Plan::default());
    let table = "[[mute]]\nreason = \"TestFault\"\nuntil = 2999-01-01T00:00:00Z\nwhy = \"in the lab\"\n";
    let file = agent.plan().file("nodewell.toml.d/10-lab.toml", table);
    agent.reload();
    let view = agent.wait_condition("TestUnhealthy", "False");
    assert!(view.message.contains("10-lab.toml:1: in the lab"), "{}", view.message);
    let refused = agent.nodewell(&["unmute", "TestFault"]);
    assert!(refused.code > 0 && refused.stderr.contains("10-lab.toml:1); change it there"), "{}", refused.stderr);
    fs::remove_file(file).unwrap();
    agent.reload();
    agent.wait_condition("TestUnhealthy", "True");
    assert!(agent.wait_event("MuteEnded").message.ends_with("the configuration has it no more"));
}

fn an_override_counts_from_the_reload_on() {
    let agent = Plan::default().rules(TEST_RULES).start();
    let file =
        agent.plan().file("rules/over.toml", "[override.TestFault]\ntype = \"temporary\"\nseverity = \"info\"\n");
    agent.reload();
    until("it is reloaded", || agent.log().contains("reloaded the rules, grants and mutes").then_some(()));
    agent.kmsg().write(ALPHA);
    assert_eq!(agent.wait_event("TestFault").severity.as_str(), "info");
    assert!(agent.condition("TestUnhealthy").is_none_or(|view| view.problems.is_empty()));
    fs::remove_file(file).unwrap();
    agent.reload();
    until("it is reloaded again", || {
        (agent.log().matches("reloaded the rules, grants and mutes").count() == 2).then_some(())
    });
    agent.kmsg().write(BETA);
    agent.wait_condition("TestUnhealthy", "True");
}

fn a_muted_condition_is_published(cluster: &Cluster) {
    let node = "muted";
    let agent = sick(plan_on(cluster, node));
    let published = |status: &str, reason: &str| {
        until(&format!("the Node shows {status} {reason}"), || {
            cluster
                .condition(node, "TestUnhealthy")
                .filter(|found| found["status"] == status && found["reason"] == reason)
        })
    };
    published("True", "TestFault");
    mute(&agent, "alpha");
    let shown = published("False", "ProblemsMuted")["message"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("TestFault on alpha is muted until ") && shown.ends_with(": on order"), "{shown}");
    run(&agent, &["unmute", "TestFault", "--subject", "alpha"]);
    published("True", "TestFault");
}
