//! Guards switched off one at a time: the oracle of each invariant has to notice within [`SEEDS`], with no other oracle
//! to help it. Each is given a plot in which the guard matters; all else (delays, BMCs, lost calls) is the seed's.

use std::{ops::Range, time::Duration};

use nodewell_sim::{
    faults::{Edit, Fault, Person},
    run::play,
    scenario::{Kind, Mutation, Scenario, Steps, Theme},
    truth::Manner,
};

use crate::heirs::ill_and_then_dead;

type Plot = Vec<(u64, Fault)>;

/// Most guards are missed in the first few.
const SEEDS: Range<u64> = 1..37;
/// Where a crash has to meet one act in its second, it takes a hundred.
const MANY_SEEDS: Range<u64> = 1..201;

fn staged(scenario: Scenario, theme: Theme, steps: Steps, plot: Plot) -> Scenario {
    let (kind, dry_run, leave_off, has_outlets) = (Kind::Mixed, false, false, false);
    Scenario { theme, steps, plot, kind, dry_run, leave_off, has_outlets, ..scenario.made_kind() }
}

/// A plot about machines and their power.
pub(crate) fn power(plot: Plot) -> impl Fn(Scenario) -> Scenario {
    move |scenario| staged(scenario, Theme::Power, Steps::CordonPowerCycle, plot.clone())
}

fn drains(plot: Plot) -> impl Fn(Scenario) -> Scenario {
    move |scenario| Scenario {
        never_allows: true,
        forces: false,
        ..staged(scenario, Theme::Drains, Steps::DrainReboot, plot.clone())
    }
}

/// Three hosts with etcd.
fn hosts(fences_control_plane: bool, plot: Plot) -> impl Fn(Scenario) -> Scenario {
    move |scenario| Scenario {
        fences_control_plane,
        control_planes: 3,
        ..staged(scenario, Theme::ControlPlane, Steps::CordonPowerCycle, plot.clone())
    }
}

pub(crate) fn node(number: u64) -> String {
    format!("n-{number:04}")
}

fn hangs(at: u64) -> (u64, Fault) {
    (at, Fault::Hang(node(4)))
}

/// Every replica dies again and again.
fn crashes(from: u64, to: u64, apart: usize) -> Plot {
    let all = |at: u64| [(at, Fault::Kill(0)), (at, Fault::Kill(1))];
    (from..to).step_by(apart).flat_map(all).collect()
}

fn hangs_and_crashes() -> Plot {
    [vec![hangs(30)], crashes(80, 170, 9)].concat()
}

/// Half of the smallest cluster for a minute, and one node of it for ever.
fn storm() -> Plot {
    let cut = (5..12).map(|number| (40, Fault::Cut(node(number))));
    let healed = (5..12).map(|number| (115, Fault::Heal(node(number))));
    cut.chain(healed).chain([(42, Fault::Hang(node(4)))]).collect()
}

/// The first seed in which the oracle of `invariant` notices.
fn first_noticed(
    mutation: Mutation,
    invariant: &'static str,
    stage: impl Fn(Scenario) -> Scenario,
    mut seeds: Range<u64>,
) -> Option<u64> {
    seeds.find(|seed| {
        let scenario = Scenario { mutation, judged: Some(invariant), ..stage(Scenario::of(*seed)) };
        scenario.kind != Kind::Large && !play(scenario).violations.is_empty()
    })
}

#[track_caller]
pub(crate) fn assert_noticed(mutation: Mutation, invariant: &'static str, stage: impl Fn(Scenario) -> Scenario) {
    assert_noticed_within(SEEDS, mutation, invariant, stage);
}

