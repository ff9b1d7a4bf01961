//! The kubelet rotates its certificate, and the agent that reports by it goes on after the old one has ended.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_cluster::{CLUSTER, Cluster, Plan};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

const SOON: Duration = Duration::from_secs(60);
/// The kubelet asks for another certificate when 70 to 90 % of this and the minute before it are over.
const LIFE: Duration = Duration::from_secs(120);
const NEWEST: &str = "readlink /var/lib/kubelet/pki/kubelet-client-current.pem";

/// As kubeadm has it: kubelets may ask for their own certificates, and nothing else approves those.
const SELF_APPROVED: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: kubelets-rotate }
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:nodes' }]
";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("credentials_rotate").case_with(
        &[Need::LongSuite, CLUSTER],
        "the_agent_goes_on_with_the_new_certificate",
        the_agent_goes_on_with_the_new_certificate,
    );
}

fn the_agent_goes_on_with_the_new_certificate() {
    let cluster = Cluster::start(Plan { workers: 1, controllers: 0, ..Plan::default() });
    cluster.apply_text(SELF_APPROVED);
    cluster.install();
    let worker = cluster.worker("w1").unwrap();
    cluster.api().wait_condition(SOON, "w1", "FilesystemFull", "False");
    cluster.shorten_credentials(worker, LIFE);
    let issued = Instant::now();
    let first = worker.inside().sh(NEWEST);
    until_within(LIFE, "the kubelet has rotated it", || (worker.inside().sh(NEWEST) != first).then_some(()));
    assert!(issued.elapsed() < LIFE, "while the old one was good");
    thread::sleep((LIFE + Duration::from_secs(10)).saturating_sub(issued.elapsed()));

    let report = "nodewell report --source case --condition FilesystemFull=true --reason FilesystemIsFull \
                  --subject /case --message 'full for this case'";
    let reported = worker.inside().as_unit("case", &[], report);
    assert_eq!(reported.code, 0, "{reported:?}");
    cluster.api().wait_condition(SOON, "w1", "FilesystemFull", "True");
}
