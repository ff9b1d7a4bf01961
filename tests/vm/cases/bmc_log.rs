//! The event log of QEMU's BMC, into which the case writes: a power supply fails and is mended, memory loses data.

use std::time::Duration;

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST, IPMITOOL,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("bmc_log").case_with(
        &[Need::LongSuite, GUEST, IPMITOOL],
        "a_power_supply_fails_and_is_mended",
        a_power_supply_fails_and_is_mended,
    );
}

/// Types of sensors (IPMI 2.0, table 42-3).
const POWER_SUPPLY: u8 = 0x08;
const MEMORY: u8 = 0x0c;
const ASSERTED: u8 = 0x6f;
const DEASSERTED: u8 = 0xef;

/// Add SEL Entry (IPMI 2.0, section 31.6): the BMC sets id and time.
fn log(guest: &Guest, sensor_type: u8, number: u8, kind: u8, offset: u8) {
    let record = format!("0 0 2 0 0 0 0 0x20 0 4 {sensor_type:#04x} {number:#04x} {kind:#04x} {offset:#04x} 0xff 0xff");
    guest.sh(&format!("ipmitool raw 0x0a 0x44 {record}"));
}

fn a_power_supply_fails_and_is_mended() {
    let plan = Plan::default().device("ipmi-bmc-sim,id=bmc0").device("isa-ipmi-kcs,bmc=bmc0,irq=0");
    let guest = plan.modules(&["ipmi_si", "ipmi_devintf"]).boot();
    guest.until("the kernel finds the BMC", || (guest.run("test -c /dev/ipmi0").code == 0).then_some(()));
    // History, of which no sensor shows anything.
    log(&guest, POWER_SUPPLY, 0x62, ASSERTED, 1);
    log(&guest, MEMORY, 0x10, ASSERTED, 1);
    guest.start_agent("check-processes = \"spawn\"\n[bmc]\ninterval = \"5s\"\n");
    guest.wait_condition("PowerUnhealthy", "False");
    guest.wait_hardware("BMCs", |bmcs| (bmcs.total, bmcs.states.is_empty()) == (1, true));
    log(&guest, POWER_SUPPLY, 0x61, ASSERTED, 1);
    log(&guest, MEMORY, 0x11, ASSERTED, 1);
    let failed = guest.wait_problem("PowerUnhealthy", "PowerSupplyFailed");
    assert_eq!(failed.subject.as_deref(), Some("power supply sensor 0x61"), "{failed:?}");
    let lost = guest.wait_event("BmcMemoryUncorrected", |_| true);
    assert_eq!(lost.subject.as_deref(), Some("memory sensor 0x11"), "{lost:?}");
    log(&guest, POWER_SUPPLY, 0x61, DEASSERTED, 1);
    guest.until_within(RECOVERY, "the end of the problem", || {
        guest.condition("PowerUnhealthy").filter(|condition| condition.status.as_str() == "False")
    });
}

/// Five minutes without, and what a busy machine adds.
const RECOVERY: Duration = Duration::from_secs(900);
