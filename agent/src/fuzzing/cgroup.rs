//! `/proc/PID/cgroup` of peers and of whatever uses a GPU: its deeper names are chosen by the process, and by users of
//! a container runtime.

use nodewell_checks::cgroup::{CgroupOwner, Cgroups, Home};

/// A service that may make cgroups below its own.
const UNIT: &str = "postgresql.service";
/// Between the agent's own text and the peer's: the kernel writes no such byte.
const SEPARATOR: char = '\0';

/// Before the separator stands the agent's own text, after it the peer's. What cannot be read is of no unit; a service
/// that makes cgroups below its own becomes no other unit by their names, and no part of the node's plumbing; nor does
/// a pod that does; and a process beside the agent is at home.
pub fn cgroup(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (own, theirs) = text.split_once(SEPARATOR).unwrap_or(("", &text));
    for home in [Home::default(), Home::of(own)] {
        if let CgroupOwner::Unit(unit) = owner(theirs, &home) {
            assert!(unit.ends_with(".service") || unit.ends_with(".scope"), "{unit}");
            assert!(theirs.contains(&*unit) && !unit.contains('/'), "{unit}");
        }
        let twice = format!("{}\n{}\n", theirs.trim_end_matches('\n'), theirs.trim_end_matches('\n'));
        let is_unknown = matches!(owner(&twice, &home), CgroupOwner::Unknown(_));
        assert!(is_unknown || theirs.trim_matches('\n').is_empty(), "a hierarchy is there once: {twice:?}");
        below_a_unit(theirs, &home);
    }
    below_pods(theirs);
    let beside = owner(own, &Home::of(own));
    assert!(!matches!(beside, CgroupOwner::Container(_)) || own.contains(".."), "{beside:?} is the agent's own");
}

fn owner(text: &str, home: &Home) -> CgroupOwner {
    Cgroups::parse(text).owner(home)
}

/// Its own cgroups stand beside those of its containers.
fn below_pods(names: &str) {
    const PODS: &str = "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice";
    let names = names.split('\n').next().unwrap_or_default();
    for path in [format!("{PODS}/containerd.service/{names}"), format!("{PODS}/{names}/containerd.service")] {
        let text = format!("0::{path}\n");
        let cgroups = Cgroups::parse(&text);
        assert!(!cgroups.is_node_plumbing() && cgroups.service().is_none(), "{text:?}");
        let owner = cgroups.owner(&Home::default());
        assert!(!matches!(owner, CgroupOwner::Unit(_) | CgroupOwner::Host), "{text:?}");
    }
}

fn below_a_unit(names: &str, home: &Home) {
    let names = names.split('\n').next().unwrap_or_default();
    let text = format!("0::/system.slice/{UNIT}/{names}\n");
    assert!(!Cgroups::parse(&text).is_node_plumbing(), "{text:?}");
    match owner(&text, home) {
        CgroupOwner::Unit(unit) => assert_eq!(&*unit, UNIT),
        CgroupOwner::Host => assert_ne!(*home, Home::default(), "{text:?} is in a unit"),
        CgroupOwner::Container(_) | CgroupOwner::Unknown(_) => {}
    }
}
