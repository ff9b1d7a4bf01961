//! Rows of a newer version: what this one does not know stays, for the way back.

use nodewell_model::{Hardware, Status};
use serde_json::{Value, json};

use super::{
    reports::{broken, raid, subjects, take},
    *,
};
use crate::LoadedRows;

type Key = (Table, String);

/// A row as a newer version would have written it: the one of `table` that there is, as `alter` makes it.
fn altered(saved: &mut Disk, table: Table, alter: impl FnOnce(&mut Value)) -> (Key, Value) {
    let (key, value) = saved.0.iter_mut().find(|((of, _), _)| *of == table).unwrap();
    let mut row = serde_json::from_str(value).unwrap();
    alter(&mut row);
    *value = row.to_string();
    (key.clone(), row)
}

fn written_by_a_newer_version(saved: &mut Disk) {
    altered(saved, Table::Ledger, |run| run["newest"] = json!([99, 0, 0]));
}

fn row(saved: &Disk, key: &Key) -> Value {
    serde_json::from_str(&saved.0[key]).unwrap()
}

fn load(saved: &Disk) -> (Ledger, LoadedRows) {
    let mut ledger = watched();
    let taken = ledger.load(saved.rows(), at(2));
    (ledger, taken)
}

#[test]
fn rows_of_a_kind_that_is_not_known_stay() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let mut saved = Disk::of(&ledger);
    let of_a_pool = r#"["DiskUnhealthy","IOError","sdb","kernel-monitor",false,"pool-1"]"#;
    let unknown = [
        ((Table::Ledger, "quarantine sda".to_owned()), r#"{"by":"root"}"#.to_owned()),
        ((Table::Claims, of_a_pool.to_owned()), r#"{"since":1}"#.to_owned()),
        ((Table::Daemons, "raid@root".to_owned()), "[1]".to_owned()),
    ];
    saved.0.extend(unknown.clone());
    let (mut older, taken) = load(&saved);
    assert_eq!((taken.claims, taken.left, taken.unreadable), (1, 3, 0));
    saved.keep(&mut older);
    let written_again = Disk::of(&older);
    for (key, value) in &unknown {
        assert_eq!((saved.0.get(key), written_again.0.get(key)), (Some(value), Some(value)), "{key:?}");
    }
    // A row of its own takes the place of the one that was left.
    take(&mut older, raid(vec![broken("md0", 5)]), 6);
    saved.keep(&mut older);
    assert_ne!(saved.0[&unknown[2].0], "[1]");
    assert_eq!(saved.0.get(&unknown[2].0), Disk::of(&older).0.get(&unknown[2].0));
}

#[test]
fn a_claim_in_words_of_a_newer_version_holds_its_condition() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let mut saved = Disk::of(&ledger);
    let (key, newer) = altered(&mut saved, Table::Claims, |claim| {
        claim["severity"] = json!("fatal");
        claim["action"] = json!("reset-nic");
        claim["pool"] = json!({"name": "a", "spares": [1, 2]});
    });
    let mut older = saved.restart(BOOT, at(2));
    assert_eq!(status(&mut older), ConditionStatus::True);
    saved.keep(&mut older);
    assert_eq!(row(&saved, &key), newer, "the newer version finds what it wrote");
    older.apply(Finding { severity: Severity::Critical, ..raise("sda", 20) }, at(20)).unwrap();
    saved.keep(&mut older);
    let repeated = row(&saved, &key);
    assert_eq!((&repeated["count"], &repeated["severity"]), (&json!(2), &json!("critical")), "what it saw itself");
    assert_eq!((&repeated["action"], &repeated["pool"]), (&newer["action"], &newer["pool"]));
    older.apply(clear("sda", 30), at(30)).unwrap();
    saved.keep(&mut older);
    assert!(!saved.0.contains_key(&key), "what is over is over");
}

#[test]
fn a_daemon_in_words_of_a_newer_version_is_the_same_daemon() {
    let mut ledger = ledger();
    let disks = Hardware { class: "disks".to_owned(), total: 4, ..Hardware::default() };
    take(&mut ledger, Status { hardware: Some(vec![disks]), ..raid(vec![broken("md0", 5)]) }, 6);
    let mut saved = Disk::of(&ledger);
    let (key, newer) = altered(&mut saved, Table::Daemons, |daemon| {
        daemon["state"] = json!("draining");
        daemon["reporter"]["hardware"][0]["slots"] = json!(8);
        daemon["reporter"]["shard"] = json!("b");
    });
    let mut older = saved.restart(BOOT, at(7));
    assert_eq!(row(&Disk::of(&older), &key), newer);
    assert_eq!(subjects(&mut older), ["md0"]);
    take(&mut older, Status { full: true, ..raid(Vec::new()) }, 8);
    assert!(subjects(&mut older).is_empty(), "it withdraws what it claimed before");
}

