//! What the report of a run says, and what its figures are.

use std::{collections::BTreeMap, sync::atomic::AtomicBool, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    shop::{last_line, uptime},
    soak::{
        Order,
        act::Verdict,
        fault::Fault,
        memory::{Footprint, Memory, least},
        outcome::{Outcome, Run},
        percentile::percentile,
        policies, report,
        setting::Setting,
        trial::{Miss, Times, wait},
        watch::Finding,
    },
};
use nodewell_tests::suite::Suite;

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("percentiles_are_times_that_were_measured", percentiles_are_times_that_were_measured)
        .case("a_run_is_clean_if_nothing_is_missed_or_wrong", a_run_is_clean_if_nothing_is_missed_or_wrong)
        .case("the_report_has_what_was_found_and_what_was_not", the_report_has_what_was_found_and_what_was_not)
        .case("what_is_no_proof_says_why", what_is_no_proof_says_why)
        .case("fewer_faults_are_enough_where_fewer_are_asked_for", fewer_faults_are_enough_where_fewer_are_asked_for)
        .case("memory_at_the_end_is_what_it_was_within_a_margin", memory_at_the_end_is_what_it_was_within_a_margin)
        .case("memory_is_summed_up_over_processes", memory_is_summed_up_over_processes)
        .case("memory_of_several_looks_is_the_least", memory_of_several_looks_is_the_least)
        .case("half_a_line_is_none", half_a_line_is_none)
        .case("a_wait_ends_with_what_comes_its_limit_or_the_soak", a_wait_ends_with_what_comes_its_limit_or_the_soak)
        .case("policies_have_room_for_a_soak", policies_have_room_for_a_soak);
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn percentiles_are_times_that_were_measured() {
    let times: Vec<Duration> = (1..=100).rev().map(seconds).collect();
    assert_eq!([50, 99, 100].map(|percent| percentile(&times, percent)), [Some(50.0), Some(99.0), Some(100.0)]);
    assert_eq!(percentile(&[seconds(7), seconds(3)], 50), Some(3.0));
    assert_eq!(percentile(&[seconds(7)], 99), Some(7.0));
    assert_eq!(percentile(&[], 50), None);
}

pub(super) fn outcome(fault: Fault, times: [Option<u64>; 3]) -> Outcome {
    let [found, acted, over] = times.map(|time| time.map(seconds));
    let times = Times { found, by: "record", acted, over };
    let (missed, breaches) = (None, Vec::new());
    Outcome { number: 1, at: Timestamp::UNIX_EPOCH, fault, node: "w2".to_owned(), times, missed, breaches }
}

pub(super) fn finding(verdict: Verdict) -> Finding {
    let (node, what, planted) = ("w3".to_owned(), "cordoned".to_owned(), "plug pulled on w2".to_owned());
    Finding { at: Timestamp::UNIX_EPOCH, node, what, verdict, planted }
}

/// Half of it is anonymous.
pub(super) fn memory(kib: u64) -> BTreeMap<String, Memory> {
    BTreeMap::from([("w1".to_owned(), Memory { resident_kib: kib, anonymous_kib: kib / 2, peak_kib: kib })])
}

pub(super) fn run() -> Run {
    let outcomes = vec![
        outcome(Fault::PlugPulled, [Some(16), Some(20), Some(90)]),
        outcome(Fault::PlugPulled, [Some(18), Some(24), Some(100)]),
        outcome(Fault::AgentKilled, [Some(2), None, Some(10)]),
        // Drained, and not fenced.
        outcome(Fault::DiskFailed, [Some(3), Some(9), Some(50)]),
    ];
    Run {
        seed: 42,
        setting: Setting { commit: "0a1b2c3-dirty".to_owned(), cores: 2, kernel: "6.1.0".to_owned() },
        begun: Timestamp::UNIX_EPOCH,
        lasted: seconds(600),
        at_least: outcomes.len(),
        outcomes,
        findings: Vec::new(),
        powers_off: 2,
        looks: 600,
        memory: Footprint {
            start: memory(20480),
            end: memory(22528),
            highest_kib: BTreeMap::from([("w1".to_owned(), 30720)]),
        },
        ended: None,
    }
}

