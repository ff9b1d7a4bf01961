//! `nodewell release` and `nodewell reclaim`: a check process lets go of its devices until they are reclaimed, or until
//! the time is over.

use std::{fs, path::Path};

use nodewell_tests::{agent::Plan, check_process::CheckProcess, cli::Outcome, suite::Suite, wait::until};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("check-process-release")
        .case(
            "a_check_process_whose_devices_are_released_holds_no_worker",
            a_check_process_whose_devices_are_released_holds_no_worker,
        )
        .case(
            "a_worker_that_starts_during_a_release_touches_nothing",
            a_worker_that_starts_during_a_release_touches_nothing,
        )
        .case("a_release_survives_restarts_and_ends_by_itself", a_release_survives_restarts_and_ends_by_itself)
        .case("it_needs_no_agent", it_needs_no_agent)
        .case("wrong_words_are_reported", wrong_words_are_reported);
}

fn started(plan: &Plan) -> CheckProcess {
    // Without an interval of its own a round of disks would come minutes after the release.
    let nothing = plan.folder().join("nothing");
    CheckProcess::of(plan, "disk", &[("--sys", &nothing), ("--dev", &nothing), ("--interval", Path::new("500ms"))])
}

fn nodewell(plan: &Plan, words: &[&str]) -> Outcome {
    let socket = plan.folder().join("socket");
    // Other cases have workers, too.
    let alone = (words[0] == "release").then_some("--only-this-agent");
    nodewell_tests::cli::nodewell(words.iter().copied().chain(alone).chain(["--socket", socket.to_str().unwrap()]))
}

fn done(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains(words), "{outcome:?}");
}

/// A worker that had just been started is there for a moment longer, and ends before it touches a device.
fn wait_released(check_process: &CheckProcess) {
    check_process.wait_logged("released", 1);
    until("no worker is left", || (!check_process.has_worker()).then_some(()));
}

fn a_check_process_whose_devices_are_released_holds_no_worker() {
    let agent = Plan::default().start();
    let check_process = started(agent.plan());
    let first = check_process.worker();
    done(&nodewell(agent.plan(), &["release", "disk"]), "nothing of nodewell holds its devices");
    wait_released(&check_process);
    done(&nodewell(agent.plan(), &["reclaim", "disk"]), "reads its devices again");
    assert_ne!(check_process.worker(), first);
    done(&nodewell(agent.plan(), &["reclaim", "disk"]), "had not released its devices");
}

fn a_worker_that_starts_during_a_release_touches_nothing() {
    let plan = Plan::default();
    let (parent, socket) = (std::process::id().to_string(), plan.folder().join("socket"));
    let code = |name: &str| {
        let socket = socket.to_str().unwrap();
        nodewell_tests::cli::nodewell_checks(["worker", name, "--parent", &parent, "--socket", socket]).code
    };
    assert_ne!(code("disk"), 0, "it asks the check process for requests, and there is none");
    done(&nodewell(&plan, &["release", "disk"]), "nothing of nodewell holds its devices");
    assert_eq!(code("disk"), 0, "it ended before it asked");
    assert_ne!(code("gpu"), 0, "its devices are not released");
}

fn a_release_survives_restarts_and_ends_by_itself() {
    let agent = Plan::default().start();
    done(&nodewell(agent.plan(), &["release", "disk", "--for", "20s"]), "released until");
    let file = agent.plan().folder().join("released/disk");
    let mut check_process = started(agent.plan());
    check_process.wait_logged("released", 1);
    check_process.kill();
    let check_process = started(agent.plan());
    let _ = check_process.worker();
    assert!(file.exists(), "no reader ended it");
    check_process.wait_logged("reads its devices again", 1);
}

fn it_needs_no_agent() {
    let plan = Plan::default();
    let check_process = started(&plan);
    let _ = check_process.worker();
    done(&nodewell(&plan, &["release", "disk"]), "nothing of nodewell holds its devices");
    wait_released(&check_process);
    fs::remove_file(plan.folder().join("released/disk")).unwrap();
    until("it works again", || check_process.has_worker().then_some(()));
}

fn wrong_words_are_reported() {
    let plan = Plan::default();
    assert_eq!(nodewell(&plan, &["release", "disk", "--for", "25h"]).code, 64);
    assert_eq!(nodewell(&plan, &["release", "network"]).code, 64);
    fs::write(plan.folder().join("released"), "a file where the folder should be").unwrap();
    let denied = nodewell(&plan, &["release", "disk"]);
    assert_eq!(denied.code, 77, "{denied:?}");
    assert!(denied.stderr.contains("released/disk"), "{denied:?}");
}
