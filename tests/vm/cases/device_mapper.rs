//! What is made of several disks, by the kernel's own drivers: a thin pool fills up and is made read-only on purpose,
//! a path of a multipath map fails, a mirror's disk is pulled. Each is named, and over once it is mended.

use nodewell_model::view::ProblemView;
use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    DMSETUP, GUEST, MDADM,
    disk::Image,
    guest::{Guest, Plan},
};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("device_mapper").case_with(
        &[Need::LongSuite, GUEST, DMSETUP, MDADM],
        "pools_paths_and_mirrors_are_named_and_mended",
        pools_paths_and_mirrors_are_named_and_mended,
    );
}

/// Their names for QEMU, and their serial numbers.
const DISKS: [&str; 7] = ["pool-meta", "pool-data", "path-a", "path-b", "leg-a", "leg-b", "spare"];
const MIB: u64 = 16;
const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";
/// A pool of 256 blocks (of 128 sectors); one map upon it may have all of them.
const MAKE_POOL: &str = "set -e
dmsetup create pool --table '0 32768 thin-pool /dev/POOL_META /dev/POOL_DATA 128 0 1 error_if_no_space'
dmsetup message pool 0 'create_thin 0'
dmsetup create thin --table '0 32768 thin /dev/mapper/pool 0'
";
/// 246 of 256 are 96 %.
const FILL_POOL: &str = "dd if=/dev/zero of=/dev/mapper/thin bs=64k count=246 oflag=direct";
const EMPTY_POOL: &str = "dmsetup remove thin && dmsetup message pool 0 'delete 0'";
const LOCK_POOL: &str = "set -e
dmsetup suspend pool
dmsetup reload pool --table '0 32768 thin-pool /dev/POOL_META /dev/POOL_DATA 128 0 2 error_if_no_space read_only'
dmsetup resume pool
dmsetup status pool | grep ' ro '
";
const MAKE_MAP: &str = "
dmsetup create mpatha --uuid mpath-guest \
  --table '0 32768 multipath 0 0 1 1 round-robin 0 2 0 /dev/PATH_A /dev/PATH_B'
";
const MAKE_MIRROR: &str = "
mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 --metadata=1.2 --bitmap=none \
  /dev/LEG_A /dev/LEG_B
";
/// The kernel finds that a disk is gone when it writes to it.
const WRITE_TO_MIRROR: &str =
    "dd if=/dev/zero of=/dev/md0 bs=4k count=1 oflag=direct && cat /sys/block/md0/md/degraded";

fn pools_paths_and_mirrors_are_named_and_mended() {
    let images = DISKS.map(|_| Image::empty(MIB));
    let plan = DISKS.iter().zip(&images).fold(Plan::default(), |plan, (id, image)| plan.scsi(id, image));
    let modules =
        ["virtio_scsi", "sd_mod", "sg", "dm-multipath", "dm-round-robin", "crc32c_generic", "dm-thin-pool", "raid1"];
    let guest = plan.modules(&modules).boot();
    let named = Named::of(&guest);
    for script in [MAKE_POOL, MAKE_MAP, MAKE_MIRROR] {
        guest.sh(&named.script(script));
    }
    guest.start_agent(CONFIG);
    for class in ["thin pools", "multipath disks", "disk arrays"] {
        guest.wait_hardware(class, |found| (found.total, found.healthy) == (1, 1));
    }
    guest.wait_condition("DiskUnhealthy", "False");
    a_pool_fills_up(&guest);
    // The kernel logs that as it logs a failure: it is over with a look that finds that the table asks for it.
    guest.sh(&named.script(LOCK_POOL));
    a_path_fails(&guest, &named);
    wait_over(&guest, "ThinPoolFailed");
    a_mirrors_disk_is_pulled(&guest, &named);
    let pools = guest.wait_hardware("thin pools", |pools| pools.total == 1);
    assert_eq!(pools.healthy, 1, "read-only on purpose: {pools:?}");
}

/// What the guest calls each disk: they are found in no certain order.
struct Named(Vec<(String, String)>);

