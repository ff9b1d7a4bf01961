//! Services that are stopped, hang, err and come back: a stand-in kubelet, a real containerd, endpoints that answer
//! something else or nothing.

use std::{fs, io::Write, os::unix::net::UnixListener, path::Path, thread, time::Duration};

use nodewell_model::view::ConditionView;
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    containerd::{self, Containerd},
    kubelet::{Kubelet, KubeletBehaviour},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    const CONTAINERD: Need = Need::Other(containerd::unmet);
    suite
        .behaviour("service_health")
        .case("a_kubelet_is_watched_through_all_its_moods", a_kubelet_is_watched_through_all_its_moods)
        .case("what_was_never_seen_is_not_published", what_was_never_seen_is_not_published)
        .case("what_was_seen_is_missed_after_a_restart_of_ours", what_was_seen_is_missed_after_a_restart_of_ours)
        .case("strange_endpoints_are_states_and_delay_no_other", strange_endpoints_are_states_and_delay_no_other)
        .case_with(&[CONTAINERD], "containerd_is_stopped_and_hung_and_comes_back", containerd_comes_and_goes)
        .case_with(&[CONTAINERD], "a_health_checker_of_npd_is_done_by_us", a_health_checker_of_npd_is_done_by_us);
}

/// A plan without what this machine itself may run.
fn plan(services: &str) -> Plan {
    let others = ["kubelet", "kube-proxy", "container-runtime", "docker"];
    let lines = others.iter().filter(|key| !services.contains(&format!("{key} = ")));
    let never: String = lines.map(|key| format!("{key} = \"never\"\n")).collect();
    let (table, own) = services
        .split_once("[[service]]")
        .map_or((services, String::new()), |(table, own)| (table, format!("[[service]]{own}")));
    let plan = Plan::default();
    plan.file("nodewell.toml.d/services.toml", &format!("[services]\n{table}\n{never}\n{own}"));
    plan
}

/// Asks every second, and every quarter of one where something may change.
fn watch(plan: &Plan) -> CheckProcess {
    CheckProcess::of(plan, "check", &[("--interval", Path::new("1s")), ("--deadline", Path::new("2s"))])
}

fn reason(agent: &Agent, condition: &str, reason: &str) -> ConditionView {
    until(&format!("{condition} is True for {reason}"), || {
        let found = agent.condition(condition).filter(|found| found.status.as_str() == "True")?;
        (found.reason.as_str() == reason).then_some(found)
    })
}

fn a_kubelet_is_watched_through_all_its_moods() {
    let kubelet = Kubelet::start();
    let agent = plan(&format!("kubelet = {:?}", kubelet.url())).start();
    let _check_process = watch(agent.plan());
    let healthy = agent.wait_condition("KubeletUnhealthy", "False");
    assert_eq!(healthy.reason.as_str(), "KubeletIsHealthy");
    let moods = [
        (KubeletBehaviour::Down, "nothing listens (connection refused)"),
        (KubeletBehaviour::Hung, "no answer within 2 s"),
        (KubeletBehaviour::Unhealthy, "answers 500 Internal Server Error: [-]syncloop failed: reason withheld"),
        (KubeletBehaviour::Endless, "answers 500 Internal Server Error: xxxxx"),
    ];
    for (behaviour, words) in moods {
        kubelet.is(behaviour);
        let found = reason(&agent, "KubeletUnhealthy", "KubeletUnhealthy");
        assert!(found.message.contains(words), "{behaviour:?}: {}", found.message);
        kubelet.is(KubeletBehaviour::Healthy);
        agent.wait_condition("KubeletUnhealthy", "False");
    }
    kubelet.is(KubeletBehaviour::Slow(1200));
    let slow = agent.wait_event("ServiceSlow");
    let after = slow.message.split_once("answers only after ").and_then(|(_, rest)| rest.split_once(" ms"));
    // And what a busy machine adds to it.
    assert!(after.is_some_and(|(ms, _)| ms.parse().is_ok_and(|ms: u32| ms >= 1200)), "{}", slow.message);
    assert_eq!(agent.condition("KubeletUnhealthy").unwrap().status.as_str(), "False");
}

fn what_was_never_seen_is_not_published() {
    let kubelet = Kubelet::start();
    // Whatever listens there, it was never well: another program may have that port.
    kubelet.is(KubeletBehaviour::Unhealthy);
    let agent = plan(&format!("kubelet = {:?}", kubelet.url())).start();
    let _check_process = watch(agent.plan());
    until("the check process reports", || agent.daemon("services@root"));
    until("it was asked often enough to be a problem", || (kubelet.asked() > 5).then_some(()));
    assert!(agent.condition("KubeletUnhealthy").is_none());
    kubelet.is(KubeletBehaviour::Healthy);
    agent.wait_condition("KubeletUnhealthy", "False");
}

fn what_was_seen_is_missed_after_a_restart_of_ours() {
    let kubelet = Kubelet::start();
    let agent = plan(&format!("kubelet = {:?}", kubelet.url())).start();
    let mut check_process = watch(agent.plan());
    agent.wait_condition("KubeletUnhealthy", "False");
    let saved = agent.plan().folder().join("hardware/services.json");
    until("it is saved", || fs::read_to_string(&saved).ok().filter(|text| text.contains("\"seen\":true")));
    check_process.kill();
    kubelet.is(KubeletBehaviour::Down);
    let mut check_process = watch(agent.plan());
    reason(&agent, "KubeletUnhealthy", "KubeletUnhealthy");
    // A problem survives a stop of the check process that claims it.
    check_process.stop();
    let _check_process = watch(agent.plan());
    assert_eq!(agent.condition("KubeletUnhealthy").unwrap().status.as_str(), "True");
    kubelet.is(KubeletBehaviour::Healthy);
    agent.wait_condition("KubeletUnhealthy", "False");
}

