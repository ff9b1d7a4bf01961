//! Services judged as a node would show them.

use crate::probe::State;
use nodewell_model::Name;

use super::*;
use crate::{
    service::{
        At, HttpTarget,
        observation::UnitStatus,
        probe::{Answer, Down, DownKind, Runtime, Up},
        service_probe::{ProbeTiming, ServiceKind, service_probes},
        settings::{OwnService, OwnTiming, ServiceSettings},
    },
    systemd::{ActiveState, BusError, LoadState, Unit},
};

/// A node that is looked at.
struct Node {
    judge: ServicesJudge,
    monotonic: Duration,
    boot_id: &'static str,
}

fn http() -> Target {
    let at = At::Tcp(([127, 0, 0, 1], 10248).into());
    Target::Http(HttpTarget { at, path: "/healthz".to_owned(), fallback: None })
}

fn answered(result: Result<Up, &str>, unit: UnitStatus) -> Observation {
    let result = result.map_err(|message| Down { kind: DownKind::Gone, message: message.to_owned() });
    Observation::Endpoint { target: http(), answer: Answer { latency: Duration::from_millis(3), result }, unit }
}

fn up() -> Observation {
    answered(Ok(Up::default()), UnitStatus::None)
}

fn down() -> Observation {
    answered(Err("connection refused"), UnitStatus::None)
}

fn runtime(not_ready: Option<&str>, network_not_ready: Option<&str>) -> Observation {
    let words = |words: Option<&str>| words.map(str::to_owned);
    let runtime = Runtime {
        name: "containerd".to_owned(),
        version: "1.6.20".to_owned(),
        not_ready: words(not_ready),
        network_not_ready: words(network_not_ready),
    };
    answered(Ok(Up { runtime: Some(runtime) }), UnitStatus::None)
}

fn unit(active: ActiveState, sub: &str, restarts: u32) -> Unit {
    Unit {
        name: "a.service".to_owned(),
        load: LoadState::Loaded,
        active,
        sub: sub.to_owned(),
        has_job: false,
        active_since: Duration::ZERO,
        state_since: Duration::ZERO,
        result: Some("exit-code".to_owned()),
        restarts: Some(restarts),
        main_pid: None,
        watchdog: None,
    }
}

impl Node {
    fn new() -> Self {
        Self::with(ServiceSettings::default())
    }

    fn with(settings: ServiceSettings) -> Self {
        Self {
            judge: ServicesJudge::new(service_probes(&settings)),
            monotonic: Duration::from_mins(60),
            boot_id: "one",
        }
    }

    /// One that watches `a.service` for its operator.
    fn with_unit(is_required: bool) -> Self {
        let own = OwnService {
            name: "a.service".to_owned(),
            target: Target::Unit("a.service".to_owned()),
            condition: None,
            is_required,
            timing: OwnTiming::default(),
            for_duration: OwnService::DEFAULT_FOR,
        };
        Self::with(ServiceSettings { own: vec![own], ..ServiceSettings::default() })
    }

    fn number(&self, name: &str) -> usize {
        (0..self.judge.count()).find(|n| self.judge.check(*n).name == name).unwrap()
    }

    fn sees(&mut self, name: &str, looks: &[Observation]) {
        for observation in looks {
            self.monotonic += Duration::from_secs(20);
            let wall = "2026-01-01T00:00:00Z".parse().unwrap();
            let now = Moment { wall, monotonic: self.monotonic, boot_id: self.boot_id.to_owned() };
            self.judge.observe(self.number(name), observation, &now);
        }
    }

    /// `healthy`, the reasons, or the unknown's; `None`: nothing is reported.
    fn reported(&mut self, condition: &str, subject: &str) -> Option<String> {
        let verdicts = self.judge.findings().verdicts.into_iter();
        let mut of = verdicts.filter(|verdict| verdict.condition.as_str() == condition && verdict.subject == subject);
        of.next().map(|verdict| match verdict.state {
            State::Healthy { .. } => "healthy".to_owned(),
            State::Faulty(faults) => faults.iter().map(|fault| fault.reason.as_str()).collect::<Vec<_>>().join(","),
            State::Unknown { reason, .. } => reason.to_string(),
        })
    }

    fn restarted(mut self) -> Self {
        let saved = self.judge.save();
        self.judge = ServicesJudge::new((0..self.judge.count()).map(|n| self.judge.check(n).clone()).collect());
        self.judge.load(saved);
        self
    }
}

fn healthy() -> Option<String> {
    Some("healthy".to_owned())
}

#[test]
fn what_is_not_on_this_node_is_not_published() {
    let mut node = Node::new();
    for name in ["kubelet", "kube-proxy", "docker"] {
        node.sees(name, &[down(), down(), down(), down()]);
    }
    node.sees("container-runtime", &[Observation::Nowhere]);
    for name in ["FrequentKubeletRestart", "FrequentContainerdRestart", "FrequentDockerRestart", "FrequentCrioRestart"]
    {
        node.sees(name, &[Observation::Units(Ok(Vec::new()))]);
    }
    assert_eq!(node.judge.findings(), Findings::default());
    assert!(node.judge.is_decided());
}

