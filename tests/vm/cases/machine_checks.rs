//! Machine checks from the monitor: a corrected one is an event, an uncorrected one a fault that lasts.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("machine_checks")
        .case_with(&[Need::LongSuite, GUEST], "corrected_ones_are_events", corrected_ones_are_events)
        .case_with(
            &[Need::LongSuite, GUEST],
            "a_fatal_one_is_reported_after_the_reboot",
            a_fatal_one_is_reported_after_the_reboot,
        )
        .case_with(&[Need::LongSuite, GUEST], "lost_memory_is_reported", lost_memory_is_reported);
}

/// Values of the machine check architecture's status registers (Intel SDM volume 3B, chapter 16): valid, enabled, with
/// address and kind of address. Corrected: a read of the first-level data cache.
const CORRECTED: &str = "mce 0 9 0x9c00000000000135 0 0x12345000 0x8c";
/// Uncorrected, and the processor no longer knows what it was doing: an internal timer ran out.
const FATAL: &str = "mce 0 4 0xbe00000000800400 4 0 0";
/// Uncorrected, signalled, no action required at once: the memory scrubber found it, and no program waits for the data.
/// The address lies far from kernel and initramfs.
const SCRUBBED: &str = "mce 0 9 0xbd000000000000c0 5 0x8000000 0x8c";

fn boot() -> Guest {
    let guest = Plan::default().boot();
    // Corrected ones raise no interrupt here: the kernel polls for them every five minutes, unless another interval is
    // set.
    guest.sh("echo 1 >/sys/devices/system/machinecheck/machinecheck0/check_interval");
    guest.start_agent("");
    guest
}

fn corrected_ones_are_events() {
    let guest = boot();
    guest.monitor(CORRECTED);
    let event = guest.wait_event("MachineCheckCorrected", |_| true);
    assert_eq!(event.subject.as_deref(), Some("CPU 0"), "{event:?}");
    assert_eq!(guest.condition("CpuUnhealthy").unwrap().status.as_str(), "False");
}

fn a_fatal_one_is_reported_after_the_reboot() {
    let guest = Plan::default().reboots().boot();
    guest.monitor(FATAL);
    guest.wait_reboot();
    // The processor's banks have stored it.
    guest.start_agent("");
    let problem = guest.wait_problem("CpuUnhealthy", "MachineCheckUncorrected");
    assert_eq!(problem.subject.as_deref(), Some("CPU 0"), "{problem:?}");
}

fn lost_memory_is_reported() {
    let guest = boot();
    guest.monitor(SCRUBBED);
    guest.wait_problem("MemoryUnhealthy", "MemoryUncorrectedError");
    // The kernel counts the page that it gave up.
    assert!(guest.sh("grep HardwareCorrupted: /proc/meminfo").contains(" 4 kB"));
}
