//! A SATA disk is asked for its health through the block layer: it answers, it predicts its failure, and takes that back.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("sata_smart").case_with(&[Need::LongSuite, GUEST], "is_read", is_read).case_with(
        &[Need::LongSuite, GUEST],
        "a_prediction_turns_and_returns",
        a_prediction_turns_and_returns,
    );
}

const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";

fn boot(image: &Image) -> Guest {
    let guest = Plan::default().sata("sata0", image, 0).modules(&["ahci", "sd_mod", "sg"]).boot();
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks", |disks| (disks.total, disks.healthy) == (1, 1));
    guest.wait_condition("DiskUnhealthy", "False");
    guest
}

fn is_read() {
    let image = Image::empty(16);
    let guest = boot(&image);
    // What is saved of it: only its attributes show reallocated sectors, only it knows its serial number.
    guest.until("its attributes are saved", || {
        let saved = guest.run("cat $(find /var/lib/nodewell/hardware -name disk.json)").stdout;
        (saved.contains("\"sata0\"") && saved.contains("\"reallocated\"")).then_some(())
    });
}

fn a_prediction_turns_and_returns() {
    let image = Image::empty(16);
    let guest = boot(&image);
    // At its threshold.
    guest.set_read_errors(6);
    let problem = guest.wait_problem("DiskUnhealthy", "SmartPrefail");
    assert_eq!(problem.subject.as_deref(), Some("sda"), "{problem:?}");
    assert!(problem.message.contains("attribute 1 is 6 (threshold 6)"), "{problem:?}");
    guest.set_read_errors(100);
    guest.wait_condition("DiskUnhealthy", "False");
}
