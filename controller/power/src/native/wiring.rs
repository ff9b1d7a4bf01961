//! Whether it is known what hangs on every plug. Two nodes on one plug are found by comparing them; a node whose
//! methods were not read is compared with none.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::{
    method::{AgentAction, IdentityMethod, KnownConfigMaps, ValidatedMethod, ValidatedMethods},
    snapshot::Level,
    time::Moment,
};

/// Nodes that are named where all of them would be too long.
const NAMED: usize = 3;

/// Why other nodes may hang on a node's plugs.
#[derive(Debug, thiserror::Error)]
pub(super) enum WiringError {
    /// Over once every node was read.
    #[error("{0}")]
    Unread(String),
    /// Another node's configuration names the plug, or may name it.
    #[error("{0}")]
    Shared(String),
}

/// What this process has read of all nodes' configurations.
#[derive(Debug, Default)]
pub(super) struct Wiring {
    /// All nodes that there are; nothing before they were listed.
    all: Option<BTreeSet<String>>,
    read: BTreeMap<String, Moment>,
    /// The text of configurations that were read and mean nothing: what they name may be wired all the same.
    doubtful: BTreeMap<String, String>,
}

impl Wiring {
    pub(super) fn list(&mut self, all: BTreeSet<String>) {
        self.all = Some(all);
    }

    /// The API server has returned all that there is of the node; `doubtful` if that has errors.
    pub(super) fn read(&mut self, node: &str, now: Moment, doubtful: Option<&KnownConfigMaps>) {
        self.read.insert(node.to_owned(), now);
        match doubtful {
            Some(known) => drop(self.doubtful.insert(node.to_owned(), text(known))),
            None => drop(self.doubtful.remove(node)),
        }
    }

    pub(super) fn read_at(&self, node: &str) -> Option<Moment> {
        self.read.get(node).copied()
    }

    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.read.retain(|name, _| is_there(name));
        self.doubtful.retain(|name, _| is_there(name));
    }

    /// A machine that reports its own identity needs no comparison.
    ///
    /// # Errors
    /// Other nodes may hang on the plugs of this one; which, and what to do.
    pub(super) fn check(&self, validated: &ValidatedMethods, level: Level) -> Result<(), WiringError> {
        let calls = validated
            .power(level, AgentAction::Off)
            .filter(|call| call.storage.is_none() && call.identity_method != IdentityMethod::Asked);
        let calls: Vec<&ValidatedMethod> = calls.collect();
        if calls.is_empty() {
            return Ok(());
        }
        let unlisted =
            || WiringError::Unread("the nodes are not listed yet, and one of them may hang on the same plug".into());
        let all = self.all.as_ref().ok_or_else(unlisted)?;
        let unread: Vec<&str> = all.iter().map(String::as_str).filter(|name| !self.read.contains_key(*name)).collect();
        if !unread.is_empty() {
            return Err(WiringError::Unread(format!(
                "the ConfigMaps of {} nodes were not read yet ({}), and one of them may hang on the same plug; this is \
                 over when the API server has answered for all",
                unread.len(),
                some(&unread)
            )));
        }
        calls.into_iter().try_for_each(|call| self.check_doubtful(&validated.node, call))
    }

    fn check_doubtful(&self, node: &str, call: &ValidatedMethod) -> Result<(), WiringError> {
        let address = address(call);
        let others = self.doubtful.iter().filter(|(name, text)| *name != node && names(text, &address));
        let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
        if others.is_empty() {
            return Ok(());
        }
        Err(WiringError::Shared(format!(
            "the ConfigMaps of {} name {address} too and have errors: mend them",
            some(&others)
        )))
    }
}

/// The device; without one, what is turned off there.
fn address(call: &ValidatedMethod) -> String {
    let given = ["ip", "plug"].into_iter().find_map(|name| call.options.get(name));
    given.unwrap_or(&call.agent).trim_end_matches('/').to_ascii_lowercase()
}

/// As a whole word: `10.0.0.1` is not in `10.0.0.10`.
fn names(text: &str, address: &str) -> bool {
    let goes_on = |part: char| part.is_alphanumeric() || ['-', '_', '.'].contains(&part);
    text.match_indices(address).any(|(at, found)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
        !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
    })
}

fn text(known: &KnownConfigMaps) -> String {
    let values = known.values().flatten().flat_map(|data| data.values());
    values.map(|text| text.to_ascii_lowercase()).collect::<Vec<_>>().join("\n")
}

fn some(names: &[&str]) -> String {
    let more = if names.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::{names, some};

    #[test]
    fn a_device_is_named_as_a_whole_word() {
        for text in ["ip=10.0.0.1", "ip=10.0.0.1\nplug=3", "ip=[10.0.0.1]:443", "10.0.0.10 10.0.0.1", "10.0.0.1/3"] {
            assert!(names(text, "10.0.0.1"), "{text}");
        }
        for text in
            ["", "ip=10.0.0.2", "ip=10.0.0.10", "ip=110.0.0.1", "ip=10.0.0.1.example", "x-10.0.0.1", "10.0.0.1_b"]
        {
            assert!(!names(text, "10.0.0.1"), "{text}");
        }
    }

    #[test]
    fn three_nodes_are_named_and_no_more() {
        assert_eq!(some(&["a", "b"]), "a, b");
        assert_eq!(some(&["a", "b", "c"]), "a, b, c");
        assert_eq!(some(&["a", "b", "c", "d"]), "a, b, c, …");
    }
}
