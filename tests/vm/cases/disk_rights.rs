//! The disks' process as `nodewell-disk.service` runs it: a user of its own, with the unit's capabilities and no more.
//! With them it reads both kinds of disks; without any one of them it says which is needed.

use nodewell_model::view::ConditionView;
use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST, SETPRIV,
    disk::Image,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::LongSuite, GUEST, SETPRIV];
    suite.behaviour("disk_rights").case_with(needs, "are_enough_and_all_needed", are_enough_and_all_needed);
}

const CONFIG: &str = "check-processes = \"none\"\n[disk]\ninterval = \"1m\"\n";
const UNIT: &str = include_str!("../../../systemd/nodewell-disk.service");
/// By its cgroup it is the unit, so that the agent takes its reports. By a path, for busybox has a `setpriv` of its own.
const START: &str = "
unit=/sys/fs/cgroup/nodewell.slice/nodewell-disk.service
mkdir -p $unit
setsid sh -c \"echo 0 >$unit/cgroup.procs && exec /usr/bin/setpriv --reuid 991 --regid 991 \
  --clear-groups --no-new-privs --inh-caps CAPABILITIES --ambient-caps CAPABILITIES --bounding-set CAPABILITIES \
  nodewell-checks run disk --config /etc/nodewell.toml\" </dev/null >>/run/disk.log 2>&1 &
echo $! >/run/disk.pid
";
/// It ends its workers itself.
const STOP: &str = "
pid=$(cat /run/disk.pid) && kill $pid
while [ -e /proc/$pid ] && ! grep -q 'State:.Z' /proc/$pid/status; do sleep 0.1; done
";

fn are_enough_and_all_needed() {
    let images = [Image::empty(16), Image::empty(16)];
    let plan = Plan::default().nvme("disk", &images[0], None).sata("sata0", &images[1], 0);
    let guest = plan.modules(&["nvme", "ahci", "sd_mod", "sg"]).boot();
    guest.start_agent(CONFIG);
    let all = ambient();
    start(&guest, &all);
    guest.wait_hardware("disks", |disks| (disks.total, disks.healthy) == (2, 2));
    guest.wait_condition("DiskUnhealthy", "False");
    guest.set("disk", "smart_critical_warning", 1 << 2);
    guest.set_read_errors(6);
    assert_eq!(guest.wait_problem("DiskUnhealthy", "NvmeReliabilityDegraded").subject.as_deref(), Some("nvme0"));
    assert_eq!(guest.wait_problem("DiskUnhealthy", "SmartPrefail").subject.as_deref(), Some("sda"));
    guest.set("disk", "smart_critical_warning", 0);
    guest.set_read_errors(100);
    guest.wait_condition("DiskUnhealthy", "False");
    for missing in &all {
        guest.sh(STOP);
        let others: Vec<&str> = all.iter().copied().filter(|capability| capability != missing).collect();
        start(&guest, &others);
        // Without DAC_READ_SEARCH no device's node can be opened.
        let named = format!("CAP_{missing} and a readable /dev/").replace("CAP_DAC_READ_SEARCH and ", "");
        guest.until(&named, || guest.condition("DiskUnhealthy").filter(|condition| says(condition, &named)));
    }
}

/// Without their prefix, as util-linux has them.
fn ambient() -> Vec<&'static str> {
    let line = UNIT.lines().find_map(|line| line.strip_prefix("AmbientCapabilities=CAP_")).unwrap();
    let names: Vec<&str> = line.split(" CAP_").collect();
    assert!(names.len() > 1, "{line}");
    names
}

fn start(guest: &Guest, capabilities: &[&str]) {
    let set: String = capabilities.iter().map(|name| format!(",+{}", name.to_lowercase())).collect();
    guest.sh(&START.replace("CAPABILITIES", &format!("-all{set}")));
}

fn says(condition: &ConditionView, what: &str) -> bool {
    condition.status.as_str() == "Unknown" && serde_json::to_string(condition).unwrap().contains(what)
}
