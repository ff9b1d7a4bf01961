//! What the administrator does with the package.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{kmsg::RealKmsg, machine::Package, wait::until};

use super::{Node, package};

const UNITS: &str = "nodewell.service nodewell.socket nodewell-kmsg.socket";

pub(super) fn installed(node: &Node) {
    let machine = &node.machine;
    machine.install(package());
    machine.wait_property("nodewell.service", "ActiveState", "active");
    machine.sh(&format!("systemctl is-active {UNITS}"));
    machine.sh("systemctl is-enabled nodewell.service");
    machine.wait_condition("TestUnhealthy", "False");
    machine.sh("nodewell check /usr/share/nodewell/rules");
    until("the status line is true", || {
        let line = machine.property("nodewell.service", "StatusText");
        (line == "no problem; standalone, no API server").then_some(())
    });
    eprintln!("{}", machine.sh("systemctl status --no-pager nodewell"));
    eprintln!("{}", machine.sh("systemctl status --no-pager nodewell-check"));
    let log = machine.sh("journalctl --no-pager -u nodewell");
    assert!(log.contains("running standalone"), "{log}");
}

/// Neither a connection nor a kernel message starts it again.
pub(super) fn stopped(node: &Node) {
    let machine = &node.machine;
    let kmsg = RealKmsg::take();
    let socket = machine.socket();
    machine.sh("systemctl stop --no-block nodewell.service");
    let states = || machine.run(["sh", "-c", &format!("systemctl is-active {UNITS} nodewell-check.service")]).stdout;
    let stopped = "inactive\n".repeat(4);
    let knock = || {
        // It is refused or not found, sooner or later; that is what "stopped" means.
        drop(std::os::unix::net::UnixStream::connect(&socket));
        node.write(&kmsg, "line stopped");
    };
    until("it is stopped while clients knock", || {
        knock();
        (states() == stopped).then_some(())
    });
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        knock();
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(states(), stopped, "it stays stopped");
    assert!(!socket.exists(), "a socket without a listener is gone");
    machine.sh("systemctl start nodewell.service");
    machine.wait_condition("TestUnhealthy", "True");
}

pub(super) fn upgraded(node: &Node) {
    let machine = &node.machine;
    // As earlier packages left it: the GPUs' check process had the agent's user, and that of disks was root.
    machine.sh("for of in gpu:nodewell disk:root; do cd /var/lib/nodewell-${of%:*} && touch saved && chown -R ${of#*:} .; done");
    machine.sh("echo '# mine' >>/etc/nodewell/nodewell.toml && echo kept >/var/lib/nodewell/kept");
    let starts = || machine.sh("journalctl --no-pager -u nodewell -o cat | grep -c '^Started nodewell' || true");
    let before: u32 = starts().parse().unwrap();
    machine.install(Package::newer());
    until("the new version answers", || machine.ask("/v1/version").filter(|answer| answer.status.is_success()));
    let after: u32 = starts().parse().unwrap();
    assert_eq!(after - before, 1, "restarted once");
    machine.sh("grep -q '# mine' /etc/nodewell/nodewell.toml && test -e /var/lib/nodewell/kept");
    machine.sh(&format!("systemctl is-active {UNITS}"));
    for name in ["gpu", "disk"] {
        let owners = machine
            .sh(&format!("stat -c %U:%G:%a /var/lib/nodewell-{name}; stat -c %U /var/lib/nodewell-{name}/saved"));
        assert_eq!(owners, format!("nodewell-{name}:nodewell-{name}:700\nnodewell-{name}"));
        machine.wait_property(&format!("nodewell-{name}.service"), "SubState", "running");
    }
}

