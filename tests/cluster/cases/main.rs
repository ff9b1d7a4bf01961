//! Whole-program cases on a real cluster. A file for each behaviour; this one lists them.

#![allow(clippy::unwrap_used)]

mod cable_pulled;
mod drain_begun_again;
mod fault_drain_fence_return;
mod free_network;
mod held;
mod off_before_release;
mod pods_own_filesystem;

fn main() -> std::process::ExitCode {
    nodewell_tests::own_mounts::separate();
    let mut suite = nodewell_tests::suite::Suite::default();
    let behaviours = [
        fault_drain_fence_return::list,
        pods_own_filesystem::list,
        cable_pulled::list,
        drain_begun_again::list,
        held::list,
        free_network::list,
    ];
    behaviours.iter().for_each(|list| list(&mut suite));
    // A cluster takes both cores of a small machine.
    suite.run_at_once(1)
}
