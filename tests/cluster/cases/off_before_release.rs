//! What is asked of each fence: its pods were released after its BMC had read Off twice, and it was turned on after that.

use jiff::Timestamp;
use nodewell_cluster::{Cluster, worker::Worker};
use serde_json::Value;

/// By the record's log, and by that of a BMC that knows nothing of the record. It was off from `off_since` on, and has
/// been ordered to turn on by now. Gives when the release was begun.
#[track_caller]
pub(crate) fn assert_off_before_release(cluster: &Cluster, worker: &Worker, off_since: Timestamp) -> Timestamp {
    let record = cluster.api().record(worker.name()).unwrap();
    let log = record["status"]["log"].as_array().unwrap();
    let confirmed = first_of(log, "OffConfirmed").unwrap_or_else(|| panic!("Off was never confirmed: {record}"));
    let released = first_of(log, "PodsReleased").unwrap_or_else(|| panic!("no release: {record}"));
    assert!(confirmed < released, "released before Off was confirmed: {record}");

    let released_at: Timestamp = log[released]["at"].as_str().unwrap().parse().unwrap();
    let orders = worker.orders();
    let read = |at: Timestamp| (off_since..released_at).contains(&at);
    let reads = orders.iter().filter(|order| order.text.starts_with("get power") && read(order.at)).count();
    assert!(reads >= 2, "Off was read {reads} times before the release at {released_at}: {orders:?}");
    let turned_on = orders.iter().find(|order| order.text == "set power 1" && order.at > off_since).unwrap();
    assert!(turned_on.at > released_at, "turned on before the release at {released_at}: {orders:?}");
    released_at
}

/// Where the log enters a phase first.
fn first_of(log: &[Value], phase: &str) -> Option<usize> {
    let begins = |text: &str| text.split_once(':').is_some_and(|(entered, _)| entered == phase);
    log.iter().position(|entry| entry["text"].as_str().is_some_and(begins))
}
