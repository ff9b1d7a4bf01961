//! The kubelet's credentials on a machine: root's to read, the agent's to have, and gone with the agent.

use nodewell_tests::wait::until;

use super::Node;

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]
users: [{name: u, user: {tokenFile: /var/lib/kubelet/pki/token}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
";
const HANDED: &str = "/run/nodewell/identity/kubeconfig";

pub(super) fn published(node: &Node) {
    let machine = &node.machine;
    machine.sh("systemctl is-active nodewell-identity.path nodewell-identity.timer");
    machine.write("/var/lib/kubelet/pki/token-1", "first");
    machine.sh("ln -s token-1 /var/lib/kubelet/pki/token && chmod -R go= /var/lib/kubelet");
    machine.write("/etc/kubernetes/kubelet.conf", KUBECONFIG);
    machine.sh("chmod 600 /etc/kubernetes/kubelet.conf");
    let has = |token: &str| {
        let look = format!("grep -q '\"token\": \"{token}\"' {HANDED}");
        until(&format!("the agent has the {token} token"), || {
            (machine.run(["sh", "-c", &look]).code == 0).then_some(())
        });
    };
    has("first");
    // systemd watches no path while the unit runs that the path has started.
    machine.wait_property("nodewell-identity.service", "ActiveState", "inactive");
    assert_eq!(machine.sh(&format!("stat -c '%U:%G %a' {HANDED}")), "root:nodewell 640");
    assert_eq!(machine.sh("stat -c '%U:%G %a' /run/nodewell/identity"), "root:nodewell 750");
    assert_eq!(machine.sh("stat -c '%U:%G %a' /var/lib/nodewell/pki"), "root:root 700");
    assert_ne!(machine.run(["runuser", "-u", "nobody", "--", "cat", HANDED]).code, 0);
    // As kubelets rotate: a new file, and the link to it.
    machine.write("/var/lib/kubelet/pki/token-2", "second");
    machine.sh("ln -s token-2 /var/lib/kubelet/pki/new && mv -T /var/lib/kubelet/pki/new /var/lib/kubelet/pki/token");
    has("second");
    until("the agent takes it", || {
        let log = machine.sh("journalctl --no-pager -u nodewell -o cat");
        log.contains("talking to the API server").then_some(())
    });
    let cost = machine.sh("journalctl --no-pager -u nodewell-identity -o cat | grep -i consumed || true");
    eprintln!("    {cost}");
}
