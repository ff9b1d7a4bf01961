//! The trait `Cluster` against a real API server, with the rights that the packages give and no more.

#![allow(clippy::unwrap_used)]

#[path = "cluster/server.rs"]
mod server;

#[path = "cluster/controller_manager.rs"]
mod controller_manager;

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

#[path = "cluster/restored.rs"]
mod restored;

#[path = "cluster/program.rs"]
mod program;

#[path = "cluster/agents.rs"]
mod agents;

#[path = "cluster/by_hand.rs"]
mod by_hand;

#[path = "cluster/claims.rs"]
mod claims;

#[path = "cluster/plan.rs"]
mod plan;

#[path = "cluster/policies.rs"]
mod policies;

#[path = "cluster/reported.rs"]
mod reported;

#[path = "cluster/requests.rs"]
mod requests;

#[path = "cluster/workload.rs"]
mod workload;

#[path = "cluster/out_of_service.rs"]
mod out_of_service;

#[path = "cluster/orphans.rs"]
mod orphans;

use std::{env, process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};
use server::Server;

const CRDS: [&str; 4] = [
    include_str!("../../packaging/crds/remediationpolicies.yaml"),
    include_str!("../../packaging/crds/nodefences.yaml"),
    include_str!("../../packaging/crds/nodefenceremediations.yaml"),
    include_str!("../../packaging/crds/nodefenceremediationtemplates.yaml"),
];
const RBAC: [&str; 2] = [
    include_str!("../../packaging/rbac/controller/nodewell-controller.yaml"),
    include_str!("../../packaging/rbac/approver/nodewell-approver.yaml"),
];

/// What a case needs beside the API server.
#[derive(Clone, Copy)]
enum Need {
    Nothing,
    ControllerManager,
    /// And minutes: only the long proofs take them.
    ControllerManagerAndTime,
    /// And medik8s' node-healthcheck-operator.
    HealthCheckOperator,
}

impl Need {
    /// Why this machine cannot run such a case, or was not asked to.
    fn unmet(self) -> Option<String> {
        let long = || env::var_os("NODEWELL_LONG").is_none().then(|| "a long proof: `make e2e` runs it".to_owned());
        server::missing().or_else(|| match self {
            Self::Nothing => None,
            Self::ControllerManager => controller_manager::missing(),
            Self::ControllerManagerAndTime => controller_manager::missing().or_else(long),
            Self::HealthCheckOperator => controller_manager::missing().or_else(requests::operator::missing),
        })
    }
}

type Subject = (Need, &'static [(&'static str, cases::Case)]);

const SUBJECTS: [Subject; 17] = [
    (Need::Nothing, nodes::ALL),
    (Need::Nothing, records::ALL),
    (Need::Nothing, pods::ALL),
    (Need::Nothing, control::ALL),
    (Need::Nothing, watches::ALL),
    (Need::Nothing, restored::ALL),
    (Need::Nothing, program::ALL),
    (Need::Nothing, agents::ALL),
    (Need::Nothing, plan::ALL),
    (Need::Nothing, claims::ALL),
    (Need::Nothing, policies::ALL),
    (Need::Nothing, by_hand::ALL),
    (Need::Nothing, reported::ALL),
    (Need::Nothing, requests::ALL),
    (Need::HealthCheckOperator, requests::operator::ALL),
    (Need::ControllerManager, out_of_service::ALL),
    (Need::ControllerManagerAndTime, orphans::ALL),
];

fn main() -> ExitCode {
    // One after the other: they share a cluster, and its kill switch.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let server = (server::missing().is_none() && !arguments.list).then(|| Arc::new(prepared()));
    let trials = SUBJECTS.iter().flat_map(|(need, cases)| {
        let unmet = need.unmet();
        cases.iter().map(move |case| (unmet.clone(), *case))
    });
    let trials = trials.map(|(unmet, (name, case))| match (&server, unmet) {
        (Some(server), None) => {
            let server = Arc::clone(server);
            Trial::test(format!("cluster/{name}"), move || {
                run(&server, case);
                Ok(())
            })
        }
        // It is ignored, with the reason in its line.
        (_, unmet) => Trial::test(format!("cluster/{name}"), || Ok(()))
            .with_ignored_flag(true)
            .with_kind(unmet.unwrap_or_default()),
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    // Its processes end here, not with the static lifetime of anything.
    drop(server);
    conclusion.exit_code()
}

/// On what the cases run, before the first of them.
fn print_versions() {
    let programs = ["kube-apiserver", "etcd"].map(server::version).join(", ");
    let controllers = controller_manager::missing().unwrap_or_else(controller_manager::describe);
    eprintln!("real API: {programs}; {controllers}");
}

fn prepared() -> Server {
    print_versions();
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
