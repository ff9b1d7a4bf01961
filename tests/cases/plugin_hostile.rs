//! Bad plug-ins: each is a state that is shown, disturbs no other check, and nothing of it is left running.

use std::{fs, path::Path, time::Duration};

use nodewell_model::text;
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    plugins::{marked, set_mode},
    suite::{Need, Suite},
    wait::{until, until_within},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("plugin_hostile")
        .case("one_that_forks_and_detaches_leaves_nothing", one_that_forks_and_detaches_leaves_nothing)
        .case("one_that_is_deaf_and_sleeps_for_ever_is_killed", one_that_is_deaf_and_sleeps_for_ever_is_killed)
        .case("one_that_writes_a_gigabyte_is_cut", one_that_writes_a_gigabyte_is_cut)
        .case("one_that_writes_rubbish_is_shown_clean", one_that_writes_rubbish_is_shown_clean)
        .case("one_that_holds_its_pipe_open_is_not_waited_for", one_that_holds_its_pipe_open_is_not_waited_for)
        .case("what_is_no_program_is_reported", what_is_no_program_is_reported)
        .case_with(&[Need::Root], "what_others_could_change_is_refused", what_others_could_change_is_refused)
        .case("one_that_vanishes_is_unknown_until_it_is_back", one_that_vanishes_is_unknown_until_it_is_back)
        .case("a_slow_one_delays_no_other", a_slow_one_delays_no_other)
        .case("a_stop_ends_what_runs", a_stop_ends_what_runs);
}

/// An agent and a check process with one permanent rule.
fn with(program: &str, timeout: &str) -> (Agent, CheckProcess) {
    let plan = Plan::default();
    let program = plan.program("check.sh", &own(program));
    with_path(plan, &program, timeout)
}

