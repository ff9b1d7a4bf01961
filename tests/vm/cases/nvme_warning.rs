//! An NVMe disk raises a critical warning: the node's condition turns within one interval, and turns back when the disk
//! takes it back.

use std::time::{Duration, Instant};

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("nvme_warning")
        .case_with(&[Need::LongSuite, GUEST], "turns_the_condition_and_back", turns_the_condition_and_back)
        .case_with(&[Need::LongSuite, GUEST], "every_bit_has_its_reason", every_bit_has_its_reason);
}

const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";
/// One interval, and what a slow machine adds.
const SOON: Duration = Duration::from_secs(90);
const WARNING: &str = "smart_critical_warning";
/// Bits of the critical warning (NVMe base specification 2.0, figure 207).
const BITS: [(u64, &str); 5] = [
    (1 << 0, "NvmeSpareLow"),
    (1 << 1, "DiskOverheating"),
    (1 << 2, "NvmeReliabilityDegraded"),
    (1 << 3, "NvmeReadOnly"),
    (1 << 4, "NvmeVolatileBackupFailed"),
];

fn boot(image: &Image) -> Guest {
    let guest = Plan::default().nvme("disk", image, None).modules(&["nvme"]).boot();
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks", |disks| disks.healthy == 1);
    guest.wait_condition("DiskUnhealthy", "False");
    guest
}

fn turns_the_condition_and_back() {
    let image = Image::empty(16);
    let guest = boot(&image);
    let asked = Instant::now();
    guest.set("disk", WARNING, 1 << 2);
    let problem = guest.wait_problem("DiskUnhealthy", "NvmeReliabilityDegraded");
    assert!(asked.elapsed() <= SOON, "reported after {:?}", asked.elapsed());
    assert_eq!(problem.subject.as_deref(), Some("nvme0"), "{problem:?}");
    guest.set("disk", WARNING, 0);
    guest.wait_condition("DiskUnhealthy", "False");
}

fn every_bit_has_its_reason() {
    let image = Image::empty(16);
    let guest = boot(&image);
    guest.set("disk", WARNING, BITS.iter().map(|(bit, _)| bit).sum());
    for (_, reason) in BITS {
        let problem = guest.wait_problem("DiskUnhealthy", reason);
        assert_eq!(problem.subject.as_deref(), Some("nvme0"), "{problem:?}");
    }
}
