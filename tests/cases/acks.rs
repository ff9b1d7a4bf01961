//! False positives: what a person called one turns no condition until it ends, here and on the API server, and is
//! counted.

use nodewell_tests::{
    agent::{Agent, Plan},
    cli::Outcome,
    cluster::Cluster,
    suite::{Need, Suite},
    wait::until,
};

use crate::{api_conditions::plan_on, lines::TEST_RULES};

const ALPHA: &str = "test: fault on alpha";
const BETA: &str = "test: fault on beta";
const WHY: &str = "the shelf was pulled";

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("acks")
        .case("a_false_positive_turns_nothing_until_it_ends", a_false_positive_turns_nothing_until_it_ends)
        .case("a_killed_agent_still_knows_and_counts", a_killed_agent_still_knows_and_counts)
        .case("mistakes_are_refused_in_words", mistakes_are_refused_in_words)
        .case("what_was_not_named_is_not_called_so", what_was_not_named_is_not_called_so)
        .case_with(&[Need::Root], "a_grant_gives_no_ack", a_grant_gives_no_ack)
        .api("a_false_positive_is_published", a_false_positive_is_published);
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

/// Waits until the page of metrics has this line: it is what the last change left.
fn wait_metric(agent: &Agent, line: &str) {
    let line = format!("{line}\n");
    until(&format!("the metrics have {line}"), || agent.metrics().contains(&line).then_some(()));
}

fn a_false_positive_turns_nothing_until_it_ends() {
    let agent = sick(Plan::default());
    wait_metric(&agent, "nodewell_false_positives_total{type=\"TestUnhealthy\",reason=\"TestFault\"} 0");
    wait_metric(&agent, "nodewell_false_conditions_total{type=\"TestUnhealthy\"} 0");
    let said = run(&agent, &["ack", "TestFault", "--subject", "alpha", "--why", WHY]).stdout;
    assert!(said.starts_with("TestFault on alpha is a false positive: 1 problem turns no condition"), "{said}");
    let view = agent.condition("TestUnhealthy").unwrap();
    assert_eq!((view.status.as_str(), view.reason.as_str()), ("False", "FalsePositives"));
    assert!(view.message.starts_with("TestFault on alpha is a false positive, by "), "{}", view.message);
    assert!(view.message.ends_with(&format!(": {WHY}")), "{}", view.message);
    let table = run(&agent, &["status"]).stdout;
    for part in ["no problem, 1 false positive", "TestFault  alpha", "false positive for ", WHY] {
        assert!(table.contains(part), "no {part:?} in:\n{table}");
    }
    assert_eq!(agent.nodewell(&["status", "--exit-code"]).code, 0, "it is known to be none");
    let listed = run(&agent, &["ack", "--json"]).json();
    assert_eq!((listed[0]["subject"].as_str(), listed[0]["why"].as_str()), (Some("alpha"), Some(WHY)));
    assert!(agent.wait_event("FalsePositive").message.contains(WHY));
    wait_metric(&agent, "nodewell_false_positives_total{type=\"TestUnhealthy\",reason=\"TestFault\"} 1");
    wait_metric(&agent, "nodewell_false_conditions_total{type=\"TestUnhealthy\"} 1");
    wait_metric(&agent, "nodewell_acknowledged_problems{type=\"TestUnhealthy\"} 1");
    agent.kmsg().write(BETA);
    let view = agent.wait_condition("TestUnhealthy", "True");
    assert!(view.message.ends_with("; 1 false positive"), "{}", view.message);
    agent.kmsg().write("test: end on beta");
    assert_eq!(agent.wait_condition("TestUnhealthy", "False").reason.as_str(), "FalsePositives");
    agent.kmsg().write("test: end on alpha");
    until("nothing is left", || (agent.condition("TestUnhealthy")?.reason.as_str() == "TestIsHealthy").then_some(()));
    agent.kmsg().write(ALPHA);
    agent.wait_condition("TestUnhealthy", "True");
    assert_eq!(run(&agent, &["ack"]).stdout, "no problem is called a false positive\n");
}

