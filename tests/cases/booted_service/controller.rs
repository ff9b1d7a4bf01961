//! The controller's package on a booted machine of its own: it asks for a kubeconfig, stays up without an API server,
//! reports why, ends on request, is upgraded, and leaves nothing.

use std::{
    fs,
    time::{Duration, Instant},
};

use nodewell_tests::{
    machine::{Machine, Package, Release},
    wait::until,
};

const UNIT: &str = "nodewell-controller.service";
/// A user that does not exist, at an address where nothing listens.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: c
clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:6443' } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
users: [{ name: u, user: { token: nobody } }]
";

type Step = fn(&Machine);

pub(super) fn whole(release: Release) {
    let machine = Machine::boot(release);
    let steps: [(&str, Step); 10] = [
        ("installed, it does not run", installed),
        ("without a kubeconfig it ends once and names the file", no_kubeconfig),
        ("without an API server it stays up and says why", alone),
        ("the journal reads well", journal),
        ("it has no capability and its exposure is as published", exposure),
        ("what it runs is held to its limits", limited),
        ("an error in its configuration is reported and not tried again", wrong_config),
        ("a stop is prompt", stopped),
        ("an upgrade restarts it once and keeps what is there", upgraded),
        ("removed, it is gone; purged, nothing is left", removed),
    ];
    for (number, (step, run)) in steps.into_iter().enumerate() {
        let begun = Instant::now();
        eprintln!("controller, systemd {}: {}. {step}", release.systemd(), number + 1);
        run(&machine);
        eprintln!("controller, systemd {}:    {:.1} s", release.systemd(), begun.elapsed().as_secs_f64());
    }
}

fn installed(machine: &Machine) {
    machine.install(Package::controller());
    assert_eq!(machine.property(UNIT, "ActiveState"), "inactive");
    assert_eq!(machine.run(["systemctl", "is-enabled", UNIT]).stdout, "disabled\n");
    machine.sh("nodewell-controller check && nodewell-controller --version");
    machine.sh("kubectl-nodewell --version && kubectl-nodewell status --help");
    for file in [
        "rbac.yaml",
        "rbac-approver.yaml",
        "rbac-people.yaml",
        "rbac-view.yaml",
        "crds/nodefences.yaml",
        "crds/remediationpolicies.yaml",
        "nodewell-chart.tgz",
    ] {
        machine.sh(&format!("test -s /usr/share/nodewell-controller/{file}"));
    }
}

