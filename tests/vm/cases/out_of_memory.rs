//! Two kinds of OOM kills: a cgroup at its own limit is its workload's fault, a machine without memory is the node's.

use nodewell_model::Severity;
use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, guest::Plan};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("out_of_memory").case_with(&[Need::LongSuite, GUEST], "whose_it_is", whose_it_is);
}

/// `tail` buffers what has no line end, however long it gets.
const EAT: &str = "tail /dev/zero >/dev/null 2>&1";
const LIMITED: &str = "
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/pod && echo 16M >/sys/fs/cgroup/pod/memory.max
echo 0 >/sys/fs/cgroup/pod/cgroup.procs
";

fn whose_it_is() {
    let guest = Plan::default().memory_mib(512).boot();
    guest.start_agent("");
    guest.run(&format!("{LIMITED}\n{EAT}"));
    let of_cgroup = guest.wait_event("OOMKilling", |event| event.message.contains("Memory cgroup out of memory"));
    assert_eq!((of_cgroup.subject.as_deref(), of_cgroup.severity), (Some("tail"), Severity::Warn), "{of_cgroup:?}");
    guest.run(EAT);
    let of_node = guest.wait_event("OOMKilling", |event| event.message.starts_with("Out of memory"));
    assert_eq!((of_node.subject.as_deref(), of_node.severity), (Some("tail"), Severity::Error), "{of_node:?}");
    assert!(guest.status().is_some(), "the agent lives on");
}
