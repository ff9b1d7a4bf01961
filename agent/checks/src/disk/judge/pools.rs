//! Pools: thin ones by how full they are and what the kernel lets them do, ZFS's by their own state.

use nodewell_message::MessageArgs;

use super::assessment::Assessment;
use crate::{
    disk::{
        baseline::{Baseline, ReadTime, Sign},
        reading::{PoolMode, PoolReading, PoolStatus},
    },
    probe::Fault,
};

/// A pool that is extended by itself is so long before (LVM's thin_pool_autoextend_threshold, usually 70 or 80 %),
/// and in seconds: one that is this full in two looks is not.
const FULL_PERCENT: u8 = 95;
/// Of what was full.
const ROOM_PERCENT: u8 = 90;

/// What was reported of a ZFS pool's state, by what sign.
const ZPOOL_FAULTS: [(Sign, &str); 3] = [
    (Sign::ZpoolSuspended, "ZfsPoolSuspended"),
    (Sign::ZpoolFaulted, "ZfsPoolFaulted"),
    (Sign::ZpoolDegraded, "ZfsPoolDegraded"),
];

pub(super) fn assess_thin(pool: &PoolReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    let Some(status) = found.need(&pool.status) else { return };
    let (has_failed, has_little) = (has_failed(status), has_little_room(status, baseline));
    let is_failed = baseline.lasts(Sign::PoolFailed, has_failed, moment);
    let is_full = baseline.lasts(Sign::PoolFull, status.mode == PoolMode::OutOfDataSpace, moment);
    let is_low = baseline.lasts(Sign::PoolSpaceLow, has_little, moment);
    // The worst of it: what has failed or is full is low as well.
    if is_failed {
        found.faults.push(failed(pool, status));
    } else if is_full {
        found.faults.push(Fault::of("ThinPoolFull", &[("pool", &pool.name)]));
    } else if is_low {
        found.faults.push(low(pool, status));
    }
    if !has_failed {
        // The kernel logs a pool that is made read-only on purpose as it logs one that failed.
        found.is_over("ThinPoolFailed", "DiskUnhealthy/ended-pool", &[("pool", &pool.name)]);
    }
    let is_by_order = status.mode == PoolMode::ReadOnlyByOrder;
    let key = if is_by_order { "DiskUnhealthy/healthy-pool-read-only" } else { "DiskUnhealthy/healthy-pool" };
    let PoolStatus { data_percent, metadata_percent, .. } = status;
    found.set_healthy(key, &[("pool", &pool.name), ("data", data_percent), ("metadata", metadata_percent)]);
}

fn has_failed(status: &PoolStatus) -> bool {
    status.needs_check || matches!(status.mode, PoolMode::ReadOnly | PoolMode::Failed)
}

/// Of data or of metadata.
fn has_little_room(status: &PoolStatus, baseline: &Baseline) -> bool {
    let limit = if baseline.holds(Sign::PoolSpaceLow) { ROOM_PERCENT } else { FULL_PERCENT };
    status.data_percent.max(status.metadata_percent) >= limit
}

fn low(pool: &PoolReading, status: &PoolStatus) -> Fault {
    let PoolStatus { data_percent, metadata_percent, .. } = status;
    let args: MessageArgs<'_> =
        &[("pool", &pool.name), ("data", data_percent), ("metadata", metadata_percent), ("limit", &FULL_PERCENT)];
    Fault::of("ThinPoolSpaceLow", args)
}

fn failed(pool: &PoolReading, status: &PoolStatus) -> Fault {
    let name: MessageArgs<'_> = &[("pool", &pool.name)];
    match status.mode {
        PoolMode::Failed => Fault::of("ThinPoolFailed", name),
        PoolMode::ReadOnly => {
            let args: MessageArgs<'_> = &[("pool", &pool.name), ("metadata", &status.metadata_percent)];
            Fault::of("ThinPoolFailed/read-only", args)
        }
        _ => Fault::of("ThinPoolFailed/check", name),
    }
}

/// `TRANSITIONING` is a pool that is being imported or exported; of words that later versions may have nothing is
/// known: what held before holds.
pub(super) fn assess_zpool(state: &str, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    let sign = match state {
        "ONLINE" => Some(None),
        "DEGRADED" => Some(Some(Sign::ZpoolDegraded)),
        "FAULTED" | "UNAVAIL" | "OFFLINE" | "REMOVED" => Some(Some(Sign::ZpoolFaulted)),
        "SUSPENDED" => Some(Some(Sign::ZpoolSuspended)),
        _ => None,
    };
    for (fault, key) in ZPOOL_FAULTS {
        let lasts = match sign {
            Some(sign) => baseline.lasts(fault, sign == Some(fault), moment),
            None => baseline.holds(fault),
        };
        if lasts {
            found.faults.push(Fault::of(key, &[("state", &state)]));
        }
    }
    found.set_healthy("VolumeUnhealthy/healthy-zpool", &[("state", &state)]);
    if matches!(state, "ONLINE" | "DEGRADED") {
        found.is_over("ZfsPoolSuspended", "VolumeUnhealthy/ended-zpool", &[("state", &state)]);
    }
}
