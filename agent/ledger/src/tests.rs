//! What the ledger promises, by example, and held against an oracle that knows the whole history.

mod acks;
mod conditions;
mod daemons;
mod ends;
mod floods;
mod mixed;
mod mutes;
mod newer;
mod oracle;
mod properties;
mod reasons;
mod reporting;
mod reports;
mod restarts;
mod shares;
mod steps;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{
    BootId, ConditionSpec, ConditionStatus, Finding, FindingKind, Name, Origin, RequiredProof, Row, Severity, Table,
    view::{ConditionView, DaemonState},
};

use crate::{DaemonReport, Ledger, Now, OnStale, Sender};

const BOOT: &str = "0123456789abcdef0123456789abcdef";
const OTHER_BOOT: &str = "fedcba9876543210fedcba9876543210";
/// An hour into the boot, so that records may be old.
const START_SECS: i64 = 3_600;

/// The clocks `secs` after the start; both run alike.
fn at(secs: i64) -> Now {
    let boottime = Duration::from_secs(u64::try_from(START_SECS + secs).unwrap());
    Now { wall: wall(secs), boottime }
}

fn wall(secs: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + secs).unwrap()
}

fn boot(id: &str) -> Option<BootId> {
    BootId::parse(id)
}

fn spec(condition: &'static str) -> ConditionSpec {
    ConditionSpec {
        condition: Name::fixed(condition),
        healthy_reason: Name::fixed("AllIsWell"),
        healthy_message: "nothing is wrong".to_owned(),
    }
}

fn ledger() -> Ledger {
    Ledger::new(vec![spec("DiskUnhealthy"), spec("KernelDeadlock")], at(0)).with_boot_id(boot(BOOT))
}

/// What a disk would hold.
#[derive(Debug, Clone, Default, PartialEq)]
struct Disk(BTreeMap<(Table, String), String>);

impl Disk {
    /// Writes what has changed.
    fn keep(&mut self, ledger: &mut Ledger) {
        self.write(ledger.take_rows());
    }

    fn of(ledger: &Ledger) -> Self {
        let mut disk = Self::default();
        disk.write(ledger.clone().all_rows());
        disk
    }

    fn write(&mut self, rows: Vec<Row>) {
        for Row { table, key, value } in rows {
            match value {
                Some(value) => drop(self.0.insert((table, key), value)),
                None => drop(self.0.remove(&(table, key))),
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let row = |((table, key), value): (&(Table, String), &String)| Row {
            table: *table,
            key: key.clone(),
            value: Some(value.clone()),
        };
        self.0.iter().map(row).collect()
    }

    /// The next run of the agent, in this boot.
    fn restart(&self, boot_id: &str, now: Now) -> Ledger {
        let catalogue = vec![spec("DiskUnhealthy"), spec("KernelDeadlock")];
        let mut ledger = Ledger::new(catalogue, now).with_boot_id(boot(boot_id));
        assert_eq!(ledger.load(self.rows(), now).unreadable, 0);
        ledger
    }

    /// The rows of some tables.
    fn part(&self, tables: &[Table]) -> Self {
        Self(
            self.0
                .iter()
                .filter(|((table, _), _)| tables.contains(table))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        )
    }
}

fn sender(principal: &str, on_stale: OnStale) -> Sender {
    Sender { principal: principal.into(), on_stale, may_use_reserve: principal == "root" }
}

fn root(on_stale: OnStale) -> Sender {
    sender("root", on_stale)
}

/// A ledger whose two conditions are watched by `kernel-monitor`.
fn watched() -> Ledger {
    let mut ledger = ledger();
    ledger.daemon(report("kernel-monitor", DaemonState::Running), at(0)).unwrap();
    ledger
}

fn report(name: &str, state: DaemonState) -> DaemonReport {
    DaemonReport {
        name: Arc::from(name),
        state,
        reason: None,
        message: String::new(),
        watches: vec![Name::fixed("DiskUnhealthy"), Name::fixed("KernelDeadlock")],
        ttl: None,
        records: 0,
        lost: 0,
    }
}

/// `kernel-monitor` reports that `subject`'s disk is broken, by a record of now.
fn raise(subject: &str, secs: i64) -> Finding {
    Finding {
        source: Arc::from("kernel-monitor"),
        kind: FindingKind::Raise,
        condition: Some(Name::fixed("DiskUnhealthy")),
        reason: Name::fixed("IOError"),
        subject: Some(subject.to_owned()),
        severity: Severity::Error,
        message: format!("I/O error, dev {subject}"),
        time: wall(secs),
        last_time: wall(secs),
        count: 1,
        origin: Origin::Line { number: 7 },
        boot_id: boot(BOOT),
        ends_after_quiet: None,
        ends_at_boot: false,
        action: None,
        required_proof: RequiredProof::None,
        test: false,
    }
}

fn clear(subject: &str, secs: i64) -> Finding {
    Finding { kind: FindingKind::Clear, message: format!("{subject} is back"), ..raise(subject, secs) }
}

fn disk(ledger: &mut Ledger) -> ConditionView {
    ledger.conditions().into_iter().find(|view| view.condition.as_str() == "DiskUnhealthy").unwrap()
}

fn status(ledger: &mut Ledger) -> ConditionStatus {
    disk(ledger).status
}
