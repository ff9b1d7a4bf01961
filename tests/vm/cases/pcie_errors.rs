//! Errors that a PCI Express port reports: reported with the port's address, and the fatal one is a fault that lasts.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, disk::Image, guest::Plan};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("pcie_errors").case_with(&[Need::LongSuite, GUEST], "name_the_port", name_the_port);
}

/// QEMU reports no corrected ones before 8.1: the kernel's own injector (`struct aer_error_inj` in
/// drivers/pci/pcie/aer_inject.c: bus, device, function, padding, uncorrected, corrected, header, domain) gives the port
/// 00:02.0 a bad packet. From then on it stands between that port and the kernel: it comes last.
const BAD_PACKET: &str =
    "echo 00020000 00000000 40000000 00000000 00000000 00000000 00000000 00000000 | xxd -r -p >/dev/aer_inject";
const PORT: &str = "0000:00:02.0";

fn name_the_port() {
    let image = Image::empty(16);
    // A port without a device behind it sleeps, and reports nothing.
    let plan = Plan::default().slot("slot1", 1).nvme("disk", &image, Some("slot1"));
    let guest = plan.modules(&["nvme", "aer_inject"]).boot();
    assert_eq!(guest.sh("cd /sys/bus/pci/drivers/pcieport && echo 0000:*"), PORT);
    guest.start_agent("");
    guest.monitor("pcie_aer_inject_error slot1 POISON_TLP");
    let recovered = guest.wait_event("PcieAerNonFatal", |_| true);
    assert_eq!(recovered.subject.as_deref(), Some(PORT), "{recovered:?}");
    assert_eq!(guest.condition("PcieUnhealthy").unwrap().status.as_str(), "False");
    guest.monitor("pcie_aer_inject_error slot1 MALF_TLP");
    let fatal = guest.wait_problem("PcieUnhealthy", "PcieAerFatal");
    assert_eq!(fatal.subject.as_deref(), Some(PORT), "{fatal:?}");
    guest.sh(BAD_PACKET);
    let corrected = guest.wait_event("PcieAerCorrected", |_| true);
    assert_eq!(corrected.subject.as_deref(), Some(PORT), "{corrected:?}");
}
