//! Scripted stories, each over some seeds: what the seeds alone would play too seldom. No oracle may find anything, and
//! what the story is about has to happen.

use std::time::Duration;

use nodewell_remediation::api::policy::OffUntil;
use nodewell_sim::{
    faults::{Fault, Person},
    run::{Report, play},
    scenario::{Kind, Scenario, Steps, Theme},
    truth::Manner,
};

use crate::seeds::number;

pub(crate) type Plot = Vec<(u64, Fault)>;

/// Stories of each; fewer where fewer seeds are asked for (`NODEWELL_SIM_SEEDS`).
const STORIES: u64 = 12;
const LEAST: u64 = 3;

fn seeds() -> std::ops::RangeInclusive<u64> {
    1..=(number("NODEWELL_SIM_SEEDS", u64::MAX) / 20).clamp(LEAST, STORIES)
}

pub(crate) fn n4() -> String {
    "n-0004".into()
}

/// Fast, so that a story has time for what comes after the release.
pub(crate) fn staged(seed: u64, theme: Theme, steps: Steps, plot: Plot) -> Scenario {
    let scenario = Scenario {
        theme,
        steps,
        plot,
        kind: Kind::Mixed,
        dry_run: false,
        leave_off: false,
        ..Scenario::of(seed).made_kind()
    };
    Scenario { nodes: 12, pods: 24, fast: true, most_pods: None, ..scenario }
}

/// Every seed is quiet, and `happens` in one of them.
#[track_caller]
pub(crate) fn assert_quiet(happens: &str, scenario: impl Fn(u64) -> Scenario) -> Vec<Report> {
    let judged = std::env::var("NODEWELL_SIM_JUDGED").ok().map(|invariant| &*invariant.leak());
    let reports: Vec<Report> = seeds().map(|seed| play(Scenario { judged, ..scenario(seed) })).collect();
    let found: Vec<String> = reports
        .iter()
        .filter_map(|report| Some(format!("{} {}", report.scenario.seed, report.violations.first()?)))
        .collect();
    let count: u64 = reports.iter().map(|report| report.tally.of(happens)).sum();
    eprintln!("{happens}: {count} in {} stories, {} of them broken", reports.len(), found.len());
    if std::env::var_os("NODEWELL_SIM_TRACE").is_some()
        && let Some(report) = reports.iter().find(|report| !report.violations.is_empty()).or(reports.first())
    {
        eprintln!("{}", report.replay());
    }
    assert!(found.is_empty(), "{} of {} stories broke:\n{}", found.len(), reports.len(), found.join("\n"));
    assert!(count > 0, "in no story: {happens}");
    reports
}

/// AC loss: its BMC is dead, its outlets are On, and they may or may not obey.
#[test]
fn sim_a_lost_feed_is_fenced_by_the_outlets() {
    let plot = || vec![(40, Fault::LosesFeed(n4())), (200, Fault::FeedBack(n4()))];
    assert_quiet("outlets read Off", |seed| Scenario {
        has_outlets: true,
        ..staged(seed, Theme::Power, Steps::CordonPowerCycle, plot())
    });
}

/// Its BMC falls silent with the machine, and answers again when it was turned off by its outlets.
#[test]
fn sim_a_bmc_that_answers_again_turns_on_what_its_outlets_do_not_start() {
    let plot = || {
        vec![(39, Fault::Lies(n4(), Manner::Hangs)), (40, Fault::Hang(n4())), (110, Fault::Lies(n4(), Manner::Honest))]
    };
    assert_quiet("edge AwaitReady-PoweringOn", |seed| Scenario {
        has_outlets: true,
        ..staged(seed, Theme::Power, Steps::CordonPowerCycle, plot())
    });
}

/// The network of a node is cut, its storage is cut off, its pods are released, and a person deletes the record.
fn forgotten(healed: u64) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let plot = vec![
            (30, Fault::Cut(n4())),
            (100, Fault::Person(Person::DeletesRecord, n4())),
            (healed, Fault::Heal(n4())),
        ];
        staged(seed, Theme::Storage, Steps::CordonPowerCycle, plot)
    }
}

#[test]
fn sim_a_deleted_record_restores_no_storage_to_a_node_that_is_silent() {
    assert_quiet("cluster left-cut record deleted", forgotten(175));
}

#[test]
fn sim_a_deleted_record_restores_no_storage_to_a_node_that_lives() {
    assert_quiet("cluster left-cut record deleted", forgotten(104));
}

/// The API server is away for so long, and one machine dies meanwhile. Which kubelets are heard late, and report late
/// that they are Ready, differs between the stories.
fn away(seconds: impl Fn(u64) -> u64, breaks_watches: impl Fn(u64) -> bool) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let plot = vec![(40, Fault::ApiDown(Duration::from_secs(seconds(seed)))), (42, Fault::Hang(n4()))];
        let scenario = staged(seed, Theme::Power, Steps::CordonPowerCycle, plot);
        Scenario { remembers_silence: true, breaks_watches: breaks_watches(seed), ..scenario }
    }
}

/// The leader leads on, and by its policy 15 s of silence are enough.
#[test]
fn sim_kubelets_that_are_late_after_a_short_absence_of_the_api_server_are_left_alone() {
    assert_quiet("cluster late kubelets silent for 15 s", away(|seed| 7 + seed % 3, |_| true));
}

/// About as long as a kubelet may be silent: the node lifecycle controller gives up those that are late.
#[test]
fn sim_kubelets_that_are_late_after_an_absence_of_the_api_server_are_left_alone() {
    let seconds = |seed| if seed % 2 == 0 { 26 } else { 25 + seed };
    assert_quiet("cluster late kubelets given up", away(seconds, |seed| seed % 4 < 2));
}

