use proptest::prelude::*;

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The owner of a process in `path` of version 2, seen from the host.
fn at(path: &str) -> CgroupOwner {
    owner(&format!("0::{path}\n"), &Home::of("0::/system.slice/nodewell.service\n"))
}

fn unit(name: &str) -> CgroupOwner {
    CgroupOwner::Unit(name.into())
}

fn container(name: &str) -> CgroupOwner {
    CgroupOwner::Container(name.into())
}

#[test]
fn the_first_component_below_the_slices_is_the_unit() {
    for (path, name) in [
        ("/system.slice/raid-monitor.service", "raid-monitor.service"),
        ("/system.slice/x.service/raid-monitor.service", "x.service"),
        ("/system.slice/x.service/raid.slice/raid-monitor.service", "x.service"),
        ("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", "user@1000.service"),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
        ("/init.scope", "init.scope"),
        ("/system.slice/kubelet.service", "kubelet.service"),
        ("/runtime.slice/containerd.service", "containerd.service"),
        ("/system.slice/crio-wipe.service", "crio-wipe.service"),
        ("/system.slice/docker-cleanup.service", "docker-cleanup.service"),
        ("/system.slice/kubepods-exporter.service", "kubepods-exporter.service"),
        ("/system.slice/a:b:c.service", "a:b:c.service"),
        ("/system.slice/_cpu.shares.service", "cpu.shares.service"),
        ("/system.slice/__x.service", "_x.service"),
        ("/system.slice/my\\x2draid.service", "my\\x2draid.service"),
        ("/x.service", "x.service"),
    ] {
        assert_eq!(at(path), unit(name), "{path}");
    }
}

#[test]
fn what_is_in_no_unit_is_the_host() {
    for path in [
        "/",
        "/system.slice",
        "/openrc.sshd",
        "/foo/raid-monitor.service",
        "/user/1000.user",
        "/system.slice/swap.swap",
    ] {
        assert_eq!(at(path), CgroupOwner::Host, "{path}");
    }
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
        (format!("/kubepods/burstable/pod1/{ID}"), ID.into()),
        ("/kubepods/pod1".into(), "pod1".into()),
        ("/kubepods".into(), "kubepods".into()),
        ("/kubepods/besteffort/pod1/kubelet.service".into(), "besteffort".into()),
        (format!("/kubelet.slice/kubelet-kubepods.slice/{}", scope("crio")), scope("crio")),
        (format!("/system.slice/{}", scope("docker")), scope("docker")),
        (format!("/system.slice/{}/raid-monitor.service", scope("docker")), scope("docker")),
        (format!("/docker/{ID}"), ID.into()),
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
        (format!("/system.slice/containerd.service/{ID}"), ID.into()),
        (format!("/custom/{}", scope("unheard-of")), scope("unheard-of")),
        ("/../../system.slice/raid-monitor.service".into(), "outside".into()),
        ("/..".into(), "outside".into()),
        ("/system.slice/../raid-monitor.service".into(), "outside".into()),
    ] {
        assert_eq!(at(&path), container(&name), "{path}");
    }
}

#[test]
fn text_that_the_kernel_does_not_write_is_not_believed() {
    let home = Home::of("0::/x\n");
    for text in [
        "0:/system.slice/x.service\n",
        "x::/system.slice/x.service\n",
        "::/system.slice/x.service\n",
        "0::system.slice/x.service\n",
        "0::/system.slice/x.service (deleted)\n",
        // A line break in a name, if a kernel let it pass.
        "0::/kube\n0::/system.slice/x.service\n",
        "1:name=systemd:/x\n0::/\n12:name=systemd:/system.slice/x.service\n",
        "0::/x\nsystem.slice/x.service\n",
        "",
    ] {
        assert!(matches!(owner(text, &home), CgroupOwner::Unknown(_)), "{text:?}");
    }
    // Where the kernel has no cgroups at all, no process has one.
    assert_eq!(owner("", &Home::of("")), CgroupOwner::Host);
    // No part of a name is taken off.
    assert_eq!(owner("0::/system.slice/x.service\r\n", &home), CgroupOwner::Host);
}

#[test]
fn every_hierarchy_counts() {
    let home = Home::of("0::/system.slice/nodewell.service\n");
    for (text, expected) in [
        ("4:memory:/\n1:name=systemd:/system.slice/x.service\n", unit("x.service")),
        ("1:name=systemd:/system.slice/x.service\n0::/system.slice/x.service\n", unit("x.service")),
        ("9:name=systemd:/\n0::/system.slice/x.service\n", unit("x.service")),
        ("9:name=systemd:/\n8:pids:/\n0::/\n", CgroupOwner::Host),
        // Only systemd's own hierarchies name units.
        ("4:cpu,cpuacct:/system.slice/x.service\n0::/\n", CgroupOwner::Host),
        (
            "1:name=systemd:/system.slice/y.service\n0::/system.slice/x.service\n",
            CgroupOwner::Unknown("its cgroups name two units"),
        ),
        ("4:memory:/docker/abc\n1:name=systemd:/\n0::/\n", container("abc")),
        ("4:memory:/../x\n0::/system.slice/x.service\n", container("outside")),
    ] {
        assert_eq!(owner(text, &home), expected, "{text}");
    }
}

