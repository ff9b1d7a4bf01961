//! The agent may open nothing more (EMFILE): what it has open it goes on with, its log has a line about it, and clients and the
//! API server find it again when there are descriptors.

use std::{
    ffi::OsString,
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::Command,
    time::Duration,
};

use nodewell_tests::{
    agent::Agent,
    cli::binary,
    cluster::Cluster,
    process::Process,
    suite::Suite,
    wait::{PATIENCE, lasts, until},
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::TEST_RULES,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("descriptors_gone")
        .on_double("it_goes_on_and_comes_back", it_goes_on_and_comes_back)
        .case("too_few_at_the_start_are_named", too_few_at_the_start_are_named);
}

/// Else systemd's watchdog would end it again and again, and each try would fail in other words.
fn too_few_at_the_start_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    // The soft limit is lower still, and is raised first.
    let argv = ["sh", "-c", "ulimit -Sn 30; ulimit -Hn 40; exec \"$@\"", "sh"].map(OsString::from);
    let mut argv = argv.to_vec();
    argv.extend([binary("nodewelld").into(), "--standalone".into(), "--socket".into(), socket.into()]);
    let mut agent = Process::start(&argv, &folder.path().join("log")).unwrap();
    let ended = until("it ends", || agent.ended());
    let printed = fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(ended.code(), Some(78), "{printed}");
    assert!(printed.contains("40 files may be open (RLIMIT_NOFILE)") && printed.contains("LimitNOFILE="), "{printed}");
}

/// One that it begins, and those of an API server that cannot be reached: none for each try.
const WARNINGS: usize = 8;

fn it_goes_on_and_comes_back(cluster: &Cluster) {
    let node = "descriptors-gone";
    let agent = plan_on(cluster, node).rules(TEST_RULES).start();
    wait_published(cluster, node, "TestUnhealthy", "False");
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    let before = limit(&agent);
    set_limit(&agent, "3");
    let mut waits = UnixStream::connect(agent.socket()).unwrap();
    waits.set_read_timeout(Some(PATIENCE)).unwrap();
    waits.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    until("it cannot accept", || agent.log().contains("cannot accept connections").then_some(()));
    // By the connection that it has.
    agent.kmsg().write("test: fault on alpha");
    wait_published(cluster, node, "TestUnhealthy", "True");
    until("its Event is there", || (cluster.events(node, "TestFault").len() == 1).then_some(()));
    // And without one.
    cluster.as_double().stop();
    cluster.as_double().start_again();
    agent.kmsg().write("test: fault on beta");
    let few = || agent.log().lines().filter(|line| line.contains(" WARN ")).count() <= WARNINGS;
    lasts(Duration::from_secs(5), "a line for a whole shortage", few);
    assert_eq!(cluster.events(node, "TestFault").len(), 1, "there is no connection for the second");
    set_limit(&agent, &before);
    let mut answer = String::new();
    waits.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "who waited is answered: {answer}");
    until("both are Events, once", || (cluster.events(node, "TestFault").len() == 2).then_some(()));
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    assert_eq!(agent.condition("TestUnhealthy").unwrap().problems.len(), 2);
    assert!(agent.log().contains("accepted again"), "{}", agent.log());
    assert!(few(), "{}", agent.log());
}

/// How many descriptors it may have.
fn limit(agent: &Agent) -> String {
    let limits = fs::read_to_string(format!("/proc/{}/limits", agent.pid())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

fn set_limit(agent: &Agent, most: &str) {
    let limit = format!("--nofile={most}:");
    let status = Command::new("prlimit").args(["--pid", &agent.pid().to_string(), &limit]).status().unwrap();
    assert!(status.success());
}
