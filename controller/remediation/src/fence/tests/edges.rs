//! The documentation has the edges of the code, and no others.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    api::fence::Phase,
    fence::edges::{EDGES, is_edge},
};

#[test]
fn every_edge_is_in_the_documented_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/remediation-states.md");
    let text = fs::read_to_string(path).unwrap();
    let documented: BTreeSet<(String, String)> = text.lines().filter_map(edge).collect();
    let built: BTreeSet<(String, String)> = EDGES
        .iter()
        .flat_map(|(from, next)| next.iter().map(move |to| (format!("{from:?}"), format!("{to:?}"))))
        .collect();
    let missing: Vec<_> = built.difference(&documented).collect();
    let surplus: Vec<_> = documented.difference(&built).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "not documented: {missing:?}; documented only: {surplus:?}");
}

/// `| Pending | Isolating | … |`
fn edge(line: &str) -> Option<(String, String)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let (from, to) = (cells.next()?.trim(), cells.next()?.trim());
    let phases = EDGES.iter().map(|(phase, _)| format!("{phase:?}"));
    phases.clone().any(|phase| phase == from).then(|| (from.into(), to.into()))
}

/// What is not in the table does not happen.
#[test]
fn a_record_stays_or_takes_an_edge() {
    for (from, to, expected) in [
        (Phase::Pending, Phase::Pending, true),
        (Phase::Closed, Phase::Closed, true),
        (Phase::AwaitGuards, Phase::PoweringOff, true),
        (Phase::OffConfirmed, Phase::PodsReleased, true),
        (Phase::Pending, Phase::PoweringOff, false),
        (Phase::PoweringOff, Phase::PodsReleased, false),
        (Phase::Closed, Phase::Pending, false),
    ] {
        assert_eq!(is_edge(from, to), expected, "{from:?} to {to:?}");
    }
}
