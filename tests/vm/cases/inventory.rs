//! Memory that is halved between two boots: missing until a person accepts it, and then what is expected.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("inventory").case_with(
        &[Need::LongSuite, GUEST],
        "memory_halved_between_two_boots_is_missing_until_accepted",
        memory_halved_between_two_boots_is_missing_until_accepted,
    );
}

/// The guest is a virtual machine, in which the firmware's word on the memory counts; no device comes late in it.
const CONFIG: &str =
    "check-processes = \"spawn\"\n[inventory]\ninterval = \"5s\"\nsettle = \"1s\"\nvirtual-machines = true\n";

/// A boot with so much memory, and the state of the ones before.
fn boot(image: &Image, memory_mib: u32) -> Guest {
    let plan = Plan::default().memory_mib(memory_mib).nvme("state", image, None);
    let guest = plan.modules(&["nvme", "crc32c_generic", "ext4"]).boot();
    guest.sh("mkdir -p /var/lib/nodewell && mount /dev/nvme0n1 /var/lib/nodewell");
    guest.start_agent(CONFIG);
    guest
}

/// The boot was compared, and what it has is on the disk.
fn wait_compared(guest: &Guest) {
    let saved = "/var/lib/nodewell/hardware/inventory.json";
    guest.until("the boot is compared", || {
        let outcome = guest.run(&format!("grep -q $(tr -d - </proc/sys/kernel/random/boot_id) {saved}"));
        (outcome.code == 0).then_some(())
    });
}

/// Its state is on the disk once it has ended.
fn end(guest: &Guest) {
    guest.sh(
        "kill $(pidof nodewelld); while pidof nodewelld nodewell-checks; do sleep 1; done; umount /var/lib/nodewell",
    );
    guest.end();
}

fn memory_halved_between_two_boots_is_missing_until_accepted() {
    let image = Image::ext4(64);
    let first = boot(&image, 1536);
    wait_compared(&first);
    first.wait_condition("HardwareMissing", "False");
    end(&first);

    let second = boot(&image, 768);
    let problem = second.wait_problem("HardwareMissing", "MemoryMissing");
    assert_eq!(problem.subject.as_deref(), Some("memory"), "{problem:?}");
    assert!(problem.message.contains("768 MiB of memory, 1.5 GiB in an earlier boot"), "{problem:?}");
    let shown = second.sh("nodewell inventory");
    assert!(shown.contains("768 MiB of 1.5 GiB"), "{shown}");
    // A guest on a busy machine is slow.
    second.sh("nodewell inventory accept --wait 7m");
    second.wait_condition("HardwareMissing", "False");
    second.wait_event("HardwareAccepted", |event| event.message.contains("root"));
    end(&second);

    let third = boot(&image, 768);
    wait_compared(&third);
    third.wait_condition("HardwareMissing", "False");
    let shown = third.sh("nodewell inventory");
    assert!(!shown.contains("Missing"), "what was accepted is expected: {shown}");
}
