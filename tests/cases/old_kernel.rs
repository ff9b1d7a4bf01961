//! The agent on an older kernel, without root and closed to others of its user: it starts, reads the kernel's log, starts
//! its checks, and says the same as on a newer one.

use std::os::unix::fs::chown;

use nodewell_tests::{
    agent::Plan,
    intruder::Intruder,
    old_kernel::{self, OldKernel},
    suite::{Need, Suite},
    wait::until,
};

/// An ordinary user, as the unit has one, without any right of root's.
const UID: u32 = 65534;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("old_kernel").case_with(
        &[Need::Root, Need::Other(old_kernel::unmet)],
        "an_agent_without_root_runs_on_it",
        an_agent_without_root_runs_on_it,
    );
}

fn an_agent_without_root_runs_on_it() {
    let kernel = OldKernel::make();
    let user = Intruder { uid: UID, capabilities: &[] };
    let plan = Plan::default();
    plan.file("nodewell.toml.d/case.toml", "check-processes = \"spawn\"\n");
    chown(plan.folder(), Some(UID), Some(UID)).unwrap();
    chown(plan.kmsg().path(), Some(UID), Some(UID)).unwrap();
    let agent = plan.wrapped_in([user.enter(), kernel.enter()].concat()).start();
    agent.kmsg().write("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory");
    agent.wait_event("Ext4Error");
    // One of a process of its own, whatever this machine's disks hold.
    until("filesystems are looked at", || {
        agent.condition("FilesystemFull").filter(|one| one.status.as_str() != "Unknown")
    });
    until("it has a condition of each source", || agent.condition("TasksUnhealthy"));
}
