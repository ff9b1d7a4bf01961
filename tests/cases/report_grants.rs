//! Who may report: the kernel's credentials of the peer, against the grants in force.

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt, process::Command};

use nodewell_tests::{
    agent::{Agent, Plan},
    cgroup::Cgroup,
    suite::{Need, Suite},
    wait::until,
};

use crate::lines::TEST_RULES;

/// A user that exists on no machine.
const STRANGER: u32 = 471_100;

const REPORT: &str = r#"{"source":"raid","conditions":[{"type":"TestUnhealthy","status":true,"reason":"RaidDegraded",
    "subject":"md0","transition":"2026-11-21T02:00:00Z","message":"md0 runs on one disk"}]}"#;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_grants")
        .case_with(&[Need::Root], "root_reports_and_a_stranger_does_not", root_reports_and_a_stranger_does_not)
        .case_with(&[Need::Root], "a_grant_counts_from_the_reload_on", a_grant_counts_from_the_reload_on)
        .case_with(&[Need::Root], "a_grants_rate_is_respected", a_grants_rate_is_respected)
        .case_with(
            &[Need::Root],
            "a_wrong_grant_is_reported_and_changes_nothing",
            a_wrong_grant_is_reported_and_changes_nothing,
        )
        .case_with(&[Need::Root], "no_grant_lets_a_client_count_devices", no_grant_lets_a_client_count_devices)
        .case_with(&[Need::Cgroup], "a_unit_reports_by_its_grant", a_unit_reports_by_its_grant)
        .case_with(&[Need::Cgroup], "a_containers_root_is_not_root", a_containers_root_is_not_root)
        .case_with(&[Need::Cgroup], "a_container_cannot_shut_others_out", a_container_cannot_shut_others_out);
}

/// An answer, as curl shows it.
#[derive(Debug)]
struct Said {
    code: u16,
    whole: String,
}

impl Said {
    /// 202: it is not on the disk within the second that an answer waits.
    fn is_taken(&self) -> bool {
        matches!(self.code, 200 | 202)
    }

    fn assert_taken(&self) {
        assert!(self.is_taken(), "{self:?}");
    }
}

/// `POST` by curl, started by `wrapper`.
fn post(agent: &Agent, wrapper: &[OsString], path: &str, body: &str) -> Said {
    let socket = agent.plan().folder().join("socket");
    let mut argv = wrapper.to_vec();
    argv.extend(["curl", "-s", "-i", "--max-time", "10", "--unix-socket"].map(OsString::from));
    argv.push(socket.into_os_string());
    argv.extend(["-H", "Content-Type: application/json", "-d", body].map(OsString::from));
    argv.push(format!("http://localhost{path}").into());
    let output = Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
    let whole = String::from_utf8(output.stdout).unwrap();
    let code = whole.split(' ').nth(1).and_then(|code| code.parse().ok());
    Said { code: code.unwrap_or_else(|| panic!("{argv:?}: {whole} {:?}", output.stderr)), whole }
}

fn report(agent: &Agent, wrapper: &[OsString]) -> Said {
    post(agent, wrapper, "/v1/status", REPORT)
}

/// The same host, another user.
fn stranger() -> Vec<OsString> {
    let id = STRANGER.to_string();
    ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"].map(OsString::from).to_vec()
}

fn within(cgroup: &Cgroup, then: &[OsString]) -> Vec<OsString> {
    cgroup.enter().into_iter().chain(then.iter().cloned()).collect()
}

