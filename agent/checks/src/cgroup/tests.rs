use proptest::prelude::*;

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";
/// As systemd's driver writes it.
const UID_OF_SLICE: &str = "0d6e7d1c_3c1b_4f2a_90b1_c2d3e4f5a6b7";
const OTHER_UID: &str = "abcdefabcdefabcdefabcdefabcdef12";

/// Whose a process is, seen from the host: the one column of the tables, from which every answer follows.
#[derive(Debug)]
enum Whose {
    Unit(String),
    /// A unit that is the node's own plumbing.
    Plumbing(String),
    Host,
    Container(String),
    /// A container of the pod with [`UID`].
    Pod(String),
    Unknown(&'static str),
}

use Whose::{Host, Unknown};

const ODD: Whose = Unknown("its cgroup cannot be read");

fn unit(name: &str) -> Whose {
    Whose::Unit(name.to_owned())
}

fn plumbing(name: &str) -> Whose {
    Whose::Plumbing(name.to_owned())
}

fn container(name: &str) -> Whose {
    Whose::Container(name.to_owned())
}

fn pod(name: &str) -> Whose {
    Whose::Pod(name.to_owned())
}

fn home() -> Home {
    Home::of("0::/system.slice/nodewell.service\n")
}

/// The owner of a process in `path` of version 2, seen from the host.
fn at(path: &str) -> CgroupOwner {
    Cgroups::parse(&format!("0::{path}\n")).owner(&home())
}

/// Asks everything that can be asked.
fn check(text: &str, whose: &Whose) {
    let cgroups = Cgroups::parse(text);
    let owner = match whose {
        Whose::Unit(name) | Whose::Plumbing(name) => CgroupOwner::Unit(name.as_str().into()),
        Whose::Container(name) | Whose::Pod(name) => CgroupOwner::Container(name.as_str().into()),
        Whose::Host => CgroupOwner::Host,
        Whose::Unknown(why) => CgroupOwner::Unknown(why),
    };
    assert_eq!(cgroups.owner(&home()), owner, "{text:?}");
    assert_eq!(cgroups.is_node_plumbing(), matches!(whose, Whose::Plumbing(_)), "{text:?}");
    assert_eq!(cgroups.pod_uid().as_deref(), matches!(whose, Whose::Pod(_)).then_some(UID), "{text:?}");
    let service = match whose {
        Whose::Unit(name) | Whose::Plumbing(name) if name.ends_with(".service") => Some(name.as_str()),
        _ => None,
    };
    assert_eq!(cgroups.service(), service, "{text:?}");
}

/// In version 2.
fn check_paths(rows: &[(&str, Whose)]) {
    for (path, whose) in rows {
        check(&format!("0::{path}\n"), whose);
    }
}

#[test]
fn the_first_component_below_the_slices_is_the_unit() {
    check_paths(&[
        ("/system.slice/raid-monitor.service", unit("raid-monitor.service")),
        ("/system.slice/postgresql.service", unit("postgresql.service")),
        ("/system.slice/x.service/raid-monitor.service", unit("x.service")),
        ("/system.slice/x.service/raid.slice/raid-monitor.service", unit("x.service")),
        ("/system.slice/evil.service/kubelet.service", unit("evil.service")),
        ("/system.slice/system-getty.slice/getty@tty1.service", unit("getty@tty1.service")),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", unit("user@1000.service")),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/kubelet.service", unit("user@1000.service")),
        ("/user.slice/user-1000.slice/session-1.scope", unit("session-1.scope")),
        ("/user.slice/user-1000.slice/session-3.scope", unit("session-3.scope")),
        ("/user.slice/user-0.slice/session-1.scope/kubelet.service", unit("session-1.scope")),
        ("/system.slice/crio-wipe.service", unit("crio-wipe.service")),
        ("/system.slice/docker-cleanup.service", unit("docker-cleanup.service")),
        ("/system.slice/kubepods-exporter.service", unit("kubepods-exporter.service")),
        ("/system.slice/kubepods-exporter.service/kubelet.service", unit("kubepods-exporter.service")),
        ("/system.slice/a:b:c.service", unit("a:b:c.service")),
        ("/system.slice/_cpu.shares.service", unit("cpu.shares.service")),
        ("/system.slice/__x.service", unit("_x.service")),
        ("/system.slice/my\\x2draid.service", unit("my\\x2draid.service")),
        ("/x.service", unit("x.service")),
        // systemd escapes no such name.
        ("/system.slice/_kubelet.service", unit("kubelet.service")),
        ("/system.slice/_systemd-journald.service", unit("systemd-journald.service")),
    ]);
}