#[track_caller]
fn assert_noticed_within(
    seeds: Range<u64>,
    mutation: Mutation,
    invariant: &'static str,
    stage: impl Fn(Scenario) -> Scenario,
) {
    let noticed = first_noticed(mutation, invariant, stage, seeds);
    eprintln!("{invariant} {mutation:?}: noticed by seed {noticed:?}");
    assert!(noticed.is_some(), "{invariant} does not notice {mutation:?}");
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i1_notices_a_policy_without_budgets() {
    let many = (3..12).map(|number| (40, Fault::Hang(node(number)))).collect();
    assert_noticed(Mutation::NoBudget, "I1", power(many));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i1_notices_pods_that_are_not_counted() {
    let several = power([(40, 4), (50, 5), (60, 6)].map(|(at, number)| (at, Fault::PowerLoss(node(number)))).to_vec());
    let counted = |scenario| Scenario { pods: 40, most_pods: Some(1), fast: true, ..several(scenario) };
    assert_noticed(Mutation::NoPodRate, "I1", counted);
}

/// A garbage collector makes of the taint what it is, a release.
#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i2_notices_a_taint_set_like_any_other_mark() {
    assert_noticed(Mutation::TaintsFirst, "I2", power(vec![hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i2_notices_a_bmc_that_is_asked_once() {
    assert_noticed(Mutation::CachesReadings, "I2", power(vec![hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i2_notices_power_that_only_reads_off() {
    assert_noticed(Mutation::FalseOff, "I2", power(vec![hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i3_notices_power_that_only_reads_off() {
    assert_noticed(Mutation::FalseOff, "I3", power(vec![hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i4_notices_a_living_node_that_looks_dead() {
    assert_noticed(Mutation::SeesDead, "I4", power(vec![(170, Fault::Go)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i5_notices_leaders_that_ignore_the_lease() {
    assert_noticed(Mutation::LeadsForEver, "I5", power(vec![hangs(40)]));
}

/// The old leader is gone, its agent is not: it turns the node off beside, or after, what the new leader does.
#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i5_notices_an_agent_that_outlives_its_term() {
    assert_noticed_within(MANY_SEEDS, Mutation::OutlivesTerm, "I5", power(hangs_and_crashes()));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i6_notices_an_act_repeated_without_a_question() {
    // Time enough for each leader to begin an act, and for none to end it.
    let crashes = crashes(100, 170, 23);
    assert_noticed_within(MANY_SEEDS, Mutation::NeverAsks, "I6", power([vec![hangs(30)], crashes].concat()));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i7_notices_power_cycles_without_a_limit() {
    let breaks = power(vec![(30, Fault::Breaks(node(4)))]);
    let longer = |scenario| Scenario { trouble: Duration::from_secs(440), ..breaks(scenario) };
    assert_noticed(Mutation::NoPowerCycleLimit, "I7", longer);
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i7_notices_a_machine_turned_on_that_is_to_be_left_off() {
    let breaks = power(vec![(30, Fault::Breaks(node(4)))]);
    let limited = |scenario| Scenario { most_cycles: 0, ..breaks(scenario) };
    assert_noticed(Mutation::TurnsOnAtLimit, "I7", limited);
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i8_notices_a_quorum_that_is_not_asked_for() {
    let plot = vec![(30, Fault::EtcdStops("cp-1".into())), (40, Fault::KubeletDies("cp-2".into()))];
    assert_noticed(Mutation::BlindToQuorum, "I8", hosts(true, plot));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i8_notices_a_policy_that_reaches_for_the_control_plane() {
    assert_noticed(Mutation::TouchesControlPlane, "I8", hosts(false, vec![(40, Fault::KubeletDies("cp-2".into()))]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i9_notices_acts_in_a_storm() {
    assert_noticed(Mutation::NoStorm, "I9", power(storm()));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i9_notices_acts_right_after_a_storm() {
    assert_noticed(Mutation::NoCooldown, "I9", power(storm()));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i10_notices_a_missing_lease_taken_for_an_old_one() {
    assert_noticed(Mutation::MissingMeansDead, "I10", |scenario| Scenario { dry_run: false, ..scenario });
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i11_notices_a_kill_switch_that_is_not_read() {
    assert_noticed(Mutation::DeafToStop, "I11", power(vec![hangs(40), (50, Fault::Stop)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i11_notices_an_annotation_to_skip_that_is_not_read() {
    assert_noticed(
        Mutation::DeafToSkip,
        "I11",
        power(vec![hangs(40), (50, Fault::Person(Person::SkipsNode, node(4)))]),
    );
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i12_notices_marks_left_behind() {
    assert_noticed(Mutation::LeavesMarks, "I12", power(vec![hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i12_notices_a_persons_cordon_taken_away() {
    let plot = vec![(20, Fault::Person(Person::Cordons, node(4))), hangs(40)];
    assert_noticed(Mutation::UncordonsAnybody, "I12", power(plot));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i13_notices_pods_deleted_by_their_names() {
    let lost = |number: u64| (30 + 20 * (number - 3), Fault::PowerLoss(node(number)));
    let plot: Plot = (3..9).map(lost).collect();
    let wild = move |scenario| Scenario { kind: Kind::Wild, pods: 40, ..power(plot.clone())(scenario) };
    assert_noticed(Mutation::NamesOnly, "I13", wild);
}

fn three_fall_ill() -> Plot {
    [(40, 4), (60, 5), (80, 6)].map(|(at, number)| (at, Fault::BecomesUnhealthy(node(number)))).to_vec()
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i14_notices_a_drain_without_an_end() {
    assert_noticed(Mutation::DrainsOn, "I14", drains(three_fall_ill()));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i14_notices_deletions_around_the_budgets() {
    assert_noticed(Mutation::AsksNoBudget, "I14", drains(three_fall_ill()));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i15_notices_a_dry_run_that_is_none() {
    let dry = power(vec![hangs(40)]);
    assert_noticed(Mutation::WritesInDryRun, "I15", |scenario| Scenario { dry_run: true, ..dry(scenario) });
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i16_notices_a_broken_policy_that_stays_in_force() {
    assert_noticed(Mutation::TakesBrokenPolicy, "I16", power(vec![(30, Fault::Edit(Edit::Spoils)), hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i17_notices_a_policy_that_never_acts() {
    let plain =
        |scenario| Scenario { kind: Kind::Plain, theme: Theme::Power, steps: Steps::CordonPowerCycle, ..scenario };
    assert_noticed(Mutation::Sluggish, "I17", |scenario| Scenario { dry_run: false, ..plain(scenario) });
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i17_notices_a_record_that_gives_way_to_none() {
    assert_noticed(Mutation::KeepsRecords, "I17", |scenario| ill_and_then_dead(scenario.seed));
}

/// The record goes back to before its power cycle, while its node stays down for good.
#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i17_notices_a_cache_that_outlives_its_store() {
    let back = Fault::StoreBack(Duration::from_secs(30), Duration::ZERO);
    assert_noticed(Mutation::ClingsToCopies, "I17", power(vec![hangs(40), (90, back)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i18_notices_guards_passed_over() {
    assert_noticed(Mutation::SkipsGuards, "I18", power(vec![hangs(40)]));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i21_notices_a_liar_that_is_trusted() {
    let plot = vec![(20, Fault::Lies(node(4), Manner::ReadsOff)), hangs(30), (120, Fault::Wake(node(4)))];
    let fast = power(plot);
    assert_noticed(Mutation::TrustsLiars, "I21", |scenario| Scenario { fast: true, most_pods: None, ..fast(scenario) });
}

/// What differs in the deeds of a scenario when its replicas' clocks do; nothing if nothing does.
fn under_other_clocks(scenario: &Scenario) -> Option<String> {
    let skewed = |skew| play(Scenario { skew, judged: Some("none"), ..scenario.clone() }).deeds;
    let agreed = skewed([0; 3]);
    [[-600, -600, -600], [900, 900, 900], [300, -300, 600]].into_iter().find_map(|skew| {
        let deeds = skewed(skew);
        (deeds != agreed).then(|| format!("{agreed:?} with clocks that agree, {deeds:?} with {skew:?}"))
    })
}

/// I20: one failure, and a storm with what comes after it.
#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i20_other_clocks_do_the_same_deeds() {
    for seed in [0, 10, 20] {
        assert_eq!(under_other_clocks(&Scenario::of(seed)), None, "seed {seed}");
    }
    for seed in [1, 2] {
        assert_eq!(under_other_clocks(&power(storm())(Scenario::of(seed))), None, "seed {seed}, in a storm");
    }
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i20_notices_leases_judged_by_the_wall_clock() {
    let judged = |seed| under_other_clocks(&Scenario { mutation: Mutation::JudgesByWallClock, ..Scenario::of(seed) });
    assert!([0, 10, 20].into_iter().any(|seed| judged(seed).is_some()));
}