fn a_run_is_clean_if_nothing_is_missed_or_wrong() {
    type Change = fn(&mut Run);
    let cases: [(&str, Change, bool); 13] = [
        ("as it is", |_| (), true),
        ("missed", |run| run.outcomes[0].missed = Some("not within 60 s".to_owned()), false),
        ("second writer", |run| run.outcomes[0].breaches.push("two writers".to_owned()), false),
        ("wrong act", |run| run.findings.push(finding(Verdict::Wrong)), false),
        ("false report", |run| run.findings.push(finding(Verdict::False)), false),
        ("of the outer machine", |run| run.findings.push(finding(Verdict::Outer)), true),
        ("nothing planted", |run| (run.at_least, run.outcomes) = (0, Vec::new()), false),
        ("one too few", |run| run.at_least += 1, false),
        ("ended early", |run| run.ended = Some("by a signal".to_owned()), false),
        ("looked at seldom", |run| run.looks = 120, true),
        ("not looked at", |run| run.looks = 119, false),
        ("memory not seen at the end", |run| run.memory.end.clear(), false),
        ("memory not seen at all", |run| run.memory = Footprint::default(), false),
    ];
    for (case, change, is_clean) in cases {
        let mut run = run();
        change(&mut run);
        assert_eq!(run.is_clean(), is_clean, "{case}");
        assert_eq!(report::json(&run)["clean"], is_clean, "{case}");
    }
}

/// Whatever it is, the last line of the report and the JSON have it.
fn what_is_no_proof_says_why() {
    let mut run = run();
    assert!(report::text(&run).ends_with("\nPASSED\n"), "{}", report::text(&run));
    assert_eq!(report::json(&run)["failures"], serde_json::json!([]));
    run.at_least = 100;
    run.outcomes[0].missed = Some("not within 60 s".to_owned());
    run.findings = [Verdict::Wrong, Verdict::False, Verdict::False].map(finding).to_vec();
    run.memory.end = memory(40960);
    let expected = [
        "faults missed: 1",
        "acts without a cause: 1",
        "false reports: 2",
        "faults planted: 4, of 100 that are needed; give it more --minutes, or ask for fewer by --least",
        "w1 has 20.0 MiB of anonymous memory at the end, 10.0 at the start; 2.0 more are no leak",
    ];
    assert_eq!(run.failures(), expected);
    assert_eq!(report::json(&run)["failures"], serde_json::json!(expected));
    let last = format!("\nFAILED: {}\n", expected.join("; "));
    assert!(report::text(&run).ends_with(&last), "{}", report::text(&run));
    // How much memory there was in the middle of it shows nothing.
    run.ended = Some("by a signal".to_owned());
    let early = "it ended early: by a signal";
    assert_eq!(run.failures(), [expected[0], expected[1], expected[2], early, expected[3]]);
}

fn fewer_faults_are_enough_where_fewer_are_asked_for() {
    for (faults, least, at_least) in [
        (None, None, 100),
        (Some(5), None, 5),
        (Some(100), None, 100),
        (Some(300), None, 100),
        (None, Some(1), 1),
        (Some(300), Some(200), 200),
    ] {
        let order = Order { seed: 1, lasts: seconds(1), faults, least };
        assert_eq!(order.at_least(), at_least, "{faults:?} {least:?}");
    }
}

/// Of 10 MiB 2 MiB more, of 100 a tenth.
fn memory_at_the_end_is_what_it_was_within_a_margin() {
    for (from, to, is_as_before) in [
        (10240, 10240, true),
        (10240, 1024, true),
        (10240, 12288, true),
        (10240, 12289, false),
        (102_400, 112_640, true),
        (102_400, 112_641, false),
    ] {
        let footprint = Footprint { start: memory(2 * from), end: memory(2 * to), ..Footprint::default() };
        assert_eq!(footprint.grown().is_empty(), is_as_before, "{from} to {to}: {:?}", footprint.grown());
    }
}