impl Named {
    fn of(guest: &Guest) -> Self {
        let device = |id: &str| {
            let found = guest.until(&format!("the disk {id}"), || {
                let outcome = guest.run(&format!("grep -l {id} /sys/block/sd*/device/vpd_pg80"));
                (outcome.code == 0).then_some(outcome.stdout)
            });
            let path = found.trim().trim_start_matches("/sys/block/").to_owned();
            let name = path.split('/').next().unwrap().to_owned();
            (id.to_uppercase().replace('-', "_"), name)
        };
        Self(DISKS.map(device).into())
    }

    /// With the devices' names in place of the disks'.
    fn script(&self, script: &str) -> String {
        self.0.iter().fold(script.to_owned(), |script, (word, name)| {
            script.replace(&format!("/dev/{word}"), &format!("/dev/{name}"))
        })
    }

    fn name(&self, word: &str) -> &str {
        &self.0.iter().find(|(known, _)| known == word).unwrap().1
    }
}

fn subject(problem: &ProblemView) -> &str {
    problem.subject.as_deref().unwrap_or_default()
}

/// The device number of a map.
fn number(guest: &Guest, map: &str) -> String {
    guest.sh(&format!("for one in /sys/block/dm-*; do ! grep -qx {map} $one/dm/name || cat $one/dev; done"))
}

/// A disk that is pulled may leave others, of its own.
fn wait_over(guest: &Guest, reason: &str) {
    guest.until(&format!("the end of {reason}"), || {
        let problems = guest.condition("DiskUnhealthy")?.problems;
        problems.iter().all(|problem| problem.reason.as_str() != reason).then_some(())
    });
}

fn a_pool_fills_up(guest: &Guest) {
    guest.sh(FILL_POOL);
    let problem = guest.wait_problem("DiskUnhealthy", "ThinPoolSpaceLow");
    assert_eq!(subject(&problem), number(guest, "pool"), "{problem:?}");
    assert!(problem.message.starts_with("pool: 96 % of its data"), "{problem:?}");
    guest.sh(EMPTY_POOL);
    guest.wait_condition("DiskUnhealthy", "False");
}

fn a_path_fails(guest: &Guest, named: &Named) {
    let path = named.name("PATH_B");
    let device = guest.sh(&format!("cat /sys/block/{path}/dev"));
    guest.sh(&format!("dmsetup message mpatha 0 'fail_path {device}'"));
    let problem = guest.wait_problem("DiskUnhealthy", "MultipathDegraded");
    let map = number(guest, "mpatha");
    let minor = map.split(':').next_back().unwrap();
    assert_eq!(subject(&problem), format!("dm-{minor}"), "{problem:?}");
    assert!(problem.message.starts_with(&format!("mpatha: 1 of 2 paths work, failed: {path};")), "{problem:?}");
    guest.sh(&format!("dmsetup message mpatha 0 'reinstate_path {device}'"));
    wait_over(guest, "MultipathDegraded");
    wait_over(guest, "MultipathPathFailed");
}

fn a_mirrors_disk_is_pulled(guest: &Guest, named: &Named) {
    guest.qmp("device_del", &json!({ "id": "leg-b" }));
    let leg = named.name("LEG_B");
    guest.until("the disk is gone", || (guest.run(&format!("test ! -e /sys/block/{leg}")).code == 0).then_some(()));
    guest.until("the array misses it", || (guest.sh(WRITE_TO_MIRROR) == "1").then_some(()));
    let problem = guest.wait_problem("DiskUnhealthy", "MdArrayDegraded");
    assert_eq!(subject(&problem), "md0", "{problem:?}");
    guest.wait_event("DiskGone", |event| event.subject.as_deref() == Some(leg));
    guest.sh(&named.script("mdadm /dev/md0 --add /dev/SPARE"));
    wait_over(guest, "MdArrayDegraded");
    let events = guest.sh("nodewell events --json");
    assert!(!events.contains("MdMismatch"), "{events}");
}
