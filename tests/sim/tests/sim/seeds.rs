//! Seeds, each a story, and what was exercised by them.

use std::ops::Range;

use nodewell_sim::{
    run::{Report, play},
    scenario::{Kind, Scenario},
    tally::Tally,
};

/// What the first seeds have to exercise, or a proof proves less than it claims: people, faults, ways of BMCs and of
/// the provider, acts, answers of the API server, blockers, and edges of the state machine.
const EXERCISED: &str = include_str!("exercised.txt");
const SEEDS: u64 = 200;
/// So many have to exercise all of it: people seldom do what makes a difference.
const EXERCISED_BY: u64 = 600;

pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// `NODEWELL_SIM_FIRST_SEED` and `NODEWELL_SIM_SEEDS` choose others; with `NODEWELL_SIM_TRACE` each is traced to its
/// end, and with `NODEWELL_SIM_JUDGED` only that invariant is judged.
#[test]
fn sim_no_seed_breaks_an_invariant() {
    let first = number("NODEWELL_SIM_FIRST_SEED", 0);
    let seeds = number("NODEWELL_SIM_SEEDS", SEEDS);
    let (mut steps, mut offs, mut released, mut failed) = (0, 0, 0, Vec::new());
    let mut tally = Tally::default();
    for report in play_all(first..first + seeds) {
        steps += report.steps;
        offs += report.offs;
        released += report.released;
        tally.add(&report.tally);
        if !report.violations.is_empty() {
            failed.push(report);
        }
    }
    eprintln!("simulation: {seeds} seeds from {first}, {steps} steps, {offs} power-offs, {released} pods released");
    eprintln!("{tally}");
    assert!(failed.is_empty(), "{}", describe(&failed));
    if first == 0 && seeds >= EXERCISED_BY {
        assert_exercised(&tally);
    }
}

fn assert_exercised(tally: &Tally) {
    let never: Vec<&str> = EXERCISED.lines().filter(|what| tally.of(what) == 0).collect();
    assert!(never.is_empty(), "never happened in {EXERCISED_BY} seeds: {never:?}");
}

/// On every core; a story is alone on its thread, so it is the same as ever.
fn play_all(seeds: Range<u64>) -> Vec<Report> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let part =
        |number: u64| seeds.clone().filter(move |seed| seed % threads == number).map(run_seed).collect::<Vec<_>>();
    let mut reports: Vec<Report> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|number| scope.spawn(move || part(number))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("a story does not panic")).collect()
    });
    reports.sort_by_key(|report| report.scenario.seed);
    reports
}

fn run_seed(seed: u64) -> Report {
    let judged = std::env::var("NODEWELL_SIM_JUDGED").ok().map(|invariant| &*invariant.leak());
    let mut report = play(Scenario { judged, ..Scenario::of(seed) });
    if std::env::var_os("NODEWELL_SIM_TRACE").is_some() {
        eprintln!("{}", report.replay());
    }
    if report.violations.is_empty() {
        report.trace = Vec::new();
    }
    report
}

fn describe(failed: &[Report]) -> String {
    let others: Vec<String> =
        failed.iter().map(|report| format!("{} {}", report.scenario.seed, report.violations[0])).collect();
    format!("{} seeds failed:\n{}\nThe first of them:\n{}", failed.len(), others.join("\n"), failed[0].replay())
}

#[test]
fn sim_a_seed_is_the_same_story_each_time() {
    for seed in [1, 3] {
        let (once, again) = (play(Scenario::of(seed)), play(Scenario::of(seed)));
        assert_eq!(once.trace, again.trace, "seed {seed}");
    }
}

#[test]
fn sim_large_stories_are_among_the_default_seeds() {
    assert!((0..SEEDS).any(|seed| Scenario::of(seed).kind == Kind::Large));
}