fn strange_endpoints_are_states_and_delay_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let socket = |name: &str| folder.path().join(name);
    let _mute = UnixListener::bind(socket("mute")).unwrap();
    fs::create_dir(socket("folder")).unwrap();
    speaks(&socket("http"), b"HTTP/1.1 400 Bad Request\r\n\r\n");
    speaks(&socket("garbage"), &[0xff; 64 * 1024]);
    let kubelet = Kubelet::start();
    let names = ["mute", "folder", "http", "garbage", "nothing"];
    let services: String = names
        .iter()
        .map(|name| format!("[[service]]\nname = {name:?}\nrequired = true\ncri = {:?}\n", socket(name)))
        .collect();
    let agent = plan(&format!("kubelet = {:?}\n{services}", kubelet.url())).start();
    let check_process = watch(agent.plan());
    agent.wait_condition("KubeletUnhealthy", "False");
    let found = until("all five are reported", || {
        let found = agent.condition("ServiceUnhealthy")?;
        (found.problems.len() == names.len()).then_some(found)
    });
    let words = [
        ("mute", "no answer within 2 s"),
        ("folder", "is a directory, not a socket"),
        ("http", "no answer of gRPC"),
        ("garbage", "no answer of gRPC"),
        ("nothing", "there is no socket"),
    ];
    for (name, words) in words {
        let problem = found.problems.iter().find(|problem| problem.subject.as_deref() == Some(name)).unwrap();
        assert_eq!(problem.reason.as_str(), "ServiceUnhealthy");
        assert!(problem.message.contains(words), "{name}: {}", problem.message);
    }
    assert!(!check_process.log().contains("panicked"));
}

/// Sends `bytes` to every client, for as long as the test's process lives.
fn speaks(socket: &Path, bytes: &'static [u8]) {
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(bytes);
            thread::sleep(Duration::from_millis(1));
        }
    });
}

fn containerd_comes_and_goes() {
    let mut containerd = Containerd::start();
    let agent = plan(&format!("container-runtime = {:?}", containerd.socket())).start();
    let _check_process = watch(agent.plan());
    let healthy = agent.wait_condition("ContainerRuntimeUnhealthy", "False");
    assert_eq!(healthy.reason.as_str(), "ContainerRuntimeIsHealthy");
    containerd.stop();
    let gone = reason(&agent, "ContainerRuntimeUnhealthy", "ContainerdUnhealthy");
    let message = &gone.message;
    assert!(message.contains("nothing listens") || message.contains("there is no socket"), "{message}");
    containerd.start_again();
    agent.wait_condition("ContainerRuntimeUnhealthy", "False");
    containerd.hang();
    let hung = reason(&agent, "ContainerRuntimeUnhealthy", "ContainerdUnhealthy");
    assert!(hung.message.contains("no answer within 2 s"), "{}", hung.message);
    containerd.go_on();
    agent.wait_condition("ContainerRuntimeUnhealthy", "False");
    // It has no network plug-in, which is no fault of a machine without pods.
    let network = agent.condition("NetworkUnhealthy");
    assert!(network.is_none_or(|found| found.problems.is_empty()));
}

/// Node Problem Detector's stock file for containerd, with a socket of the test's own and a shorter interval.
fn health_checker(socket: &Path) -> String {
    format!(
        r#"{{
  "plugin": "custom",
  "pluginConfig": {{ "invoke_interval": "1s", "timeout": "3m", "max_output_length": 80, "concurrency": 1 }},
  "source": "health-checker",
  "metricsReporting": true,
  "conditions": [
    {{
      "type": "ContainerRuntimeUnhealthy",
      "reason": "ContainerRuntimeIsHealthy",
      "message": "Container runtime on the node is functioning properly"
    }}
  ],
  "rules": [
    {{
      "type": "permanent",
      "condition": "ContainerRuntimeUnhealthy",
      "reason": "TheirContainerdUnhealthy",
      "path": "/home/kubernetes/bin/health-checker",
      "args": ["--component=cri", "--enable-repair=true", "--cri-socket-path=unix://{}", "--health-check-timeout=60s"],
      "timeout": "3m"
    }}
  ]
}}"#,
        socket.display()
    )
}

fn a_health_checker_of_npd_is_done_by_us() {
    let mut containerd = Containerd::start();
    let plan = plan("");
    let file = plan.file("health-checker-containerd.json", &health_checker(&containerd.socket()));
    plan.file("nodewell.toml.d/npd.toml", &format!("npd-config = [{file:?}]\n"));
    let agent = plan.start();
    let _check_process = watch(agent.plan());
    agent.wait_condition("ContainerRuntimeUnhealthy", "False");
    containerd.stop();
    let gone = reason(&agent, "ContainerRuntimeUnhealthy", "TheirContainerdUnhealthy");
    assert!(gone.message.contains("containerd.sock"), "{}", gone.message);
    containerd.start_again();
    agent.wait_condition("ContainerRuntimeUnhealthy", "False");
}
