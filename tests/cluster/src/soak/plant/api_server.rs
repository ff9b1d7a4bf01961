//! An API server that is away: all nodes are silent then, and none is acted on. What was reported meanwhile is on its
//! Node afterwards.

use std::time::Duration;

use super::{OVER, reported, worker};
use crate::{
    cluster::Cluster,
    soak::trial::{Miss, Trial},
};

/// The agent tries again less and less often.
const REPORTED: Duration = Duration::from_secs(120);

/// Times count from its return.
pub(super) fn away(cluster: &mut Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    worker(cluster, trial)?;
    cluster.stop_api_server();
    let lasted = worker(cluster, trial).and_then(reported::begins).and_then(|()| trial.last());
    cluster.start_api_server();
    trial.planted();
    let found = lasted.and_then(|()| reported::found(cluster, trial, REPORTED));
    reported::ends(worker(cluster, trial)?)?;
    found?;
    trial.over(cluster, OVER)
}