#[test]
fn in_the_agents_own_container_every_peer_is_at_home() {
    let seen_from = |own: &str, path: &str| owner(&format!("0::{path}\n"), &Home::of(&format!("0::{own}\n")));
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
        prop_assert!(found == unit("x.service") || matches!(found, CgroupOwner::Container(_)), "{found:?}");
    }

    #[test]
    fn nothing_below_a_container_makes_it_a_unit(deep in "[a-z@./:_-]{0,60}", pods in "kubepods(-[a-z0-9]{1,9})?(\\.slice)?") {
        for path in [format!("/{pods}/{deep}"), format!("/docker/{ID}/{deep}"), format!("/system.slice/docker-x.scope/{deep}")] {
            prop_assert!(matches!(at(&path), CgroupOwner::Container(_)), "{path}");
        }
    }

    #[test]
    fn no_text_is_too_wild(text in "\\PC{0,200}", own in "\\PC{0,100}") {
        let _ = owner(&text, &Home::of(&own));
    }

    #[test]
    fn a_unit_is_named_by_the_kernel_or_not_at_all(text in "([0-9]{1,2}:(name=systemd|cpu)?:/[a-z./]{0,30}\n){0,4}") {
        if let CgroupOwner::Unit(name) = owner(&text, &Home::of("0::/\n")) {
            prop_assert!(text.contains(&*name));
        }
    }
}

#[test]
fn the_nodes_own_plumbing_is_known_by_the_unit_below_the_slices() {
    for (path, plumbing) in [
        ("/system.slice/containerd.service", true),
        ("/system.slice/containerd.service/kubepods-burstable-pod1.slice:cri-containerd:abc", false),
        ("/runtime.slice/kubelet.service", true),
        ("/init.scope", true),
        ("/system.slice/systemd-journald.service", true),
        ("/system.slice/postgresql.service", false),
        ("/system.slice/evil.service/kubelet.service", false),
        ("/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope", false),
        ("/kubepods/besteffort/pod1/kubelet.service", false),
        ("/user.slice/user-1000.slice/session-1.scope", false),
        ("/", false),
    ] {
        assert_eq!(Cgroups::parse(&format!("0::{path}\n")).is_node_plumbing(), plumbing, "{path}");
    }
}

/// It fails so far: what a pod calls a cgroup of its own beside its containers' counts.
#[test]
#[should_panic(expected = "is node plumbing")]
fn a_pod_that_makes_cgroups_becomes_no_part_of_the_nodes_plumbing() {
    let pod = format!("kubelet-kubepods-pod{}.slice", UID.replace('-', "_"));
    let text = format!("0::/kubelet.slice/kubelet-kubepods.slice/{pod}/containerd.service\n");
    assert!(!Cgroups::parse(&text).is_node_plumbing(), "{text} is node plumbing");
}

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

fn pod_or_service(text: &str) -> (Option<String>, Option<String>) {
    let cgroups = Cgroups::parse(text);
    (cgroups.pod_uid(), cgroups.service())
}

#[test]
fn a_pod_is_known_by_either_driver() {
    let systemd = format!(
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-1.scope",
        UID.replace('-', "_")
    );
    let cgroupfs = format!("12:pids:/kubepods/besteffort/pod{UID}/abc\n0::/\n");
    let kind = format!("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{}.slice", UID.replace('-', "_"));
    for text in [systemd, cgroupfs, kind] {
        assert_eq!(pod_or_service(&text), (Some(UID.to_owned()), None), "{text}");
    }
}

#[test]
fn a_service_is_the_first_below_the_slices() {
    for (text, service) in [
        ("0::/system.slice/kubelet.service", Some("kubelet.service")),
        ("1:name=systemd:/system.slice/containerd.service\n0::/\n", Some("containerd.service")),
        ("0::/user.slice/user-0.slice/session-1.scope/kubelet.service", None),
        ("0::/kubepods.slice/kubelet.service", None),
        ("0::/", None),
        ("", None),
    ] {
        assert_eq!(pod_or_service(text), (None, service.map(str::to_owned)), "{text}");
    }
}

#[test]
fn what_is_no_uid_is_none() {
    for part in
        ["pod", "podman", "pod../../x", "kubepods", "kubepods-pod.slice", "-pod", "podgggggggggggggggggggggggggggggggg"]
    {
        assert_eq!(pod_uid(part), None, "{part}");
    }
    assert_eq!(pod_uid("podabcdefabcdefabcdefabcdefabcdef12").as_deref(), Some("abcdefabcdefabcdefabcdefabcdef12"));
}
