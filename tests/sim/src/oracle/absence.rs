//! I4: kubelets that live, and that no controller hears again yet after the API server was away. That of one that is
//! heard again Ready is Unknown for longer is for the guards' own tests: the policy here asks for silence.

use std::{collections::BTreeSet, time::Duration};

use nodewell_remediation::time::Moment;

use crate::truth::Truth;

/// A kubelet that renewed within this before the API server went lived then.
const RENEWED: Duration = Duration::from_secs(11);
/// For so long the watch of their Leases was broken; or it hung, and none of them moved.
const BROKEN: Duration = Duration::from_secs(7);
const STILL: Duration = Duration::from_secs(25);
/// Every kubelet has renewed by then.
const HEARD: Duration = Duration::from_secs(25);
/// What was away before within this may have used up the time that a replica gives, if this one was short.
const CALM: Duration = Duration::from_secs(125);
const SHORT_BREAK: Duration = Duration::from_secs(23);
const SHORT_SILENCE: Duration = Duration::from_secs(33);

/// When the API server, or etcd's quorum, was away the last time.
#[derive(Debug, Default)]
pub struct Absence {
    since: Moment,
    until: Moment,
    /// The end of the one before.
    before: Moment,
    /// Nodes whose kubelets renewed until it began.
    lived: BTreeSet<String>,
}

impl Truth {
    pub(crate) fn is_absent(&mut self, now: Moment) {
        let absence = &mut self.oracle.absence;
        if now.since(absence.until) > Duration::from_secs(1) || absence.until == Moment::default() {
            (absence.before, absence.since) = (absence.until, now);
            let lives = self.machines.values().filter(|machine| now.since(machine.renewed) <= RENEWED);
            absence.lived = lives.map(|machine| machine.name.clone()).collect();
        }
        absence.until = now;
    }

    /// Something is begun on a node for which nothing was: a record is opened, a drain or a first order begins.
    pub(super) fn check_absence(&mut self, name: &str, what: &str) {
        let (now, absence) = (self.now(), &self.oracle.absence);
        let Some(machine) = self.machines.get(name) else { return };
        let deaf = if self.scenario.breaks_watches { BROKEN } else { STILL };
        let was_long = absence.until.since(absence.since) >= deaf;
        let is_over_since = now.since(absence.until);
        let lives = machine.is_alive(now) && !machine.cut && !machine.ill && machine.restart.is_none();
        let is_late = absence.lived.contains(name) && lives && machine.booted < absence.since;
        if was_long && is_over_since < HEARD && is_late && self.was_calm_before() {
            self.violate("I4", format!("{what} of {name}, {is_over_since:?} after the API server was away"));
        }
    }

    fn was_calm_before(&self) -> bool {
        let absence = &self.oracle.absence;
        let ends = self.replicas.iter().flat_map(|replica| [replica.cut, replica.frozen, replica.deaf]);
        let is_calm = |end: Moment| end == Moment::default() || absence.since.since(end) > CALM;
        let short = if self.scenario.breaks_watches { SHORT_BREAK } else { SHORT_SILENCE };
        let is_short = absence.until.since(absence.since) < short;
        ends.chain(is_short.then_some(absence.before)).all(|end| end <= absence.since && is_calm(end))
    }
}
