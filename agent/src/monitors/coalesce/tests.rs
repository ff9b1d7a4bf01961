use std::sync::Arc;

use nodewell_model::{Origin, RequiredProof, Severity};
use proptest::prelude::*;

use super::*;

fn finding(kind: FindingKind, subject: &str, sequence: u64) -> Finding {
    let time = jiff::Timestamp::from_second(sequence.try_into().unwrap()).unwrap();
    Finding {
        source: Arc::from("kernel-monitor"),
        kind,
        condition: Some(Name::fixed("DiskUnhealthy")),
        reason: Name::fixed("IOError"),
        subject: Some(subject.to_owned()),
        severity: Severity::Error,
        message: format!("line {sequence}"),
        time,
        last_time: time,
        count: 1,
        origin: Origin::Line { number: sequence },
        boot_id: None,
        ends_after_quiet: None,
        ends_at_boot: true,
        action: None,
        required_proof: RequiredProof::None,
        test: false,
    }
}

fn raise(subject: &str, sequence: u64) -> Finding {
    finding(FindingKind::Raise, subject, sequence)
}

#[test]
fn equal_findings_become_one_with_an_exact_count() {
    let mut coalescer = Coalescer::default();
    for sequence in 1..=5000 {
        coalescer.add(raise(["sda", "sdb"][usize::from(sequence % 5 == 0)], sequence));
    }
    let sent = coalescer.take();
    assert_eq!(sent.iter().map(|f| f.count).collect::<Vec<_>>(), [4000, 1000]);
    assert_eq!(sent[0].origin, Origin::Line { number: 1 }, "the first record names the finding");
    assert_eq!(sent[0].message, "line 4999", "the newest words are shown");
    assert!(coalescer.is_empty());
}

#[test]
fn a_raise_after_a_clear_stays_after_it() {
    let mut coalescer = Coalescer::default();
    coalescer.add(raise("sda", 1));
    coalescer.add(finding(FindingKind::Clear, "sda", 2));
    coalescer.add(raise("sda", 3));
    coalescer.add(raise("sda", 4));
    let kinds: Vec<_> = coalescer.take().into_iter().map(|f| (f.kind, f.count)).collect();
    assert_eq!(kinds, [(FindingKind::Raise, 1), (FindingKind::Clear, 1), (FindingKind::Raise, 2)]);
}

#[test]
fn a_flap_within_one_batch_ends_as_it_ended() {
    use FindingKind::{Clear, Raise};
    let mut coalescer = Coalescer::default();
    for (sequence, kind) in (1..).zip([Raise, Clear, Raise, Clear]) {
        coalescer.add(finding(kind, "eth0", sequence));
    }
    let kinds: Vec<_> = coalescer.take().into_iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [Raise, Clear, Raise, Clear]);
}

proptest! {
    /// What is left of each subject, and how often it was raised, is the same whether findings travel merged or not.
    #[test]
    fn merging_changes_no_outcome(steps in prop::collection::vec((any::<bool>(), 0..3_usize), 0..60)) {
        let mut coalescer = Coalescer::default();
        let findings: Vec<Finding> = steps
            .iter()
            .zip(1..)
            .map(|((raise, subject), sequence)| {
                let kind = if *raise { FindingKind::Raise } else { FindingKind::Clear };
                finding(kind, ["a", "b", "c"][*subject], sequence)
            })
            .collect();
        findings.iter().cloned().for_each(|finding| coalescer.add(finding));
        prop_assert_eq!(outcome(&coalescer.take()), outcome(&findings));
    }
}

/// Each subject's last state, and its number of raises.
fn outcome(findings: &[Finding]) -> std::collections::BTreeMap<String, (FindingKind, u64)> {
    let mut outcome = std::collections::BTreeMap::new();
    for finding in findings {
        let entry = outcome.entry(finding.subject.clone().unwrap()).or_insert((finding.kind, 0));
        entry.0 = finding.kind;
        entry.1 += if finding.kind == FindingKind::Raise { finding.count } else { 0 };
    }
    outcome
}
