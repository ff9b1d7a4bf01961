//! The shipped limits, filled: what one peer may take, what all of them may, and what is left for root and for rules.

use std::ops::Range;

use super::*;

/// So many faults of one reason, each of a subject of its own.
fn faults(principal: &str, reason: usize, count: usize) -> Vec<Condition> {
    let fault = |n: usize| Condition { subject: Some(format!("{principal}-{reason}-{n}")), ..by_reason(reason) };
    (0..count).map(fault).collect()
}

/// A daemon for each reason, with 250 faults of it; why one of them is not taken.
fn fill(ledger: &mut Ledger, principal: &str, reasons: Range<usize>) -> Option<Rejection> {
    let mut each = reasons.enumerate();
    each.find_map(|(daemon, reason)| flood(ledger, principal, daemon, faults(principal, reason, 250)))
}

#[test]
fn a_thousand_problems_of_one_six_thousand_of_all_and_the_rest_is_roots() {
    let mut ledger = limited(Limits::default());
    for peer in 0..6 {
        let principal = format!("uid:{peer}");
        assert_eq!(fill(&mut ledger, &principal, 4 * peer..4 * peer + 4), None);
        let more = flood(&mut ledger, &principal, 4, faults(&principal, 100, 1));
        assert_eq!(more, Some(Rejection::ShareOfProblems(principal, 1_000)));
    }
    let seventh = flood(&mut ledger, "uid:6", 0, faults("uid:6", 100, 1));
    assert_eq!(seventh, Some(Rejection::ShareOfProblems("uid:6".into(), 1_000)), "all peers have six thousand");
    assert_eq!(ledger.apply(raise("sda", 7), at(7)), Ok(Applied::Started));
    assert_eq!(ledger.apply(clear("sda", 8), at(8)), Ok(Applied::Cleared(1)));
    assert_eq!(fill(&mut ledger, "root", 30..46), None);
    assert_eq!(disk(&mut ledger).problems.len(), 10_000);
    assert_eq!(flood(&mut ledger, "root", 16, faults("root", 100, 1)), Some(Rejection::TooManyProblems));
    // A rule's is folded, and not refused.
    assert_eq!(ledger.apply(raise("sda", 9), at(9)), Ok(Applied::Started));
    let problems = disk(&mut ledger).problems;
    let of_rule: Vec<_> = problems.iter().filter(|problem| problem.reason.as_str() == "IOError").collect();
    assert!(matches!(of_rule[..], [problem] if problem.subject.is_none()), "{of_rule:?}");
}

#[test]
fn sixty_four_reasons_of_one_192_of_all_and_256_of_a_condition() {
    let mut ledger = limited(Limits::default());
    let condition = Name::fixed("DiskUnhealthy");
    let named = |principal: &str, reasons: Range<usize>| -> Vec<Condition> {
        reasons.flat_map(|reason| faults(principal, reason, 1)).collect()
    };
    for peer in 0..4 {
        let principal = format!("uid:{peer}");
        let share = Some(Rejection::ShareOfReasons(principal.clone(), 64, condition.clone()));
        if peer < 3 {
            let all = named(&principal, 64 * peer..64 * peer + 64);
            assert_eq!(flood(&mut ledger, &principal, 0, all), None);
        }
        assert_eq!(flood(&mut ledger, &principal, 1, named(&principal, 1_000..1_001)), share);
    }
    assert_eq!(ledger.apply(raise("sda", 7), at(7)), Ok(Applied::Started), "a rule's reason");
    assert_eq!(flood(&mut ledger, "root", 0, named("root", 2_000..2_063)), None);
    let more = flood(&mut ledger, "root", 1, named("root", 3_000..3_001));
    assert_eq!(more, Some(Rejection::TooManyReasons(condition)));
    assert_eq!(ledger.apply(raise("sdb", 8), at(8)), Ok(Applied::Started), "what has its place has it");
}

/// Events with these reasons, by one daemon.
fn report(ledger: &mut Ledger, sender: &Sender, reasons: impl IntoIterator<Item = String>) {
    let event = |reason: String| Event {
        reason: Name::new(&reason).unwrap(),
        severity: Severity::Warn,
        timestamp: wall(1),
        message: "m".into(),
        subject: None,
        seen_by: None,
    };
    let status = Status { source: "d".into(), events: reasons.into_iter().map(event).collect(), ..Status::default() };
    ledger.report(vec![status], sender, at(6)).unwrap();
}

fn counted(ledger: &Ledger, reason: &str) -> u64 {
    ledger.counters().raised.get(&Name::new(reason).unwrap()).copied().unwrap_or(0)
}

/// However many names root has used up, and peers after it.
#[test]
fn what_rules_check_processes_and_the_catalogue_name_is_counted_by_its_name() {
    let mut ledger = limited(Limits::default());
    let (root, peer) = (sender("root", OnStale::Keep), sender("uid:7", OnStale::Keep));
    let check = Sender { may_use_reserve: true, ..sender("nodewell-check.service", OnStale::Keep) };
    report(&mut ledger, &root, (0..5_000).map(|n| format!("Junk{n}")));
    assert_eq!((ledger.counters().raised.len(), counted(&ledger, "Others")), (4_001, 1_000));
    report(&mut ledger, &peer, (0..1_000).map(|n| format!("More{n}")));
    assert_eq!(counted(&ledger, "Others"), 2_000);
    ledger.apply(Finding { condition: None, reason: Name::fixed("Ext4Error"), ..raise("", 1) }, at(7)).unwrap();
    assert_eq!(counted(&ledger, "Ext4Error"), 1);
    report(&mut ledger, &check, (0..300).map(|n| format!("Check{n}")));
    assert_eq!((counted(&ledger, "Check255"), counted(&ledger, "Others")), (1, 2_044), "256 of each in any case");
    let catalogue: Vec<String> = nodewell_faults::reason::all().iter().map(|one| one.name.to_string()).collect();
    for (n, sender) in [&root, &peer, &check].into_iter().enumerate() {
        report(&mut ledger, sender, catalogue.iter().skip(n).step_by(3).cloned());
    }
    assert!(catalogue.iter().all(|reason| counted(&ledger, reason) == 1));
    assert_eq!(counted(&ledger, "Others"), 2_044);
}
