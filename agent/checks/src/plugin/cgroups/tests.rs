//! Rooms in a real tree of version 2 where this machine has one, and in a made-up folder.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nodewell_sys::contain::{Containment, Rlimits, contain};

use super::*;

const LIMITS: Limits = Limits { memory_bytes: 64 << 20, tasks: 8, cpu_percent: 50 };
const OWN: Own = Own { memory_bytes: 48 << 20, tasks: 128 };

#[test]
fn the_own_cgroup_is_found_below_its_mount() {
    let proc = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::create_dir_all(proc.path().join("self")).unwrap();
        fs::write(proc.path().join("self").join(name), text).unwrap();
    };
    write("mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
    let at = |line: &str| {
        write("cgroup", line);
        own_cgroup(proc.path()).map(|path| path.to_string_lossy().into_owned())
    };
    let service = Some("/sys/fs/cgroup/nodewell.slice/nodewell-check.service".to_owned());
    assert_eq!(at("0::/nodewell.slice/nodewell-check.service\n"), service);
    assert_eq!(at("0::/nodewell.slice/nodewell-check.service/check-process\n"), service);
    assert_eq!(at("1:name=systemd:/x\n0::/\n"), None);
    assert_eq!(at("1:name=systemd:/x\n"), None);
    write("mountinfo", "30 23 0:26 / /sys/fs/cgroup/unified rw - tmpfs tmpfs rw\n");
    assert_eq!(own_cgroup(proc.path()), None);
}

#[test]
fn only_what_runs_after_the_main_process_makes_the_cgroup_whole_again() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let controls = ["tree/a.service/cgroup.subtree_control", "tree/a.service/plugins/cgroup.subtree_control"];
    let mount = root.path().join("tree");
    write("proc/self/mountinfo", &format!("30 23 0:26 / {} rw - cgroup2 cgroup2 rw\n", mount.display()));
    let written_by = |cgroup: &str| {
        controls.iter().for_each(|control| write(control, ""));
        write("proc/self/cgroup", &format!("0::{cgroup}\n"));
        undivide_after_main_process(&root.path().join("proc"));
        controls.map(|control| fs::read_to_string(root.path().join(control)).unwrap())
    };
    for other in ["/a.service", "/a.service/check-process", "/a.service/.control/x", "/.control", "/"] {
        assert_eq!(written_by(other), ["", ""], "{other}");
    }
    // Files of no kernel: what is written last lies over what was before.
    assert!(written_by("/a.service/.control").iter().all(|text| text.starts_with("-cpu")));
}

/// A service's cgroup with these limits, and the files in it that the kernel would make.
fn service(memory_max: &str, pids_max: &str) -> tempfile::TempDir {
    let service = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = service.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("memory.max", memory_max);
    write("pids.max", pids_max);
    for file in [
        "check-process/cgroup.procs",
        "check-process/memory.max",
        "plugins/memory.max",
        "plugins/pids.max",
        "plugins/1/memory.max",
        "plugins/1/pids.max",
        "plugins/1/cpu.max",
    ] {
        write(file, "");
    }
    service
}

#[test]
fn limits_are_written_where_the_kernel_has_them() {
    let service = service("536870912\n", "512\n");
    let cgroups = PluginCgroups::below(service.path(), OWN, LIMITS).unwrap();
    cgroups.run_cgroup("1").unwrap();
    let read = |file: &str| fs::read_to_string(service.path().join(file)).unwrap();
    assert_eq!(read("check-process/cgroup.procs"), std::process::id().to_string());
    assert_eq!(read("check-process/memory.max"), (48 << 20).to_string());
    assert_eq!((read("plugins/1/memory.max"), read("plugins/1/pids.max")), ((64 << 20).to_string(), "8".to_owned()));
    assert_eq!(read("plugins/1/cpu.max"), "50000 100000");
    let run = service.path().join("plugins/1");
    assert!(!run.join("memory.swap.max").exists(), "no file of the kernel's is ever made");
}

/// Memory and tasks that all runs may use together, of a service that may use so much.
fn of_all_runs(memory_max: &str, pids_max: &str) -> (String, String) {
    let service = service(memory_max, pids_max);
    PluginCgroups::below(service.path(), OWN, LIMITS).unwrap();
    let read = |file: &str| fs::read_to_string(service.path().join(file)).unwrap();
    (read("plugins/memory.max"), read("plugins/pids.max"))
}

#[test]
fn all_runs_together_leave_the_check_process_what_it_needs() {
    // 48 MiB for its leaf, and 16 that are in neither.
    assert_eq!(of_all_runs("536870912\n", "512\n"), ((448 << 20).to_string(), "384".to_owned()));
    assert_eq!(of_all_runs("max\n", "max\n"), ("max".to_owned(), "max".to_owned()), "what is not limited stays so");
    assert_eq!(of_all_runs("67108864\n", "100\n"), ((32 << 20).to_string(), "50".to_owned()), "half of what is little");
}

#[test]
fn a_run_that_had_no_memory_is_no_run_that_took_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunCgroup { folder: folder.path().to_owned() };
    let after = |oom: u32, oom_kill: u32| {
        let events = format!("low 0\nhigh 0\nmax 7\noom {oom}\noom_kill {oom_kill}\noom_group_kill 1\n");
        fs::write(folder.path().join("memory.events"), events).unwrap();
        run.memory_kill()
    };
    assert_eq!(run.memory_kill(), None, "without a controller");
    assert_eq!(after(0, 0), None);
    assert_eq!(after(2, 0), None, "it was refused memory, and lived");
    assert_eq!(after(1, 3), Some(MemoryKill::OwnLimit));
    assert_eq!(after(0, 3), Some(MemoryKill::Shortage));
}

#[test]
fn what_detaches_itself_is_still_in_its_room() {
    let Some(tree) = Tree::mounted() else { return };
    let run = RunCgroup { folder: tree.folder.path().join("nodewell-test-run") };
    make(&run.folder).unwrap();
    let mut command = Command::new("/bin/sh");
    // A double fork into a session of its own, deaf to SIGTERM.
    command.arg("-c").arg("(setsid sh -c 'trap \"\" TERM; sleep 100' & ) & exit 0").stdin(Stdio::null());
    let rlimits = Rlimits { memory_bytes: 64 << 20, cpu_secs: 5, file_bytes: 1 << 20, open_files: 64 };
    contain(&mut command, Containment { rlimits, cgroup: Some(run.procs_fd().unwrap()) });
    assert!(command.status().unwrap().success());
    assert!(!run.is_gone(), "it has left its session, not its cgroup");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !run.is_gone() {
        assert!(Instant::now() < deadline, "still there");
        run.kill();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A tree of version 2, without controllers here; `None` where it cannot be mounted.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let known = mountinfo::read(Path::new("/proc")).ok()?.into_iter().find(|mount| mount.filesystem == "cgroup2");
        // They are the hierarchy's: what mounts it last sets them for all (`nsdelegate`).
        let options = known.map_or_else(|| "rw".to_owned(), |mount| mount.super_options.join(","));
        let mounted = Command::new("mount").args(["-t", "cgroup2", "-o", &options, "none"]).arg(folder.path()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self { folder })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}
