//! One of four disks is slow: it is named, and no longer once all four are as slow. Another never is.

use nodewell_model::view::EventView;
use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, PATIENCE, Plan},
};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("slow_disks").case_with(
        &[Need::LongSuite, GUEST],
        "the_slow_one_of_four_is_named",
        the_slow_one_of_four_is_named,
    );
}

/// Their names for QEMU, and their serial numbers.
const DISKS: [&str; 4] = ["disk0", "disk1", "disk2", "disk3"];
const SLOW: &str = "disk2";
/// What QEMU itself makes is not compared.
const KIND: [&str; 2] = ["SEAGATE", "ST4000NM0025"];
/// Two windows of 50 s decide.
const CONFIG: &str = "check-processes = \"spawn\"\n[slow-disks]\ninterval = \"10s\"\nwindows = 2\n";
/// One request after the other to each.
const LOAD: &str = "
for disk in /sys/block/sd*; do
  setsid sh -c \"while :; do dd if=/dev/zero of=/dev/${disk##*/} bs=4k count=1024 oflag=direct; done\" \
    </dev/null >/dev/null 2>&1 &
done
";
/// Requests a second: 25 ms and 250 ms for each, whatever the emulated machine can do.
const USUAL: u64 = 40;
const DELAYED: u64 = 4;

fn the_slow_one_of_four_is_named() {
    let images = DISKS.map(|_| Image::empty(16));
    let plan = DISKS.iter().zip(&images).fold(Plan::default(), |plan, (id, image)| plan.scsi_of(id, image, KIND));
    let guest = plan.modules(&["virtio_scsi", "sd_mod", "sg"]).boot();
    DISKS.iter().for_each(|id| limit(&guest, id, USUAL));
    guest.sh(LOAD);
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks compared", |disks| (disks.total, disks.healthy) == (4, 4));
    guest.wait_condition("DiskLatencyHigh", "False");
    limit(&guest, SLOW, DELAYED);
    let problem = guest.wait_problem("DiskLatencyHigh", "DiskSlow");
    let device = device(&guest, SLOW);
    assert_eq!(problem.subject.as_deref(), Some(device.as_str()), "{problem:?}");
    assert!(problem.message.contains("of 3 siblings under a like load"), "{problem:?}");
    guest.wait_hardware("disks compared", |disks| disks.states.get("slow") == Some(&1));
    // That it ends shows that they are compared while all of them are slow.
    DISKS.iter().for_each(|id| limit(&guest, id, DELAYED));
    guest.until_within(2 * PATIENCE, "the end of it", || {
        guest.condition("DiskLatencyHigh").filter(|condition| condition.status.as_str() == "False")
    });
    guest.wait_hardware("disks compared", |disks| (disks.total, disks.healthy) == (4, 4));
    assert_eq!(named(&guest), [device]);
}

/// By QEMU's throttling, which holds requests back below the guest: its kernel sees a disk that takes so long.
fn limit(guest: &Guest, id: &str, requests: u64) {
    let limits = json!({
        "id": id, "iops": requests, "iops_rd": 0, "iops_wr": 0, "bps": 0, "bps_rd": 0, "bps_wr": 0
    });
    guest.qmp("block_set_io_throttle", &limits);
}

/// What the guest calls the disk with this serial number: they are found in no certain order.
fn device(guest: &Guest, serial: &str) -> String {
    let page = guest.sh(&format!("grep -l {serial} /sys/block/sd*/device/vpd_pg80"));
    page.trim_start_matches("/sys/block/").split('/').next().unwrap().to_owned()
}

/// The disks of which a problem began, each once.
fn named(guest: &Guest) -> Vec<String> {
    let events: Vec<EventView> = serde_json::from_str(&guest.sh("nodewell events --json")).unwrap();
    let of_it = events.into_iter().filter(|event| event.reason.as_str() == "DiskSlow");
    let mut named: Vec<String> = of_it.filter_map(|event| event.subject).collect();
    named.sort();
    named.dedup();
    named
}