#[test]
fn what_was_seen_once_stays_watched_also_after_a_restart_of_ours() {
    let mut node = Node::new();
    node.sees("kubelet", &[up()]);
    assert_eq!(node.reported("KubeletUnhealthy", ""), healthy());
    let mut node = node.restarted();
    assert_eq!(node.reported("KubeletUnhealthy", ""), None, "before the first look");
    node.sees("kubelet", &[down(), down()]);
    assert!(!node.judge.is_decided());
    node.sees("kubelet", &[down()]);
    assert_eq!(node.reported("KubeletUnhealthy", "").as_deref(), Some("KubeletUnhealthy"));
    let mut node = node.restarted();
    node.sees("kubelet", &[up()]);
    assert_eq!(node.reported("KubeletUnhealthy", ""), None, "one good answer is not enough");
    node.sees("kubelet", &[up()]);
    assert_eq!(node.reported("KubeletUnhealthy", ""), healthy());
}

#[test]
fn a_kubelet_that_never_came_up_is_reported_if_systemd_is_to_run_it() {
    let mut node = Node::new();
    let wanted = answered(Err("connection refused"), UnitStatus::Wanted("kubelet.service".to_owned()));
    node.sees("kubelet", &[wanted.clone(), wanted.clone(), wanted]);
    assert_eq!(node.reported("KubeletUnhealthy", "").as_deref(), Some("KubeletUnhealthy"));
}

#[test]
fn one_that_an_operator_stopped_is_unknown_and_no_fault() {
    let mut node = Node::new();
    let stopped = answered(Err("connection refused"), UnitStatus::Stopped("kubelet.service".to_owned()));
    node.sees("kubelet", &[up(), stopped.clone(), stopped.clone()]);
    assert_eq!(node.reported("KubeletUnhealthy", ""), healthy(), "a planned restart is shorter than this");
    node.sees("kubelet", &[stopped]);
    let findings = node.judge.findings();
    assert_eq!(findings.events[0].reason.as_str(), "ServiceStopped");
    assert_eq!(node.reported("KubeletUnhealthy", "").as_deref(), Some("ServiceStopped"));
    node.sees("kubelet", &[up()]);
    assert_eq!(node.reported("KubeletUnhealthy", ""), healthy());
}

#[test]
fn a_runtime_that_is_not_ready_is_at_fault_and_its_network_is_not() {
    let mut node = Node::new();
    let unready = runtime(None, Some("cni plugin not initialized"));
    node.sees("container-runtime", &[unready.clone(), unready.clone(), unready.clone(), unready.clone()]);
    assert_eq!(node.reported("ContainerRuntimeUnhealthy", ""), healthy());
    assert_eq!(node.reported("NetworkUnhealthy", "container-network"), None, "it never had one");
    node.sees("container-runtime", &[runtime(None, None), runtime(None, None)]);
    assert_eq!(node.reported("NetworkUnhealthy", "container-network"), healthy());
    node.sees("container-runtime", &[unready.clone(), unready.clone(), unready.clone()]);
    assert_eq!(node.reported("NetworkUnhealthy", "container-network").as_deref(), Some("ContainerNetworkNotReady"));
    assert_eq!(node.reported("ContainerRuntimeUnhealthy", ""), healthy());
    let broken = runtime(Some("shim manager"), None);
    node.sees("container-runtime", &[broken.clone(), broken.clone(), broken]);
    assert_eq!(node.reported("ContainerRuntimeUnhealthy", "").as_deref(), Some("ContainerRuntimeNotReady"));
    node.boot_id = "two";
    node.sees("container-runtime", &[unready]);
    assert_eq!(node.reported("NetworkUnhealthy", "container-network"), None, "a new boot has to show it first");
}

#[test]
fn slow_answers_are_an_event_once_and_no_problem() {
    let mut node = Node::new();
    let slow = || Observation::Endpoint {
        target: http(),
        answer: Answer { latency: Duration::from_millis(1500), result: Ok(Up::default()) },
        unit: UnitStatus::None,
    };
    node.sees("kubelet", &[up(), slow(), slow(), slow(), slow(), slow()]);
    let findings = node.judge.findings();
    let reported: Vec<&str> = findings.events.iter().map(|event| event.reason.as_str()).collect();
    assert_eq!(reported, ["ServiceSlow"]);
    assert_eq!(node.reported("KubeletUnhealthy", ""), healthy());
}

