//! The supervisor by itself: its controller is silent, gone or mad, or the supervisor is.

use std::{
    io::Write,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_power::supervisor::{Ending, Job, Report, boottime_millis};

use super::bench::{Bench, SUPERVISOR, until};

fn job(bench: &Bench, until_secs: u64) -> Job {
    Job {
        program: bench.path().join("fence_test"),
        args: Vec::new(),
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        stdin: String::new(),
        deadline: Duration::from_secs(60),
        limit_bytes: 4096,
        until_millis: boottime_millis() + until_secs * 1000,
        own_args: Vec::new(),
    }
}

fn start(first: &str) -> Child {
    let mut supervisor =
        Command::new(SUPERVISOR).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    supervisor.stdin.as_mut().unwrap().write_all(format!("{first}\n").as_bytes()).unwrap();
    supervisor
}

fn report(supervisor: Child) -> Report {
    serde_json::from_slice(&supervisor.wait_with_output().unwrap().stdout).unwrap()
}

/// As one that was stopped: its end of the pipe stays open, and nothing comes.
#[tokio::test]
async fn a_controller_that_is_stopped_does_not_keep_its_agent_alive() {
    let bench = Bench::new();
    bench.script(
        "fence_test",
        "trap '' TERM; setsid sleep 600 & echo $! > $0.far; echo $$ > $0.pid; while :; do sleep 1; done",
    );
    // A process of its own holds the pipe, and is stopped before the leader's time is over.
    let text = serde_json::to_string(&job(&bench, 5)).unwrap();
    let script = format!("exec 3> >({SUPERVISOR} > report); echo \"$JOB\" >&3; kill -STOP $$; sleep 600");
    let mut controller = Command::new("bash")
        .args(["-c", &script])
        .env("JOB", text)
        .current_dir(bench.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    until(|| bench.has("fence_test.pid") && bench.has("fence_test.far")).await;
    until(|| bench.is_dead("fence_test.pid") && bench.is_dead("fence_test.far")).await;
    until(|| !bench.read("report").is_empty()).await;
    let ended: Report = serde_json::from_str(&bench.read("report")).unwrap();
    controller.kill().unwrap();
    controller.wait().unwrap();
    assert_eq!(ended.ending, Ending::LeaseDeadline);
}

#[tokio::test]
async fn a_supervisor_that_is_killed_takes_its_agent_along() {
    let bench = Bench::new();
    bench.script("fence_test", "echo $$ > $0.pid; while :; do read -t 1 <> <(:); done");
    let mut supervisor = start(&serde_json::to_string(&job(&bench, 60)).unwrap());
    until(|| bench.has("fence_test.pid")).await;
    kill(Pid::from_raw(supervisor.id().try_into().unwrap()), Signal::SIGKILL).unwrap();
    supervisor.wait().unwrap();
    until(|| bench.is_dead("fence_test.pid")).await;
}

#[test]
fn a_time_that_is_over_begins_nothing() {
    let bench = Bench::new();
    bench.script("fence_test", "echo $$ > $0.pid");
    let ended = report(start(&serde_json::to_string(&job(&bench, 0)).unwrap()));
    assert!(matches!(ended.ending, Ending::NotStarted(_)), "{ended:?}");
    assert_eq!(bench.read("fence_test.pid"), "");
}

/// Its second stage is started by the first alone, and ends with it.
#[test]
fn a_stage_that_is_not_known_runs_nothing_and_one_of_another_parent_is_killed() {
    let bench = Bench::new();
    let ran = bench.path().join("ran");
    let run = |stage: &str, parent: u32| {
        let mut command = Command::new(SUPERVISOR);
        command.args([stage, &parent.to_string(), "/usr/bin/touch"]).arg(&ran);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
    };
    assert_eq!(run("other", std::process::id()).code(), Some(64));
    assert_eq!(run("become", 1).signal(), Some(Signal::SIGKILL as i32));
    assert!(!ran.exists());
    assert!(run("become", std::process::id()).success() && ran.exists());
}

#[test]
fn text_that_is_no_job_begins_nothing() {
    for text in ["", "{}", "until 7", "\u{0}"] {
        assert!(matches!(report(start(text)).ending, Ending::NotStarted(_)), "{text}");
    }
}

#[test]
fn a_program_that_cannot_be_executed_differs_from_one_that_failed() {
    let bench = Bench::new();
    let supervisor = start(&serde_json::to_string(&job(&bench, 60)).unwrap());
    // The pipe stays open until the report is there.
    let ended = report_while_open(supervisor);
    assert!(matches!(&ended.ending, Ending::NotStarted(why) if why.contains("No such file")), "{ended:?}");
    bench.script("fence_test", "exit 126");
    let ended = report_while_open(start(&serde_json::to_string(&job(&bench, 60)).unwrap()));
    assert_eq!(ended.ending, Ending::Exited(126));
    bench.script("fence_test", "echo 'nodewell: not executed: as it says' >&2; exit 1");
    let ended = report_while_open(start(&serde_json::to_string(&job(&bench, 60)).unwrap()));
    assert_eq!(ended.ending, Ending::Exited(1), "it ran, whatever it prints");
}

#[test]
fn more_than_is_stored_of_either_output_is_reported_as_cut() {
    for (script, is_cut) in [
        ("head -c 4096 /dev/zero; head -c 4096 /dev/zero >&2", false),
        ("head -c 4097 /dev/zero", true),
        ("head -c 4097 /dev/zero >&2", true),
    ] {
        let bench = Bench::new();
        bench.script("fence_test", script);
        let ended = report_while_open(start(&serde_json::to_string(&job(&bench, 60)).unwrap()));
        assert_eq!((ended.cut, ended.ending), (is_cut, Ending::Exited(0)), "{script}");
    }
}

/// `wait_with_output` closes stdin first, which would end the run.
fn report_while_open(mut supervisor: Child) -> Report {
    let held = supervisor.stdin.take();
    let ended = report(supervisor);
    drop(held);
    ended
}
