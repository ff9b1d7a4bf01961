//! SELinux in enforcing mode, with the module of packaging/selinux: a Debian whose policy is loaded at its boot runs
//! the package's services, each sees what it is for, and the kernel has denied nothing that has to do with them.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use nodewell_model::view::DaemonState;
use nodewell_tests::{
    machine::{self, Package, Release, Tree},
    suite::{Need, Suite},
};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, Plan},
    system::{System, within},
};

const TREE: Tree = Tree::with(
    "bookworm-selinux",
    Release::Bookworm,
    "selinux-policy-default,selinux-policy-dev,policycoreutils,selinux-utils",
);
const POLICY: [(&str, &str); 3] = [
    ("nodewell.te", include_str!("../../../packaging/selinux/nodewell.te")),
    ("nodewell.fc", include_str!("../../../packaging/selinux/nodewell.fc")),
    ("nodewell.if", include_str!("../../../packaging/selinux/nodewell.if")),
];
const CONFIG: &str = "SELINUX=enforcing\nSELINUXTYPE=default\n";
const CONTEXTS: &str = "/etc/selinux/default/contexts/files/file_contexts";
const KERNEL: &str = "security=selinux selinux=1 enforcing=1 audit=1 systemd.getty_auto=no";
/// A plug-in that finds something, and a disk that is asked soon.
const RULES: &str = r#"
[[condition]]
type = "MoonUnhealthy"
healthy-reason = "MoonIsUp"
healthy-message = "the moon is up"

[[plugin]]
name = "moon"
command = ["/usr/libexec/moon"]
interval = "10s"
timeout = "5s"
condition = "MoonUnhealthy"
reason = "MoonFell"
subject = "moon"
"#;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("selinux").case_with(
        &[Need::LongSuite, GUEST, Need::Other(tree_unmet)],
        "enforcing_denies_nothing_of_ours",
        enforcing_denies_nothing_of_ours,
    );
}

fn tree_unmet() -> Option<String> {
    machine::unmet(TREE)
}

/// The package, the module in the policy, and every file labelled by it.
fn fill(root: &Path) {
    let write = |inside: &str, text: &str| {
        let path = root.join(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    fs::copy(Package::built().path(), root.join("root/package.deb")).unwrap();
    within(root, &["dpkg", "--install", "/root/package.deb"]);
    write("etc/nodewell/rules.d/moon.toml", RULES);
    write("etc/nodewell/nodewell.toml.d/guest.toml", "standalone = true\n[disk]\ninterval = \"1m\"\n");
    write("usr/libexec/moon", "#!/bin/sh\necho it fell down\nexit 1\n");
    fs::set_permissions(root.join("usr/libexec/moon"), fs::Permissions::from_mode(0o755)).unwrap();
    write("etc/selinux/config", CONFIG);
    POLICY.iter().for_each(|(name, text)| write(&format!("root/selinux/{name}"), text));
    within(root, &["make", "-C", "/root/selinux", "-f", "/usr/share/selinux/devel/Makefile", "nodewell.pp"]);
    within(root, &["semodule", "-n", "-s", "default", "-i", "/root/selinux/nodewell.pp"]);
    // Not by which of this machine's mounts know labels: none does.
    within(root, &["setfiles", "-m", "-F", "-e", "/proc", CONTEXTS, "/"]);
}

/// Denials since the boot that match `pattern`, each once.
fn denials(guest: &Guest, pattern: &str) -> String {
    let all = "journalctl --boot --no-pager --quiet --output cat | grep -a 'avc: *denied'";
    guest.sh(&format!("{all} | grep -a '{pattern}' | sed 's/.*avc:/avc:/' | sort -u || true"))
}

fn enforcing_denies_nothing_of_ours() {
    let system = System::of(TREE, fill).with_root_attribute("security.selinux", "system_u:object_r:root_t:s0");
    let disk = Image::empty(16);
    let plan = Plan::default().processors(2).memory_mib(2048).kernel(KERNEL).system(&system).sata("sata0", &disk, 0);
    let guest = plan.modules(&["ahci", "sd_mod", "sg"]).boot();
    assert_eq!(guest.sh("cat /sys/fs/selinux/enforce"), "1");
    guest.until("the agent answers", || guest.status());
    has_its_labels(&guest);
    sees_what_it_is_for(&guest);
    guest.sh("systemctl restart nodewell.service nodewell-disk.service nodewell-check.service");
    guest.until("the agent answers again", || guest.status());
    guest.wait_problem("MoonUnhealthy", "MoonFell");

    // What is denied is seen: a shell is no way into that domain.
    guest.run("systemd-run --wait --property=SELinuxContext=system_u:system_r:fsdaemon_t:s0 /bin/sh -c true");
    assert_ne!(denials(&guest, "fsdaemon_t"), "", "no denial reaches the journal");
    assert_eq!(denials(&guest, "nodewell"), "");
}

fn has_its_labels(guest: &Guest) {
    for unit in ["nodewell.service", "nodewell-disk.service", "nodewell-check.service"] {
        let domain = guest.sh(&format!("cat /proc/$(systemctl show --property=MainPID --value {unit})/attr/current"));
        assert!(domain.contains(":nodewell_t:"), "{unit} runs as {domain}");
    }
    for (path, label) in
        [("/run/nodewell/nodewell.sock", "nodewell_runtime_t"), ("/var/lib/nodewell", "nodewell_var_lib_t")]
    {
        let shown = guest.sh(&format!("stat --format=%C {path}"));
        assert!(shown.contains(label), "{path} is {shown}");
    }
}

/// The socket has answered by now; the kernel log, a disk by SG_IO, and a plug-in.
fn sees_what_it_is_for(guest: &Guest) {
    guest.sh("echo h >/proc/sysrq-trigger");
    guest.until("a line of the kernel is read", || {
        let daemons = guest.status()?.daemons;
        let monitor = daemons.into_iter().find(|daemon| daemon.name == "kernel-monitor")?;
        (monitor.state == DaemonState::Running && monitor.records > 0).then_some(())
    });
    guest.wait_hardware("disks", |disks| disks.total >= 1 && disks.healthy == disks.total);
    guest.until("its attributes are saved, which SG_IO alone shows", || {
        let saved = guest.run("cat $(find /var/lib/nodewell-disk -name disk.json)").stdout;
        (saved.contains("\"sata0\"") && saved.contains("\"reallocated\"")).then_some(())
    });
    guest.wait_problem("MoonUnhealthy", "MoonFell");
}
