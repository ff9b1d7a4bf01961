//! A ledger put away and taken up again.

use super::*;
use crate::Snapshot;

fn restored(ledger: &Ledger, boot_id: &str, now: Now) -> Ledger {
    let kept: Snapshot = serde_json::from_str(&serde_json::to_string(&ledger.snapshot()).unwrap()).unwrap();
    let catalogue = vec![spec("DiskUnhealthy"), spec("KernelDeadlock")];
    Ledger::new(catalogue, now).with_boot_id(boot(boot_id)).restore(kept, now)
}

#[test]
fn a_restart_ends_nothing_and_tells_nothing_again() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.take_events();
    let mut after = restored(&ledger, BOOT, at(9));
    assert_eq!(after.conditions(), ledger.conditions());
    assert!(after.take_events().is_empty());
    after.apply(clear("sda", 10), at(10)).unwrap();
    assert_eq!(after.take_events()[0].id, 2);
}

#[test]
fn a_reboot_ends_what_ends_at_boot_and_nothing_else() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(Finding { ends_at_boot: true, ..raise("sdb", 1) }, at(1)).unwrap();
    ledger.take_events();
    let mut after = restored(&ledger, OTHER_BOOT, at(9));
    assert_eq!(disk(&mut after).problems.len(), 1);
    assert_eq!(after.take_events()[0].message, "IOError on sdb is over: the node was booted anew");
    assert_eq!(after.daemons()[0].state, DaemonState::Starting);
}

#[test]
fn after_a_reboot_quiet_times_count_by_the_wall_clock() {
    let mut ledger = watched();
    ledger.apply(Finding { quiet: Some(Duration::from_secs(600)), ..raise("sda", 0) }, at(0)).unwrap();
    ledger.apply(Finding { test: true, ..raise("sdb", 0) }, at(0)).unwrap();
    let booted = Now { wall: wall(100), boottime: Duration::from_secs(20) };
    let mut after = restored(&ledger, OTHER_BOOT, booted);
    after.advance(booted);
    assert_eq!((disk(&mut after).problems.len(), after.next_deadline()), (1, Some(Duration::from_secs(520))));
}
