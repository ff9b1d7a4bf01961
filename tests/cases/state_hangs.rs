//! A state directory whose writes never return: no client waits for it, and what was held meanwhile is saved
//! afterwards.

use nodewell_tests::{
    cluster::{Cluster, Identity},
    disk::Disk,
    suite::{Need, Suite},
    wait::until,
};

use crate::{
    lines::OOPS,
    state::{UNWRITABLE, arrays, plan_on, report_array, report_durably, wait_save_error, wait_saved},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("state_hangs")
        .case_with(&[Need::LoopDevice], "the_api_server_hears_of_it", the_api_server_hears_of_it)
        .case_with(&[Need::LoopDevice], "the_agent_starts_all_the_same", the_agent_starts_all_the_same);
}

fn the_api_server_hears_of_it() {
    let (cluster, disk) = (Cluster::double(), Disk::mounted());
    let plan = plan_on(&disk.mount_point());
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node("test-node".to_owned()), plan.folder());
    cluster.create_node("test-node");
    let mut agent = plan.kubeconfig(kubeconfig).start();
    wait_saved(&agent);
    report_durably(&agent, "before");
    {
        let _frozen = disk.freeze();
        agent.kmsg().write(OOPS);
        agent.wait_condition("KernelUnhealthy", "True");
        wait_save_error(&agent, "StateHangs");
        assert!(!report_array(&agent, "while it hangs"));
        for condition in ["KernelUnhealthy", UNWRITABLE] {
            until("the API server knows", || {
                (cluster.condition("test-node", condition)?["status"] == "True").then_some(())
            });
        }
    }
    wait_saved(&agent);
    until("what waited is saved", || report_array(&agent, "while it hangs").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["before", "while it hangs"]);
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "True");
}

fn the_agent_starts_all_the_same() {
    let disk = Disk::mounted();
    let plan = plan_on(&disk.mount_point());
    let frozen = disk.freeze();
    let mut agent = plan.start();
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    wait_save_error(&agent, "StateHangs");
    drop(frozen);
    wait_saved(&agent);
    until("what waited is saved", || report_array(&agent, "later").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["later"]);
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "True");
}
