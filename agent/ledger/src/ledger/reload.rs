//! New rules or config under a running ledger.

use std::{collections::BTreeSet, sync::Arc};

use nodewell_faults::message;
use nodewell_model::{ConditionSpec, Name, ProblemKey, Table};

use super::Ledger;
use crate::{Now, claim::Claimant, condition::ConditionState, events::Ending, timers::Due};

impl Ledger {
    /// Loads a new catalogue: what is in both keeps its state, problems of a type that is gone end with it. Of two of
    /// one type the first counts.
    pub fn set_catalogue(&mut self, catalogue: Vec<ConditionSpec>, now: Now) {
        let gone = |name: &&Name| !catalogue.iter().any(|spec| spec.condition == **name);
        let gone: Vec<Name> = self.states.keys().filter(gone).cloned().collect();
        let ending = self.conclusion("nodewell", message("ProblemEnded/ended-undeclared", &[]), now);
        for name in gone {
            let keys = self.states.get(&name).map(|state| state.keys_of(None, None));
            keys.unwrap_or_default().iter().for_each(|key| _ = self.withdraw_all(key, &ending));
            self.states.remove(&name);
            self.dirty.unwanted(Table::Conditions, name.to_string());
        }
        let mut saved = std::mem::take(&mut self.states);
        for spec in catalogue {
            let mut state = saved.remove(&spec.condition).unwrap_or_else(|| ConditionState::new(spec.clone()));
            // The gauges of reasons that no rule may have any more.
            let reasons = state.tallies.len();
            state.tallies.retain(|_, tally| tally.problems > 0);
            state.reasons_version += u64::from(state.tallies.len() < reasons);
            self.states.entry(spec.condition.clone()).or_insert(ConditionState { spec, ..state });
        }
        self.forget_doubts();
        self.apply_mutes(now);
        self.refresh_all(now.wall);
    }

    /// A monitor or daemon that will not come back: it is forgotten and its claims end. Returns how many problems
    /// ended.
    pub fn retire(&mut self, source: &str, now: Now) -> usize {
        let ending = self.conclusion(source, message("ProblemEnded/ended-retired", &[]), now);
        self.dismiss(source, &ending, now)
    }

    /// After a restart: claims of monitors that exist no longer end; external daemons are expected to come again.
    pub fn retire_all_but(&mut self, monitors: &[Arc<str>], now: Now) -> usize {
        // A daemon that reports over the socket withdraws its report itself.
        let is_external = |source: &Arc<str>| source.contains('@');
        let is_known =
            |source: &Arc<str>| is_external(source) || self.daemons.contains_key(source) || monitors.contains(source);
        let claims = self.claims_where(|claimant, _| !is_known(&claimant.source));
        let gone: BTreeSet<Arc<str>> = claims.into_iter().map(|(_, claimant)| claimant.source).collect();
        gone.iter().map(|source| self.retire(source, now)).sum()
    }

    /// Forgets a monitor or daemon; its claims end as `ending` states.
    pub(super) fn dismiss(&mut self, source: &str, ending: &Ending, now: Now) -> usize {
        if let Some((name, daemon)) = self.daemons.remove_entry(source) {
            if daemon.reporter.is_some() {
                self.dirty.daemon(&name);
            }
            self.timers.reset(Due::Unreported(Arc::clone(&name)), daemon.unreported_due(), None);
            self.timers.reset(Due::Daemon(name), daemon.deadline, None);
        }
        let claims = self.claims_where(|claimant, _| &*claimant.source == source);
        let ended = claims.iter().filter(|(key, claimant)| self.withdraw(key, claimant, ending)).count();
        self.refresh_all(now.wall);
        ended
    }

    /// Doubts about conditions that are not there any more.
    pub(crate) fn forget_doubts(&mut self) {
        for reporter in self.daemons.values_mut().filter_map(|daemon| daemon.reporter.as_mut()) {
            reporter.unsure.retain(|unsure| self.states.contains_key(&unsure.subject.condition));
        }
    }

    pub(crate) fn claims_where(
        &self,
        wanted: impl Fn(&Claimant, &crate::claim::Claim) -> bool,
    ) -> Vec<(ProblemKey, Claimant)> {
        let problems = self.states.values().flat_map(|state| &state.problems);
        let claims =
            problems.flat_map(|(key, problem)| problem.claims.iter().map(move |(who, claim)| (key, who, claim)));
        claims.filter(|(_, who, claim)| wanted(who, claim)).map(|(key, who, _)| (key.clone(), who.clone())).collect()
    }
}
