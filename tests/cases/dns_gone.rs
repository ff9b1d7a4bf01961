//! No name server answers any more: the agent, whose API server has a name, goes on at the address that it knew, ends in time,
//! starts all the same, and finds the server again.

use std::{
    ffi::OsString,
    fs,
    net::UdpSocket,
    path::PathBuf,
    time::{Duration, Instant},
};

use nodewell_tests::{
    agent::{Agent, Plan},
    cluster::{Cluster, Identity},
    suite::{Need, Suite},
    wait::{until, until_within},
};

use crate::{
    api_conditions::wait_published,
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("dns_gone").case_with(&[Need::Root], "it_goes_on_ends_and_starts", it_goes_on_ends_and_starts);
}

const NAME: &str = "apiserver.nodewell.test";
/// Longer than an agent takes for its stop, and shorter than a resolver tries by itself: 2 times 30 s as set below.
const STOPPED: Duration = Duration::from_secs(20);
/// A resolver's two tries and the longest pause between the agent's own.
const FOUND_AGAIN: Duration = Duration::from_secs(150);

/// What names the machine knows, for this agent alone: by files in place of the machine's.
struct Names {
    hosts: PathBuf,
    /// Takes every question and answers none.
    _server: UdpSocket,
}

impl Names {
    fn of(plan: &Plan) -> (Self, Vec<OsString>) {
        let server = UdpSocket::bind("127.0.0.89:53").unwrap();
        let hosts = plan.file("hosts", &format!("127.0.0.1 {NAME}\n"));
        let resolv = plan.file("resolv.conf", "nameserver 127.0.0.89\noptions timeout:30 attempts:2\n");
        let script = "mount --bind \"$0\" /etc/hosts && mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\"";
        let argv = ["unshare", "--mount", "sh", "-c", script].map(OsString::from);
        let argv = argv.into_iter().chain([hosts.clone().into_os_string(), resolv.into_os_string()]).collect();
        (Self { hosts, _server: server }, argv)
    }

    /// In place: another file of that name would not be the one that is mounted.
    fn go(&self) {
        fs::write(&self.hosts, "").unwrap();
    }

    fn come_back(&self) {
        fs::write(&self.hosts, format!("127.0.0.1 {NAME}\n")).unwrap();
    }
}

fn state(agent: &Agent) -> String {
    serde_json::to_value(agent.view().apiserver.state).unwrap().as_str().unwrap().to_owned()
}

fn it_goes_on_ends_and_starts() {
    let (cluster, node) = (Cluster::double(), "dns-gone");
    cluster.create_node(node);
    let plan = Plan::new(node);
    let by_number = cluster.as_double().kubeconfig(&Identity::Node(node.to_owned())).to_string();
    let kubeconfig = plan.file("kubeconfig", &by_number.replace("127.0.0.1", NAME));
    let (names, wrapper) = Names::of(&plan);
    let mut agent = plan.kubeconfig(kubeconfig).wrapped_in(wrapper).start();
    wait_published(&cluster, node, "KernelUnhealthy", "False");

    names.go();
    cluster.as_double().stop();
    cluster.as_double().start_again();
    agent.kmsg().write(OOPS);
    // At the address that it knew.
    wait_published(&cluster, node, "KernelUnhealthy", "True");
    until("its Event too", || (cluster.events(node, "KernelOops").len() == 1).then_some(()));

    // The next one knows none.
    agent.stop_and_start(|| {});
    agent.kmsg().write(STALL);
    agent.wait_event("RCUStall");
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "True");
    until("it is reported that the server is not reached", || (state(&agent) == "failing").then_some(()));
    let stopping = Instant::now();
    agent.stop_and_start(|| {});
    assert!(stopping.elapsed() < STOPPED, "it took {:?} to end and start", stopping.elapsed());
    assert_eq!(cluster.events(node, "RCUStall").len(), 0, "the server was reached without a name");

    names.come_back();
    until_within(FOUND_AGAIN, "what waited is an Event", || {
        (cluster.events(node, "RCUStall").len() == 1).then_some(())
    });
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    let events = ["KernelOops", "RCUStall"].map(|reason| cluster.events(node, reason).len());
    assert_eq!(events, [1, 1]);
}