fn a_killed_agent_still_knows_and_counts() {
    let mut agent = sick(Plan::default());
    until("it is saved", || {
        let is_saved = run(&agent, &["ack", "TestFault", "--why", WHY, "--json"]).json()["durable"] == true;
        if !is_saved {
            run(&agent, &["unack", "TestFault"]);
        }
        is_saved.then_some(())
    });
    let before = agent.condition("TestUnhealthy").unwrap().transition;
    let counted = |agent: &Agent| {
        let page = agent.metrics();
        let lines = page.lines().filter(|line| line.starts_with("nodewell_false_"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let counts = counted(&agent);
    assert!(counts.iter().any(|line| line.starts_with("nodewell_false_conditions_total{type=\"TestUnhealthy\"} ")));
    agent.restart();
    let view = agent.wait_condition("TestUnhealthy", "False");
    assert_eq!((view.reason.as_str(), view.transition), ("FalsePositives", before));
    assert_eq!(agent.events("FalsePositive").len(), 0, "it goes on: no news");
    // The page's counts follow the account by a moment.
    until("its counts are back", || (counted(&agent) == counts).then_some(()));
    run(&agent, &["unack", "TestFault", "--subject", "alpha"]);
    agent.wait_condition("TestUnhealthy", "True");
    assert!(agent.wait_event("FalsePositiveRevoked").message.contains("taken back by "));
    assert_eq!(counted(&agent), counts, "it stays counted");
}

fn mistakes_are_refused_in_words() {
    let agent = sick(Plan::default());
    for (args, code, words) in [
        (&["ack", "TestFault"][..], 64, "--why <TEXT>"),
        (&["ack", "TestFalt", "--why", "w"], 64, "there is no active problem TestFalt"),
        (&["ack", "TestFault", "--subject", "gamma", "--why", "w"], 64, "no active problem TestFault on gamma"),
        (&["ack", "TestFault", "--condition", "Nope", "--why", "w"], 64, "there is no condition Nope; there are: "),
        (&["unack", "TestFault"], 64, "no active problem TestFault is called a false positive"),
    ] {
        let outcome = agent.nodewell(args);
        assert_eq!(outcome.code, code, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{args:?}: {}", outcome.stderr);
    }
    assert_eq!(agent.condition("TestUnhealthy").unwrap().status.as_str(), "True");
}

fn what_was_not_named_is_not_called_so() {
    let agent = sick(Plan::default());
    agent.kmsg().write(BETA);
    until("both are there", || (agent.condition("TestUnhealthy")?.problems.len() == 2).then_some(()));
    let refused = agent.nodewell(&["ack", "TestFault", "--why", WHY]);
    assert_eq!(refused.code, 64, "{refused:?}");
    assert!(refused.stderr.contains("TestFault is there on alpha, beta: name one with --subject, or "), "{refused:?}");
    assert_eq!(agent.condition("TestUnhealthy").unwrap().status.as_str(), "True");
    let said = run(&agent, &["ack", "TestFault", "--all", "--why", WHY]).stdout;
    assert!(said.starts_with("TestFault is a false positive: 2 problems turn no condition"), "{said}");
    agent.wait_condition("TestUnhealthy", "False");
}

fn a_grant_gives_no_ack() {
    let grant = "[[grant]]\nuser = 471101\nconditions = [\"TestUnhealthy\"]\nclear = [\"TestUnhealthy\"]\n";
    let agent = sick(Plan::default().config(grant));
    let folder = agent.plan().folder().to_owned();
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let wrapper = ["setpriv", "--reuid", "471101", "--regid", "471101", "--clear-groups", "--"];
    let body = "{\"reason\":\"TestFault\",\"why\":\"w\"}";
    let curl = ["curl", "-sS", "-H", "Content-Type: application/json", "-d", body, "--unix-socket"];
    let mut command = std::process::Command::new(wrapper[0]);
    command.args(&wrapper[1..]).args(curl).arg(agent.socket()).arg("http://localhost/v1/ack");
    let answer = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(answer.contains("calling a problem a false positive is for root and the agent's own user"), "{answer}");
    assert_eq!(agent.condition("TestUnhealthy").unwrap().status.as_str(), "True");
}

fn a_false_positive_is_published(cluster: &Cluster) {
    let node = "false-positive";
    let agent = sick(plan_on(cluster, node));
    let published = |status: &str, reason: &str| {
        until(&format!("the Node shows {status} {reason}"), || {
            cluster
                .condition(node, "TestUnhealthy")
                .filter(|found| found["status"] == status && found["reason"] == reason)
        })
    };
    published("True", "TestFault");
    run(&agent, &["ack", "TestFault", "--why", WHY]);
    let shown = published("False", "FalsePositives")["message"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("TestFault on alpha is a false positive, by ") && shown.ends_with(WHY), "{shown}");
    run(&agent, &["unack", "TestFault"]);
    published("True", "TestFault");
}