#[test]
fn a_unit_is_judged_by_what_systemd_reports() {
    let mut node = Node::with_unit(false);
    let mut see = |unit: Unit| {
        node.sees("a.service", &vec![Observation::Unit(Ok(Some(unit))); 3]);
        node.reported("ServiceUnhealthy", "a.service")
    };
    assert_eq!(see(unit(ActiveState::Active, "running", 0)), healthy());
    assert_eq!(see(unit(ActiveState::Failed, "failed", 0)).as_deref(), Some("ServiceFailed"));
    let hung = Unit { result: Some("watchdog".to_owned()), ..unit(ActiveState::Failed, "failed", 0) };
    assert_eq!(see(hung).as_deref(), Some("ServiceWatchdogExpired"));
    assert_eq!(see(unit(ActiveState::Inactive, "dead", 0)), healthy(), "no unit requires it");
    assert_eq!(see(unit(ActiveState::Activating, "start", 0)).as_deref(), Some("ServiceActivatingTooLong"));
    assert_eq!(see(unit(ActiveState::Deactivating, "stop-sigkill", 0)).as_deref(), Some("ServiceDeactivatingTooLong"));
    assert_eq!(see(unit(ActiveState::Active, "running", 0)), healthy());
    let just_now = Duration::from_hours(2);
    let starting = Unit { state_since: just_now, ..unit(ActiveState::Activating, "start", 0) };
    assert_eq!(see(starting), healthy(), "it has time");
    assert_eq!(see(unit(ActiveState::Active, "running", 5)).as_deref(), Some("ServiceRestarting"));
}

#[test]
fn a_required_unit_is_missed() {
    let mut node = Node::with_unit(true);
    node.sees("a.service", &vec![Observation::Unit(Ok(None)); 3]);
    assert_eq!(node.reported("ServiceUnhealthy", "a.service").as_deref(), Some("ServiceNotRunning"));
    let mut node = Node::with_unit(false);
    node.sees("a.service", &vec![Observation::Unit(Ok(None)); 3]);
    assert_eq!(node.reported("ServiceUnhealthy", "a.service"), None);
}

#[test]
fn a_systemd_that_does_not_answer_makes_units_unknown() {
    let mut node = Node::with_unit(false);
    node.sees("a.service", &[Observation::Unit(Ok(Some(unit(ActiveState::Active, "running", 0))))]);
    let silent = || Observation::Unit(Err(BusError::NoAnswer { method: "Get", after: Duration::from_secs(5) }));
    node.sees("a.service", &[silent(), silent(), silent()]);
    assert_eq!(node.reported("ServiceUnhealthy", "a.service").as_deref(), Some("ServiceManagerNotAnswering"));
    let absent = Observation::Unit(Err(BusError::Absent { address: "unix:path=/x".to_owned() }));
    node.sees("a.service", &[absent]);
    assert_eq!(node.reported("ServiceUnhealthy", "a.service"), None);
}

#[test]
fn restarts_of_the_nodes_services_claim_the_journals_problem() {
    let mut node = Node::new();
    let kubelet =
        |restarts| Unit { name: "kubelet.service".to_owned(), ..unit(ActiveState::Active, "running", restarts) };
    let looks = |range: std::ops::RangeInclusive<u32>| {
        range.map(|n| Observation::Units(Ok(vec![kubelet(n)]))).collect::<Vec<_>>()
    };
    node.sees("FrequentKubeletRestart", &looks(3..=7));
    assert_eq!(node.reported("FrequentKubeletRestart", ""), healthy(), "four of them were seen");
    let mut node = node.restarted();
    node.sees("FrequentKubeletRestart", &looks(8..=8));
    assert_eq!(node.reported("FrequentKubeletRestart", "").as_deref(), Some("FrequentKubeletRestart"));
    node.boot_id = "two";
    node.sees("FrequentKubeletRestart", &looks(0..=0));
    assert_eq!(node.reported("FrequentKubeletRestart", ""), healthy());
}

#[test]
fn a_configured_check_has_its_own_names_and_is_always_reported() {
    let kind = ServiceKind::Configured {
        condition: Name::fixed("NodeKubeletBad"),
        reason: Name::fixed("HealthzFails"),
        subject: String::new(),
        units: Vec::new(),
    };
    let check = ServiceProbe {
        name: "npd".to_owned(),
        kind,
        target: Some(http()),
        timing: ProbeTiming { failures: 1, successes: 1, ..ProbeTiming::default() },
    };
    let mut node = Node { judge: ServicesJudge::new(vec![check]), ..Node::new() };
    node.sees("npd", &[down()]);
    assert_eq!(node.reported("NodeKubeletBad", "").as_deref(), Some("HealthzFails"));
    node.sees("npd", &[up()]);
    assert_eq!(node.reported("NodeKubeletBad", ""), healthy());
}

#[test]
fn what_is_open_is_asked_more_often_and_what_was_never_seen_less() {
    let mut node = Node::new();
    let kubelet = node.number("kubelet");
    assert_eq!(node.judge.pause(kubelet).as_secs(), 60);
    node.sees("kubelet", &[up()]);
    assert_eq!(node.judge.pause(kubelet).as_secs(), 20);
    node.sees("kubelet", &[down()]);
    assert_eq!(node.judge.pause(kubelet).as_secs(), 5);
}

#[test]
fn what_was_saved_by_another_is_forgotten() {
    let mut node = Node::new();
    for saved in [r#"[1,2]"#, r#"{"kubelet":7}"#, r#"{"kubelet":{"seen":"yes"}}"#, r#"{"other":{"seen":true}}"#] {
        node.judge.load(serde_json::from_str(saved).unwrap());
    }
    node.sees("kubelet", &[down(), down(), down()]);
    assert_eq!(node.judge.findings(), Findings::default());
}
