//! One reading for an act, and levels before its own, whose machine may say otherwise.

use std::{pin::pin, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_remediation::{
    facts::Node,
    fence::levels,
    snapshot::{FenceScope, Level, PowerState, Snapshot},
    time::Moment,
};
use tokio::time::timeout;

use super::Executor;
use crate::{cluster::Cluster, power::Power};

/// So long a level has to have been silent: one that answers does so by then, and one that does not is why it is not used.
const SILENT_FOR: Duration = Duration::from_secs(3);

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    /// The machine's own On, by a level before this one that answers after all, speaks against the Off of the outlets that it
    /// is said to hang on. Such a level is asked and waited for until it has been silent for 3 s, of which those before `since`
    /// do not count: a dead BMC costs an act these once and not with each reading. One that has been silent for longer is left
    /// to the questions that decisions go on to ask of it every 2 s, whose On counts too: a question that is given up in a
    /// moment would be a login whose answer is not seen.
    pub(super) async fn read_power(&self, node: &Node, scope: &FenceScope, since: Moment) -> PowerState {
        let before = (Level::FIRST.0..scope.level.0).map(Level).filter(|level| self.asks_machine(&node.name, *level));
        let now = self.clock.moment();
        let until = |scope: &FenceScope| self.silent_since(&node.name, scope.level, now).max(since).plus(SILENT_FOR);
        let before: Vec<FenceScope> = before.map(FenceScope::machine).filter(|scope| until(scope) > now).collect();
        let until = before.iter().map(until).max().unwrap_or(now);
        let mut others: FuturesUnordered<_> = before.iter().map(|scope| self.read_one(node, scope)).collect();
        let (mut own, mut is_on) = (pin!(self.read_one(node, scope)), false);
        let state = loop {
            tokio::select! {
                // On first: what speaks against Off in the same instant counts.
                biased;
                Some(other) = others.next() => is_on |= other == PowerState::On,
                state = &mut own => break state,
            }
        };
        let rest = async {
            while let Some(other) = others.next().await {
                is_on |= other == PowerState::On;
            }
        };
        // What has not answered by then is no evidence either way.
        drop(timeout(until.since(self.clock.moment()), rest).await);
        if is_on { PowerState::On } else { state }
    }

    /// A level that answered last is silent from now on.
    fn silent_since(&self, name: &str, level: Level, now: Moment) -> Moment {
        let gathered = |snapshot: &mut Snapshot| levels::silent_since(snapshot.gathered.get(name)?, level, now);
        self.cache.with(gathered).unwrap_or(now)
    }
}