fn the_report_has_what_was_found_and_what_was_not() {
    let mut run = run();
    let text = report::text(&run);
    let line =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    let words = |name: &str| line(name).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words("plug pulled"), "plug pulled 2 2 0 16.0 / 18.0 20.0 / 24.0 90.0 / 100.0");
    assert_eq!(words("agent killed"), "agent killed 1 1 0 2.0 / 2.0 - 10.0 / 10.0");
    assert_eq!(words("w1 "), "w1 20.0 22.0 30.0 10.0 11.0");
    assert!(!text.contains("API server away  "), "it was not planted: {text}");
    assert!(text.contains("\ncommit 0a1b2c3-dirty, 2 cores, kernel 6.1.0\n"), "{text}");
    assert!(line("seed 42").contains("4 faults in 10 min, 4 found, 0 missed; 2 nodes fenced, 2 powers off"), "{text}");

    run.outcomes[1].missed = Some("not within 180 s".to_owned());
    run.outcomes[1].breaches.push("two writers".to_owned());
    run.findings = [Verdict::Wrong, Verdict::False, Verdict::False, Verdict::Outer].map(finding).to_vec();
    run.ended = Some("by a signal".to_owned());
    let text = report::text(&run);
    for expected in [
        "4 faults in 10 min, 4 found, 1 missed; 2 nodes fenced, 2 powers off ordered; 1 wrong acts, 2 false reports, 1",
        "; found after 3.0 / 18.0 s, over after 50.0 / 100.0 s; ",
        "; ended early: by a signal",
        "WRONG ACT: 1970-01-01T00:00:00Z w3: cordoned; planted was: plug pulled on w2",
        "FALSE REPORT: ",
        "of the outer machine: ",
        "MISSED: 1 1970-01-01T00:00:00Z w2 plug pulled: not within 180 s",
        "WRONG RELEASE: 1 1970-01-01T00:00:00Z w2 plug pulled: two writers",
        "| soak with faults at random, seed 42, 1970-01-01 | 4 faults of 3 kinds in 10 min",
        "| found / missed / acts without a cause / false reports | 4 / 1 / 1 / 2 |",
        "| nodes fenced; releases without proof or second writers | 2; 1 |",
        "→ all as before | 3.0 / 18.0 s; 50.0 / 100.0 s |",
        "→ given back | 20.0 / 24.0 s; 90.0 / 100.0 s |",
        "w1 10.0 → 11.0 MiB anonymous (20.0 → 22.0 RSS)",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(
        run.outcomes[1].line().ends_with("; MISSED: not within 180 s; WRONG: two writers"),
        "{}",
        run.outcomes[1].line()
    );
    let json = report::json(&run);
    assert_eq!((&json["missed"], &json["wrong-acts"], &json["false-reports"]), (&1.into(), &1.into(), &2.into()));
    assert_eq!(json["faults"][0]["found"], 16.0);
}

fn memory_is_summed_up_over_processes() {
    let one = "Rss:     4096 kB\nPss:  100 kB\nAnonymous:   1024 kB\nName:\tnodewelld\nVmHWM:\t    5000 kB\nRssAnon:\t  999 kB\n";
    let memory = Memory { resident_kib: 8192, anonymous_kib: 2048, peak_kib: 10000 };
    assert_eq!(Memory::of(&[one, one].concat()), Some(memory));
    assert_eq!(Memory::of("cat: /proc/1/status: gone"), None, "no process is not one without memory");
    let mut footprint = Footprint::default();
    for peak_kib in [10000, 12000, 11000] {
        footprint.see(&BTreeMap::from([("w1".to_owned(), Memory { peak_kib, ..memory })]));
    }
    assert_eq!(footprint.highest_kib["w1"], 12000);
}

fn memory_of_several_looks_is_the_least() {
    assert_eq!(least(&[]), BTreeMap::new());
    let looks = [memory(30), memory(10), BTreeMap::new(), memory(20)];
    assert_eq!(least(&looks), memory(10));
    let other = BTreeMap::from([("c1".to_owned(), memory(40)["w1"])]);
    let both: BTreeMap<_, _> = memory(30).into_iter().chain(other.clone()).collect();
    assert_eq!(least(&[memory(30), other]), both);
}

fn half_a_line_is_none() {
    assert_eq!(last_line("17.25\n17.35\n"), Some("17.35"));
    assert_eq!(last_line("17.25\n17.35\n17.4"), Some("17.35"));
    assert_eq!(last_line("17.2"), None);
    assert_eq!(uptime("17.35 20.00"), Some(1735));
    assert_eq!(uptime(""), None);
}

fn a_wait_ends_with_what_comes_its_limit_or_the_soak() {
    let (goes_on, ends) = (AtomicBool::new(false), AtomicBool::new(true));
    let mut looks = 0..;
    assert_eq!(wait(&goes_on, seconds(60), || looks.next().filter(|look| *look == 2)), Ok(Some(2)));
    assert_eq!(wait(&goes_on, Duration::from_millis(1), || None::<()>), Ok(None));
    assert_eq!(wait(&ends, seconds(60), || None::<()>), Err(Miss::Ended));
    assert_eq!(wait(&ends, seconds(60), || Some(1)), Ok(Some(1)), "what has come is not lost");
}

/// Ten an hour and five a day are fewer than are planted.
fn policies_have_room_for_a_soak() {
    for policy in [policies::dead_nodes(), policies::readonly_filesystems()] {
        assert!(policy.contains("rate: { count: 10000, window: 1h }"), "{policy}");
        assert!(!policy.contains("count: 10,"), "{policy}");
    }
    assert!(policies::dead_nodes().contains("powerCycles: { count: 10000, window: 24h }"));
}
