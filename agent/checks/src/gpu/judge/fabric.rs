//! The fabric between GPUs: NVLinks that went down, a registration that does not end, what the fabric reports as wrong.

use std::time::Duration;

use super::{device::Device, history::Known};
use crate::{
    gpu::{FabricState, GpuReading},
    probe::Fault,
};

/// `NVML_GPU_FABRIC_STATE_COMPLETED`
const COMPLETED: u8 = 3;

/// The fabric manager takes minutes to bring eight GPUs and their switches up after a boot.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// Whether the GPU has not become part of its fabric.
pub(super) fn is_unready(fabric: FabricState) -> bool {
    fabric.state != COMPLETED
}

/// NVLinks that were up once and are down; one of unknown state is not. With multi-instance mode the driver switches
/// them off.
pub(super) fn links_down(known: &Known, reading: &GpuReading) -> Vec<usize> {
    if reading.mig.is_some_and(|mig| mig.current != 0) {
        return Vec::new();
    }
    known.links.iter().copied().filter(|link| reading.links.get(*link) == Some(&Some(false))).collect()
}

/// The faults of a GPU that answers.
pub(super) fn faults(device: &Device, known: &Known, reading: &GpuReading) -> Vec<Fault> {
    let links = device.links_down.is_sure().then(|| links(known, reading)).flatten();
    let state = reading.fabric.and_then(|fabric| state(device, fabric));
    links.into_iter().chain(state).collect()
}

fn links(known: &Known, reading: &GpuReading) -> Option<Fault> {
    let down = links_down(known, reading);
    let numbers: Vec<_> = down.iter().map(ToString::to_string).collect();
    let (numbers, total) = (numbers.join(", "), known.links.len());
    (!down.is_empty()).then(|| Fault::of("GpuNvlinkDown", &[("links", &numbers), ("total", &total)]))
}

fn state(device: &Device, fabric: FabricState) -> Option<Fault> {
    if is_unready(fabric) {
        let waited = device.fabric_waited;
        let fault = || Fault::of("GpuFabricNotReady", &[("seconds", &READY_WITHIN.as_secs())]);
        return (waited >= READY_WITHIN).then(fault);
    }
    if fabric.status != 0 {
        return Some(Fault::of("GpuFabricFailed", &[("code", &fabric.status)]));
    }
    let wrong = wrongs(fabric.health_mask);
    (!wrong.is_empty()).then(|| Fault::of("GpuFabricDegraded", &[("problems", &wrong.join(", "))]))
}

/// What the health mask reports as wrong (`NVML_GPU_FABRIC_HEALTH_MASK_*`). In each pair of bits 1 is yes, 2 no, 0
/// unknown.
fn wrongs(mask: u32) -> Vec<&'static str> {
    let is_set = |shift: u32| mask >> shift & 0x3 == 1;
    let pairs = [
        (0, "bandwidth is reduced"),
        (2, "routes are being recovered"),
        (4, "routes are unhealthy"),
        (6, "recovering from an access that timed out"),
    ];
    let configuration = match mask >> 8 & 0xf {
        2 => Some("the system's GUID is wrong"),
        3 => Some("the chassis' serial number is wrong"),
        4 => Some("the GPU is in no partition"),
        5 => Some("too few NVLinks"),
        _ => None,
    };
    pairs.iter().filter(|(shift, _)| is_set(*shift)).map(|(_, text)| *text).chain(configuration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_health_mask_is_read_by_pairs_of_bits() {
        // Nothing supported; everything supported and fine.
        assert!(wrongs(0).is_empty());
        assert!(wrongs(0b01_10_10_10_10).is_empty());
        assert_eq!(wrongs(0b01), ["bandwidth is reduced"]);
        assert_eq!(wrongs(0b01_00_00 | 4 << 8), ["routes are unhealthy", "the GPU is in no partition"]);
        assert!(wrongs(u32::MAX).is_empty(), "unknown values");
    }
}