/// Not started again and again: nothing changes before a person writes that file.
fn no_kubeconfig(machine: &Machine) {
    let outcome = machine.run(["systemctl", "start", UNIT]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    machine.wait_property(UNIT, "ActiveState", "failed");
    assert_eq!(machine.property(UNIT, "ExecMainStatus"), "78");
    assert_eq!(machine.property(UNIT, "NRestarts"), "0");
    let status = machine.run(["systemctl", "status", "--no-pager", "--full", UNIT]).stdout;
    assert!(status.contains("/etc/nodewell/controller.kubeconfig is not there"), "{status}");
    eprintln!("{status}");
}

fn alone(machine: &Machine) {
    machine.write("/etc/nodewell/controller.kubeconfig", KUBECONFIG);
    machine.sh("chmod 600 /etc/nodewell/controller.kubeconfig && systemctl start nodewell-controller");
    assert_eq!(machine.property(UNIT, "ActiveState"), "active", "started means up, whatever else is not");
    until("the status line says what it waits for", || {
        let line = machine.property(UNIT, "StatusText");
        line.starts_with("waiting for the API server").then_some(())
    });
    let ready = page(machine, "/readyz");
    assert!(ready.starts_with("HTTP/1.0 503") && ready.contains("the watches are not complete"), "{ready}");
    assert!(page(machine, "/healthz").starts_with("HTTP/1.0 200"));
    let metrics = page(machine, "/metrics");
    assert!(metrics.contains("nodewell_controller_cache_synced 0\n"), "{metrics}");
    assert!(unanswered(&metrics) > 0, "{metrics}");
    eprintln!("{}", machine.sh("systemctl status --no-pager --lines=4 nodewell-controller"));
}

/// One HTTP answer of the controller's, as a program on the host gets it.
fn page(machine: &Machine, path: &str) -> String {
    let ask = format!("printf 'GET {path} HTTP/1.0\\r\\n\\r\\n'");
    machine.run(["bash", "-c", &format!("exec 3<>/dev/tcp/127.0.0.1/20258 && {ask} >&3 && cat <&3")]).stdout
}

/// Requests to the API server without an answer.
fn unanswered(metrics: &str) -> u64 {
    let requests = metrics.lines().filter(|line| line.starts_with("nodewell_controller_api_requests_total{"));
    let none = requests.filter(|line| line.contains("code=\"0\""));
    none.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// A request without an answer is logged once and not at each attempt.
fn journal(machine: &Machine) {
    let lines = || machine.sh(&format!("journalctl --no-pager -u {UNIT} -o cat"));
    until("why nothing is seen is reported", || lines().contains("Connection refused").then_some(()));
    until("it has been tried often", || (unanswered(&page(machine, "/metrics")) > 25).then_some(()));
    let log = lines();
    eprintln!("{}", machine.sh(&format!("journalctl --no-pager -u {UNIT} -o short")));
    let count = log.lines().filter(|line| line.contains("Connection refused")).count();
    assert!(count <= 3, "{count} lines say the same:\n{log}");
    let fields = machine.sh(&format!("journalctl --no-pager -u {UNIT} -o json -p warning | tail -1"));
    let fields: serde_json::Value = serde_json::from_str(&fields).unwrap();
    assert_eq!(fields["SYSLOG_IDENTIFIER"], "nodewell-controller");
    assert!(fields["NODEWELL_ERROR"].is_string() || fields["NODEWELL_WHY"].is_string(), "{fields}");
}

/// Also listed in docs/units.md.
fn exposure(machine: &Machine) {
    let pid = machine.main_pid(UNIT).unwrap();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000")), "{set} in {status}");
    }
    assert!(status.contains("NoNewPrivs:\t1") && !status.contains("Uid:\t0"), "{status}");
    let table = machine.sh(&format!("systemd-analyze security --no-pager {UNIT}"));
    let figure = table.lines().last().and_then(|line| line.split(": ").nth(1)?.split(' ').next()).unwrap_or_default();
    eprintln!("    exposure of {UNIT}: {figure}");
    for line in table.lines().filter(|line| line.starts_with('✗')) {
        eprintln!("    {line}");
    }
    let figure: f64 = figure.parse().unwrap_or_else(|error| panic!("{error} in {table:?}"));
    assert!(figure <= 1.1, "{table}");
    let verify = "cd /usr/lib/systemd/system && systemd-analyze verify nodewell-controller.service 2>&1 || true";
    let said = machine.sh(verify);
    // There is no man in a minimal system.
    let complaints: Vec<&str> =
        said.lines().filter(|line| line.contains("nodewell") && !line.contains("'man ")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
}

/// A provider's plug-in is asked for its type at the start, by the way that every agent goes.
fn limited(machine: &Machine) {
    let script = "#!/bin/sh\ncat /proc/self/limits /proc/self/oom_score_adj >/tmp/limits && echo stand-in\n";
    machine.program("/usr/local/libexec/reapers/stand-in", script);
    let config = "[fencing]\nplugins = [\"/usr/local/libexec/reapers\"]\n";
    machine.write("/etc/nodewell/nodewell-controller.toml.d/60-plugins.toml", config);
    machine.sh("systemctl restart nodewell-controller");
    let limits = machine.sh("cat /tmp/systemd-private-*-nodewell-controller.service-*/tmp/limits");
    for (limit, value) in [
        ("Max cpu time", "1800"),
        ("Max file size", "67108864"),
        ("Max data size", "1073741824"),
        ("Max core file size", "0"),
        ("Max processes", "512"),
        ("Max open files", "1024"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit)).unwrap_or_default();
        let values: Vec<&str> = line.split_whitespace().take(2).collect();
        assert_eq!(values, [value, value], "{limit}: {limits}");
    }
    assert_eq!(limits.lines().last(), Some("500"), "the agent goes before the controller: {limits}");
    machine.sh("rm -r /usr/local/libexec/reapers /etc/nodewell/nodewell-controller.toml.d/60-plugins.toml");
    machine.sh("systemctl restart nodewell-controller");
}

fn wrong_config(machine: &Machine) {
    machine.write("/etc/nodewell/nodewell-controller.toml.d/50-mine.toml", "dry-runn = true\n");
    let outcome = machine.run(["systemctl", "restart", UNIT]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    machine.wait_property(UNIT, "ActiveState", "failed");
    assert_eq!(machine.property(UNIT, "ExecMainStatus"), "78");
    let log = machine.sh(&format!("journalctl --no-pager -u {UNIT} -o cat -n 10"));
    assert!(log.contains("50-mine.toml:1: ") && log.contains("dry-runn"), "{log}");
    eprintln!("{log}");
    machine.sh("rm /etc/nodewell/nodewell-controller.toml.d/50-mine.toml && systemctl start nodewell-controller");
}

/// While it is trying to reach the API server.
fn stopped(machine: &Machine) {
    let begun = Instant::now();
    machine.sh("systemctl stop nodewell-controller");
    let took = begun.elapsed();
    eprintln!("    stopped in {:.1} s", took.as_secs_f64());
    assert!(took < Duration::from_secs(10), "{took:?}; it would be killed after 30 s");
    assert_eq!(machine.property(UNIT, "Result"), "success");
    assert_eq!(machine.property(UNIT, "ActiveState"), "inactive");
    let log = machine.sh(&format!("journalctl --no-pager -u {UNIT} -o cat -n 6"));
    assert!(log.contains("stopped"), "{log}");
    machine.sh("systemctl start nodewell-controller");
}

fn upgraded(machine: &Machine) {
    machine.sh("echo '# mine' >>/etc/nodewell/nodewell-controller.toml");
    // The journal may lag behind the start before.
    let started =
        "journalctl --sync; journalctl --no-pager -u nodewell-controller -o cat | grep -c '^Started ' || true";
    let starts = || machine.sh(started);
    let before: u32 = starts().parse().unwrap();
    let pid = machine.main_pid(UNIT);
    machine.install(Package::newer_controller());
    machine.wait_property(UNIT, "ActiveState", "active");
    let after: u32 = starts().parse().unwrap();
    assert_eq!(after - before, 1, "restarted once");
    assert_ne!(machine.main_pid(UNIT), pid);
    machine
        .sh("grep -q '# mine' /etc/nodewell/nodewell-controller.toml && test -e /etc/nodewell/controller.kubeconfig");
}

fn removed(machine: &Machine) {
    machine.sh("apt-get remove --yes --quiet nodewell-controller 2>&1");
    assert_eq!(machine.run(["systemctl", "is-active", UNIT]).stdout, "inactive\n");
    machine.sh("test -e /etc/nodewell/nodewell-controller.toml && test -e /etc/nodewell/controller.kubeconfig");
    machine.sh("cd /etc/nodewell && mkdir rules.d && touch pause kubeconfig secret-fence-method-rack7 site.pem");
    machine.sh("apt-get purge --yes --quiet nodewell-controller 2>&1");
    assert_eq!(
        machine.sh("ls -m /etc/nodewell"),
        "kubeconfig, rules.d, site.pem",
        "what is not the controller's stays"
    );
    machine.sh("rm -r /etc/nodewell");
    // dpkg's and apt's own records of what was there are theirs.
    let left = machine.sh(
        "find / -xdev \\( -path /var/log -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/lib/apt -o -path /proc \
         -o -path /root \\) -prune -o -name '*nodewell*' -print; ls -d /run/nodewell* 2>/dev/null; true",
    );
    assert_eq!(left, "", "nothing is left");
    assert_eq!(machine.sh("find /var/log -name '*nodewell*' ! -path '/var/log/apt/*'"), "", "the audit goes as well");
    let units = "systemctl list-units --all --plain --no-legend 'nodewell*' | grep -v not-found || true";
    assert_eq!(machine.sh(units), "");
}
