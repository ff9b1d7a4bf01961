//! Two policies: the one that comes first by its name only isolates, and its record gives way when its node has died.

use std::time::Duration;

use nodewell_sim::{
    faults::{Edit, Fault, PLAIN_AT},
    run::play,
    scenario::{Isolation, Kind, Scenario, Second, Steps, Theme},
};

use crate::{
    mutations::node,
    plots::{Plot, assert_quiet, n4, staged},
};

const GAVE_WAY: &str = "cluster records that gave way";
const ISOLATIONS: [Isolation; 3] = [Isolation::Cordon, Isolation::Taint, Isolation::OwnTaint];

/// Another one for each number.
fn second(number: u64) -> Option<Second> {
    let isolation = ISOLATIONS[usize::try_from(number % 3).unwrap_or_default()];
    Some(Second { of_lost: number.is_multiple_of(2), isolation })
}

/// Ill for most of a minute, isolated for that, and then without power. I17 asks that its pods are released in time.
pub(crate) fn ill_and_then_dead(seed: u64) -> Scenario {
    let plot = vec![(5, Fault::BecomesUnhealthy(n4())), (PLAIN_AT.as_secs(), Fault::PowerLoss(n4()))];
    Scenario {
        kind: Kind::Plain,
        theme: Theme::Power,
        steps: Steps::CordonPowerCycle,
        second: second(seed / 10),
        dry_run: false,
        leave_off: false,
        has_outlets: false,
        most_pods: None,
        plot,
        ..Scenario::of(seed).made_kind()
    }
}

#[test]
fn sim_a_record_that_only_isolates_keeps_no_dead_node_from_being_fenced() {
    for seed in [0, 10, 20, 30, 40, 50] {
        for fast in [false, true] {
            let report = play(Scenario { fast, ..ill_and_then_dead(seed) });
            assert!(report.violations.is_empty(), "{}", report.replay());
            assert!(report.released > 0 && report.tally.of(GAVE_WAY) > 0, "{}", report.replay());
        }
    }
}

/// `n-0004` is ill from 20 s on, hangs at 40 s, and is given up by the cluster at 80 s.
fn ill_and_hung(then: Plot) -> Plot {
    [vec![(20, Fault::BecomesUnhealthy(n4())), (40, Fault::Hang(n4()))], then].concat()
}

fn isolated(seed: u64, plot: Plot) -> Scenario {
    Scenario { second: second(seed), ..staged(seed, Theme::Power, Steps::CordonPowerCycle, plot) }
}

/// In some of the stories right before that, in others when the next record is open.
#[test]
fn sim_a_node_that_wakes_when_its_record_gives_way_loses_and_keeps_nothing() {
    assert_quiet(GAVE_WAY, |seed| isolated(seed, ill_and_hung(vec![(79 + seed, Fault::Wake(n4()))])));
}

/// Before that, or between the end of the one record and the beginning of the next one.
#[test]
fn sim_a_record_that_gives_way_while_its_leader_dies_leaves_nothing_behind() {
    assert_quiet(GAVE_WAY, |seed| {
        let dies = [0, 1].map(|replica| (80 + seed % 3, Fault::Kill(replica))).to_vec();
        Scenario { replicas: 2, ..isolated(seed, ill_and_hung(dies)) }
    });
}

/// A policy that observes shields nothing from itself: the record stays for as long as that.
#[test]
fn sim_a_record_gives_way_to_no_policy_that_only_observes() {
    let edits = || vec![(50, Fault::Edit(Edit::Observes)), (130, Fault::Edit(Edit::Mends))];
    assert_quiet(GAVE_WAY, |seed| isolated(seed, ill_and_hung(edits())));
}

/// Half of the cluster is cut off before its node is given up, and for half a minute after that.
#[test]
fn sim_a_record_gives_way_to_none_in_a_storm() {
    let storm = || {
        let cut = (5..12).map(|number| (50, Fault::Cut(node(number))));
        let healed = (5..12).map(|number| (115, Fault::Heal(node(number))));
        cut.chain(healed).collect()
    };
    assert_quiet(GAVE_WAY, |seed| Scenario {
        trouble: Duration::from_secs(300),
        end: Duration::from_secs(570),
        ..isolated(seed, ill_and_hung(storm()))
    });
}

/// The record that gave way is open again, and what the next one has begun stands nowhere.
#[test]
fn sim_a_record_that_gave_way_and_comes_back_with_a_backup_gives_way_again() {
    let back = |seed: u64| vec![(82 + seed % 4, Fault::StoreBack(Duration::from_secs(20), Duration::ZERO))];
    let reports = assert_quiet(GAVE_WAY, |seed| isolated(seed, ill_and_hung(back(seed))));
    assert!(reports.iter().any(|report| report.tally.of(GAVE_WAY) > 1), "none gave way a second time");
}
