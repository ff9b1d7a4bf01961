//! Seeds, each a story; and guards switched off, to see that somebody notices.

use std::ops::Range;

use nodewell_sim::{
    run::{Report, play},
    scene::{Kind, Mutation, Scene},
};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// `NODEWELL_SIM_FIRST_SEED` and `NODEWELL_SIM_SEEDS` choose others; with `NODEWELL_SIM_TRACE` each is told to its end.
#[test]
fn sim_no_seed_breaks_an_invariant() {
    let first = number("NODEWELL_SIM_FIRST_SEED", 0);
    let seeds = number("NODEWELL_SIM_SEEDS", 200);
    let (mut steps, mut offs, mut released, mut failed) = (0, 0, 0, Vec::new());
    for report in play_all(first..first + seeds) {
        steps += report.steps;
        offs += report.offs;
        released += report.released;
        if !report.violations.is_empty() {
            failed.push(report);
        }
    }
    eprintln!("simulation: {seeds} seeds from {first}, {steps} steps, {offs} power-offs, {released} pods released");
    assert!(failed.is_empty(), "{}", describe(&failed));
}

/// On every core; a story is alone on its thread, so it is the same as ever.
fn play_all(seeds: Range<u64>) -> Vec<Report> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let part = |number: u64| seeds.clone().filter(move |seed| seed % threads == number).map(tell).collect::<Vec<_>>();
    let mut reports: Vec<Report> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|number| scope.spawn(move || part(number))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("a story does not panic")).collect()
    });
    reports.sort_by_key(|report| report.scene.seed);
    reports
}

fn tell(seed: u64) -> Report {
    let mut report = play(Scene::of(seed));
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
        failed.iter().map(|report| format!("{} {}", report.scene.seed, report.violations[0])).collect();
    format!("{} seeds failed:\n{}\nThe first of them:\n{}", failed.len(), others.join("\n"), failed[0].replay())
}

#[test]
fn sim_a_seed_is_the_same_story_each_time() {
    for seed in [1, 3] {
        let (once, again) = (play(Scene::of(seed)), play(Scene::of(seed)));
        assert_eq!(once.trace, again.trace, "seed {seed}");
    }
}

/// Whether an oracle of one of `invariants` notices, in some seed, that `mutation` was made.
fn is_noticed(mutation: Mutation, invariants: &[&str], mut seeds: Range<u64>) -> bool {
    seeds.any(|seed| {
        let scene = Scene { mutation, dry_run: false, ..Scene::of(seed) };
        scene.kind != Kind::Large && names_one_of(&play(scene), invariants)
    })
}

fn names_one_of(report: &Report, invariants: &[&str]) -> bool {
    report.violations.iter().any(|line| invariants.iter().any(|name| line.contains(&format!("VIOLATION {name}:"))))
}

#[test]
fn sim_power_that_is_off_in_word_only_is_noticed() {
    assert!(is_noticed(Mutation::FalseOff, &["I2", "I3"], 0..120));
}

/// Two terms at once: agents side by side, or one leader's act counted by the other as nothing.
#[test]
fn sim_a_leader_that_ignores_its_lease_is_noticed() {
    assert!(is_noticed(Mutation::LeadsForEver, &["I1", "I4", "I5", "I6", "I7"], 0..120));
}

#[test]
fn sim_a_kill_switch_that_nobody_hears_is_noticed() {
    assert!(is_noticed(Mutation::DeafToStop, &["I11"], 0..120));
}

#[test]
fn sim_a_living_node_that_looks_dead_is_noticed() {
    assert!(is_noticed(Mutation::SeesDead, &["I4"], 0..20));
}