#[test]
fn the_nodes_own_plumbing_is_known_by_its_unit() {
    check_paths(&[
        ("/init.scope", plumbing("init.scope")),
        ("/system.slice/kubelet.service", plumbing("kubelet.service")),
        ("/runtime.slice/kubelet.service", plumbing("kubelet.service")),
        ("/kubelet.slice/kubelet.service", plumbing("kubelet.service")),
        ("/system.slice/containerd.service", plumbing("containerd.service")),
        ("/runtime.slice/containerd.service", plumbing("containerd.service")),
        ("/system.slice/k3s.service", plumbing("k3s.service")),
        ("/system.slice/snap.microk8s.daemon-kubelite.service", plumbing("snap.microk8s.daemon-kubelite.service")),
        ("/system.slice/systemd-journald.service", plumbing("systemd-journald.service")),
    ]);
}

#[test]
fn what_is_in_no_unit_is_the_host() {
    check_paths(&[
        ("/", Host),
        ("/system.slice", Host),
        ("/openrc.sshd", Host),
        ("/foo/raid-monitor.service", Host),
        ("/user/1000.user", Host),
        ("/system.slice/swap.swap", Host),
    ]);
    // No part of a name is taken off.
    check("0::/system.slice/x.service\r\n", &Host);
}

#[test]
fn containers_of_every_runtime_are_containers() {
    let scope = |start: &str| format!("{start}-{ID}.scope");
    for (path, name) in [
        (
            format!(
                "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/{}",
                scope("cri-containerd")
            ),
            scope("cri-containerd"),
        ),
        ("/kubepods.slice/kubepods-pod1.slice/cri-containerd-short.scope".into(), "cri-containerd-short.scope".into()),
        ("/kubepods.slice/kubelet.service".into(), "kubelet.service".into()),
        (format!("/kubepods/burstable/pod1/{ID}"), ID.into()),
        ("/kubepods/pod1".into(), "pod1".into()),
        ("/kubepods".into(), "kubepods".into()),
        ("/kubepods/besteffort/pod1/kubelet.service".into(), "besteffort".into()),
        (format!("/kubelet.slice/kubelet-kubepods.slice/{}", scope("crio")), scope("crio")),
        (format!("/system.slice/{}", scope("crio-conmon")), scope("crio-conmon")),
        (format!("/system.slice/{}", scope("docker")), scope("docker")),
        (format!("/system.slice/{}/raid-monitor.service", scope("docker")), scope("docker")),
        (format!("/docker/{ID}"), ID.into()),
        (format!("/docker/{ID}/init"), ID.into()),
        (format!("/kubelet.service/{ID}"), ID.into()),
        ("/docker/short".into(), "short".into()),
        (format!("/machine.slice/{}", scope("libpod")), scope("libpod")),
        ("/machine.slice/systemd-nspawn@x.service/payload".into(), "payload".into()),
        ("/machine.slice/systemd-nspawn@x.service".into(), "systemd-nspawn@x.service".into()),
        ("/machine.slice/machine-x.scope".into(), "machine-x.scope".into()),
        ("/machine.slice/raid-monitor.service".into(), "raid-monitor.service".into()),
        ("/system.slice/systemd-nspawn@x.service/payload/system.slice/raid-monitor.service".into(), "payload".into()),
        ("/lxc.payload.x".into(), "lxc.payload.x".into()),
        ("/lxc.payload.x/system.slice/raid-monitor.service".into(), "lxc.payload.x".into()),
        ("/lxc/x".into(), "x".into()),
        (
            format!("/user.slice/user-1000.slice/user@1000.service/user.slice/{}/container", scope("libpod")),
            scope("libpod"),
        ),
        // The systemd form of a name where runc does not speak to systemd.
        (
            "/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:1".into(),
            "kubepods-pod1.slice:cri-containerd:1".into(),
        ),
        (
            "/system.slice/containerd.service/kubepods-burstable-pod1.slice:cri-containerd:abc".into(),
            "kubepods-burstable-pod1.slice:cri-containerd:abc".into(),
        ),
        (format!("/system.slice/containerd.service/{ID}"), ID.into()),
        (format!("/custom/{}", scope("unheard-of")), scope("unheard-of")),
        ("/../../system.slice/raid-monitor.service".into(), "outside".into()),
        ("/..".into(), "outside".into()),
        ("/system.slice/../raid-monitor.service".into(), "outside".into()),
        // What a service calls its own cgroups.
        ("/system.slice/x.service/kubepods-exporter.service".into(), "kubepods-exporter.service".into()),
        ("/system.slice/containerd.service/kubepods-x.service".into(), "kubepods-x.service".into()),
    ] {
        check(&format!("0::{path}\n"), &container(&name));
    }
}

