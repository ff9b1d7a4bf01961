//! Predicates of policies (`spec.when`): CEL, written by people and by what writes policies for them.

use super::facts::{node, now, snapshot};
use crate::{
    predicate::cel::{Expression, LONGEST},
    snapshot::Snapshot,
};

/// An expression is refused with a message, or answers: the same question alike each time, one that it looks at nothing
/// else for alike at any time and whatever else the cluster knows.
pub fn cel(input: &[u8]) {
    let Ok(source) = std::str::from_utf8(input) else { return };
    let expression = match Expression::compile(source) {
        Ok(expression) => expression,
        Err(why) => return assert!(!why.is_empty()),
    };
    assert!(source.len() <= LONGEST, "{} bytes", source.len());
    let (node, known) = (node(), snapshot());
    // Which of several keys is reported as missing depends on the order in which a map is looked through.
    let judge = |known: &Snapshot, at| expression.judge(&node, known, now(at)).map_err(|why| assert!(!why.is_empty()));
    let answer = judge(&known, 1000);
    assert_eq!(answer, judge(&known, 1000), "the same question");
    if !expression.uses_events() {
        let without = Snapshot { events: Default::default(), ..known.clone() };
        assert_eq!(answer, judge(&without, 1000), "without Events");
    }
    if !expression.is_volatile() {
        assert_eq!(answer, judge(&Snapshot::default(), 90_000), "of the Node alone");
    }
}