/// A bad version is taken back while problems stand: nothing of them is lost, and nothing begins again.
pub(super) fn went_back(node: &Node) {
    let machine = &node.machine;
    let standing = || {
        let condition = machine.wait_condition("TestUnhealthy", "True");
        let problems = condition.problems.into_iter().map(|problem| (problem.subject, problem.since));
        (condition.transition, problems.collect::<Vec<_>>())
    };
    let before = standing();
    assert!(!before.1.is_empty());
    // Both are one program in two packages: what is shown is that it is another process, with the same account.
    let starts = || machine.sh("journalctl --no-pager -u nodewell -o cat | grep -c '^Started nodewell' || true");
    let started: u32 = starts().parse().unwrap();
    machine.install(package());
    until("it was started once more", || (starts().parse::<u32>().ok()? == started + 1).then_some(()));
    until("the version before answers", || machine.ask("/v1/version").filter(|answer| answer.status.is_success()));
    let version = machine.sh("dpkg-query --show --showformat='${Version}' nodewell");
    assert!(!version.starts_with("99."), "{version}");
    assert_eq!(standing(), before);
    machine.install(Package::newer());
    until("the newer version answers", || machine.ask("/v1/version").filter(|answer| answer.status.is_success()));
    assert_eq!(standing(), before);
}

/// A person, or a timer, starts what is being removed and what is being installed, again and again.
pub(super) fn raced(node: &Node) {
    let machine = &node.machine;
    let starts = |meanwhile: &str| {
        machine.sh(&format!(
            "touch /run/race; (while [ -e /run/race ]; do systemctl start nodewell.service nodewell-gpu.service; \
             systemctl restart nodewell.service; done) >/dev/null 2>&1 & {meanwhile} 2>&1; rm /run/race; wait"
        ))
    };
    for round in 0..3 {
        starts("apt-get remove --yes --quiet nodewell");
        let left = machine.sh("for process in /proc/[0-9]*; do \
               case $(readlink $process/exe) in */bin/nodewell*) echo $process ;; esac; done; \
             ls -d /run/nodewell/nodewell.sock /run/nodewell/identity 2>/dev/null; true");
        assert_eq!(left, "", "round {round}: it runs, or can be asked, without being installed");
        let masked = machine.sh("find /run/systemd/system -name 'nodewell*' -lname /dev/null; true");
        assert_eq!(masked, "", "round {round}");
        starts("DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet /root/package.deb");
        machine.wait_property("nodewell.service", "SubState", "running");
        until("it answers", || machine.ask("/v1/version").filter(|answer| answer.status.is_success()));
    }
}

pub(super) fn removed(node: &Node) {
    let machine = &node.machine;
    machine.sh("apt-get remove --yes --quiet nodewell 2>&1");
    let states = machine.run(["sh", "-c", &format!("systemctl is-active {UNITS}")]).stdout;
    assert_eq!(states, "inactive\n".repeat(3));
    machine.sh("test -e /etc/nodewell/nodewell.toml && test -e /var/lib/nodewell/kept");
    machine.sh("test ! -e /run/nodewell/identity");
    machine.sh("cd /etc/nodewell && touch controller.kubeconfig secret-fence-method-rack7 site.pem");
    machine.sh("apt-get purge --yes --quiet nodewell 2>&1");
    let others = machine.sh("ls -m /etc/nodewell");
    assert_eq!(others, "controller.kubeconfig, secret-fence-method-rack7, site.pem", "what is not the agent's stays");
    machine.sh("rm -r /etc/nodewell");
    // This case's own, for GPUs' drivers that are not there.
    machine.sh("rm -r /etc/systemd/system/nodewell-gpu.service.d");
    // dpkg's and apt's own records of what was there are theirs.
    let left = machine.sh(
        "find / -xdev \\( -path /var/log -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/lib/apt -o -path /proc \
         -o -path /root \\) -prune -o -name '*nodewell*' -print; ls -d /run/nodewell 2>/dev/null; getent passwd | grep ^nodewell; true",
    );
    assert_eq!(left, "", "nothing is left");
    assert_eq!(
        machine.sh("systemctl list-units --all --plain --no-legend 'nodewell*' | grep -v not-found || true"),
        ""
    );
}
