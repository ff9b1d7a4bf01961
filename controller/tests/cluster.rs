//! The trait `Cluster` against a real API server, with the rights that the packages give and no more.

#![allow(clippy::unwrap_used)]

#[path = "cluster/server.rs"]
mod server;

#[path = "cluster/cases.rs"]
mod cases;

#[path = "cluster/nodes.rs"]
mod nodes;

#[path = "cluster/records.rs"]
mod records;

#[path = "cluster/pods.rs"]
mod pods;

#[path = "cluster/control.rs"]
mod control;

#[path = "cluster/watches.rs"]
mod watches;

#[path = "cluster/program.rs"]
mod program;

#[path = "cluster/agents.rs"]
mod agents;

#[path = "cluster/claims.rs"]
mod claims;

#[path = "cluster/plan.rs"]
mod plan;

#[path = "cluster/said.rs"]
mod said;

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};
use server::Server;

const CRDS: [&str; 2] =
    [include_str!("../../packaging/crds/remedypolicies.yaml"), include_str!("../../packaging/crds/nodefences.yaml")];
const RBAC: [&str; 2] = [
    include_str!("../../packaging/rbac/nodewell-controller.yaml"),
    include_str!("../../packaging/rbac/nodewell-approver.yaml"),
];

fn main() -> ExitCode {
    // One after the other: they share a cluster, and its kill switch.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let missing = server::missing();
    let server = (missing.is_none() && !arguments.list).then(|| Arc::new(prepared()));
    let subjects = [
        nodes::ALL,
        records::ALL,
        pods::ALL,
        control::ALL,
        watches::ALL,
        program::ALL,
        agents::ALL,
        plan::ALL,
        claims::ALL,
        said::ALL,
    ];
    let all = subjects.into_iter().flatten();
    let trials = all.map(|(name, case)| match &server {
        Some(server) => {
            let (server, case) = (Arc::clone(server), *case);
            Trial::test(*name, move || {
                run(&server, case);
                Ok(())
            })
        }
        // It is ignored, with the reason in its line.
        None => Trial::test(*name, || Ok(())).with_ignored_flag(true).with_kind(missing.clone().unwrap_or_default()),
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    // Its processes end here, not with the static lifetime of anything.
    drop(server);
    conclusion.exit_code()
}

fn prepared() -> Server {
    let server = Server::start();
    // A fresh server makes this namespace a little after it is ready.
    let _ = server.kubectl(&["create", "namespace", "kube-node-lease"]);
    for text in CRDS.into_iter().chain(RBAC) {
        server.apply(text).unwrap();
    }
    assert!(server.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]));
    server
}

fn run(server: &Arc<Server>, case: cases::Case) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, case(Arc::clone(server)));
}