/// As with an API server that crashes again and again.
#[test]
fn sim_kubelets_that_are_late_after_the_second_absence_are_left_alone() {
    assert_quiet("cluster late kubelets given up", |seed| {
        let (first, second) = (Duration::from_secs(7), Duration::from_secs(if seed % 2 == 0 { 29 } else { 33 + seed }));
        let plot = vec![(40, Fault::ApiDown(first)), (85, Fault::ApiDown(second)), (90, Fault::Hang(n4()))];
        let scenario = staged(seed, Theme::Power, Steps::CordonPowerCycle, plot);
        Scenario { remembers_silence: true, breaks_watches: true, ..scenario }
    });
}

/// A host that is rebooted has an API server and a controller, and the other controllers are gone.
#[test]
fn sim_kubelets_that_are_late_to_a_controller_that_begins_are_left_alone() {
    assert_quiet("cluster late kubelets silent for 15 s", |seed| {
        let kills = (0..2).map(|replica| (40, Fault::Kill(replica)));
        let away = Duration::from_secs(7 + seed % 3);
        let plot = kills.chain([(41, Fault::ApiDown(away)), (43, Fault::Hang(n4()))]).collect();
        staged(seed, Theme::Power, Steps::CordonPowerCycle, plot)
    });
}

/// A machine hangs, its BMC lies, and it wakes about when its pods are gone, or while it is to be turned on.
fn wakes(manner: Manner) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let woke = 66 + 4 * seed;
        let plot = vec![(20, Fault::Lies(n4(), manner)), (30, Fault::Hang(n4())), (woke, Fault::Wake(n4()))];
        staged(seed, Theme::Power, Steps::CordonPowerCycle, plot)
    }
}

#[test]
fn sim_a_bmc_that_read_off_and_lied_gets_no_more_orders() {
    assert_quiet("cluster liars found", wakes(Manner::ReadsOff));
}

#[test]
fn sim_a_bmc_that_fails_slowly_and_lied_gets_no_more_orders() {
    assert_quiet("cluster liars found", wakes(Manner::StuckOff));
}

/// The machine is ill and reports; it is drained, and its BMC reports Off and On by turns.
fn flaps(span: u64) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let manner = Manner::Flaps(Duration::from_secs(span));
        let plot = vec![(20, Fault::Lies(n4(), manner)), (30, Fault::BecomesUnhealthy(n4()))];
        staged(seed, Theme::Drains, Steps::TaintDrainPowerCycle, plot)
    }
}

#[test]
fn sim_a_bmc_that_reads_off_and_on_by_turns_gets_no_live_machine_tainted() {
    assert_quiet("bmc Flaps", flaps(0));
}

#[test]
fn sim_a_bmc_that_reads_on_every_few_seconds_gets_no_live_machine_tainted() {
    assert_quiet("bmc Flaps", flaps(3));
}

#[test]
fn sim_a_bmc_that_flaps_gets_no_machine_tainted_that_wakes() {
    assert_quiet("cluster lies believed", wakes(Manner::Flaps(Duration::from_secs(5))));
}

/// One of the hosts on which controllers run is ill; in some of the stories it is the leader's.
#[test]
fn sim_a_leader_whose_own_host_is_ill_lets_another_lead() {
    assert_quiet("act resign", |seed| {
        let ill = format!("cp-{}", seed % 2);
        let plot = vec![(40, Fault::BecomesUnhealthy(ill))];
        let scenario = staged(seed, Theme::ControlPlane, Steps::DrainReboot, plot);
        Scenario { fences_control_plane: true, replicas: 2, ..scenario }
    });
}

/// A BMC pretends to cut the power, which a person, or the mains, did a moment before.
#[test]
fn sim_a_machine_that_boots_anew_while_it_is_cut_is_not_waited_for_until_it_is_off() {
    assert_quiet("edge PoweringOff-AwaitReady", |seed| {
        let rebooted = 46 + seed;
        let plot = vec![
            (20, Fault::Lies(n4(), Manner::Pretends)),
            (30, Fault::Hang(n4())),
            (rebooted, Fault::Person(Person::Reboots, n4())),
        ];
        staged(seed, Theme::Power, Steps::CordonPowerCycle, plot)
    });
}

/// No power cycle is left to a node that fails. Whatever gives it back comes after the trouble.
fn limited(off_until: OffUntil, plot: Plot) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let scenario = staged(seed, Theme::Power, Steps::CordonPowerCycle, plot.clone());
        Scenario { most_cycles: 0, off_until, end: Duration::from_secs(480), ..scenario }
    }
}

#[test]
fn sim_a_dead_machine_at_the_limit_is_turned_off_and_left_off_until_a_person_releases_it() {
    assert_quiet("person Releases", limited(OffUntil::Released, vec![(30, Fault::Hang(n4()))]));
}

#[test]
fn sim_a_machine_that_is_off_at_the_limit_has_its_pods_released() {
    assert_quiet("act taint-releases", limited(OffUntil::HealthyBoot, vec![(30, Fault::PowerLoss(n4()))]));
}

/// Its firmware or a person turns it on while it is to be left off.
#[test]
fn sim_a_machine_at_the_limit_that_is_turned_on_is_not_turned_off_again() {
    let plot = vec![(30, Fault::Hang(n4())), (120, Fault::Person(Person::PowersOn, n4()))];
    assert_quiet("blocker PowerCycleLimit", limited(OffUntil::Released, plot));
}