/// Without the mark of a newer version, the condition has left the catalogue.
#[test]
fn problems_of_a_condition_that_only_the_newer_version_knows_come_back_with_it() {
    let catalogue = || vec![spec("DiskUnhealthy"), spec("FabricUnhealthy")];
    let mut newer = Ledger::new(catalogue(), at(0)).with_boot_id(boot(BOOT));
    newer.apply(Finding { condition: Some(Name::fixed("FabricUnhealthy")), ..raise("ib0", 1) }, at(1)).unwrap();
    for comes_back in [true, false] {
        let mut saved = Disk::of(&newer);
        if comes_back {
            written_by_a_newer_version(&mut saved);
        }
        for secs in [2, 3] {
            let mut older = saved.restart(BOOT, at(secs));
            assert!(older.conditions().is_empty());
            saved.keep(&mut older);
        }
        let mut again = Ledger::new(catalogue(), at(4)).with_boot_id(boot(BOOT));
        let claims = again.load(saved.rows(), at(4)).claims;
        assert_eq!((claims == 1, again.conditions().len() == 1), (comes_back, comes_back));
    }
}

/// Read without what narrows it, a mute of one source would mute every source; so would an ack.
#[test]
fn mutes_and_acks_of_a_narrower_kind_are_left_as_they_are() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let mut saved = Disk::of(&ledger);
    written_by_a_newer_version(&mut saved);
    let of_a_source = json!({ "reason": "IOError", "source": "smartd" });
    let mut mute = of_a_source.clone();
    for (name, value) in [("until", json!(wall(900))), ("why", json!("on order")), ("by", json!("root"))] {
        mute[name] = value;
    }
    let ack = json!({ "condition": "DiskUnhealthy", "reason": "IOError", "subject": "sda", "source": "smartd" });
    let rows = [(format!("mute {of_a_source}"), mute), (format!("ack {ack}"), json!({}))];
    let rows = rows.map(|(key, value)| ((Table::Ledger, key), value.to_string()));
    saved.0.extend(rows.clone());
    let mut older = saved.restart(BOOT, at(2));
    assert_eq!((older.mutes(), status(&mut older)), (Vec::new(), ConditionStatus::True));
    saved.keep(&mut older);
    for (key, value) in rows {
        assert_eq!(saved.0.get(&key), Some(&value), "{key:?}");
    }
}

/// What is kept of a row is counted, not the row.
#[test]
fn a_small_member_of_many_rows_is_kept() {
    let mut ledger = watched();
    let claims = 950;
    for n in 0..claims {
        ledger.apply(Finding { message: "x".repeat(1_000), ..raise(&format!("sd{n}"), 1) }, at(1)).unwrap();
    }
    let mut saved = Disk::of(&ledger);
    let is_claim = |((table, _), _): &(&(Table, String), &mut String)| *table == Table::Claims;
    for (_, value) in saved.0.iter_mut().filter(is_claim) {
        let mut claim: Value = serde_json::from_str(value).unwrap();
        claim["pool"] = json!("a");
        *value = claim.to_string();
    }
    let (older, _) = load(&saved);
    let kept = Disk::of(&older).0.values().filter(|value| value.contains(r#""pool":"a""#)).count();
    assert_eq!(kept, claims);
}

#[test]
fn what_is_left_is_bounded_in_memory_and_whole_in_the_file() {
    let mut saved = Disk::of(&watched());
    let big = |n: u8| ((Table::Ledger, format!("quarantine {n}")), json!("x".repeat(600 * 1024)).to_string());
    saved.0.extend((0..3).map(big));
    let (mut older, taken) = load(&saved);
    assert_eq!((taken.left, taken.unreadable), (3, 0));
    saved.keep(&mut older);
    let left = |disk: &Disk| disk.0.keys().filter(|(_, key)| key.starts_with("quarantine")).count();
    assert_eq!((left(&saved), left(&Disk::of(&older))), (3, 1));
}

/// A row that lay in the file through other boots has a boot time of one of them.
#[test]
fn no_quiet_time_is_longer_than_it_was_meant() {
    let mut ledger = watched();
    let quiet = Duration::from_secs(600);
    ledger.apply(Finding { ends_after_quiet: Some(quiet), ..raise("sda", 1) }, at(1)).unwrap();
    let mut saved = Disk::of(&ledger);
    altered(&mut saved, Table::Claims, |claim| claim["deadline"]["secs"] = json!(9_000_000));
    let next = saved.restart(BOOT, at(10));
    assert_eq!(next.next_deadline(), Some(at(10).boottime + quiet));
}
