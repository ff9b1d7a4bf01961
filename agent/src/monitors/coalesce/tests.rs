use std::sync::Arc;

use nodewell_model::{Guard, Origin, Severity};

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
        quiet: None,
        ends_at_boot: true,
        action: None,
        guard: Guard::None,
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
fn endless_subjects_share_one_entry_past_the_limit() {
    let mut coalescer = Coalescer::default();
    let total = KEY_LIMIT as u64 + 1000;
    for sequence in 1..=total {
        coalescer.add(raise(&format!("disk{sequence}"), sequence));
    }
    assert_eq!(coalescer.len(), KEY_LIMIT + 1);
    assert_eq!(coalescer.take().iter().map(|f| f.count).sum::<u64>(), total);
}
