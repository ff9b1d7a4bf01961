//! What is asked of each fence: its pods were released after its BMC had read Off twice, and it was turned on after that.

use jiff::Timestamp;
use nodewell_cluster::{Cluster, off_before_release::check, worker::Worker};

/// It was off from `off_since` on, and has been ordered to turn on by now. Gives when the release was begun.
#[track_caller]
pub(crate) fn assert_off_before_release(cluster: &Cluster, worker: &Worker, off_since: Timestamp) -> Timestamp {
    let record = cluster.api().newest_record(worker.name()).expect("a record, or a copy of one");
    check(&record, &worker.orders(), off_since).unwrap_or_else(|why| panic!("{why}"))
}
