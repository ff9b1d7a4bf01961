//! What goes wrong around the service, and what must not follow from it.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_tests::{kmsg::RealKmsg, wait::until};
use serde_json::Value;

use super::Node;

/// A client that asks again and again, on a new connection each time.
struct Asker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(usize, BTreeSet<String>)>,
}

impl Asker {
    fn start(socket: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (mut answers, mut failures) = (0, BTreeSet::new());
            while !stopped.load(Ordering::Relaxed) {
                match ask(&socket) {
                    Ok(()) => answers += 1,
                    Err(error) => drop(failures.insert(error.to_string())),
                }
                thread::sleep(Duration::from_millis(2));
            }
            (answers, failures)
        });
        Self { stop, thread }
    }

    /// Every client could connect. Only the client that was being answered when the agent was killed was cut off.
    fn finish_after_kill(self) {
        self.stop.store(true, Ordering::Relaxed);
        let (answers, failures) = self.thread.join().unwrap();
        assert!(failures.len() <= 1, "{failures:?}");
        assert!(failures.iter().all(|failure| !failure.starts_with(CONNECT)), "{failures:?} beside {answers} answers");
        assert!(answers >= 3, "{answers} answers");
    }

    /// Every client was answered.
    fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        let (answers, failures) = self.thread.join().unwrap();
        assert_eq!(failures, BTreeSet::new(), "beside {answers} answers");
        // It takes a while to be answered during a restart; that is the point.
        assert!(answers >= 3, "{answers} answers");
    }
}

const CONNECT: &str = "connecting: ";

fn ask(socket: &PathBuf) -> std::io::Result<()> {
    let refused = |error| std::io::Error::other(format!("{CONNECT}{error}"));
    let mut stream = UnixStream::connect(socket).map_err(refused)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.lines().next().unwrap_or("no answer").to_owned();
    if status.contains(" 200 ") { Ok(()) } else { Err(std::io::Error::other(status)) }
}

fn inode(node: &Node) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(node.machine.socket()).unwrap())
}

/// Waits until an agent that is not `old` runs and answers.
fn successor(node: &Node, old: u32) -> u32 {
    until("another agent runs", || Some(node.machine.agent_pid()).filter(|pid| *pid != 0 && *pid != old))
}

pub(super) fn a_restart_refuses_no_client(node: &Node) {
    let (old, socket) = (node.machine.agent_pid(), inode(node));
    let asker = Asker::start(node.machine.socket());
    for _ in 0..3 {
        node.machine.sh("systemctl restart nodewell.service");
    }
    asker.finish();
    successor(node, old);
    assert_eq!(inode(node), socket, "the socket stayed");
}

pub(super) fn killed(node: &Node) {
    let kmsg = RealKmsg::take();
    let (old, socket) = (node.machine.agent_pid(), inode(node));
    let asker = Asker::start(node.machine.socket());
    for number in 0..300 {
        if number == 100 {
            kill(Pid::from_raw(old.cast_signed()), Signal::SIGKILL).unwrap();
        }
        node.write(&kmsg, &format!("line l{number}"));
        thread::sleep(Duration::from_millis(10));
    }
    successor(node, old);
    until("every line is there", || {
        // In the journal: the second agent does not report again what the first one has judged.
        let reported = node.machine.sh("journalctl --no-pager -u nodewell -o json NODEWELL_REASON=TestLine");
        let subject =
            |line: &str| serde_json::from_str::<Value>(line).ok()?["NODEWELL_SUBJECT"].as_str().map(str::to_owned);
        let seen: BTreeSet<String> = reported.lines().filter_map(subject).collect();
        (0..300).all(|number| seen.contains(&format!("l{number}"))).then_some(())
    });
    asker.finish_after_kill();
    assert_eq!(inode(node), socket, "the socket stayed");
    let daemons = node.machine.ask("/v1/daemons").unwrap().json();
    let kernel = daemons.as_array().unwrap().iter().find(|daemon| daemon["name"] == "kernel-monitor").unwrap();
    assert_eq!(kernel["lost"], 0, "{kernel}");
}

pub(super) fn hung(node: &Node) {
    let machine = &node.machine;
    machine.write("/etc/systemd/system/nodewell.service.d/hurry.conf", "[Service]\nWatchdogSec=2s\n");
    machine.sh("systemctl daemon-reload && systemctl restart nodewell.service");
    let old = machine.agent_pid();
    kill(Pid::from_raw(old.cast_signed()), Signal::SIGSTOP).unwrap();
    successor(node, old);
    machine.wait_condition("TestUnhealthy", "True");
    let log = machine.sh("journalctl --no-pager -o cat -u nodewell");
    assert!(log.contains("Watchdog timeout"), "{log}");
    machine.sh(
        "rm -r /etc/systemd/system/nodewell.service.d && systemctl daemon-reload && systemctl restart nodewell.service",
    );
}

