//! Plug-ins: files of both formats, from a program's exit status to the condition; reloads and restarts.

use std::{fs, path::Path, thread::sleep, time::Duration};

use nodewell_model::view::DaemonState;
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    plugins::marked,
    suite::Suite,
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("plugin_runs")
        .case("a_file_of_npds_turns_its_condition_and_back", a_file_of_npds_turns_its_condition_and_back)
        .case("two_rules_on_one_condition_are_two_problems", two_rules_on_one_condition_are_two_problems)
        .case("a_temporary_rule_reports_its_edge_once", a_temporary_rule_reports_its_edge_once)
        .case("a_native_plugin_has_a_subject", a_native_plugin_has_a_subject)
        .case("a_plugin_finds_a_clean_place", a_plugin_finds_a_clean_place)
        .case("a_reload_starts_and_ends_plugins", a_reload_starts_and_ends_plugins)
        .case(
            "a_plugin_that_is_gone_is_withdrawn_from_an_agent_that_answers_late",
            a_plugin_that_is_gone_is_withdrawn_late,
        )
        .case("a_restarted_check_process_forgets_no_problem", a_restarted_check_process_forgets_no_problem)
        .case("the_agents_flags_reach_its_check_process", the_agents_flags_reach_its_check_process);
}

/// Ends with the code and prints the words in the file beside it; one hangs.
const ANSWERING_SCRIPT: &str = "#!/bin/sh\nread code words < \"$0.answer\"\n[ \"$code\" = hang ] && exec sleep 600\n\
    echo \"$words\"\nexit \"$code\"\n";
const EVERY_SECOND: &str = r#""invoke_interval": "1s", "timeout": "5s""#;

fn answer(plan: &Plan, program: &str, answer: &str) {
    plan.file(&format!("bin/{program}.answer.new"), answer);
    let path = |name: &str| plan.folder().join("bin").join(name);
    fs::rename(path(&format!("{program}.answer.new")), path(&format!("{program}.answer"))).unwrap();
}

/// A plan with one program, which is well, and the file of Node Problem Detector's that has it run each second.
fn one_rule(kind: &str) -> Plan {
    let plan = Plan::default();
    let program = plan.program("check.sh", ANSWERING_SCRIPT);
    answer(&plan, "check.sh", "0 fine");
    plan.npd_plugins("mine", EVERY_SECOND, &[(kind, "Broken", &program)]);
    plan
}

fn sick(agent: &Agent) -> Vec<(String, String)> {
    let condition = agent.wait_condition("Sick", "True");
    condition.problems.iter().map(|problem| (problem.reason.to_string(), problem.message.clone())).collect()
}

fn a_file_of_npds_turns_its_condition_and_back() {
    let agent = one_rule("permanent").start();
    let _check_process = CheckProcess::check_of(agent.plan());
    let healthy = agent.wait_condition("Sick", "False");
    assert_eq!((healthy.reason.as_str(), healthy.message.as_str()), ("Well", "all is fine"));
    assert_eq!(agent.daemon("mine@root").unwrap().state, DaemonState::Running);
    answer(agent.plan(), "check.sh", "1 the moon fell down");
    assert_eq!(sick(&agent), [("Broken".to_owned(), "the moon fell down".to_owned())]);
    answer(agent.plan(), "check.sh", "2 what moon");
    let unconfirmed =
        || agent.condition("Sick").unwrap().problems.first().and_then(|problem| problem.unconfirmed_since);
    until("it is unconfirmed", unconfirmed);
    assert_eq!(agent.condition("Sick").unwrap().status.as_str(), "True", "an unknown result takes nothing back");
    answer(agent.plan(), "check.sh", "0 it is up again");
    agent.wait_condition("Sick", "False");
}

