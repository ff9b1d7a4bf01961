//! Whole-program cases on a real cluster. A file for each behaviour; this one lists them.

#![allow(clippy::unwrap_used)]

mod agent_silent;
mod announced_reboot;
mod api_server_away;
mod api_servers_roll;
mod attached_volumes;
mod bmc_lies;
mod cable_pulled;
mod conditions_stay;
mod controller_host_dies;
mod credentials_rotate;
mod dies_under_a_cordon;
mod drain_begun_again;
mod fault_drain_fence_return;
mod free_network;
mod held;
mod kubelet_stopped;
mod kubelet_upgraded;
mod load;
mod node_problem;
mod off_before_release;
mod own_identity;
mod own_kernel;
mod pods_own_filesystem;
mod pods_zombies;
mod rolling_upgrade;
mod settles;
mod soak;
mod taint_evicts;
mod trial;
mod untouched;

fn main() -> std::process::ExitCode {
    nodewell_tests::own_mounts::separate();
    let mut suite = nodewell_tests::suite::Suite::default();
    let behaviours = [
        // The longest first: nothing waits for them at the end.
        agent_silent::list,
        own_kernel::list,
        announced_reboot::list,
        pods_zombies::list,
        drain_begun_again::list,
        api_servers_roll::list,
        attached_volumes::list,
        api_server_away::list,
        taint_evicts::list,
        kubelet_upgraded::list,
        rolling_upgrade::list,
        bmc_lies::list,
        dies_under_a_cordon::list,
        fault_drain_fence_return::list,
        pods_own_filesystem::list,
        cable_pulled::list,
        held::list,
        free_network::list,
        conditions_stay::list,
        trial::list,
        own_identity::list,
        controller_host_dies::list,
        credentials_rotate::list,
        node_problem::list,
        kubelet_stopped::list,
        soak::list,
        settles::list,
    ];
    behaviours.iter().for_each(|list| list(&mut suite));
    suite.run_at_once(nodewell_cluster::at_once())
}