/// The agent may not open the device itself, and is in no container: what is to be looked at is the socket.
pub(super) fn kernel_log_masked(node: &Node) {
    let machine = &node.machine;
    machine.sh("systemctl stop nodewell.service && systemctl mask --now nodewell-kmsg.socket");
    machine.sh("systemctl start nodewell.service");
    let monitor = || {
        let daemons = machine.ask("/v1/daemons")?.json();
        daemons.as_array()?.iter().find(|daemon| daemon["name"] == "kernel-monitor").cloned()
    };
    let blind = until("the kernel log is not there", || monitor().filter(|monitor| monitor["state"] == "blind"));
    let message = blind["message"].as_str().unwrap();
    assert!(message.contains("systemctl status nodewell-kmsg.socket") && message.contains("masked"), "{blind}");
    assert!(!message.contains("pass the device in"), "that is for containers: {blind}");
    let status = machine.run(["systemctl", "status", "--no-pager", "nodewell-kmsg.socket"]).stdout;
    assert!(status.contains("masked"), "what it points at shows it: {status}");
    machine.sh("systemctl unmask nodewell-kmsg.socket && systemctl restart nodewell.service");
    until("the kernel log is read again", || monitor().filter(|monitor| monitor["state"] == "running"));
}

pub(super) fn reload(node: &Node) {
    let machine = &node.machine;
    let pid = machine.agent_pid();
    machine.write(
        "/etc/nodewell/rules.d/more.toml",
        "[[condition]]\ntype = \"MoreUnhealthy\"\nhealthy-reason = \"MoreIsHealthy\"\nhealthy-message = \"well\"\n\n[[rule]]\nreason = \"MoreFault\"\n\
         type = \"permanent\"\ncondition = \"MoreUnhealthy\"\nsource = \"kmsg\"\nseverity = \"error\"\nclears = { boot = true }\npattern = '^more fault'\n\
         matches = [\"more fault\"]\nignores = [\"less fault\"]\n",
    );
    machine.sh("systemctl reload nodewell.service");
    machine.wait_condition("MoreUnhealthy", "False");
    machine.write("/etc/nodewell/rules.d/bad.toml", "[[rule]]\nreason = \"X\"\n");
    machine.sh("systemctl reload nodewell.service");
    until("the error is reported", || {
        machine.sh("journalctl --no-pager -o cat -u nodewell").contains("rules.d/bad.toml:1").then_some(())
    });
    machine.wait_property("nodewell.service", "SubState", "running");
    assert_eq!(machine.agent_pid(), pid);
    machine
        .sh("rm /etc/nodewell/rules.d/bad.toml /etc/nodewell/rules.d/more.toml && systemctl reload nodewell.service");
}

pub(super) fn journald_restarts(node: &Node) {
    let machine = &node.machine;
    let entry = |subject: &str| {
        machine.sh(&format!("echo entry {subject} | systemd-cat -t nodewell-tests"));
        until("the entry is an event", || {
            machine.events("TestEntry").into_iter().find(|event| event.subject.as_deref() == Some(subject))
        });
    };
    entry("before");
    machine.sh("systemctl restart systemd-journald.service");
    entry("after");
    node.write(&RealKmsg::take(), "fault on sdb");
    until("the agent's entries go on", || {
        let found = machine.sh("journalctl --no-pager -o cat -u nodewell NODEWELL_SUBJECT=sdb");
        found.contains("TestFault").then_some(())
    });
}

pub(super) fn metrics_port_taken(node: &Node) {
    let machine = &node.machine;
    machine.sh("curl -sf http://127.0.0.1:20259/metrics | grep -q '^problem_gauge'");
    machine.sh("systemctl stop nodewell.service");
    machine.sh("systemd-run --quiet --unit=taken --socket-property=ListenStream=127.0.0.1:20259 sleep infinity");
    machine.sh("systemctl start nodewell.service");
    machine.wait_condition("TestUnhealthy", "True");
    let log = machine.sh("journalctl --no-pager -o cat -u nodewell");
    assert!(log.contains("no metrics"), "{log}");
    machine.sh("systemctl stop taken.socket && systemctl restart nodewell.service");
}
