//! Which sender may use what: root's daemons, peers, and what is our own.

use nodewell_ledger::{Ledger, OnStale, Sender};
use nodewell_model::{Event, Status};

use super::*;

/// The ledger's own events of what these report.
fn reported(ledger: &mut Ledger, sender: &Sender, count: usize) -> Vec<EventRecord> {
    let event = |n: usize| Event {
        reason: nodewell_faults::reason::all()[n].name.clone(),
        severity: Severity::Warn,
        timestamp: now(0).wall,
        message: "m".into(),
        subject: Some(format!("{}-{n}", sender.principal)),
        seen_by: None,
    };
    let status = Status { source: "raid".into(), events: (0..count).map(event).collect(), ..Status::default() };
    ledger.report(vec![status], sender, now(0)).unwrap();
    ledger.take_events()
}

/// The gate judges by rights: units of root's and the agent's own user have a name like any peer's.
#[test]
fn who_may_use_the_reserve_is_delayed_by_no_peer_whatever_its_name() {
    let mut ledger = Ledger::new(Vec::new(), now(0));
    let mut events = aggregate();
    for (principal, may_use_reserve) in [("uid:7", false), ("raid.service", true), ("uid:1000", true)] {
        let sender = Sender { principal: principal.into(), on_stale: OnStale::Keep, may_use_reserve };
        for event in reported(&mut ledger, &sender, 60) {
            events.add(event, now(0));
        }
    }
    let mut written: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(delivery) = ready(&mut events, 0) {
        events.delivered(&delivery, at(0));
        *written.entry(delivery.first.source).or_default() += 1;
    }
    assert_eq!(written["raid@uid:7"], 25, "its burst");
    let others = [&written["raid@raid.service"], &written["raid@uid:1000"]];
    assert!(others.iter().all(|count| **count >= 60), "a reserve for each reason: {written:?}");
}

/// A daemon that makes a reason of each figure would else bypass the limit of all, on each node at once.
#[test]
fn what_a_daemon_of_roots_has_invented_shares_one_reserve() {
    let mut events = aggregate();
    let of_root = |n: u64, reason: &str| EventRecord {
        source: "raid@root".into(),
        reason: Name::new(reason).unwrap(),
        ..record(n, "IOError", "sda")
    };
    for n in 1..=3000 {
        events.add(of_root(n, &format!("Junk{n}")), now(0));
    }
    assert_eq!(drain(&mut events, 0).len(), 50 + 5, "the global burst, then the one reserve");
    events.add(record(6000, "MyDriverGaveUp", "sdb"), now(0));
    let known = nodewell_faults::reason::all()[0].name.as_str();
    events.add(of_root(6001, known), now(0));
    assert_eq!(drain(&mut events, 0).len(), 2, "a rule's reason, and one of the catalogue");
}

/// A row that an earlier version saved is of no peer.
#[test]
fn a_saved_event_without_the_field_is_ours() {
    let mut saved = serde_json::to_value(record(1, "IOError", "sda")).unwrap();
    assert_eq!(saved.get("from_peer"), None, "nor is it saved where it says nothing");
    saved["source"] = "raid@uid:7".into();
    assert!(!serde_json::from_value::<EventRecord>(saved).unwrap().from_peer);
    let of_peer = serde_json::to_value(EventRecord { from_peer: true, ..record(1, "IOError", "sda") }).unwrap();
    assert!(serde_json::from_value::<EventRecord>(of_peer).unwrap().from_peer);
}
