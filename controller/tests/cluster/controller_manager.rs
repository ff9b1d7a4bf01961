//! kube-controller-manager beside the API server. Taint eviction and pod garbage collection are acts of its own, and half of
//! what a release is.

use std::time::{Duration, Instant};

use crate::server::{Guard, Server, binary};

const NAME: &str = "kube-controller-manager";

/// What acts upon nodes and their pods, what guards pods, what makes them, and what gives a role the rules of those
/// that it selects, each with the service account that it is. Not the garbage collector of owners: cases make pods whose
/// owners are names alone.
const CONTROLLERS: [(&str, &str); 7] = [
    ("node-lifecycle-controller", "node-controller"),
    // The service account is that of node-lifecycle-controller, whose part it was.
    ("taint-eviction-controller", "node-controller"),
    ("pod-garbage-collector-controller", "pod-garbage-collector"),
    ("disruption-controller", "disruption-controller"),
    ("statefulset-controller", "statefulset-controller"),
    ("daemonset-controller", "daemon-set-controller"),
    ("clusterrole-aggregation-controller", "clusterrole-aggregation-controller"),
];

/// A loaded machine with two cores needs a quarter of it.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Why there is none here.
pub(crate) fn missing() -> Option<String> {
    (!binary(NAME).is_file()).then(|| format!("no {NAME} in {}", binary("").display()))
}

/// What of it runs, and how, in one line.
pub(crate) fn describe() -> String {
    let names: Vec<&str> = CONTROLLERS.iter().map(|(name, _)| *name).collect();
    format!("{} ({}; every time limit as shipped)", crate::server::version(NAME), names.join(", "))
}

/// Starts it as kubeadm does, with each controller as its own service account, and waits until all are there. No other
/// replica shares the server: it leads at once.
pub(crate) fn start(server: &Server) -> Guard {
    let names: Vec<&str> = CONTROLLERS.iter().map(|(name, _)| *name).collect();
    let flags = [
        format!("--kubeconfig={}", server.kubeconfig("controller-manager").display()),
        format!("--controllers={}", names.join(",")),
        "--use-service-account-credentials=true".to_owned(),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    let mut process = server.start_beside(NAME, &flags, &[]);
    let until = Instant::now() + START_LIMIT;
    while !CONTROLLERS.iter().all(|(_, account)| has_begun(server, account)) {
        let late = process.has_ended() || Instant::now() >= until;
        assert!(!late, "{NAME} does not come up: {}", server.last_line(NAME));
        std::thread::sleep(Duration::from_millis(200));
    }
    process
}

/// Its controller has asked for a token: it makes the account first.
fn has_begun(server: &Server, account: &str) -> bool {
    server.kubectl(&["-n", "kube-system", "get", "serviceaccount", account])
}