#[test]
fn a_pod_is_known_by_either_driver_and_in_every_layout() {
    let slice = format!("kubepods-burstable-pod{UID_OF_SLICE}.slice");
    let burstable = format!("/kubepods.slice/kubepods-burstable.slice/{slice}");
    let nested = format!("kubelet-kubepods-pod{UID_OF_SLICE}.slice");
    let triple = format!("{slice}:cri-containerd:{ID}");
    for (path, name) in [
        (format!("{burstable}/cri-containerd-1.scope"), "cri-containerd-1.scope".to_owned()),
        (format!("{burstable}/crio-{ID}.scope/container"), format!("crio-{ID}.scope")),
        (format!("{burstable}/docker-{ID}.scope"), format!("docker-{ID}.scope")),
        (format!("/kubepods/besteffort/pod{UID}/{ID}"), ID.to_owned()),
        (format!("/kubepods/burstable/pod{UID}/crio-{ID}"), format!("crio-{ID}")),
        // kind, and a kubelet that has a root of its own.
        (format!("/kubelet.slice/kubelet-kubepods.slice/{nested}"), nested.clone()),
        (format!("/kubelet/kubepods/burstable/pod{UID}/{ID}"), ID.to_owned()),
        // k3d.
        (format!("/docker/{ID}/kubepods/burstable/pod{UID}/{ID}"), ID.to_owned()),
        (format!("/system.slice/containerd.service/{triple}"), triple.clone()),
        // The pod is the outermost: what it runs may be a node, too.
        (format!("/kubepods/pod{UID}/{ID}/kubepods/pod{OTHER_UID}/crio-1"), "crio-1".to_owned()),
        (format!("/pod{OTHER_UID}/kubepods/pod{UID}"), format!("pod{UID}")),
    ] {
        check(&format!("0::{path}\n"), &pod(&name));
    }
    check(&format!("12:pids:/kubepods/besteffort/pod{UID}/abc\n0::/\n"), &pod("besteffort"));
}

/// A pod that may make cgroups has some beside those of its containers, and calls them as it likes.
#[test]
fn a_pod_that_makes_cgroups_becomes_no_part_of_the_nodes_plumbing() {
    for root in ["kubelet", "foo", "foo-bar"] {
        let pods = format!("/{root}.slice/{root}-kubepods.slice/{root}-kubepods-pod{UID_OF_SLICE}.slice");
        for forged in ["containerd.service", "kubelet.service", "systemd-journald.service"] {
            check(&format!("0::{pods}/{forged}\n"), &pod(forged));
        }
        check(&format!("0::{pods}/init.scope\n"), &pod("init.scope"));
    }
    check(
        "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podX.slice/crio.service\n",
        &container("crio.service"),
    );
    // In one hierarchy it is a pod, whatever it is in the others.
    let split = format!("11:memory:/kubepods/pod{UID}/{ID}\n1:name=systemd:/system.slice/containerd.service\n0::/\n");
    check(&split, &pod(ID));
}

