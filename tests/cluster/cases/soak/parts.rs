//! Several runs, summed up by their reports.

use jiff::Timestamp;
use nodewell_cluster::soak::{
    act::Verdict,
    fault::Fault,
    outcome::Run,
    read, report,
    sum::{Part, failures, text},
};
use nodewell_tests::suite::Suite;
use serde_json::{Value, json};

use super::summed_up::{finding, memory, outcome, run};

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("a_report_is_read_back_as_it_was", a_report_is_read_back_as_it_was)
        .case("what_is_no_report_is_refused", what_is_no_report_is_refused)
        .case("a_sum_has_all_faults_and_their_times", a_sum_has_all_faults_and_their_times)
        .case(
            "a_sum_is_a_proof_if_each_part_is_and_all_are_enough",
            a_sum_is_a_proof_if_each_part_is_and_all_are_enough,
        );
}

/// With something of all that a report may have.
fn other_run() -> Run {
    let mut run = Run { seed: 43, begun: Timestamp::from_second(3600).unwrap(), ..run() };
    run.outcomes = vec![
        outcome(Fault::PlugPulled, [Some(30), Some(40), Some(200)]),
        outcome(Fault::LeaderKilled, [None, None, None]),
    ];
    run.outcomes[1].missed = Some("not within 60 s".to_owned());
    run.outcomes[1].breaches.push("two writers".to_owned());
    run.findings = [Verdict::Wrong, Verdict::False, Verdict::Outer].map(finding).to_vec();
    run.memory.end = memory(24576);
    run
}

fn part(name: &str, run: &Run) -> Part {
    Part::of(name, &report::json(run)).unwrap()
}

fn a_report_is_read_back_as_it_was() {
    let ended = Run { ended: Some("by a signal".to_owned()), ..run() };
    for run in [run(), other_run(), ended] {
        let json = report::json(&run);
        let back = read::run(&json).unwrap();
        assert_eq!(report::json(&back)["memory"], json["memory"]);
        assert_eq!(report::text(&back), report::text(&run));
        assert_eq!(read::failures(&json).unwrap(), run.failures());
    }
}

fn what_is_no_report_is_refused() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 6] = [
        ("its commit is null", |report| _ = report.as_object_mut().unwrap().remove("commit")),
        ("its fault is \"disk eaten\"", |report| report["faults"][0]["fault"] = "disk eaten".into()),
        ("its found is -1", |report| report["faults"][0]["found"] = (-1).into()),
        ("its clean is false", |report| report["clean"] = false.into()),
        ("its failures is null", |report| *report = json!({})),
        ("its highest-kib has no numbers", |report| report["memory"]["highest-kib"]["w1"] = "much".into()),
    ];
    for (expected, change) in cases {
        let mut report = report::json(&run());
        change(&mut report);
        let why = Part::of("a", &report).err().unwrap_or_default();
        assert_eq!(why, expected);
    }
}

fn a_sum_has_all_faults_and_their_times() {
    let parts = [part("a", &run()), part("b", &other_run())];
    let text = text(&parts, &failures(&parts, 6));
    let words = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words("plug pulled"), "plug pulled 3 3 0 18.0 / 30.0 24.0 / 40.0 100.0 / 200.0");
    assert_eq!(words("leader killed"), "leader killed 1 0 1 - - -");
    assert_eq!(words("own MiB"), "own MiB first start end 1 end 2");
    assert_eq!(words("w1 "), "w1 10.0 11.0 12.0");
    let setting = "commit 0a1b2c3-dirty, 2 cores, kernel 6.1.0";
    for expected in [
        "2 runs of seeds 42, 43: 6 faults in 20 min, 5 found, 1 missed; 3 nodes fenced, 4 powers off ordered; 1 wrong \
         acts, 1 false reports, 1 releases",
        "; 1200 looks at the cluster\n",
        &format!("a: seed 42, 1970-01-01 00:00:00, 600 s, 4 faults, {setting}: clean\n"),
        &format!("b: seed 43, 1970-01-01 01:00:00, 600 s, 2 faults, {setting}: NOT CLEAN\n"),
        "\n1200 s in all\n",
        "WRONG ACT: 1970-01-01T00:00:00Z w3: cordoned",
        "MISSED: 1 1970-01-01T00:00:00Z w2 leader killed: not within 60 s",
        "| soak with faults at random, 2 runs of seeds 42, 43, 1970-01-01 | 6 faults of 4 kinds in 20 min",
        "w1 10.0 → 11.0 MiB anonymous (20.0 → 22.0 RSS); then w1 10.0 → 12.0 MiB anonymous (20.0 → 24.0 RSS)",
        "\nFAILED: b: faults missed: 1; b: acts without a cause: 1; b: false reports: 1; ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

fn a_sum_is_a_proof_if_each_part_is_and_all_are_enough() {
    let later = Run { begun: Timestamp::from_second(60).unwrap(), ..run() };
    let clean = [part("a", &run()), part("b", &later)];
    assert_eq!(failures(&clean, 8), Vec::<String>::new());
    assert!(text(&clean, &[]).ends_with("\nPASSED\n"));
    assert_eq!(failures(&clean, 9), ["faults planted: 8, of 9 that are needed"]);
    assert_eq!(failures(&[], 0), ["faults planted: 0, of 0 that are needed"]);
    let twice = [part("a", &run()), part("b", &run())];
    assert_eq!(failures(&twice, 8), ["a and b are one run"]);
    let early = Run { ended: Some("by a signal".to_owned()), ..later };
    assert_eq!(failures(&[part("a", &run()), part("b", &early)], 8), ["b: it ended early: by a signal"]);
}
