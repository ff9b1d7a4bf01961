//! A person deletes a record by hand, in whichever phase it is: that of a node that is about to be off as well.

use nodewell_remediation::{api::fence::Phase, time::Moment};

use super::Fault;
use crate::{
    random::Random,
    scenario::{Kind, Scenario, Theme},
    truth::Truth,
};

type Plot = Vec<(Moment, Fault)>;

/// All that a story comes to, those that few come to more often; in the simulation no node writes a crash dump.
const PHASES: [Phase; 21] = [
    Phase::Pending,
    Phase::Isolating,
    Phase::Draining,
    Phase::Waiting,
    Phase::AwaitGuards,
    Phase::PoweringOff,
    Phase::OffConfirmed,
    Phase::PodsReleased,
    Phase::PoweringOn,
    Phase::AwaitReady,
    Phase::Reaping,
    Phase::Recovering,
    Phase::Closed,
    Phase::InDoubt,
    Phase::InDoubt,
    Phase::Failed,
    Phase::Failed,
    Phase::Draining,
    Phase::Waiting,
    Phase::Quarantined,
    Phase::Quarantined,
];

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    let mut random = Random::new(scenario.seed ^ 0xDE1E);
    let fits = matches!(scenario.kind, Kind::Mixed | Kind::Wild) && scenario.plot.is_empty();
    if !fits || !random.chance(200) {
        return Plot::new();
    }
    let count = random.between(1, 4);
    let one = |random: &mut Random| {
        let at = Moment(random.millis(20_000, 120_000));
        let is_reaped = scenario.theme == Theme::Provider && random.chance(500);
        (at, Fault::DeletesRecordIn(if is_reaped { Phase::Reaping } else { super::pick(&PHASES, random) }))
    };
    (0..count).map(|_| one(&mut random)).collect()
}

impl Truth {
    /// The next record that comes to this phase is deleted right then.
    pub(super) fn lie_in_wait(&mut self, phase: Phase) {
        self.lying_in_wait.push(phase);
    }

    /// A record was written.
    pub(crate) fn record_is_in(&mut self, node: &str, phase: Phase) {
        let Some(index) = self.lying_in_wait.iter().position(|wanted| *wanted == phase) else { return };
        self.lying_in_wait.remove(index);
        self.note(format!("a person deletes the record of {node}, which is {phase:?}"));
        self.count(&format!("deleted {phase:?}"));
        let now = self.now();
        self.store.remove_fence(node, now);
        self.oracle.record_deleted = now;
    }
}