#[test]
fn text_that_the_kernel_does_not_write_is_not_believed() {
    for unit in ["x.service", "kubelet.service"] {
        for text in [
            format!("0:/system.slice/{unit}\n"),
            format!("x::/system.slice/{unit}\n"),
            format!("::/system.slice/{unit}\n"),
            format!("0::system.slice/{unit}\n"),
            format!("0::/system.slice/{unit} (deleted)\n"),
            // A line break in a name, if a kernel let it pass.
            format!("0::/kube\n0::/system.slice/{unit}\n"),
            format!("1:name=systemd:/x\n0::/\n12:name=systemd:/system.slice/{unit}\n"),
            format!("0::/x\nsystem.slice/{unit}\n"),
            // Bytes that are no UTF-8.
            format!("0::/system.slice/{unit}/\u{fffd}\n"),
            format!("1:name=\u{fffd}:/\n0::/system.slice/{unit}\n"),
        ] {
            check(&text, &ODD);
        }
    }
    check("", &Unknown("it has no cgroup"));
    // Where the kernel has no cgroups at all, no process has one.
    assert_eq!(Cgroups::parse("").owner(&Home::of("")), CgroupOwner::Host);
}

/// Of a pod it can only take a right to be one.
#[test]
fn a_pods_process_is_the_pods_also_once_it_has_ended_and_whatever_it_calls_its_cgroups() {
    for text in [
        format!("0::/kubepods.slice/kubepods-pod{UID_OF_SLICE}.slice/cri-containerd-1.scope (deleted)\n"),
        format!("0::/kubepods/pod{UID} (deleted)\n"),
        format!("0::/kubepods/pod{UID}/\u{fffd}\n"),
        format!("garbage\n4:memory:/kubepods/pod{UID}\n"),
    ] {
        let cgroups = Cgroups::parse(&text);
        assert_eq!(cgroups.pod_uid().as_deref(), Some(UID), "{text:?}");
        assert_eq!(cgroups.owner(&home()), CgroupOwner::Unknown("its cgroup cannot be read"), "{text:?}");
        assert_eq!((cgroups.is_node_plumbing(), cgroups.service()), (false, None), "{text:?}");
    }
}

#[test]
fn every_hierarchy_counts() {
    let two_units = || Unknown("its cgroups name two units");
    for (text, whose) in [
        ("4:memory:/\n1:name=systemd:/system.slice/x.service\n", unit("x.service")),
        ("1:name=systemd:/system.slice/x.service\n0::/system.slice/x.service\n", unit("x.service")),
        ("9:name=systemd:/\n0::/system.slice/x.service\n", unit("x.service")),
        ("9:name=systemd:/\n8:pids:/\n0::/\n", Host),
        ("1:name=systemd:/system.slice/containerd.service\n0::/\n", plumbing("containerd.service")),
        ("1:name=systemd:/x\n0::/system.slice/docker.service\n", plumbing("docker.service")),
        // Only systemd's own hierarchies name units.
        ("4:cpu,cpuacct:/system.slice/x.service\n0::/\n", Host),
        ("4:cpu,cpuacct:/system.slice/kubelet.service\n0::/\n", Host),
        ("1:name=systemd:/system.slice/y.service\n0::/system.slice/x.service\n", two_units()),
        ("1:name=systemd:/system.slice/kubelet.service\n0::/system.slice/x.service\n", two_units()),
        ("4:memory:/docker/abc\n1:name=systemd:/\n0::/\n", container("abc")),
        ("4:memory:/docker/abc\n1:name=systemd:/system.slice/kubelet.service\n", container("abc")),
        ("4:memory:/../x\n0::/system.slice/x.service\n", container("outside")),
    ] {
        check(text, &whose);
    }
}

#[test]
fn a_path_may_hold_colons_and_a_named_hierarchy_has_no_controller() {
    let cgroups = Cgroups::parse("4:cpu,cpuacct:/\n3:pids:/a\n1:name=systemd:/b\n0::/c:d\n");
    assert_eq!(cgroups.unified_path(), Some("/c:d"));
    assert_eq!(cgroups.controllers().collect::<Vec<_>>(), ["cpu", "cpuacct", "pids"]);
    assert_eq!(Cgroups::parse("1:name=systemd:/b\n").unified_path(), None);
}

#[test]
fn what_is_no_uid_is_none() {
    for part in
        ["pod", "podman", "pod../../x", "kubepods", "kubepods-pod.slice", "-pod", "podgggggggggggggggggggggggggggggggg"]
    {
        assert_eq!(pod_uid(part), None, "{part}");
    }
    assert_eq!(pod_uid(&format!("pod{OTHER_UID}")).as_deref(), Some(OTHER_UID));
}

