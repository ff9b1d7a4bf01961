//! A SATA disk is asked for its health through the block layer, and answers.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, disk::Image, guest::Plan};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("sata_smart").case_with(&[Need::LongSuite, GUEST], "is_read", is_read);
}

const CONFIG: &str = "satellites = \"spawn\"\n[disk]\ninterval = \"1m\"\n";

fn is_read() {
    let image = Image::empty(16);
    let guest = Plan::default().sata("sata0", &image, 0).modules(&["ahci", "sd_mod", "sg"]).boot();
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks", |disks| (disks.total, disks.well) == (1, 1));
    guest.wait_condition("DiskUnhealthy", "False");
    // What is remembered of it: only its attributes tell of reallocated sectors, only it knows its serial number.
    guest.until("its attributes are remembered", || {
        let kept = guest.run("cat $(find /var/lib/nodewell/hardware -name disk.json)").stdout;
        (kept.contains("\"sata0\"") && kept.contains("\"reallocated\"")).then_some(())
    });
}
