//! The condition `FenceReady`: whether a node could be fenced if it had to be, found out while it need not.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{
    facts::{ConditionStatus, Node, READS_OFF},
    guard::reason,
    message::Message,
    method::ValidatedMethods,
    snapshot::{Level, PowerState},
    time::Moment,
};

use super::{NativePower, NotProven, contradiction::at_level};

/// What the condition reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// False if something has to be mended; Unknown if nothing is configured or was read yet, which is no error.
    pub status: ConditionStatus,
    /// `FenceReady`, `NoMethods`, `FenceNotReady`, `IdentityUnproven`, `NoAnswer`, `ReadsOff` or `SupplyOff`.
    pub reason: String,
    pub message: String,
}

impl<C> NativePower<C> {
    /// Nodes that a preflight has something to report of at once: a BMC refused a login of an act, and the next leader has to know.
    #[must_use]
    pub fn unreported(&self) -> BTreeSet<String> {
        self.memory().logins.unreported()
    }

    /// The node's condition has this message: what it reports of refused logins waits no longer.
    pub fn reported(&self, node: &str, message: &str) {
        let now = self.now();
        self.memory().logins.reported(node, message, now);
    }

    /// The kubelet's last renewal of the node's Lease was seen at that moment: what reported Off before was wrong. Whether that is
    /// known of anything that turns the node off.
    pub fn is_contradicted(&self, node: &Node, seen: Option<Moment>) -> bool {
        let mut memory = self.memory();
        let is_new = seen.is_some_and(|seen| memory.contradictions.renewed(node, seen));
        is_new || memory.contradictions.is_any(node)
    }

    /// At the end of a term: the next one begins with what the Nodes have, which another leader may have written meanwhile.
    pub fn end_term(&self) {
        let mut memory = self.memory();
        memory.contradictions.forget(|_| false);
        memory.changes.forget(|_| false);
    }
}

impl<C: Configuration> NativePower<C> {
    /// Reads the configuration, proves the identity of what is asked at each level and asks it for the power's state. Changes
    /// nothing.
    pub async fn preflight(&self, node: &Node) -> Preflight {
        self.memory().changes.ask(node);
        let configured = self.with_methods(node, self.settings.refresh).await;
        let methods = configured.as_ref().ok().cloned();
        let found = match configured {
            Ok(validated) => {
                let levels = validated.numbered().map(|level| self.preflight_level(node, level));
                let found = Preflight::of_levels(&validated, join_all(levels).await);
                let memory = self.memory();
                let is_contradicted =
                    |level: &Level| memory.contradictions.check_machine(&validated, node, *level).is_err();
                let levels: Vec<Level> = validated.numbered().filter(is_contradicted).collect();
                if levels.is_empty() { found } else { reads_off(&validated, &levels) }
            }
            Err(blocker) if blocker.reason != reason::NO_METHODS && self.memory().contradictions.is_any(node) => {
                Preflight::failed(Message::plain(READS_OFF))
            }
            Err(blocker) => refused(blocker.into()),
        };
        let is_configured = |method: &str| methods.as_ref().is_none_or(|found| found.calls.contains_key(method));
        self.memory().logins.carry(node, is_configured, self.now());
        let stamps = self.memory().logins.stamps(&node.name, self.now());
        // First, so that it is there however long the rest is: the next leader begins with it.
        Preflight { message: format!("{stamps}{}", found.message), ..found }
    }

    /// What speaks against this level, if anything does.
    async fn preflight_level(&self, node: &Node, level: Level) -> Option<Preflight> {
        let (validated, readings) = match self.proven_now(node, level).await {
            Ok(proven) => proven,
            Err(error) => return Some(refused(error)),
        };
        let states = self.preflight_states(node, &validated, level, &readings).await;
        let is_machine = validated.storage_only.is_none();
        if is_machine {
            self.memory().contradictions.reported(node, level, states.all, self.runner.now());
        }
        let off = states.each.iter().find(|(_, state)| *state == PowerState::Off);
        match (states.all, off) {
            // The node runs on one supply, but without the other's answer it could not be turned off.
            (state, _) if state == PowerState::Unknown || states.complaint.is_some() => {
                Some(Preflight::failed(states.complaint.map_or_else(
                    || Message::plain("NoAnswer/disagree"),
                    |error| Message::of("NoAnswer", &[("error", &error)]),
                )))
            }
            (PowerState::Off, _) if is_machine && node.is_ready() => Some(Preflight::failed(Message::plain(READS_OFF))),
            (PowerState::On, Some((name, _))) if node.is_ready() => {
                Some(Preflight::failed(Message::of("SupplyOff", &[("method", name)])))
            }
            _ => None,
        }
    }
}

impl Preflight {
    fn of_levels(validated: &ValidatedMethods, levels: Vec<Option<Self>>) -> Self {
        let failed: Vec<(Self, Level)> =
            levels.into_iter().zip(validated.numbered()).filter_map(|(failed, level)| Some((failed?, level))).collect();
        // A level that is wrong comes before one that is away.
        let wrong: Vec<Level> =
            failed.iter().filter(|(failed, _)| failed.reason == READS_OFF).map(|(_, level)| *level).collect();
        if !wrong.is_empty() {
            return reads_off(validated, &wrong);
        }
        match failed.into_iter().next() {
            Some((failed, level)) if validated.levels.len() > 1 => failed.at_level(level),
            Some((failed, _)) => failed,
            None => Preflight::of(ConditionStatus::True, ready(validated)),
        }
    }

    fn of(status: ConditionStatus, Message { reason, text }: Message) -> Self {
        Self { status, reason, message: text }
    }

    /// Another level may stand; it is the redundancy that has failed.
    fn at_level(self, level: Level) -> Self {
        Self { message: format!("{}{}", at_level(level), self.message), ..self }
    }

    fn failed(message: Message) -> Self {
        Self::of(ConditionStatus::False, message)
    }
}

/// It outlives every other finding, whatever has become of the node since: only On ends it. The next leader believes every level
/// but the one that is named; where it is several, or the only one, none is.
fn reads_off(validated: &ValidatedMethods, levels: &[Level]) -> Preflight {
    let found = Preflight::failed(Message::plain(READS_OFF));
    match levels {
        [level] if validated.levels.len() > 1 => found.at_level(*level),
        _ => found,
    }
}

/// With what had better be written otherwise.
fn ready(validated: &ValidatedMethods) -> Message {
    let levels: Vec<String> = validated.levels.iter().map(|level| level.join(", ")).collect();
    let methods = levels.join("; if that fails ");
    match validated.notes.is_empty() {
        true => Message::of("FenceReady", &[("methods", &methods)]),
        false => Message::of("FenceReady/notes", &[("methods", &methods), ("notes", &validated.notes.join("; "))]),
    }
}

fn refused(NotProven { blocker, is_early }: NotProven) -> Preflight {
    let known = [reason::NO_METHODS, reason::IDENTITY_UNPROVEN].into_iter().find(|known| *known == blocker.reason);
    let status =
        if known == Some(reason::NO_METHODS) || is_early { ConditionStatus::Unknown } else { ConditionStatus::False };
    Preflight { status, reason: known.unwrap_or(reason::FENCE_NOT_READY).to_owned(), message: blocker.message }
}