fn two_rules_on_one_condition_are_two_problems() {
    let plan = Plan::default();
    let [one, other] = ["one.sh", "other.sh"].map(|name| plan.program(name, ANSWERING_SCRIPT));
    answer(&plan, "one.sh", "1 first");
    answer(&plan, "other.sh", "1 second");
    plan.npd_plugins("mine", EVERY_SECOND, &[("permanent", "One", &one), ("permanent", "Other", &other)]);
    let agent = plan.start();
    let _check_process = CheckProcess::check_of(agent.plan());
    until("both are shown", || (sick(&agent).len() == 2).then_some(()));
    answer(agent.plan(), "one.sh", "0 fine");
    until("one is over", || (sick(&agent).len() == 1).then_some(()));
    assert_eq!(sick(&agent)[0].0, "Other");
    answer(agent.plan(), "other.sh", "0 fine");
    agent.wait_condition("Sick", "False");
}

fn a_temporary_rule_reports_its_edge_once() {
    let agent = one_rule("temporary").start();
    let _check_process = CheckProcess::check_of(agent.plan());
    answer(agent.plan(), "check.sh", "1 oops");
    let reported = agent.wait_event("Broken");
    assert_eq!((reported.message.as_str(), reported.count), ("oops", 1));
    let runs = agent.plan().folder().join("runs");
    let count = format!("#!/bin/sh\necho x >> {}\necho oops\nexit 1\n", runs.display());
    agent.plan().program("check.sh", &count);
    until("it has run three times more", || (fs::read(&runs).unwrap_or_default().len() >= 6).then_some(()));
    assert_eq!(agent.events("Broken").len(), 1, "the same again is no news");
    assert_eq!(agent.events("Broken")[0].count, 1);
}

fn a_native_plugin_has_a_subject() {
    let plan = Plan::default();
    let program = plan.program("check.sh", "#!/bin/sh\necho \"DISK WARNING - $1 is $2 full | used=91%\"\nexit 1\n");
    let rules = format!(
        "[[condition]]\ntype = 'Sick'\nhealthy-reason = 'Well'\nhealthy-message = 'fine'\n\
         [[plugin]]\nname = 'disk'\ncommand = [{program:?}, '/var', '91 %']\nprotocol = 'nagios'\ninterval = '1s'\n\
         condition = 'Sick'\nreason = 'DiskFull'\nsubject = '/var'\nseverity = 'critical'\nfailures = 2\n"
    );
    plan.file("rules.d/mine.toml", &rules);
    let agent = plan.start();
    let _check_process = CheckProcess::check_of(agent.plan());
    let condition = agent.wait_condition("Sick", "True");
    let problem = &condition.problems[0];
    assert_eq!(problem.message, "DISK WARNING - /var is 91 % full", "no figures after the bar");
    assert_eq!((problem.subject.as_deref(), problem.severity.as_str()), (Some("/var"), "warn"), "a warning is no more");
    assert!(agent.daemon("plugins@root").is_some());
}

/// What a program finds: environment, working directory, descriptors, session.
fn a_plugin_finds_a_clean_place() {
    let plan = Plan::default();
    let out = plan.folder().join("found");
    let script = format!(
        "#!/bin/sh\nexec 9>&1 >{}.new\nenv | sort | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD=\npwd\nls -l /proc/self/fd | \
         sed -n 's/.* \\([0-9]* -> .*\\)/\\1/p' | grep -v -e pipe: -e /proc/ -e found.new\nmv {}.new {}\nexit 0\n",
        out.display(),
        out.display(),
        out.display()
    );
    let program = plan.program("look.sh", &script);
    plan.npd_plugins("mine", EVERY_SECOND, &[("permanent", "Broken", &program)]);
    let agent = plan.start();
    let flags = [("--node-name", Path::new("my-node"))];
    let _check_process = CheckProcess::of(agent.plan(), "check", &flags);
    let found = until("it has looked", || fs::read_to_string(&out).ok());
    assert_eq!(
        found,
        "HOME=/\nLANG=C.UTF-8\nNODE_NAME=my-node\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n/\n\
         0 -> /dev/null\n",
        "nothing of ours"
    );
}