#[test]
fn in_the_agents_own_container_every_peer_is_at_home() {
    let unit = |name: &str| CgroupOwner::Unit(name.into());
    let seen_from =
        |own: &str, path: &str| Cgroups::parse(&format!("0::{path}\n")).owner(&Home::of(&format!("0::{own}\n")));
    let pod =
        |id: char| format!("/kubepods.slice/kubepods-pod1.slice/cri-containerd-{}.scope", id.to_string().repeat(64));
    let docker = format!("/docker/{ID}");
    assert_eq!(seen_from(&pod('a'), &pod('a')), CgroupOwner::Host);
    assert_eq!(seen_from(&pod('a'), &format!("{}/system.slice/x.service", pod('a'))), unit("x.service"));
    assert!(matches!(seen_from(&pod('a'), &pod('b')), CgroupOwner::Container(_)), "another container of the same pod");
    assert_eq!(seen_from(&docker, &format!("{docker}/a/b")), CgroupOwner::Host);
    assert!(
        matches!(seen_from(&docker, &format!("{docker}/docker/{ID}")), CgroupOwner::Container(_)),
        "one within ours"
    );
    assert_eq!(seen_from(&docker, "/system.slice/x.service"), unit("x.service"));
    // Nothing but the agent's own cgroup is surely its container where only the group of containers is known.
    assert_eq!(seen_from("/kubepods/pod1", "/kubepods/pod1"), CgroupOwner::Host);
    assert!(matches!(seen_from("/kubepods/pod1", "/kubepods/pod2"), CgroupOwner::Container(_)));
    let nspawn = "/machine.slice/systemd-nspawn@x.service/payload";
    assert_eq!(
        seen_from(&format!("{nspawn}/system.slice/nodewell.service"), &format!("{nspawn}/system.slice/x.service")),
        unit("x.service")
    );
}

proptest! {
    #[test]
    fn nothing_below_a_unit_changes_it(deep in "[a-z@./_-]{0,40}") {
        let found = at(&format!("/system.slice/x.service/{deep}"));
        let is_it = matches!(&found, CgroupOwner::Unit(unit) if **unit == *"x.service");
        prop_assert!(is_it || matches!(found, CgroupOwner::Container(_)), "{found:?}");
    }

    #[test]
    fn nothing_below_a_container_makes_it_a_unit(
        deep in "[a-z@./:_-]{0,60}",
        pods in "kubepods(-[a-z0-9]{1,9})?(\\.slice)?",
    ) {
        for above in [format!("/{pods}"), format!("/docker/{ID}"), "/system.slice/docker-x.scope".to_owned()] {
            let path = format!("{above}/{deep}");
            prop_assert!(matches!(at(&path), CgroupOwner::Container(_)), "{path}");
        }
    }

    #[test]
    fn nothing_below_pods_is_the_nodes(
        above in "(/[a-z]{1,8}\\.slice){0,2}",
        pods in "([a-z]{1,8}-){0,2}kubepods(-[a-z0-9_]{1,9})?(\\.slice)?",
        deep in "[a-z@./:_-]{0,40}",
        unit in "(containerd|kubelet|systemd-[a-z]{1,9})\\.service|init\\.scope",
    ) {
        for path in [format!("{above}/{pods}/{deep}/{unit}"), format!("{above}/{pods}/{unit}/{deep}")] {
            let text = format!("0::{path}\n");
            let cgroups = Cgroups::parse(&text);
            prop_assert!(!cgroups.is_node_plumbing() && cgroups.service().is_none(), "{path}");
            prop_assert!(matches!(cgroups.owner(&home()), CgroupOwner::Container(_)), "{path}");
        }
    }

    #[test]
    fn no_text_is_too_wild(text in "\\PC{0,200}", own in "\\PC{0,100}") {
        let cgroups = Cgroups::parse(&text);
        let _ = (cgroups.owner(&Home::of(&own)), cgroups.is_node_plumbing(), cgroups.pod_uid(), cgroups.service());
    }

    #[test]
    fn a_unit_is_named_by_the_kernel_or_not_at_all(text in "([0-9]{1,2}:(name=systemd|cpu)?:/[a-z./]{0,30}\n){0,4}") {
        if let CgroupOwner::Unit(name) = Cgroups::parse(&text).owner(&Home::of("0::/\n")) {
            prop_assert!(text.contains(&*name));
        }
    }
}
