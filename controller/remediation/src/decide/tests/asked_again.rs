//! A predicate is asked again only when its answer may be another, and a time counts on whatever happens beside it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;

/// True of every node; counts how often it is asked.
#[derive(Debug, Default)]
struct Counts(AtomicUsize);

impl Judge for Counts {
    fn judge(&self, _: &Node, _: &Snapshot, _: Now) -> Result<bool, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }
}

#[test]
fn an_answer_lasts_for_a_second_and_for_one_version_of_its_node() {
    let counts = Arc::new(Counts::default());
    let when = Predicate::Other(Arc::clone(&counts) as Arc<dyn Judge>);
    let mut snapshot = snapshot_of(0, vec![Policy { when, mode: Mode::Observe, ..policy("p", vec![cordon()]) }]);
    let mut memory = Memory::default();
    let mut asked = |snapshot: &Snapshot, second| {
        memory = run(snapshot, std::mem::take(&mut memory), second).memory;
        counts.0.swap(0, Ordering::Relaxed)
    };
    assert_eq!(asked(&snapshot, 1000), 10);
    assert_eq!(asked(&snapshot, 1000), 0, "nothing has changed");
    snapshot.nodes.get_mut("n3").unwrap().resource_version.push('x');
    assert_eq!(asked(&snapshot, 1000), 1, "one node has");
    assert_eq!(asked(&snapshot, 1001), 10, "ages have");
}

#[test]
fn a_grace_period_goes_on_when_other_nodes_come_and_go() {
    type Change = fn(&mut Snapshot);
    let changes: [Change; 2] = [
        |snapshot| drop(snapshot.nodes.remove("n0")),
        |snapshot| drop(snapshot.nodes.insert("a-new-one".into(), node("a-new-one"))),
    ];
    for change in changes {
        let mut snapshot =
            snapshot_of(2, vec![Policy { held_for: Duration::from_secs(60), ..policy("p", vec![cordon()]) }]);
        let first = run(&snapshot, Memory::default(), 1000);
        change(&mut snapshot);
        let second = run(&snapshot, first.memory, 1010);
        assert_eq!(second.memory.result("p", "n1"), Some((&Ok(true), at(1000))));
        assert!(opened(&run(&snapshot, second.memory, 1060)).contains(&"n1"));
    }
}
