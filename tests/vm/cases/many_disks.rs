//! A machine with 24 disks: all of them are read in one round, and the time that takes is reported.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, disk::Image, guest::Plan};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("many_disks").case_with(&[Need::LongSuite, GUEST], "are_read_in_one_round", are_read_in_one_round);
}

const DISKS: u32 = 24;
const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";

fn are_read_in_one_round() {
    let images: Vec<Image> = (0..DISKS).map(|_| Image::empty(16)).collect();
    let plan = images.iter().enumerate().fold(Plan::default().memory_mib(1024), |plan, (number, image)| {
        plan.nvme(&format!("disk{number}"), image, None)
    });
    let guest = plan.modules(&["nvme"]).boot();
    guest.start_agent(CONFIG);
    let disks = guest.wait_hardware("disks", |disks| disks.total == DISKS);
    assert_eq!(disks.healthy, DISKS, "{disks:?}");
    // By the guest's own clock: how fast the emulated machine is, this one decides.
    eprintln!("the processes of the check process `disk` after one round of {DISKS} disks:\n{}", guest.sh(USAGE));
}

/// Name, processor time in hundredths of a second (fields 14 and 15 of `proc_pid_stat(5)`), memory.
const USAGE: &str = r#"
for process in /proc/[0-9]*; do
  grep -qz 'monitor\|worker' $process/cmdline 2>/dev/null || continue
  tr '\0' ' ' <$process/cmdline
  awk '{ print "user", $14, "kernel", $15 }' $process/stat
  grep -E 'VmRSS|RssAnon' $process/status
done
"#;
