//! Which stage of a record has begun, and what still stops it.

use super::*;
use crate::{api::fence::DrainReport, guard::stage::has_begun};

#[test]
fn an_act_that_has_begun_is_not_stopped_by_budgets_and_storms() {
    let mut fixture = Fixture::new();
    fixture.storms = vec![Blocker::new(reason::STORM, "")];
    fixture.policy.budget.cluster = CountOrPercent::Count(0);
    fixture.policy.mode = Mode::Paused;
    for phase in [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::AwaitReady] {
        fixture.open(phase);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{phase:?}");
    }
    for phase in [Phase::Pending, Phase::Isolating, Phase::Waiting, Phase::AwaitGuards, Phase::Failed] {
        fixture.open(phase);
        assert_eq!(reasons(&fixture.all_blockers().power), ["Storm", "BudgetCluster"], "{phase:?}");
    }
    fixture.open(Phase::OffConfirmed);
    fixture.snapshot.stopped = Some("a file".into());
    assert_eq!(reasons(&fixture.all_blockers().power), ["KillSwitch"]);
}

/// Whatever a record says: where a more disruptive stage has begun a milder one has, and in a closed record none has.
#[test]
fn stages_are_ordered() {
    for phase in [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Failed, Phase::InDoubt, Phase::Closed] {
        let fence = record("n0", phase);
        assert!(!has_begun(&fence, DisruptionLevel::Power) || has_begun(&fence, DisruptionLevel::Isolate), "{phase:?}");
    }
    let mut closed = record("n0", Phase::Closed);
    closed.status.drain = Some(DrainReport::default());
    assert!(!has_begun(&closed, DisruptionLevel::Isolate));
}

/// The API server's clock says when a record was created, a leader's own when it cut power.
#[test]
fn a_cycle_of_this_record_counts_whatever_the_clocks_say() {
    for cut in [wall(300), wall(1500)] {
        let mut fence = record("n0", Phase::Waiting);
        fence.metadata.creation_timestamp = Some(wall(900));
        fence.status.earlier_cycles = vec![cut];
        assert!(!has_begun(&fence, DisruptionLevel::Power), "those before it have not");
        fence.status.cycles = vec![cut];
        assert!(has_begun(&fence, DisruptionLevel::Power));
    }
}
