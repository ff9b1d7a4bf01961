//! Bodies of `POST /v1/status`, one after another, from JSON to the ledger.

use std::{sync::LazyLock, time::Duration};

use jiff::Timestamp;
use nodewell_ledger::{Ledger, Now, OnStale, Sender};
use nodewell_model::{ConditionSpec, Status, text::MESSAGE_LIMIT_BYTES};
use nodewell_rules::{LoadPlan, load};

use crate::socket::read_reports;

/// Between two bodies of one input: JSON has no such byte.
const SEPARATOR: u8 = 0x1e;
/// Bodies of one input that are looked at.
const BODIES: usize = 16;
/// Far less than a body may have, far more than an error message needs.
const REFUSAL_LIMIT_BYTES: usize = 2048;

static CATALOGUE: LazyLock<Vec<ConditionSpec>> = LazyLock::new(|| load(&LoadPlan::default()).set.conditions);

/// Every body is accepted or refused with a short message. What was accepted is reported within the bounds; sent again
/// with its ids it changes nothing.
pub fn report(input: &[u8]) {
    let mut ledger = Ledger::new(CATALOGUE.clone(), at(0));
    for (n, body) in (1..).zip(input.split(|byte| *byte == SEPARATOR).take(BODIES)) {
        match read_reports(body) {
            Ok(reports) => take(&mut ledger, reports, n),
            Err(error) => assert!((1..=REFUSAL_LIMIT_BYTES).contains(&error.len()), "{} bytes", error.len()),
        }
        ledger.advance(at(n * 60));
        look(&mut ledger);
    }
}

fn take(ledger: &mut Ledger, reports: Vec<Status>, n: u64) {
    // Every third body is of another user: daemons of the same name are kept apart.
    let is_other = n.is_multiple_of(3);
    let sender = Sender {
        principal: if is_other { "uid:7" } else { "root" }.into(),
        on_stale: if is_other { OnStale::Clear } else { OnStale::Keep },
        may_use_reserve: !is_other,
    };
    let repeatable = reports.iter().all(|report| report.id.is_some());
    let taken = ledger.report(reports.clone(), &sender, at(n * 60 - 1));
    if taken.is_err() || !repeatable {
        return;
    }
    let before = (ledger.conditions(), ledger.daemons(), ledger.take_events().len());
    ledger.report(reports, &sender, at(n * 60 - 1)).expect("it was taken before");
    let after = (ledger.conditions(), ledger.daemons());
    assert_eq!((&before.0, &before.1, 0), (&after.0, &after.1, ledger.take_events().len()), "the same ids again");
}

fn look(ledger: &mut Ledger) {
    for condition in ledger.conditions() {
        assert!(condition.message.len() <= MESSAGE_LIMIT_BYTES + 256, "{condition:?}");
        assert!(condition.problems.iter().all(|problem| problem.message.len() <= MESSAGE_LIMIT_BYTES), "{condition:?}");
        serde_json::to_string(&condition).expect("a view is JSON");
    }
    assert!(ledger.take_events().iter().all(|event| event.message.len() <= MESSAGE_LIMIT_BYTES));
}

/// Seconds after the start of this run.
fn at(secs: u64) -> Now {
    let boottime = Duration::from_secs(1_000 + secs);
    let wall = Timestamp::from_second(1_800_000_000).expect("it is a time") + boottime;
    Now { wall, boottime }
}