fn with_path(plan: Plan, path: &Path, timeout: &str) -> (Agent, CheckProcess) {
    let config = format!(r#""invoke_interval": "1s", "timeout": "{timeout}", "max_output_length": 200"#);
    plan.npd_plugins("mine", &config, &[("permanent", "Broken", path)]);
    let agent = plan.start();
    let check_process = CheckProcess::check_of(agent.plan());
    (agent, check_process)
}

/// Reason and message of the condition once its state cannot be determined.
fn unknown(agent: &Agent) -> (String, String) {
    let condition = agent.wait_condition("Sick", "Unknown");
    (condition.reason.to_string(), condition.message.clone())
}

/// Of this run of the tests: `sleep 4712.1` sleeps for as long with our pid in its figures.
fn own(text: &str) -> String {
    let figures = |text: String, n: u32| text.replace(&format!("471{n}."), &format!("471{n}.{}", std::process::id()));
    (0..10).fold(text.to_owned(), figures)
}

fn sleepers(mark: &str) -> Vec<u32> {
    marked(&own(mark))
}

fn wait_gone(mark: &str) {
    until(&format!("nothing called {mark} is left"), || sleepers(mark).is_empty().then_some(()));
}

fn wait_there(mark: &str) {
    until(&format!("{mark} runs"), || (!sleepers(mark).is_empty()).then_some(()));
}

fn one_that_forks_and_detaches_leaves_nothing() {
    let script = "#!/bin/sh\n(setsid sh -c 'trap \"\" TERM HUP; sleep 4712.1; :' >/dev/null 2>&1 &)\n\
                  (sleep 4712.2 >/dev/null 2>&1 &)\nsleep 4712.3 >/dev/null 2>&1 &\n\
                  until pgrep -f 'sleep 4712.[1]' && pgrep -f 'sleep 4712.[2]'; do :; done >/dev/null\necho done\nexit 1\n";
    let (agent, mut check_process) = with(script, "20s");
    let condition = agent.wait_condition("Sick", "True");
    assert_eq!(condition.problems[0].message, "done");
    // Another run is always near: what counts is that a stop leaves nothing, and that runs do not pile up.
    assert!(sleepers("sleep 4712.1").len() <= 2, "{:?}", sleepers("sleep 4712.1"));
    assert!(check_process.stop().success());
    wait_gone("sleep 4712.");
}

fn one_that_is_deaf_and_sleeps_for_ever_is_killed() {
    let script = "#!/bin/bash\ntrap '' TERM INT HUP QUIT\necho halfway\nwhile :; do sleep 4713.1; done\n";
    let (agent, mut check_process) = with(script, "5s");
    let (why, message) = unknown(&agent);
    assert_eq!(why, "PluginTimedOut");
    assert!(
        message.contains("plug-in Broken: took longer than its timeout and was killed, output: halfway; "),
        "{message}"
    );
    assert!(sleepers("sleep 4713.1").len() <= 1, "{:?}", sleepers("sleep 4713.1"));
    assert!(check_process.stop().success());
    wait_gone("sleep 4713.1");
}

fn one_that_writes_a_gigabyte_is_cut() {
    let script = "#!/bin/sh\nprintf 'begins well: '\nyes xxxxxxxx | head -c 1000000000\nexit 1\n";
    let (agent, check_process) = with(script, "120s");
    let sick = || agent.condition("Sick").filter(|sick| sick.status.as_str() == "True");
    let condition = until_within(Duration::from_secs(120), "it has written all", sick);
    let message = &condition.problems[0].message;
    assert_eq!((message.len(), message.starts_with("begins well: xxxx")), (200, true), "{message}");
    let status = fs::read_to_string(format!("/proc/{}/status", check_process.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // A tenth of what was written; most of it are pages of a program that is not optimised.
    assert!(peak_kib < 100 * 1024, "the check process took {peak_kib} KiB");
}

fn one_that_writes_rubbish_is_shown_clean() {
    let (agent, _check_process) =
        with("#!/bin/sh\nprintf '\\377\\376\\033[31mred\\000\\200 \\342\\200\\256 end\\n'\nexit 1\n", "5s");
    let condition = agent.wait_condition("Sick", "True");
    let message = &condition.problems[0].message;
    assert!(message.contains("red") && message.ends_with("end"), "{message:?}");
    assert_eq!(text::message(message.as_bytes()), *message, "nothing more of it is to be replaced");
    assert!(!message.contains(['\n', '\u{1b}', '\u{202e}']), "{message:?}");
}

fn one_that_holds_its_pipe_open_is_not_waited_for() {
    let (agent, _check_process) = with("#!/bin/sh\nsleep 4714.1 &\necho quick\nexit 1\n", "60s");
    assert_eq!(agent.wait_condition("Sick", "True").problems[0].message, "quick");
}

fn what_is_no_program_is_reported() {
    let event_of = |path: &dyn Fn(&Plan) -> std::path::PathBuf| {
        let plan = Plan::default();
        let path = path(&plan);
        let (agent, _check_process) = with_path(plan, &path, "5s");
        unknown(&agent)
    };
    let refused = |path: &dyn Fn(&Plan) -> std::path::PathBuf, end: &str| {
        let (why, message) = event_of(path);
        assert!(why == "PluginRefused" && message.ends_with(end), "{why}: {message}");
    };
    refused(&|plan| plan.folder().to_owned(), "is a directory, not a program");
    refused(&|plan| plan.folder().join("none.sh"), "none.sh does not exist");
    refused(&|plan| plan.file("bin/plain.sh", "#!/bin/sh\n"), "is not executable; chmod +x it");
    let (why, message) = event_of(&|plan| plan.program("lost.sh", "#!/nonexistent/interpreter\n"));
    assert!(why == "PluginNotStarted" && message.contains("No such file or directory"), "{message}");
    refused(&|plan| plan.program("rubbish", "\u{1}\u{2} no program\n"), "its first line must be #! and a path");
    refused(&|plan| plan.program("no.sh", "echo fine\n"), "its first line must be #! and a path");
    let (why, message) = event_of(&|plan| plan.program("dies.sh", "#!/bin/sh\nkill -SEGV $$\n"));
    assert!(why == "PluginKilled" && message.contains("ended by signal 11"), "{message}");
}

fn what_others_could_change_is_refused() {
    let plan = Plan::default();
    let ran = plan.folder().join("ran");
    let program = plan.program("check.sh", &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    set_mode(&program, 0o757);
    let (agent, check_process) = with_path(plan, &program, "5s");
    let (why, message) = unknown(&agent);
    assert!(why == "PluginRefused" && message.contains("can be written by others (mode 0757)"), "{message}");
    set_mode(&program, 0o755);
    set_mode(program.parent().unwrap(), 0o777);
    until("its folder is reported", || {
        let message = agent.condition("Sick")?.message.clone();
        message.contains("bin can be written by others (mode 0777)").then_some(())
    });
    assert!(!ran.exists(), "it was never run");
    set_mode(program.parent().unwrap(), 0o755);
    agent.wait_condition("Sick", "False");
    drop(check_process);
}

fn one_that_vanishes_is_unknown_until_it_is_back() {
    let (agent, _check_process) = with("#!/bin/sh\nexit 0\n", "5s");
    agent.wait_condition("Sick", "False");
    let (here, away) = (agent.plan().folder().join("bin/check.sh"), agent.plan().folder().join("bin/away.sh"));
    fs::rename(&here, &away).unwrap();
    assert!(unknown(&agent).1.ends_with("check.sh does not exist"));
    fs::rename(&away, &here).unwrap();
    agent.wait_condition("Sick", "False");
}

fn a_slow_one_delays_no_other() {
    let plan = Plan::default();
    let slow = plan.program("slow.sh", &own("#!/bin/sh\nsleep 4715.1\n"));
    let quick = plan.program("quick.sh", "#!/bin/sh\necho x >> \"$0.runs\"\nexit 0\n");
    let config = r#""invoke_interval": "1s", "timeout": "500s", "concurrency": 2"#;
    plan.npd_plugins("mine", config, &[("permanent", "Slow", &slow), ("temporary", "Quick", &quick)]);
    let runs = quick.with_extension("sh.runs");
    let agent = plan.start();
    let mut check_process = CheckProcess::check_of(agent.plan());
    wait_there("sleep 4715.1");
    until("the quick one has run thrice", || (fs::read(&runs).unwrap_or_default().len() >= 6).then_some(()));
    assert_eq!(sleepers("sleep 4715.1").len(), 1, "never over itself");
    assert!(check_process.stop().success());
}

fn a_stop_ends_what_runs() {
    let (_agent, mut check_process) = with("#!/bin/sh\n(setsid sleep 4716.1 &)\nsleep 4716.2\n", "500s");
    wait_there("sleep 4716.1");
    wait_there("sleep 4716.2");
    assert!(check_process.stop().success());
    wait_gone("sleep 4716.");
}
