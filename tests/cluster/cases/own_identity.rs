//! `nodewell enroll` on real machines: each agent gets an identity that can touch its own Node only, and has a Lease.

use nodewell_cluster::{CLUSTER, Cluster, Plan, identity};
use nodewell_tests::suite::{Need, Suite};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("own_identity").case_with(
        &[Need::LongSuite, CLUSTER],
        "an_enrolled_agent_writes_its_own_node_and_no_other",
        an_enrolled_agent_writes_its_own_node_and_no_other,
    );
}

fn an_enrolled_agent_writes_its_own_node_and_no_other() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 0, ..Plan::default() });
    cluster.install();
    identity::enroll(&cluster);
    let own = ["--kubeconfig", "/run/nodewell/identity/kubeconfig"];
    for (worker, other) in [("w1", "w2"), ("w2", "w1")] {
        let inside = cluster.worker(worker).unwrap().inside();
        let doctor =
            inside.run([&["nodewell", "doctor"][..], &own, &["--node-name", worker, "--other-node", other]].concat());
        assert_eq!(doctor.code, 0, "{}{}", doctor.stdout, doctor.stderr);
        assert!(doctor.stdout.contains(&format!("nodewell:node:{worker}")), "{}", doctor.stdout);
    }
}
