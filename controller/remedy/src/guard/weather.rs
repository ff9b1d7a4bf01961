//! Storms: many nodes unwell at once, or many in a short while, or a judge that does not see its own network. A storm
//! holds until it has been calm for the cooldown.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::reason::{SELF_SUSPICION, STORM, STORM_COOLDOWN};
use crate::{
    api::fence::Hold,
    policy::{Quota, Storm, span},
    snapshot::HostView,
    time::Moment,
};

/// What one policy's storms were; lost, all that is unwell has just become so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Weather {
    unwell: BTreeSet<String>,
    /// When nodes became unwell, the last time for each.
    onsets: BTreeMap<String, Moment>,
    last: Option<Moment>,
}

impl Weather {
    /// Takes in who is not well now, of `total` nodes; what that says against beginning anything.
    pub(crate) fn observe(
        &mut self,
        storm: &Storm,
        unwell: BTreeSet<&str>,
        total: usize,
        host: &HostView,
        now: Moment,
    ) -> Vec<Hold> {
        for name in unwell.iter().filter(|name| !self.unwell.contains(**name)) {
            self.onsets.insert((*name).to_owned(), now);
        }
        self.unwell.retain(|name| unwell.contains(name.as_str()));
        self.unwell.extend(self.onsets.keys().filter(|name| unwell.contains(name.as_str())).cloned());
        self.onsets.retain(|_, at| now.since(*at) < storm.rate.within);
        let mut holds: Vec<_> = self.many(storm, total).into_iter().chain(self.fast(storm)).collect();
        holds.extend(blind(storm, host));
        if holds.is_empty() {
            return self.calming(storm.cooldown, now).into_iter().collect();
        }
        self.last = Some(now);
        holds
    }

    fn many(&self, storm: &Storm, total: usize) -> Option<Hold> {
        let most = match storm.unhealthy {
            Quota::Percent(1..) => storm.unhealthy.of(total).max(1),
            exact => exact.of(total),
        };
        let count = self.unwell.len();
        (count > most).then(|| {
            let text = format!("{count} of {total} nodes are not well, more than {most} are a storm (storm.unhealthy)");
            Hold::new(STORM, text)
        })
    }

    fn fast(&self, storm: &Storm) -> Option<Hold> {
        let (count, within) = (self.onsets.len(), span::show(storm.rate.within));
        let most = storm.rate.count;
        (count > 0 && count >= most as usize).then(|| {
            let text = format!("{count} nodes became unwell within {within}, {most} are a storm (storm.rate)");
            Hold::new(STORM, text)
        })
    }

    fn calming(&self, cooldown: Duration, now: Moment) -> Option<Hold> {
        let calm = now.since(self.last?);
        (calm < cooldown).then(|| {
            let left = span::show(Duration::from_secs((cooldown - calm).as_secs().max(1)));
            Hold::new(STORM_COOLDOWN, format!("calm again; {left} left of {} (storm.cooldown)", span::show(cooldown)))
        })
    }
}

/// Whether the judge can trust its own eyes.
fn blind(storm: &Storm, host: &HostView) -> Option<Hold> {
    if !host.unreachable.is_empty() {
        let text = format!("this host cannot reach {}; it may be the one that is cut off", host.unreachable.join(", "));
        return Some(Hold::new(SELF_SUSPICION, text));
    }
    let (reached, tried) = host.reachable_nodes?;
    let least = storm.reachable.of(tried);
    (reached < least).then(|| {
        let text =
            format!("this host reaches {reached} of {tried} nodes, at least {least} are needed (storm.reachable)");
        Hold::new(SELF_SUSPICION, text)
    })
}
