//! `nodewell enroll` on real machines: each agent gets an identity that can touch its own Node only, and has a Lease,
//! whether a person approves it or the controller's approver.

use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    identity::{enroll, enroll_without_a_person, request_of},
};
use nodewell_tests::suite::{Need, Suite};

const WORKERS: [&str; 2] = ["w1", "w2"];

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("own_identity")
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "an_enrolled_agent_writes_its_own_node_and_no_other",
            an_enrolled_agent_writes_its_own_node_and_no_other,
        )
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "what_a_kubelet_asks_for_its_agent_is_approved_without_a_person",
            what_a_kubelet_asks_for_its_agent_is_approved_without_a_person,
        );
}

fn an_enrolled_agent_writes_its_own_node_and_no_other() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 0, ..Plan::default() });
    cluster.install();
    enroll(&cluster);
    each_has_its_own(&cluster);
}

fn what_a_kubelet_asks_for_its_agent_is_approved_without_a_person() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 1, ..Plan::default() });
    cluster.install();
    cluster.install_approver();
    enroll_without_a_person(&cluster);
    each_has_its_own(&cluster);
    for worker in WORKERS {
        let request = request_of(&cluster, &format!("system:node:{worker}")).expect("its kubelet has asked");
        let approved = request["status"]["conditions"].as_array().into_iter().flatten();
        let approved: Vec<_> = approved.filter(|condition| condition["type"] == "Approved").collect();
        assert!(matches!(approved[..], [one] if one["reason"] == "NodewellEnrolment"), "{request}");
    }
    let metrics = cluster.controllers()[0].metrics();
    let counted = "nodewell_controller_signing_requests_total{outcome=\"approved\"} 2\n";
    assert!(metrics.contains(counted), "{metrics}");
}

fn each_has_its_own(cluster: &Cluster) {
    let own = ["--kubeconfig", "/run/nodewell/identity/kubeconfig"];
    for (worker, other) in [(WORKERS[0], WORKERS[1]), (WORKERS[1], WORKERS[0])] {
        let inside = cluster.worker(worker).unwrap().inside();
        let doctor =
            inside.run([&["nodewell", "doctor"][..], &own, &["--node-name", worker, "--other-node", other]].concat());
        assert_eq!(doctor.code, 0, "{}{}", doctor.stdout, doctor.stderr);
        assert!(doctor.stdout.contains(&format!("nodewell:node:{worker}")), "{}", doctor.stdout);
    }
}
