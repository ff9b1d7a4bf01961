//! NVLinks and the registration with the fabric.

use super::*;

#[test]
fn links_of_unknown_state_are_not_down() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.links = links(&[true, true, true]));
    bench.round();
    bench.set(ONE, |gpu| gpu.links = vec![Some(true), None]);
    bench.round();
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
}

#[test]
fn links_that_were_up_once_are_missed_and_others_are_not() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.links = links(&[true, true, false]));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
    bench.set(ONE, |gpu| gpu.links = links(&[true, false, false]));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"], "once may be a training");
    let findings = bench.round();
    assert_eq!(reasons_of(&findings, ONE, "GpuFabricUnhealthy"), ["GpuNvlinkDown"]);
    assert_eq!(
        fault(&findings, ONE, "GpuNvlinkDown").message,
        "NVLink 1 of 2 down; see the kernel log for Xid 74 and SXids, reset the GPUs of the fabric"
    );
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    assert_eq!(hardware(&findings), "2 GPUs: 1 failing");
    bench.set(ONE, |gpu| {
        gpu.links = links(&[false, false, false]);
        gpu.mig = Some(Mig { current: 1, pending: 1 });
    });
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"], "multi-instance mode has no links");
}

#[test]
fn a_fabric_has_five_minutes_to_be_ready() {
    let mut bench = bench();
    let fabric = |state, status, health_mask| {
        move |gpu: &mut GpuReading| {
            gpu.fabric = Some(FabricState { state, status, health_mask });
        }
    };
    bench.set(ONE, fabric(2, 0, 0));
    for _ in 0..10 {
        assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
    }
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["GpuFabricNotReady"]);
    bench.set(ONE, fabric(3, 0, 2));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["healthy"]);
    bench.set(ONE, fabric(3, 15, 0));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["GpuFabricFailed"]);
    bench.set(ONE, fabric(3, 0, 1));
    assert_eq!(reasons_of(&bench.round(), ONE, "GpuFabricUnhealthy"), ["GpuFabricDegraded"]);
}
