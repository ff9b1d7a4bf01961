//! Trees of cgroups, of both versions and drivers.

use super::*;

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";
const OTHER: &str = "abcdefabcdefabcdefabcdefabcdef12";

struct Host(tempfile::TempDir);

impl Host {
    fn new(files: &[(&str, &str)]) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = host.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        host
    }

    fn read(&self) -> CgroupsReading {
        let root = self.0.path();
        read(&Roots { proc: root.join("proc"), sys: root.join("sys"), ..Roots::default() }).unwrap()
    }
}

#[test]
fn pods_of_systemds_driver_are_found() {
    let underscored = UID.replace('-', "_");
    let pod =
        format!("sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{underscored}.slice");
    let guaranteed = format!("sys/fs/cgroup/kubepods.slice/kubepods-pod{OTHER}.slice");
    let host = Host::new(&[
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
        (&format!("{pod}/memory.events"), "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n"),
        (&format!("{guaranteed}/memory.events"), "oom 0\noom_kill 0\n"),
        ("sys/fs/cgroup/kubepods.slice/pids.max", "max\n"),
        ("sys/fs/cgroup/system.slice/pids.max", "1000\n"),
        ("sys/fs/cgroup/system.slice/pids.current", "990\n"),
    ]);
    let reading = host.read();
    assert_eq!(reading.pods[UID], Pod { oom_kills: 3 });
    assert_eq!(reading.pods[OTHER], Pod { oom_kills: 0 });
    assert_eq!(reading.tasks, [("system.slice".to_owned(), Level { used: 990, max: 1000 })].into());
    assert!(reading.controllers.values().all(|is_second| *is_second) && reading.controllers.len() == 3);
}

#[test]
fn pods_of_the_driver_cgroupfs_are_found() {
    let host = Host::new(&[
        ("sys/fs/cgroup/cgroup.controllers", ""),
        (&format!("sys/fs/cgroup/kubepods/besteffort/pod{UID}/memory.events"), "oom_kill 2\n"),
        ("sys/fs/cgroup/kubepods/besteffort/podless/memory.events", "oom_kill 2\n"),
        ("sys/fs/cgroup/kubepods/besteffort/memory.events", "oom_kill 2\n"),
    ]);
    assert_eq!(host.read().pods.into_keys().collect::<Vec<_>>(), [UID]);
}

#[test]
fn version_1_has_limits_of_tasks_and_nothing_of_pods() {
    let host = Host::new(&[
        ("proc/self/cgroup", "4:cpu,cpuacct:/\n3:pids:/\n2:memory:/\n1:name=systemd:/\n0::/\n"),
        ("sys/fs/cgroup/pids/kubepods/pids.max", "500\n"),
        ("sys/fs/cgroup/pids/kubepods/pids.current", "7\n"),
        (&format!("sys/fs/cgroup/memory/kubepods/pod{UID}/memory.events"), "oom_kill 2\n"),
    ]);
    let reading = host.read();
    assert_eq!(reading.tasks["kubepods"], Level { used: 7, max: 500 });
    assert!(reading.pods.is_empty());
    let names: Vec<&str> = reading.controllers.keys().map(String::as_str).collect();
    assert_eq!(names, ["cpu", "cpuacct", "memory", "pids"]);
    assert!(reading.controllers.values().all(|is_second| !is_second));
}

#[test]
fn garbage_and_what_vanishes_is_nothing() {
    let host = Host::new(&[
        ("sys/fs/cgroup/cgroup.controllers", "\u{fffd}\n"),
        ("sys/fs/cgroup/kubepods/pids.max", "-7\n"),
        ("sys/fs/cgroup/system.slice/pids.max", "10\n"),
        (&format!("sys/fs/cgroup/kubepods/pod{UID}/cgroup.procs"), ""),
        (&format!("sys/fs/cgroup/kubepods/pod{OTHER}/memory.events"), "oom_kill many\n"),
    ]);
    let reading = host.read();
    assert!(reading.tasks.is_empty() && reading.pods.is_empty());
    assert_eq!(Host::new(&[]).read(), CgroupsReading::default());
}

#[test]
fn a_cgroup_that_cannot_be_read_is_not_missing() {
    let slice = "sys/fs/cgroup/system.slice";
    let pod = format!("sys/fs/cgroup/kubepods.slice/kubepods-pod{OTHER}.slice");
    for name in [format!("{slice}/pids.max"), format!("{slice}/pids.current"), format!("{pod}/memory.events")] {
        let host = Host::new(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
            (&format!("{slice}/pids.max"), "1000\n"),
            (&format!("{slice}/pids.current"), "990\n"),
            (&format!("{pod}/memory.events"), "oom_kill 3\n"),
        ]);
        let reading = host.read();
        assert_eq!((reading.tasks.len(), reading.pods.len()), (1, 1));
        let (root, path) = (host.0.path(), host.0.path().join(&name));
        fs::remove_file(&path).unwrap();
        // A folder is no file.
        fs::create_dir(&path).unwrap();
        let roots = Roots { proc: root.join("proc"), sys: root.join("sys"), ..Roots::default() };
        assert!(matches!(read(&roots), Err(ReadError::Failed { .. })), "{name}");
    }
}
