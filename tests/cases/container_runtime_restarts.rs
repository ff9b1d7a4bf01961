//! The container runtime is stopped, killed, hung, restarted and taken away on a booted machine: nothing of ours depends on
//! it, and what happens to it is an event like any other.

use nodewell_tests::{
    kmsg::FakeKmsg,
    machine::{Machine, Package, Release},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("container_runtime_restarts").case_with(
        &[Need::Machine(Release::Bookworm)],
        "detection_goes_on",
        detection_goes_on,
    );
}

/// A stand-in with what matters to its neighbours: the name, a socket, cgroups of its own, and shims that outlive it.
const UNIT: &str = "[Unit]
Description=containerd container runtime

[Service]
Type=exec
ExecStart=/bin/sh -c 'sleep infinity & exec sleep infinity'
Delegate=yes
KillMode=process
Restart=always
RestartSec=100ms
OOMScoreAdjust=-999
Sockets=containerd.socket
";
const SOCKET: &str = "[Socket]\nListenStream=/run/containerd/containerd.sock\n";
const CONFIG: &str = "[kmsg]\npath = \"/run/made-up-kmsg\"\n";
/// What is done to it, and how often systemd starts it in doing so. The socket is stopped first: who asks it between the two
/// has the runtime started again.
const FATES: [(&str, u64); 8] = [
    ("systemctl start containerd.service", 1),
    ("systemctl stop containerd.socket && systemctl stop containerd.service", 0),
    ("systemctl start containerd.service", 1),
    ("systemctl kill --signal=KILL --kill-who=main containerd.service", 1),
    ("systemctl kill --signal=STOP containerd.service", 0),
    ("systemctl kill --signal=CONT containerd.service && systemctl restart containerd.service", 1),
    ("systemctl stop containerd.socket && systemctl stop containerd.service && rm -r /run/containerd", 0),
    ("rm /run/systemd/system/containerd.* && systemctl daemon-reload", 0),
];

fn detection_goes_on() {
    let machine = Machine::boot(Release::Bookworm);
    machine.write("/run/systemd/system/containerd.service", UNIT);
    machine.write("/run/systemd/system/containerd.socket", SOCKET);
    machine.write("/etc/nodewell/nodewell.toml.d/kmsg.toml", CONFIG);
    let kmsg = FakeKmsg::file(&machine.path("/run/made-up-kmsg"));
    machine.install(Package::built());
    machine.wait_property("nodewell.service", "ActiveState", "active");
    machine.wait_condition("FrequentContainerdRestart", "False");
    let (pid, mut starts) = (machine.agent_pid(), 0);
    for (number, (fate, more)) in FATES.iter().enumerate() {
        machine.sh(fate);
        starts += more;
        a_line_is_heard(&machine, &kmsg, &format!("worker{number}"));
        until(&format!("{starts} starts are seen after {fate}"), || {
            (reported_starts(&machine) == starts).then_some(())
        });
        assert_eq!(machine.agent_pid(), pid, "{fate}");
    }
    assert_eq!(machine.property("nodewell.service", "NRestarts"), "0");
    assert_eq!(reported_starts(&machine), starts);
    let needs =
        machine.sh("systemctl show --property=Requires,Requisite,Wants,BindsTo,PartOf,After,Before 'nodewell*'");
    for runtime in ["containerd", "docker", "crio", "kubelet"] {
        assert!(!needs.contains(runtime), "{runtime} in {needs}");
    }
}

fn a_line_is_heard(machine: &Machine, kmsg: &FakeKmsg, task: &str) {
    kmsg.write(&format!("INFO: task {task}:77 blocked for more than 120 seconds."));
    until(&format!("{task} is heard of"), || {
        machine.events("TaskHung").into_iter().find(|event| event.message.contains(task))
    });
    until("it is ready", || machine.ask("/readyz").filter(|answer| answer.status.is_success()));
}

/// How often the agent has seen systemd start it.
fn reported_starts(machine: &Machine) -> u64 {
    machine.events("ContainerdStart").iter().map(|event| event.count).sum()
}