fn a_reload_starts_and_ends_plugins() {
    let plan = Plan::default();
    let program = plan.program("check.sh", ANSWERING_SCRIPT);
    answer(&plan, "check.sh", "1 broken");
    let mark = format!("sleep 4711.{}", std::process::id());
    let sleeper = plan.program("sleep.sh", &format!("#!/bin/sh\n{mark}\n"));
    let agent = plan.with_check_processes().start();
    assert_eq!(agent.condition("Sick"), None);
    agent.plan().npd_plugins(
        "mine",
        r#""invoke_interval": "1s", "timeout": "500s""#,
        &[("permanent", "Broken", &program), ("permanent", "Asleep", &sleeper)],
    );
    agent.reload();
    agent.wait_condition("Sick", "True");
    until("the sleeper sleeps", || (!marked(&mark).is_empty()).then_some(()));
    fs::remove_file(agent.plan().folder().join("monitors.d/mine.json")).unwrap();
    agent.reload();
    until("nothing of it runs", || marked(&mark).is_empty().then_some(()));
    until("its word is withdrawn", || agent.daemon("mine@root").is_none().then_some(()));
    until("its condition is no more", || {
        agent.condition("Sick").is_none_or(|sick| sick.problems.is_empty()).then_some(())
    });
}

/// Nothing else would end what it reported: its withdrawal waits for as long as the agent takes.
fn a_plugin_that_is_gone_is_withdrawn_late() {
    let mark = format!("sleep 4712.{}", std::process::id());
    let plan = Plan::default();
    let program = plan.program("check.sh", ANSWERING_SCRIPT);
    answer(&plan, "check.sh", "1 broken");
    let sleeper = plan.program("sleep.sh", &format!("#!/bin/sh\n{mark}\n"));
    let often = r#""invoke_interval": "1s", "timeout": "500s""#;
    let file = plan.npd_plugins("mine", often, &[("permanent", "Broken", &program), ("permanent", "Asleep", &sleeper)]);
    let agent = plan.start();
    let check_process = CheckProcess::check_of(agent.plan());
    agent.wait_condition("Sick", "True");
    until("the sleeper sleeps", || (!marked(&mark).is_empty()).then_some(()));
    agent.pause();
    fs::remove_file(file).unwrap();
    check_process.reload();
    until("nothing of it runs", || marked(&mark).is_empty().then_some(()));
    // Longer than a stop would wait.
    sleep(Duration::from_secs(3));
    agent.resume();
    until("its word is withdrawn", || agent.daemon("mine@root").is_none().then_some(()));
    until("its condition is no more", || {
        agent.condition("Sick").is_none_or(|sick| sick.problems.is_empty()).then_some(())
    });
}

fn a_restarted_check_process_forgets_no_problem() {
    let agent = one_rule("permanent").start();
    answer(agent.plan(), "check.sh", "1 broken");
    let mut check_process = CheckProcess::check_of(agent.plan());
    let before = agent.wait_condition("Sick", "True").problems[0].since;
    assert!(check_process.stop().success());
    assert_eq!(agent.condition("Sick").unwrap().status.as_str(), "True", "a stop takes nothing back");
    // Nor one before the plug-in has ended once.
    answer(agent.plan(), "check.sh", "hang");
    let mut check_process = CheckProcess::check_of(agent.plan());
    check_process.wait_logged("follows the agent", 2);
    assert!(check_process.stop().success());
    assert_eq!(agent.condition("Sick").unwrap().status.as_str(), "True", "a stop before a look takes nothing back");
    answer(agent.plan(), "check.sh", "1 broken still");
    let mut check_process = CheckProcess::check_of(agent.plan());
    check_process.wait_logged("follows the agent", 2);
    until("it speaks again", || agent.daemon("mine@root").filter(|daemon| daemon.state == DaemonState::Running));
    assert_eq!(agent.wait_condition("Sick", "True").problems[0].since, before);
    check_process.kill();
}

fn the_agents_flags_reach_its_check_process() {
    let plan = Plan::default();
    let program = plan.program("check.sh", "#!/bin/sh\necho no\nexit 1\n");
    let file = plan.npd_plugins("mine", EVERY_SECOND, &[("permanent", "Broken", &program)]);
    let elsewhere = plan.folder().join("elsewhere.json");
    fs::rename(file, &elsewhere).unwrap();
    let agent = plan.flag("--npd-config", &elsewhere).with_check_processes().start();
    assert_eq!(sick(&agent), [("Broken".to_owned(), "no".to_owned())]);
}