/// An agent that every user on the host can reach.
fn start(config: &str) -> Agent {
    let plan = Plan::default().rules(TEST_RULES).config(config);
    fs::set_permissions(plan.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    plan.start()
}

fn root_reports_and_a_stranger_does_not() {
    let agent = start("");
    let answer = report(&agent, &stranger());
    assert_eq!(answer.code, 403, "{answer:?}");
    let toml = format!("[[grant]]\\nuser = {STRANGER}\\nconditions = [\\\"TestUnhealthy\\\"]\\n");
    assert!(answer.whole.contains(&toml), "{answer:?}");
    assert_eq!(report(&agent, &stranger()).code, 403);
    // Every user may read, and sees which peer was refused.
    let view = agent.view();
    assert_eq!((view.refused[0].peer.as_str(), view.refused[0].count), ("uid 471100", 2));
    let status = agent.nodewell(&["status"]).stdout;
    assert!(status.contains("uid 471100  as raid  x2") || status.contains("uid 471100  as raid  ×2"), "{status}");
    let reported = agent.log().matches("reports are refused").count();
    assert_eq!(reported, 1, "{}", agent.log());
    assert!(agent.condition("TestUnhealthy").unwrap().problems.is_empty());

    report(&agent, &[]).assert_taken();
    assert_eq!(agent.wait_condition("TestUnhealthy", "True").problems[0].source, "raid@root");
    let metrics = agent.metrics();
    for line in ["nodewell_reports_total{result=\"forbidden\"} 2\n", "nodewell_reports_total{result=\"taken\"} 1\n"] {
        assert!(metrics.contains(line), "no {line} in:\n{metrics}");
    }
}

fn a_grant_counts_from_the_reload_on() {
    let agent = start("");
    assert_eq!(report(&agent, &stranger()).code, 403);
    let grant =
        format!("[[grant]]\nuser = {STRANGER}\nconditions = [\"TestUnhealthy\"]\nclear = [\"TestUnhealthy\"]\n");
    agent.plan().file("nodewell.toml.d/10-raid.toml", &grant);
    agent.reload();
    until("the grant is in force", || report(&agent, &stranger()).is_taken().then_some(()));
    let condition = agent.wait_condition("TestUnhealthy", "True");
    assert_eq!(condition.problems[0].source, format!("raid@uid:{STRANGER}"));
    let events = r#"{"source":"raid","events":[{"severity":"warn","timestamp":"2026-11-21T02:00:00Z","reason":"X","message":""}]}"#;
    let answer = post(&agent, &stranger(), "/v1/status", events);
    assert!(answer.code == 403 && answer.whole.contains("events = true"), "{answer:?}");
    assert_eq!(post(&agent, &stranger(), "/v1/clear", r#"{"condition":"TestUnhealthy"}"#).code, 200);
    assert_eq!(post(&agent, &stranger(), "/v1/inject", r#"{"reason":"TestFault"}"#).code, 403);

    agent.plan().file("nodewell.toml.d/10-raid.toml", "");
    agent.reload();
    until("the grant is taken back", || (report(&agent, &stranger()).code == 403).then_some(()));
}

fn a_grants_rate_is_respected() {
    let grant =
        format!("[[grant]]\nuser = \"{STRANGER}\"\nconditions = [\"TestUnhealthy\"]\nrate = \"1/m\"\nburst = 2\n");
    let agent = start(&grant);
    report(&agent, &stranger()).assert_taken();
    report(&agent, &stranger()).assert_taken();
    let answer = report(&agent, &stranger());
    assert_eq!(answer.code, 429, "{answer:?}");
    let after = answer.whole.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap();
    assert!((50..=60).contains(&after.trim().parse::<u32>().unwrap()), "{answer:?}");
    // The rate of another peer is its own.
    report(&agent, &[]).assert_taken();
    assert!(agent.metrics().contains("nodewell_reports_total{result=\"too-often\"} 1\n"));
}

fn a_wrong_grant_is_reported_and_changes_nothing() {
    let grant = format!("[[grant]]\nuser = {STRANGER}\nconditions = [\"TestUnhealthy\"]\n");
    let agent = start(&grant);
    report(&agent, &stranger()).assert_taken();
    let wrong = "[[grant]]\nuser = \"no-such-user-here\"\nconditions = [\"TestUnhealthy\"]\n\n[[grant]]\nunit = \"x.service\"\n";
    let file = agent.plan().file("nodewell.toml.d/10-wrong.toml", wrong);
    agent.reload();
    for line in [2, 5] {
        let place = format!("{}:{line}: ", file.display());
        until("the error is reported with its line", || agent.log().contains(&place).then_some(()));
    }
    report(&agent, &stranger()).assert_taken();
    // One that no rule file knows is an error, too.
    agent
        .plan()
        .file("nodewell.toml.d/10-wrong.toml", "[[grant]]\nunit = \"x.service\"\nconditions = [\"TestUnheard\"]\n");
    agent.reload();
    let reported = format!("{}:1: the grant names TestUnheard", file.display());
    until("the type is reported", || agent.log().contains(&reported).then_some(()));
}

fn no_grant_lets_a_client_count_devices() {
    let grant = format!("[[grant]]\nuser = {STRANGER}\nconditions = [\"TestUnhealthy\"]\nevents = true\n");
    let agent = start(&grant);
    let counts = r#"{"source":"raid","full":true,"hardware":[{"class":"disks","total":99,"states":{"failing":98}}]}"#;
    let answer = post(&agent, &stranger(), "/v1/status", counts);
    assert!(answer.code == 403 && answer.whole.contains("leave the field `hardware` out"), "{answer:?}");
    // A batch is refused as a whole, and what is in it besides is not to blame.
    let answer = post(&agent, &stranger(), "/v1/status", &format!("[{REPORT},{counts}]"));
    assert!(answer.code == 403 && !answer.whole.contains("[[grant]]"), "{answer:?}");
    assert!(agent.view().hardware.is_empty() && agent.condition("TestUnhealthy").unwrap().problems.is_empty());
    assert_eq!(agent.view().refused[0].why, "may not report hardware");
    report(&agent, &stranger()).assert_taken();
    post(&agent, &[], "/v1/status", counts).assert_taken();
    assert_eq!(agent.view().hardware[0].total, 99);
}

fn a_unit_reports_by_its_grant() {
    // Another run of the tests may be under way on this machine.
    let own = |name: &str| format!("nodewell-{name}-{}.service", std::process::id());
    let (raid, other) = (own("raid"), own("other"));
    let agent = start(&format!("[[grant]]\nunit = {raid:?}\nconditions = [\"TestUnhealthy\"]\n"));
    let cgroup = Cgroup::make(&format!("system.slice/{raid}/deeper")).unwrap();
    report(&agent, &within(&cgroup, &stranger())).assert_taken();
    let condition = agent.wait_condition("TestUnhealthy", "True");
    assert_eq!(condition.problems[0].source, format!("raid@{raid}"));
    // A delegated cgroup does not choose which unit it counts as.
    let cgroup = Cgroup::make(&format!("system.slice/{other}/{raid}")).unwrap();
    let answer = report(&agent, &within(&cgroup, &stranger()));
    assert_eq!(answer.code, 403, "{answer:?}");
    assert!(answer.whole.contains(&format!("unit = \\\"{other}\\\"")), "{answer:?}");
}

fn a_containers_root_is_not_root() {
    let agent = start("[[grant]]\nuser = \"root\"\nevents = true\n");
    report(&agent, &[]).assert_taken();
    let pod = Cgroup::make(&format!("kubepods/pod-nodewell-{}", std::process::id())).unwrap();
    let shut_in = ["unshare", "--pid", "--fork", "--"].map(OsString::from).to_vec();
    for wrapper in [pod.enter(), shut_in] {
        for (path, body) in [
            ("/v1/status", REPORT),
            ("/v1/clear", r#"{"condition":"TestUnhealthy"}"#),
            ("/v1/inject", r#"{"reason":"TestFault"}"#),
            ("/v1/mute", r#"{"reason":"TestFault","until":"2999-01-01T00:00:00Z","why":"w"}"#),
            ("/v1/ack", r#"{"reason":"TestFault","why":"w"}"#),
        ] {
            let answer = post(&agent, &wrapper, path, body);
            assert!(
                answer.code == 403 && answer.whole.contains("it runs in a container ("),
                "{wrapper:?} {path} {answer:?}"
            );
        }
    }
    assert_eq!(agent.wait_condition("TestUnhealthy", "True").problems.len(), 1);
    assert!(agent.view().refused.iter().any(|refused| refused.peer.starts_with("container:pod-nodewell-")));
}

fn a_container_cannot_shut_others_out() {
    let agent = start("");
    let pod = Cgroup::make(&format!("kubepods/pod-nodewell-c-{}", std::process::id())).unwrap();
    let socket = agent.plan().folder().join("socket");
    // More followers than all connections there are.
    let mut followers: Vec<_> = (0..40)
        .map(|_| {
            let mut argv = pod.enter();
            argv.extend(["curl", "-s", "-N", "--unix-socket"].map(OsString::from));
            argv.extend([socket.clone().into_os_string(), "http://localhost/v1/events?follow".into()]);
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    until("the bound is hit", || {
        let metrics = agent.metrics();
        let refused =
            metrics.lines().find_map(|line| line.strip_prefix("nodewell_socket_refused_total{bound=\"peer\"} "));
        (refused.unwrap().parse::<u32>().unwrap() >= 36).then_some(())
    });
    for _ in 0..20 {
        report(&agent, &[]).assert_taken();
    }
    for follower in &mut followers {
        let _ = follower.kill();
        let _ = follower.wait();
    }
}
