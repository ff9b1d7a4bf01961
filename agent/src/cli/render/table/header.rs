//! The first lines of the status: how many problems there are, and how the API server is reached.

use nodewell_model::{
    ConditionStatus,
    view::{ApiserverState, ApiserverView},
};
use nodewell_time::age;

use super::{
    super::{
        flow::{Layout, Piece, flow},
        look::{Paint, columns},
    },
    Table,
};
use crate::cli::health::Account;

pub(super) fn line(account: &Account, table: &Table<'_>) -> String {
    let node = format!("{}: ", table.look.fit(&table.view.node, table.look.room_beside(2)));
    let mut pieces = counts(account);
    pieces.extend(apiserver(table));
    let layout = Layout { first: columns(&node), indent: 2, separator: ", " };
    let Some(name) = node.strip_suffix(": ") else { return String::new() };
    format!("{}: {}\n", table.look.paint(Paint::Strong, name), flow(&pieces, layout, table.look))
}

fn counts(account: &Account) -> Vec<Piece> {
    let conditions = &account.view.conditions;
    let all = || conditions.iter().flat_map(|condition| &condition.problems);
    let problems = all().filter(|problem| problem.turns_condition()).count();
    let muted = all().filter(|problem| problem.muted_until.is_some()).count();
    let false_positives = all().filter(|problem| problem.false_positive.is_some()).count();
    let unknown = conditions.iter().filter(|condition| condition.status == ConditionStatus::Unknown).count();
    let first = match problems {
        0 if unknown > 0 || !account.has_looked() => Piece::new("no known problem"),
        0 => Piece::painted(Paint::Good, "no problem"),
        1 => Piece::painted(Paint::Bad, "1 problem"),
        many => Piece::painted(Paint::Bad, &format!("{many} problems")),
    };
    let unknown = (unknown > 0).then(|| Piece::painted(Paint::Warning, &format!("{unknown} unknown")));
    let muted = (muted > 0).then(|| Piece::new(&format!("{muted} muted")));
    let false_positives = match false_positives {
        0 => None,
        1 => Some(Piece::new("1 false positive")),
        many => Some(Piece::new(&format!("{many} false positives"))),
    };
    [first].into_iter().chain(muted).chain(false_positives).chain(unknown).collect()
}

fn apiserver(table: &Table<'_>) -> Vec<Piece> {
    let ApiserverView { state, last_success, message, undelivered } = &table.view.apiserver;
    let last =
        last_success.map_or("never reached".to_owned(), |time| format!("last reached {} ago", age(time, table.now)));
    let waiting = match undelivered {
        0 => None,
        1 => Some(Piece::new("1 event waits")),
        many => Some(Piece::new(&format!("{many} events wait"))),
    };
    let why = (!message.is_empty()).then(|| Piece::new(message));
    let (state, last) = match state {
        ApiserverState::Disabled => return vec![Piece::new("standalone (no API server)")],
        ApiserverState::Connecting => (Piece::new("API server: connecting"), None),
        ApiserverState::Connected => (Piece::new("API server: connected"), Some(Piece::new(&last))),
        ApiserverState::Failing => {
            (Piece::painted(Paint::Bad, "API server: failing"), Some(Piece::painted(Paint::Bad, &last)))
        }
    };
    [Some(state), last, waiting, why].into_iter().flatten().collect()
}
