//! `nodewell enroll` on real machines: each agent gets an identity that can touch its own Node only, and has a Lease.

use std::{thread, time::Duration};

use nodewell_cluster::{CLUSTER, Cluster, Plan};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

const SOON: Duration = Duration::from_secs(90);

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("own_identity").case_with(
        &[Need::LongSuite, CLUSTER],
        "an_enrolled_agent_writes_its_own_node_and_no_other",
        an_enrolled_agent_writes_its_own_node_and_no_other,
    );
}

fn an_enrolled_agent_writes_its_own_node_and_no_other() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 0, kernel_log: None });
    cluster.install();
    enroll(&cluster);
    let own = ["--kubeconfig", "/run/nodewell/identity/kubeconfig"];
    for (worker, other) in [("w1", "w2"), ("w2", "w1")] {
        let inside = cluster.worker(worker).unwrap().inside();
        let doctor =
            inside.run([&["nodewell", "doctor"][..], &own, &["--node-name", worker, "--other-node", other]].concat());
        assert_eq!(doctor.code, 0, "{}{}", doctor.stdout, doctor.stderr);
        assert!(doctor.stdout.contains(&format!("nodewell:node:{worker}")), "{}", doctor.stdout);
    }
}

/// Has each worker's agent ask for an identity of its own, looks at who asked, and approves it as docs/identity.md says.
pub(crate) fn enroll(cluster: &Cluster) {
    thread::scope(|scope| {
        for worker in cluster.workers() {
            scope.spawn(|| {
                let done = worker.inside().run(["nodewell", "enroll", "--timeout", "2m"]);
                assert_eq!(done.code, 0, "{}: {}{}", worker.name(), done.stdout, done.stderr);
            });
        }
        for worker in cluster.workers() {
            let kubelet = format!("system:node:{}", worker.name());
            let request = until_within(SOON, &format!("{kubelet} asks"), || request_of(cluster, &kubelet));
            cluster.must_kubectl(&["certificate", "approve", &request]);
        }
    });
    for worker in cluster.workers() {
        let lease = format!("/apis/coordination.k8s.io/v1/namespaces/nodewell/leases/{}", worker.name());
        until_within(SOON, &format!("{} has a Lease of its own", worker.name()), || {
            let lease = cluster.api().get(&lease)?;
            lease["spec"]["renewTime"].as_str().map(drop)
        });
    }
}

fn request_of(cluster: &Cluster, requestor: &str) -> Option<String> {
    let requests = cluster.api().get("/apis/certificates.k8s.io/v1/certificatesigningrequests")?;
    let is_theirs = |request: &&serde_json::Value| {
        request["spec"]["username"] == requestor
            && request["metadata"]["labels"]["app.kubernetes.io/name"] == "nodewell"
    };
    let request = requests["items"].as_array()?.iter().find(is_theirs)?;
    request["metadata"]["name"].as_str().map(str::to_owned)
}
