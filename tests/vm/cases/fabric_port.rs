//! A port of a fabric, made by the kernel's software RoCE on a network card: its cable is pulled, and plugged in again.

use std::time::Duration;

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    FABRIC, GUEST,
    guest::{Guest, PATIENCE, Plan},
};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("fabric_port").case_with(
        &[Need::LongSuite, GUEST, FABRIC],
        "its_cable_is_pulled",
        its_cable_is_pulled,
    );
}

const CONFIG: &str = "check-processes = \"spawn\"\n[fabric]\ninterval = \"5s\"\n";
/// A port is down for four minutes before it counts.
const DOWN: Duration = Duration::from_secs(4 * 60);
const PORT: &str = "rxe0/1";
/// Software RoCE has no device, and is not judged: what the agent sees is the kernel's own files of the port, in a folder with
/// the device that a card's driver would show. The generic sum is asked for by name in the kernel.
const MAKE: &str = "
cd /sys/class/net/eth0 && ip link set eth0 up && rdma link add rxe0 type rxe netdev eth0 || exit 1
kernels=$(readlink -f /sys/class/infiniband/rxe0) device=$(readlink -f device/..)
[ ! -e $kernels/device ] && mount -t tmpfs cards /sys/class/infiniband && mkdir /sys/class/infiniband/rxe0 || exit 1
ln -s $kernels/ports $kernels/node_guid /sys/class/infiniband/rxe0/ && ln -s $device /sys/class/infiniband/rxe0/device
";

fn its_cable_is_pulled() {
    let guest = Plan::default().network("card").modules(&["virtio_net", "crc32_generic", "rdma_rxe"]).boot();
    guest.sh(MAKE);
    wait_state(&guest, "4: ACTIVE");
    guest.start_agent(CONFIG);
    guest.wait_hardware("fabric ports", |ports| (ports.total, ports.healthy) == (1, 1));
    guest.wait_condition("NetworkUnhealthy", "False");
    wait_counted(&guest);
    guest.qmp("set_link", &json!({ "name": "card", "up": false }));
    wait_state(&guest, "1: DOWN");
    is_down(&guest);
    guest.qmp("set_link", &json!({ "name": "card", "up": true }));
    wait_state(&guest, "4: ACTIVE");
    guest.wait_condition("NetworkUnhealthy", "False");
    guest.wait_hardware("fabric ports", |ports| (ports.total, ports.healthy) == (1, 1));
}

fn wait_state(guest: &Guest, state: &str) {
    let path = "/sys/class/infiniband/rxe0/ports/1/state";
    guest.until(&format!("the port is {state}"), || (guest.sh(&format!("cat {path}")) == state).then_some(()));
}

/// What the driver counts of its own (drivers/infiniband/sw/rxe/rxe_hw_counters.c; one name is mlx5's, too) reaches the file
/// that the metrics are made from.
fn wait_counted(guest: &Guest) {
    guest.until("the driver's counters are shown", || {
        let outcome = guest.run("grep -q '\"duplicate_request\":0' /run/nodewell/hw-counters/shown");
        (outcome.code == 0).then_some(())
    });
}

fn is_down(guest: &Guest) {
    let problems = guest.until_within(DOWN + PATIENCE, "the port is reported as down", || {
        let problems = guest.condition("NetworkUnhealthy")?.problems;
        (!problems.is_empty()).then_some(problems)
    });
    let [problem] = &problems[..] else { panic!("not one problem: {problems:?}") };
    let reported = (problem.reason.as_str(), problem.subject.as_deref());
    assert_eq!(reported, ("FabricPortDown", Some(PORT)), "{problem:?}");
    assert!(problem.message.contains("(interface eth0, card 0000:"), "{problem:?}");
}
