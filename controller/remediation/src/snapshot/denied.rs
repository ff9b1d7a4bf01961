//! What is denied of a node's machine: methods by which its levels reported Off while its kubelet spoke.

use std::collections::BTreeSet;

use super::Snapshot;

/// Methods by which one node's levels reported Off of a machine that ran, and no On since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeniedMethods {
    /// Another Node of this name is another machine.
    pub node_uid: String,
    pub methods: BTreeSet<String>,
}

impl DeniedMethods {
    /// These too, of the machine with this UID.
    pub fn add(&mut self, node_uid: &str, methods: impl IntoIterator<Item = String>) {
        if self.node_uid != node_uid {
            *self = Self { node_uid: node_uid.to_owned(), ..Self::default() };
        }
        self.methods.extend(methods);
    }

    /// Not these any more, of the machine with this UID.
    pub fn remove<'a>(&mut self, node_uid: &str, methods: impl IntoIterator<Item = &'a String>) {
        if self.node_uid == node_uid {
            let gone: BTreeSet<&String> = methods.into_iter().collect();
            self.methods.retain(|method| !gone.contains(method));
        }
    }
}

impl Snapshot {
    /// What records before knew of this machine.
    #[must_use]
    pub fn denied_before(&self, node: &str, uid: &str) -> Option<&BTreeSet<String>> {
        self.denied.get(node).filter(|of_node| of_node.node_uid == uid).map(|of_node| &of_node.methods)
    }

    /// What is denied of the node's machine, by its record and by those before, and has reported no On since.
    #[must_use]
    pub fn denied_now(&self, node: &str) -> BTreeSet<String> {
        let by_record = self.fences.get(node).map(|fence| &fence.status.denied_methods);
        let before = self.nodes.get(node).and_then(|known| self.denied_before(node, &known.uid));
        let reported_on = self.gathered.get(node).map(|gathered| &gathered.reported_on);
        let all = by_record.into_iter().chain(before).flatten();
        all.filter(|method| reported_on.is_none_or(|on| !on.contains(*method))).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts::Node, snapshot::Gathered};

    fn methods(names: &[&str]) -> BTreeSet<String> {
        names.iter().copied().map(str::to_owned).collect()
    }

    #[test]
    fn what_a_record_before_denied_is_of_that_machine_alone_and_until_it_reports_on() {
        let mut snapshot = Snapshot::default();
        let before = DeniedMethods { node_uid: "machine".into(), methods: methods(&["bmc", "pdu"]) };
        snapshot.denied.insert("n".into(), before);
        assert_eq!(snapshot.denied_before("n", "machine"), Some(&methods(&["bmc", "pdu"])));
        assert_eq!(snapshot.denied_before("n", "another"), None);
        assert_eq!(snapshot.denied_before("other", "machine"), None);

        assert_eq!(snapshot.denied_now("n"), methods(&[]), "no Node of this name is known");
        snapshot.nodes.insert("n".into(), Node { uid: "machine".into(), ..Node::default() });
        assert_eq!(snapshot.denied_now("n"), methods(&["bmc", "pdu"]));
        snapshot.gathered.insert("n".into(), Gathered { reported_on: methods(&["bmc"]), ..Gathered::default() });
        assert_eq!(snapshot.denied_now("n"), methods(&["pdu"]));
    }
}
