//! What is asked of each fence: its pods were released after its BMC had read Off twice, and it was turned on after
//! that.

use jiff::Timestamp;
use serde_json::Value;

use crate::worker::Order;

/// By the record's log, and by that of a BMC that knows nothing of the record. It was off from `off_since` on, and has
/// been ordered to turn on by now. Gives when the release was begun.
///
/// # Errors
/// What was not so.
pub fn check(record: &Value, orders: &[Order], off_since: Timestamp) -> Result<Timestamp, String> {
    let log = record["status"]["log"].as_array().ok_or_else(|| format!("no log: {record}"))?;
    let confirmed = first_of(log, "OffConfirmed").ok_or_else(|| format!("Off was never confirmed: {record}"))?;
    let released = first_of(log, "PodsReleased").ok_or_else(|| format!("no release: {record}"))?;
    if confirmed >= released {
        return Err(format!("released before Off was confirmed: {record}"));
    }
    let released_at = log[released]["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    let released_at = released_at.ok_or_else(|| format!("released at no time: {record}"))?;
    let read = |at: Timestamp| (off_since..released_at).contains(&at);
    let reads = orders.iter().filter(|order| order.text.starts_with("get power") && read(order.at)).count();
    if reads < 2 {
        return Err(format!("Off was read {reads} times before the release at {released_at}: {orders:?}"));
    }
    let turned_on = orders.iter().find(|order| order.text == "set power 1" && order.at > off_since);
    match turned_on {
        Some(order) if order.at > released_at => Ok(released_at),
        Some(_) => Err(format!("turned on before the release at {released_at}: {orders:?}")),
        None => Err(format!("not turned on again: {orders:?}")),
    }
}

/// Where the log enters a phase first.
fn first_of(log: &[Value], phase: &str) -> Option<usize> {
    let begins = |text: &str| text.split_once(':').is_some_and(|(entered, _)| entered == phase);
    log.iter().position(|entry| entry["text"].as_str().is_some_and(begins))
}
